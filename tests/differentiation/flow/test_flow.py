"""dd.flow against CasADi's own derivatives, dd.simulate, laws of the flow, and as others use it."""

import pickle
import subprocess
import sys
import threading

import casadi as ca
import numpy as np
import pytest
from unrolled_maps import by_rootfinder, derivatives, unrolled

import daedalus as dd
from daedalus import _core, catalogue
from daedalus.errors import InputError, SolverError

STEP = 0.0417
THRUST = np.array([1.2, 1.15, 1.205, 1.155])


def quadrotor_point():
    model = catalogue.load("quadrotor").model
    system = model.freeze()
    return model, system.default_start + 0.1 * np.sin(1.0 + np.arange(13)), THRUST, system.start["p"]


def implicit_dae():
    """A DAE of index 1 in which neither x' nor z is an expression of the others."""
    m = dd.Model("tangled")
    a, b = m.state("a", start=1.0), m.state("b", start=0.2)
    z, q = m.algebraic("z", start=0.5), m.algebraic("q", start=1.0)
    u, c = m.input("u"), m.parameter("c", 0.7)
    m.equation(m.der(a), -a * z + u)
    m.equation(m.der(b) + 0.1 * m.der(b) ** 3, a * q - b * c)
    m.equation(z + 0.2 * ca.sin(z) + q**2, 1 + a * c)
    m.equation(q + 0.5 * ca.exp(0.3 * q) + 0.1 * z, b + 1)
    return m, np.array([1.0, 0.2]), np.array([0.3]), np.array([0.7])


def stiff_dae():
    """Van der Pol with its force as an algebraic variable: z is an expression, so it is eliminated."""
    m = dd.Model("van der Pol")
    y, v, force = m.state("y", start=2.0), m.state("v"), m.algebraic("force")
    mu, push = m.parameter("mu", 50.0), m.input("push")
    m.equation(m.der(y), v)
    m.equation(m.der(v), force + push)
    m.equation(force, mu * (1 - y**2) * v - y)
    return m, np.array([1.8, -0.3]), np.array([0.1]), np.array([50.0])


def agree(ours, theirs, tolerance=1e-10):
    for name, expected in theirs.items():
        scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
        assert np.abs(ours[name] - expected).max(initial=0.0) <= tolerance * scale, name


@pytest.mark.parametrize("method", ["euler", "heun", "rk4", "dopri5"])
@pytest.mark.parametrize("steps", [1, 3])
def test_explicit_flow_has_the_derivatives_of_the_unrolled_map(method, steps):
    model, x, u, p = quadrotor_point()
    f = dd.flow(model, STEP, method, steps)
    peer = unrolled(f.system, dd.tableau(method), STEP, steps)
    weights = np.cos(np.arange(13))
    agree(derivatives(f, x, u, p, weights), derivatives(peer, x, u, p, weights), 1e-12)


def test_patterns_are_those_of_the_unrolled_map():
    model, *_ = quadrotor_point()
    f = dd.flow(model, STEP, "rk4")
    peer = unrolled(f.system, dd.tableau("rk4"), STEP, 1)
    assert [f.jacobian().sparsity_out(k) == peer.jacobian().sparsity_out(k) for k in range(3)] == [True] * 3


@pytest.mark.parametrize("method", ["radau5", "gauss2", "implicit_euler", "trapezoidal", "sdirk3"])
@pytest.mark.parametrize("problem", [quadrotor_point, implicit_dae, stiff_dae], ids=lambda make: make.__name__)
def test_implicit_flow_has_the_derivatives_of_a_rootfinder(method, problem):
    model, x, u, p = problem()
    f = dd.flow(model, 0.05, method, steps=2)
    weights = np.cos(np.arange(len(x)))
    peer = by_rootfinder(f.system, f.core.tableau, 0.05, 2)
    agree(derivatives(f, x, u, p, weights), derivatives(peer, x, u, p, weights))


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_explicit_method_on_a_dae_without_explicit_form(method):
    model, x, u, p = implicit_dae()
    f = dd.flow(model, 0.05, method, steps=2)
    peer = by_rootfinder(f.system, f.core.tableau, 0.05, 2)
    agree(derivatives(f, x, u, p, np.ones(2)), derivatives(peer, x, u, p, np.ones(2)))


