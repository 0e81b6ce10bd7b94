"""Invariants are kept: the length of a unit quaternion, and what index reduction leaves behind."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import _core
from daedalus.simulation.plant.projection import correction
from daedalus.simulation.result.records_of_models import InvariantsNotKept


def spinning():
    """A quaternion turned by a varying angular velocity; its length is an invariant of the model."""
    m = dd.Model("spin")
    q = m.state("q", 4, start=[1.0, 0.0, 0.0, 0.0])
    w = ca.vertcat(ca.sin(m.time), 0.5, ca.cos(2 * m.time))
    m.equation(m.der(q), dd.quaternion_rate(q, w))
    m._keep("length of q", ca.sumsqr(q) - 1.0)
    return m


@pytest.mark.parametrize("method", ["tsit5", "dopri5", "dop853", "bs3"])
def test_the_length_of_a_quaternion_is_kept_to_rounding(method):
    tr = dd.simulate(spinning(), 20.0, method=method, rtol=1e-5)
    assert tr.drift()["length of q"] < 5e-16
    assert 1e-12 < tr.drift(between=True)["length of q"] < 1e-3
    times = np.linspace(0, 20, 333)
    assert np.abs(np.sum(tr.at(times, project=True)["q"] ** 2, axis=1) - 1).max() < 5e-16


def test_projection_does_not_spoil_the_order():
    """Errors fall with the tolerance as without it."""
    exact = dd.simulate(spinning(), 5.0, rtol=1e-13, atol=1e-14)["q"][-1]
    errors = [np.abs(dd.simulate(spinning(), 5.0, rtol=r, method="tsit5")["q"][-1] - exact).max() for r in (1e-5, 1e-8)]
    assert errors[0] < 1e-3
    assert errors[1] < 1e-2 * errors[0]


def test_the_projected_state_costs_one_more_evaluation_a_step():
    free = spinning()
    del free.written.invariants["length of q"]
    kept = dd.simulate(spinning(), 5.0, method="tsit5", rtol=1e-6).work
    without = dd.simulate(free, 5.0, method="tsit5", rtol=1e-6).work
    assert abs(kept.steps - without.steps) <= 2
    assert kept.rhs == 6 * (kept.steps + kept.rejected) + 1 + kept.steps


def test_the_correction_is_the_shortest_way():
    x = ca.SX.sym("x", 3)
    circle = ca.vertcat(x[0] ** 2 + x[1] ** 2 - 1, x[2] - 2)
    step = ca.Function("step", [x], [correction(circle, x, np.ones(3))])([1.2, 0.0, 2.5]).full().ravel()
    np.testing.assert_allclose(step, [0.44 / 2.4, 0.0, 0.5])


def test_the_correction_of_many_is_solved_without_pivots_in_a_short_formula():
    """Twelve invariants that share nine of fifteen variables each: W Jᵀ (J W Jᵀ)⁻¹ c by NumPy, and by QR factors."""
    x, slopes = ca.SX.sym("x", 15), ca.SX.sym("slopes", 12, 9)
    kept = ca.vertcat(*(ca.sin(ca.dot(slopes[k, :].T, ca.vertcat(x, x)[k : k + 9])) for k in range(12)))
    weights = np.linspace(0.5, 2.0, 15)
    step = ca.Function("step", [x, slopes], [correction(kept, x, weights)])
    jacobian = ca.Function("jacobian", [x, slopes], [ca.jacobian(kept, x), kept])
    rng = np.random.default_rng(3)
    at = (1e-3 * rng.normal(size=15), rng.normal(size=(12, 9)))
    J, c = (part.full() for part in jacobian(*at))
    wanted = weights[:, None] * J.T @ np.linalg.solve(J * weights @ J.T, c)
    np.testing.assert_allclose(step(*at).full(), wanted, rtol=1e-9, atol=1e-13)
    normal = ca.SX.sym("normal", 12, 12)
    by_factors = ca.Function("by_factors", [normal], [ca.solve(normal, ca.SX.ones(12))])
    assert step.n_instructions() - jacobian.n_instructions() < by_factors.n_instructions()


def test_invariants_that_depend_on_each_other_are_not_kept_and_said_so():
    m = dd.Model("many")
    x = m.state("x", 30, start=1.0)
    m.equation(m.der(x), 0 * x)
    m._keep("all", ca.vertcat(*(ca.sum1(x) + k * x[0] - 30 - k for k in range(30))))
    tr = dd.simulate(m, 1.0)
    assert tr.success
    assert InvariantsNotKept(("30 of them depend on each other",)) in tr.records


def test_the_core_refuses_a_projection_of_the_wrong_size():
    rhs = _core.Function("rhs", [1, 2, 0, 0], [2], 4, 1, 0, 0)
    rhs.set_python(lambda t, x, u, p: x)
    wrong = _core.Function("p", [1, 2, 0, 0], [3], 4, 1, 0, 0)
    wrong.set_python(lambda t, x, u, p: np.zeros(3))
    empty = np.zeros(0)
    with pytest.raises(ValueError, match="projection must map"):
        _core.integrate(rhs, "tsit5", 0.0, 1.0, np.ones(2), empty, empty, atol=np.ones(2), projection=wrong)


def test_an_event_does_not_happen_twice_because_of_the_projection():
    """The projection at an event moves the guard off zero; the guard rests there all the same."""
    m = dd.Model("hit at the bottom")
    q = m.coordinate("q", 2, start=[0.8, -0.6], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", (ca.sumsqr(q) - 1.0) / 2)
    m.event("bottom", q[0], direction=-1, reset={"q_dot": 0.7 * m.rate(q)})
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
        tr = dd.simulate(m, 0.9, rtol=rtol, atol=1e-2 * rtol)
        assert [event.name for event in tr.events] == ["bottom"], rtol
