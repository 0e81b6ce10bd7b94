"""Models for PETSc: residual and Jacobian against the model's own, and a run by TS where petsc4py is installed."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import daedalus as dd


def circuit():
    m = dd.Model("rod with a lamp")
    u, z = m.state("u", 6, start=np.linspace(0, 1, 6)), m.algebraic("z")
    k, lamp = m.parameter("k", 0.3), m.input("lamp")
    m.equation(m.der(u), k * dd.laplacian(u, 0.2) * (1 + 0.1 * u) + lamp * z)
    m.equation(z**3 + z, u[2] + 1)
    return m


def test_residual_and_jacobian_are_those_of_the_model():
    m = circuit()
    problem = dd.exchange.petsc(m, inputs={"lamp": 0.5}, parameters={"k": 0.7})
    assert problem.labels == (*(f"u[{k}]" for k in range(6)), "z")
    assert np.abs(problem.residual(0.0, problem.start, problem.start_rate)).max() < 1e-10
    generator = np.random.default_rng(1)
    y, rate = generator.normal(size=(2, 7))
    by_y = approx_fprime(y, lambda v: problem.residual(0.0, v, rate), 1e-7)
    by_rate = approx_fprime(rate, lambda v: problem.residual(0.0, y, v), 1e-7)
    found = problem.jacobian(0.0, y, rate, 3.0).toarray()
    np.testing.assert_allclose(found, by_y + 3.0 * by_rate, atol=1e-5)


def test_implicit_euler_by_hand_follows_the_run():
    problem = dd.exchange.petsc(circuit(), inputs={"lamp": 0.5})
    y, h = problem.start.copy(), 1e-3
    for k in range(200):
        before = y.copy()
        for _ in range(3):
            rate = (y - before) / h
            y = y - np.linalg.solve(
                problem.jacobian(h * (k + 1), y, rate, 1 / h).toarray(), problem.residual(h * (k + 1), y, rate)
            )
    exact = dd.simulate(circuit(), 0.2, inputs={"lamp": 0.5}, method="radau5", rtol=1e-9, save_at=[0.2])
    np.testing.assert_allclose(y[:6], exact["u"][-1], atol=2e-3)


def test_a_run_by_ts():
    pytest.importorskip("petsc4py", reason="petsc4py is not installed: the adapter's TS is not run here")
    problem = dd.exchange.petsc(circuit(), inputs={"lamp": 0.5})
    ts, y = problem.ts(), problem.vector()
    ts.setType(ts.Type.BDF)
    ts.setTimeStep(1e-3)
    ts.setMaxTime(0.2)
    ts.setExactFinalTime(ts.ExactFinalTime.MATCHSTEP)
    ts.solve(y)
    exact = dd.simulate(circuit(), 0.2, inputs={"lamp": 0.5}, method="radau5", rtol=1e-9, save_at=[0.2])
    np.testing.assert_allclose(y.getArray()[:6], exact["u"][-1], atol=1e-3)


@pytest.mark.parametrize(("kind", "allowed"), [("bdf", 1e-3), ("cn", 1e-3), ("beuler", 3e-2), ("rosw", 1e-3)])
def test_a_field_by_other_methods_of_ts(kind, allowed):
    """Gray and Scott's reaction on a torus, with a total that an algebraic equation gives."""
    pytest.importorskip("petsc4py", reason="petsc4py is not installed: the adapter's TS is not run here")
    n = 12
    x = (np.arange(n) + 0.5) / n
    m = dd.Model("Gray and Scott")
    bump = np.exp(-40 * ((x[:, None] - 0.5) ** 2 + (x[None, :] - 0.5) ** 2))
    u, v = m.state("u", (n, n), start=1 - 0.5 * bump), m.state("v", (n, n), start=0.25 * bump)
    total = m.algebraic("total")
    m.equation(m.der(u), 2e-3 * dd.laplacian(u, 1 / n) - u * v**2 + 0.04 * (1 - u))
    m.equation(m.der(v), 1e-3 * dd.laplacian(v, 1 / n) + u * v**2 - 0.1 * v)
    m.equation(total, sum(u[k, k] for k in range(n)))
    problem = dd.exchange.petsc(m)
    ts, y = problem.ts(), problem.vector()
    ts.setType(kind)
    ts.setTimeStep(0.02)
    ts.setMaxTime(2.0)
    ts.setMaxSteps(10_000)
    ts.setExactFinalTime(ts.ExactFinalTime.MATCHSTEP)
    ts.solve(y)
    exact = dd.simulate(m, 2.0, method="radau5", rtol=1e-9, atol=1e-12, save_at=[2.0])
    assert ts.getSolveTime() == pytest.approx(2.0)
    np.testing.assert_allclose(y.getArray()[: n * n], np.ravel(exact["u"][-1], order="F"), atol=allowed)


def test_what_ts_does_not_know_is_refused():
    m = circuit()
    m.event("warm", m["u[0]"] - 0.9)
    with pytest.raises(dd.InputError, match="cannot use everything"):
        dd.exchange.petsc(m, inputs={"lamp": 0.5})
    pendulum = dd.Model("pendulum")
    q = pendulum.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    pendulum.kinetic_energy(0.5 * (pendulum.rate(q)[0] ** 2 + pendulum.rate(q)[1] ** 2))
    pendulum.potential_energy(9.81 * q[1])
    pendulum.constraint("rod", q[0] ** 2 + q[1] ** 2 - 1)
    with pytest.raises(dd.InputError, match="index 3"):
        dd.exchange.petsc(pendulum)


def test_sizes_are_checked_and_a_missing_package_is_named():
    problem = dd.exchange.petsc(circuit(), inputs={"lamp": 0.5})
    with pytest.raises(dd.InputError, match="y has the wrong size"):
        problem.residual(0.0, np.zeros(3), problem.start_rate)
    try:
        import petsc4py  # noqa: F401
    except ImportError:
        with pytest.raises(dd.InputError, match="petsc4py is not installed"):
            problem.ts()