@pytest.mark.parametrize("method", ["rk4", "radau5"])
def test_derivatives_agree_with_differences(method):
    model, x, u, p = quadrotor_point()
    f = dd.flow(model, STEP, method, 2)
    weights = np.sin(1.0 + np.arange(13))
    found = derivatives(f, x, u, p, weights)
    w, h = np.r_[x, u, p], 1e-6
    value = lambda v: f(v[:13], v[13:17], v[17:]).full().ravel()  # noqa: E731
    gradient = lambda v: derivatives(f, v[:13], v[13:17], v[17:], weights)["reverse"].ravel()  # noqa: E731
    for k in (0, 3, 7, 11, 14, 18, 23):
        change = h * max(abs(w[k]), 1e-3) * np.eye(len(w))[k]
        width = 2 * change[k]
        first = (value(w + change) - value(w - change)) / width
        second = (gradient(w + change) - gradient(w - change)) / width
        np.testing.assert_allclose(found["jacobian"][:, k], first, atol=1e-6 * max(1, np.abs(first).max()))
        np.testing.assert_allclose(found["hessian"][:, k], second, atol=1e-6 * max(1, np.abs(second).max()))


@pytest.mark.parametrize("method", ["rk4", "gauss3", "radau5"])
def test_forward_reverse_and_symmetry(method):
    model, x, u, p = quadrotor_point()
    found = derivatives(dd.flow(model, STEP, method, 3), x, u, p, np.arange(13.0))
    np.testing.assert_allclose(found["reverse"].ravel(), np.arange(13.0) @ found["jacobian"], rtol=1e-12, atol=1e-12)
    assert np.array_equal(found["hessian"], found["hessian"].T)


def test_value_is_that_of_simulate():
    k = catalogue.load("quadrotor", form="plain")
    f = dd.flow(k.model, 0.02, "rk4", steps=50)
    run = dd.simulate(k.model, 1.0, inputs=k.inputs, method="rk4", step=0.02)
    expected = np.concatenate([run[name][-1] for name in ("position", "velocity", "quaternion", "angular_velocity")])
    end = f(f.system.default_start, k.inputs["thrust"], f.system.start["p"]).full().ravel()
    np.testing.assert_allclose(end, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("radau5", 5), ("gauss2", 4), ("implicit_euler", 1)])
def test_flow_has_the_order_of_its_method(method, order):
    m = dd.Model("pendulum")
    q, v = m.state("q", start=1.0), m.state("v")
    m.equation([m.der(q), m.der(v)], [v, -ca.sin(q)])
    exact = dd.simulate(m, 1.0, method="dop853", rtol=1e-13, atol=1e-14)
    end = np.array([exact["q"][-1], exact["v"][-1]])
    errors = [
        np.abs(dd.flow(m, 1.0 / steps, method, steps)([1.0, 0.0], [], []).full().ravel() - end).max()
        for steps in (4, 8)
    ]
    assert np.log2(errors[0] / errors[1]) > order - 0.4


@pytest.mark.parametrize("method", ["rk4", "radau5", "gauss2"])
@pytest.mark.parametrize("name", ["chemical_akzo", "hires", "small_dae", "cstr"])
def test_two_steps_are_one_after_the_other(name, method):
    model = catalogue.load(name).model
    step = 1e-3 if method == "rk4" else 0.1
    once, twice = (dd.flow(model, step, method, steps, t0=0.0).core for steps in (1, 2))
    x, u, p = once.system.default_start, np.zeros(once.system.sizes["u"]), once.system.start["p"]
    (first, slope), (end, slopes) = once.first(x, u, p), twice.first(x, u, p)
    n = len(x)
    second, last = once.first(first, u, p)
    np.testing.assert_allclose(end, second, rtol=1e-11, atol=1e-13)
    chained = last[:, :n] @ slope + np.hstack([np.zeros((n, n)), last[:, n:]])
    np.testing.assert_allclose(slopes, chained, rtol=1e-8, atol=1e-9)


def test_tensors_contract_to_the_second_derivative():
    model, x, u, p = quadrotor_point()
    weights = np.cos(np.arange(13))
    for method in ("rk4", "radau5"):
        core = dd.flow(model, STEP, method, 2).core
        assert core.has_tensor_loop == (method == "rk4")
        for parameters in (False, True):
            value, jacobian, tensors = core.tensors(x, u, p, parameters)
            again, first, _, hessian = core.second(x, u, p, weights, parameters)
            np.testing.assert_allclose(np.tensordot(weights, tensors, 1), hessian, rtol=1e-11, atol=1e-11)
            np.testing.assert_array_equal(jacobian, first)
            np.testing.assert_array_equal(value, again)
            assert np.array_equal(tensors, tensors.transpose(0, 2, 1))


def test_unit_quaternion_is_kept_and_so_are_its_derivatives():
    m = dd.Model("body")
    m.gravity([0, 0, -9.81])
    body = m.body("top", mass=1.0, inertia=np.diag([0.1, 0.2, 0.3]), orientation="quaternion")
    torque = m.input("torque", 3)
    body.apply_torque(torque, frame="body")
    f = dd.flow(m, 0.1, "rk4", steps=2)
    assert "top.quaternion[0]" in f.labels["x"]
    where = [f.labels["x"].index(f"top.quaternion[{k}]") for k in range(4)]
    x = np.array(f.system.default_start)
    x += 0.3 * np.sin(np.arange(len(x)))
    x[where] /= np.linalg.norm(x[where])
    u, p = np.array([0.1, -0.2, 0.3]), f.system.start["p"]
    value, jacobian, tensors = f.core.tensors(x, u, p)
    q, n = value[where], len(x)
    assert abs(q @ q - 1) < 1e-15
    # Projection takes the norm away: the end does not change along q0, and stays orthogonal to every direction.
    np.testing.assert_allclose(q @ jacobian[where], 0, atol=1e-14)
    np.testing.assert_allclose(jacobian[where].T @ jacobian[where] + np.tensordot(q, tensors[where], 1), 0, atol=1e-12)
    assert jacobian.shape == (n, n + 3)


def test_gauss_keeps_the_length_of_a_quaternion_in_all_derivatives():
    # Gauss methods keep quadratic invariants: |q| = |q0| whatever q0 is, so its derivatives agree to every order.
    model, x, u, p = quadrotor_point()
    value, jacobian, tensors = dd.flow(model, STEP, "gauss2", 3).core.tensors(x, u, p)
    q, M, where = value[6:10], jacobian[6:10], np.zeros(17)
    where[6:10] = x[6:10]
    assert q @ q == pytest.approx(x[6:10] @ x[6:10], abs=1e-14)
    np.testing.assert_allclose(q @ M, where, atol=1e-13)
    identity = np.zeros((17, 17))
    identity[6:10, 6:10] = np.eye(4)
    np.testing.assert_allclose(M.T @ M + np.tensordot(q, tensors[6:10], 1), identity, atol=1e-12)


def test_projected_flow_has_the_derivatives_of_the_unrolled_map():
    from daedalus.reduction.forms.explicit_form import explicit_form
    from daedalus.simulation.plant.projection import projection

    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[0.6, -0.8], rate=[0.4, 0.3])
    mass, length = m.parameter("mass", 1.3), m.parameter("length", 1.0)
    m.kinetic_energy(mass * ca.sumsqr(m.rate(q)) / 2)
    m.potential_energy(mass * 9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - length**2)
    force = m.input("force")
    m.generalised_force(q, ca.vertcat(force, 0))
    f = dd.flow(m, 0.05, "rk4", steps=3)
    s = f.system
    arguments = [s.symbol(letter) for letter in "txup"]
    project = ca.Function("project", arguments, [projection(s, explicit_form(s))])
    peer = unrolled(s, dd.tableau("rk4"), 0.05, 3, project=project)
    x, u, p = s.default_start, np.array([0.3]), s.start["p"]
    weights = np.array([1.0, -2.0, 0.5, 0.7])
    agree(derivatives(f, x, u, p, weights), derivatives(peer, x, u, p, weights), 1e-11)
    end = f(x, u, p).full().ravel()
    assert abs(end[:2] @ end[:2] - 1) < 1e-14
    run = dd.simulate(m, 0.15, inputs={"force": 0.3}, method="rk4", step=0.05)
    np.testing.assert_allclose(end[:2], run["q"][-1], atol=1e-13)


def test_ipopt_uses_the_exact_hessian():
    m = dd.Model("cart")
    y, v, a = m.state("y"), m.state("v"), m.state("a")
    u, k = m.input("u"), m.parameter("k", 1.0)
    m.equation([m.der(y), m.der(v), m.der(a)], [v, ca.sin(y) * k + u, -a + y * v])
    intervals, ends = 20, {}
    for name, exact in (("ours", True), ("unrolled", False)):
        f = dd.flow(m, 0.1, "rk4")
        phi = f if exact else unrolled(f.system, dd.tableau("rk4"), 0.1, 1)
        x, u = ca.MX.sym("x", 3, intervals + 1), ca.MX.sym("u", 1, intervals)
        gaps = [x[:, 0] - ca.DM([1, 0, 0])] + [x[:, i + 1] - phi(x[:, i], u[:, i], 1.0) for i in range(intervals)]
        problem = {"x": ca.veccat(x, u), "f": ca.sumsqr(u) + 10 * ca.sumsqr(x[:, -1]), "g": ca.vertcat(*gaps)}
        solver = ca.nlpsol("s", "ipopt", problem, {"ipopt.print_level": 0, "print_time": False})
        solution = solver(x0=0.1, lbg=0, ubg=0)
        assert solver.stats()["success"]
        ends[name] = (float(solution["f"]), solver.stats()["iter_count"])
    assert ends["ours"][0] == pytest.approx(ends["unrolled"][0], rel=1e-10)
    assert ends["ours"][1] == ends["unrolled"][1]


def test_map_over_threads_and_python_threads():
    model, x, u, p = quadrotor_point()
    f = dd.flow(model, STEP, "radau5")
    many = x[:, None] + 0.01 * np.cos(np.arange(13 * 64).reshape(13, 64))
    one_by_one = np.hstack([f(column, u, p).full() for column in many.T])
    threaded = f.map(64, "thread", 4)
    np.testing.assert_array_equal(threaded(many, np.tile(u, (64, 1)).T, np.tile(p, (64, 1)).T).full(), one_by_one)
    w = ca.MX.sym("w", 13, 64)
    total = ca.sum2(ca.sum1(threaded(w, ca.repmat(ca.DM(u), 1, 64), ca.repmat(ca.DM(p), 1, 64)) ** 2))
    gradient = ca.Function("g", [w], [ca.gradient(total, w)])
    results: list[np.ndarray] = []
    workers = [threading.Thread(target=lambda: results.append(gradient(many).full())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 4
    assert all(np.array_equal(result, results[0]) for result in results)


def test_pickled_flow_is_made_again():
    model, x, u, p = quadrotor_point()
    f = dd.flow(model, STEP, "gauss2", 2)
    again = pickle.loads(pickle.dumps(f))
    assert again.labels == f.labels
    np.testing.assert_array_equal(again(x, u, p).full(), f(x, u, p).full())


def test_a_flow_of_another_process_is_refused(tmp_path):
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    f = dd.flow(m, 0.1)
    place = ca.MX.sym("x")
    ca.Function("outer", [place], [f(place, [], [])]).save(str(tmp_path / "outer.casadi"))
    program = f"import casadi as ca; ca.Function.load({str(tmp_path / 'outer.casadi')!r})(1.0)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "make it again with dd.flow" in ended.stderr


def test_a_text_of_a_flow_that_is_gone_never_finds_another_one(capfd):
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    f = dd.flow(m, 0.1)
    y = ca.MX.sym("y")
    inside = ca.Function("outer", [y], [2 * f(y, [], [])])
    texts = [g.serialize() for g in (f, f.jacobian(), inside, inside.jacobian())]
    # While the flow is there its text is the flow.
    assert float(ca.Function.deserialize(texts[2])(1.0)) == 2 * float(f(1.0, [], []))
    del f, inside
    in_use = _core.flow_slots_in_use()
    others = [dd.flow(m, 0.5) for _ in range(3)]
    assert _core.flow_slots_in_use() == in_use + 3
    for text in texts:
        with pytest.raises(RuntimeError, match="config failed"):
            ca.Function.deserialize(text)
    assert "make it again with dd.flow" in capfd.readouterr().err
    assert _core.flow_slots_in_use() == in_use + 3
    others.clear()
    assert _core.flow_slots_in_use() == in_use


@pytest.mark.wide
def test_slots_are_given_back():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -(x**2))
    before = _core.flow_slots_in_use()
    for step in np.linspace(0.01, 0.1, 2 * _core.flow_slot_count):
        f = dd.flow(m, step)
    assert _core.flow_slots_in_use() == before + 1
    # A derivative keeps the slot although the flow itself is gone.
    y = ca.MX.sym("y")
    slope = ca.Function("slope", [y], [ca.hessian(f(y, [], []), y)[0]])
    expected = float(slope(0.7))
    del f
    for step in np.linspace(0.01, 0.1, 5):
        dd.flow(m, step)
    assert float(slope(0.7)) == expected
    assert _core.flow_slots_in_use() == before + 1


def test_exhausted_slots_are_named():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    free = _core.flow_slot_count - _core.flow_slots_in_use()
    kept = [dd.flow(m, step) for step in np.linspace(0.01, 0.1, free)]
    with pytest.raises(SolverError, match=f"There are {_core.flow_slot_count} flows already"):
        dd.flow(m, 0.2)
    kept.clear()
    assert float(dd.flow(m, 0.1, "euler")(1.0, [], [])) == pytest.approx(0.9)


def test_newton_failure_is_reported():
    m = dd.Model("no solution")
    x, z = m.state("x", start=1.0), m.algebraic("z")
    m.equation(m.der(x), -z)
    m.equation(z**2 + z**4, -x)
    f = dd.flow(m, 0.1, "implicit_euler")
    with pytest.raises(RuntimeError, match="failed"):
        f(1.0, [], [])
    assert f.core.value([1.0], [], []) is None
    assert np.isfinite(f.core.value([-1.0], [], [])).all()


def test_stiff_step_from_far_away_converges():
    m = dd.Model("stiff")
    x = m.state("x", start=1.0)
    k = m.parameter("k", 1e6)
    m.equation(m.der(x), -k * (x**3 - 1) - ca.exp(x))
    end = dd.flow(m, 10.0, "implicit_euler")
    found = float(end(5.0, [], [1e6]))
    assert found - 5 - 10 * (-1e6 * (found**3 - 1) - np.exp(found)) == pytest.approx(0, abs=1e-4)


def test_time_dependent_models():
    m = dd.Model("driven")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), ca.cos(m.time))
    with pytest.raises(InputError, match="depends on time, and t0 is not given"):
        dd.flow(m, 0.1)
    f = dd.flow(m, 0.1, "dopri5", steps=10, t0=0.5)
    assert float(f(0.0, [], [])) == pytest.approx(np.sin(1.5) - np.sin(0.5), abs=1e-9)


def test_bad_requests_are_refused():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    for arguments, message in (
        ({"step": 0.0}, "step must be a positive number"),
        ({"step": float("nan")}, "step must be a positive number"),
        ({"step": 0.1, "steps": 0}, "steps must be a whole number"),
        ({"step": 0.1, "method": 4}, "method= is a name or a Tableau"),
        ({"step": 0.1, "method": dd.Tableau([[0]], [2], [0])}, "is not consistent"),
        ({"step": 0.1, "t0": float("inf")}, "t0 must be a finite number"),
    ):
        with pytest.raises(InputError, match=message):
            dd.flow(m, **arguments)
    with pytest.raises(InputError):
        dd.flow(m, 0.1, "bdf")
    with pytest.raises(RuntimeError, match="mismatching shape"):
        dd.flow(m, 0.1)([1.0, 2.0], [], [])
    m.event("half", x - 0.5)
    with pytest.raises(InputError, match="A flow does not support events"):
        dd.flow(m, 0.1)
