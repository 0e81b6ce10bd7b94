"""Controllers are judged by what their loops cost: against regulators, and against whole searches in the loop."""

import casadi as ca
import numpy as np
import pytest
import scipy.linalg

import daedalus as dd
from daedalus.optimisation.program.gauss_newton import cost_curvature

EVERY = 0.1


def linear(random, n, inputs):
    """x' = A x + B u, not too fast for the steps."""
    A = random.normal(size=(n, n)) - 0.3 * np.eye(n)
    B = random.normal(size=(n, inputs))
    m = dd.Model("linear")
    x, u = m.state("x", n, start=np.zeros(n)), m.input("u", inputs)
    gain, wanted = m.parameter("gain", 1.0), m.input("wanted", n)
    m.equation(m.der(x), ca.mtimes(A, x) + ca.mtimes(B, u))
    return m, x, u, gain, wanted, A, B


def weights(random, n, inputs):
    root = random.normal(size=(n + inputs, n + inputs))
    W = root @ root.T + 0.1 * np.eye(n + inputs)
    return W[:n, :n], W[n:, n:], W[:n, n:]


def quadratic(matrix, v, form):
    """vᵀ M v in one of the ways in which it is written."""
    M = ca.DM(matrix)
    if form == "matrix":
        return v.T @ M @ v
    if form == "sum":
        return sum(matrix[i, j] * v[i] * v[j] for i in range(len(matrix)) for j in range(len(matrix)))
    root = ca.DM(np.linalg.cholesky(matrix).T)
    return ca.sumsqr(ca.mtimes(root, v))


@pytest.mark.parametrize("seed", range(6))
def test_linear_quadratic_controllers_are_the_regulator(seed):
    random = np.random.default_rng(seed)
    n, inputs = int(random.integers(1, 5)), int(random.integers(1, 3))
    m, x, u, gain, wanted, A, B = linear(random, n, inputs)
    Q, R, S = weights(random, n, inputs)
    mode, most = (("real_time", 1e-3), ("full", 1e-3))[seed % 2]
    P, forms = scipy.linalg.solve_continuous_are(A, B, Q, R, s=S), ("matrix", "sum", "squares")
    ocp = dd.OptimalControl(m, 1.0, 10)
    ocp.given("wanted", np.zeros(n))
    running = quadratic(Q, x - wanted, forms[seed % 3]) + quadratic(R, u, forms[(seed + 1) % 3])
    ocp.minimise(running=gain * (running + 2 * (x - wanted).T @ ca.DM(S) @ u))
    # The final cost belongs to the reference too; constants and linear terms change no curvature.
    target = random.normal(size=n)
    ocp.minimise(final=gain * quadratic(P, x - target, forms[(seed + 2) % 3]))
    controller = dd.Controller(ocp, every=EVERY, mode=mode)
    assert controller.notes == ()
    for k, start in enumerate((random.normal(size=n), random.normal(size=n))):
        wish = (target * k, np.zeros(n))[k == 0]
        answer = controller(start, t=EVERY * k, given={"wanted": wish}, parameters={"gain": 1.0 + k})
        assert answer == pytest.approx(held_regulator(A, B, Q, R, S, P, start, wish, target), rel=most, abs=most)
    assert controller.work.searches == 1


def held_regulator(A, B, Q, R, S, P, start, wish, target):
    """The first input of the best ten held ones, by a dense least-squares problem on a fine grid of each interval."""
    n, inputs = B.shape
    points, count = 20, 10
    h = EVERY / points
    step = scipy.linalg.expm(h * np.block([[A, B], [np.zeros((inputs, n + inputs))]]))
    root = np.linalg.cholesky(np.block([[Q, S], [S.T, R]])).T
    # z = (x, u) along the fine grid as G w + g, with w all inputs; Simpson's weights on each interval.
    G, g, rows, right = np.zeros((n, inputs * count)), start.copy(), [], []
    for k in range(count):
        pick = np.zeros((inputs, inputs * count))
        pick[:, inputs * k : inputs * (k + 1)] = np.eye(inputs)
        for j in range(points + 1):
            weight = h / 3 * (1 if j in (0, points) else 4 if j % 2 else 2)
            rows.append(np.sqrt(weight) * root @ np.vstack([G, pick]))
            right.append(-np.sqrt(weight) * root @ np.concatenate([g - wish, np.zeros(inputs)]))
            if j < points:
                G, g = step[:n, :n] @ G + step[:n, n:] @ pick, step[:n, :n] @ g
    last = np.linalg.cholesky(P).T
    rows.append(last @ G)
    right.append(-last @ (g - target))
    return np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0][:inputs]


@pytest.mark.parametrize("seed", [-21, 0, 1, 2])
def test_bounded_linear_controllers_cost_what_whole_searches_do(seed):
    random = np.random.default_rng(100 + seed)
    n = int(random.integers(2, 4))
    m, x, u, _, _wanted, A, B = linear(random, n, 1)
    Q, R, _ = weights(random, n, 1)
    P = 5 * Q
    ocp = dd.OptimalControl(m, 1.0, 10)
    ocp.given("wanted", np.zeros(n))
    ocp.bound("u", -0.4, 0.6)
    ocp.minimise(running=quadratic(Q, x, "sum") + R[0, 0] * u**2, final=quadratic(P, x, "matrix"))
    controller = dd.Controller(ocp, every=EVERY)
    state = random.normal(size=n)
    whole = scipy.linalg.expm(EVERY * np.block([[A, B], [np.zeros((1, n + 1))]]))
    for k in range(8):
        answer = controller(state, t=EVERY * k)
        ocp.start({"x": state})
        best = ocp.solve("shooting", "ipopt")
        assert answer == pytest.approx(best["u"][0], abs=1e-5), k
        state = whole[:n] @ np.concatenate([state, answer])


@pytest.mark.parametrize("seed", [0, 9, 11])
def test_calls_with_a_fixed_end_solve_their_quadratic_program(seed):
    """Of a linear plant one quadratic program is the whole problem: its answer is that of a search."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 4))
    A, B = 0.7 * random.normal(size=(n, n)), random.normal(size=n)
    m = dd.Model("linear")
    x, u = m.state("x", n, start=random.normal(size=n)), m.input("u")
    m.equation(m.der(x), ca.mtimes(A, x) + ca.DM(B) * u)
    ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
    ocp.finish({f"x[{k}]": 0.0 for k in range(n)})
    ocp.minimise(running=u**2 + 0.1 * ca.sumsqr(x))
    ocp.bound(u, -60, 60)
    controller, state = dd.Controller(ocp, every=EVERY), random.normal(size=n)
    controller(state, 0.0)
    state = state + 0.05 * random.normal(size=n)
    found = controller(state, EVERY)
    assert (controller.status, controller.work.searches) == ("solved", 1)
    ocp.start({"x": state})
    plan = ocp.solve(method="shooting", step_method="rk4", steps=2)
    assert plan.success
    np.testing.assert_allclose(found[0], plan["u"][0], rtol=1e-6)


def cart_pendulum(start, cost):
    """A cart with a pole above it; `cost`: (x, u, P) -> what is minimised, with P that of the regulator above."""
    m = dd.Model("cart and pole")
    x = ca.vertcat(*(m.state(name, start=value) for name, value in zip(("place", "angle", "speed", "turn"), start)))
    u = m.input("u")
    s, c, w = ca.sin(x[1]), ca.cos(x[1]), x[3]
    share = 1.0 + 0.1 * s**2
    speeding = (u + 0.1 * s * (0.5 * w**2 - 9.81 * c)) / share
    turning = (-u * c - 0.05 * w**2 * c * s + 1.1 * 9.81 * s) / (0.5 * share)
    rates = ca.vertcat(x[2], w, speeding, turning)
    m.equation(m.der(m["place"]), rates[0])
    for k, name in enumerate(("angle", "speed", "turn"), start=1):
        m.equation(m.der(m[name]), rates[k])
    A, B = (part.full() for part in ca.Function("f", [x, u], [ca.jacobian(rates, x), ca.jacobian(rates, u)])(0, 0))
    Q, R = np.diag([1.0, 10.0, 0.1, 0.1]), np.array([[0.1]])
    running, final = cost(x, u, scipy.linalg.solve_continuous_are(A, B, Q, R))
    ocp = dd.OptimalControl(m, 1.0, 20)
    ocp.bound(u, -20.0, 20.0)
    ocp.minimise(running=running, final=final)
    return m, ocp, ca.Function("running", [x, u], [running])


COSTS = {
    "regulator behind it": lambda x, u, P: (x[0] ** 2 + 10 * x[1] ** 2 + 0.1 * (x[2] ** 2 + x[3] ** 2) + 0.1 * u**2,
                                            x.T @ ca.DM(P) @ x),
    "height of the pole": lambda x, u, P: (x[0] ** 2 + 20 * (1 - ca.cos(x[1])) + 0.1 * (x[2] ** 2 + x[3] ** 2)
                                           + 0.1 * u**2, x.T @ ca.DM(P) @ x),
    "a steep cup": lambda x, u, P: (x[0] ** 2 + 10 * ca.sin(x[1]) ** 2 + 5 * x[1] ** 4 + 0.1 * (x[2] ** 2 + x[3] ** 2)
                                    + 0.1 * u**2, ca.exp(0.1 * x[0]) + x.T @ ca.DM(P) @ x),
}  # fmt: skip


@pytest.mark.parametrize("name", COSTS)
def test_loops_of_a_cart_with_a_pole_cost_what_whole_searches_do(name):
    m, ocp, running = cart_pendulum([0.0, 0.3, 0.0, 0.0], COSTS[name])
    best = cost_of(searched_loop(m, ocp, 1.5), running)
    for mode in ("real_time", "full"):
        controller = dd.Controller(ocp, every=0.05, mode=mode)
        loop = dd.closed_loop(m, controller, 1.5, save_at=np.linspace(0.0, 1.5, 301))
        assert controller.work.solved == controller.work.calls
        assert cost_of(loop, running) == pytest.approx(best, rel=2e-3)


def cost_of(loop, running):
    states = np.stack([loop[name] for name in ("place", "angle", "speed", "turn")])
    return np.trapezoid(running(states, loop["u"][None]).full().ravel(), loop.time)


def searched_loop(m, ocp, span):
    """The same loop with a whole search by IPOPT at every sample."""

    class Searching(dd.Controller):
        def __call__(self, x, t=0.0, given=None, parameters=None):
            ocp.start(dict(zip(self.labels["x"], map(float, x))))
            plan = ocp.solve("shooting", "ipopt")
            assert plan.outcome.success
            return np.array([plan["u"][0]])

    return dd.closed_loop(m, Searching(ocp, every=0.05), span, save_at=np.linspace(0.0, span, round(200 * span) + 1))


@pytest.mark.parametrize("mode", ["real_time", "full"])
def test_a_pole_that_hangs_is_swung_up(mode):
    # Far from the target quadratic programs overshoot: their steps are shortened, and the loop arrives.
    m, _ocp, _ = cart_pendulum([0.0, np.pi, 0.0, 0.0], COSTS["height of the pole"])
    long = dd.OptimalControl(m, 2.0, 40)
    x = ca.vertcat(*(m[name] for name in ("place", "angle", "speed", "turn")))
    long.bound("u", -20.0, 20.0)
    running = x[0] ** 2 + 20 * (1 - ca.cos(x[1])) + 0.1 * (x[2] ** 2 + x[3] ** 2) + 0.1 * m["u"] ** 2
    long.minimise(running=running, final=50 * (1 - ca.cos(x[1])) + 5 * x[3] ** 2 + 5 * x[0] ** 2 + x[2] ** 2)
    controller = dd.Controller(long, every=0.05, mode=mode)
    loop = dd.closed_loop(m, controller, 5.0)
    assert np.cos(loop["angle"][-1]) > 0.999
    assert controller.work.solved == controller.work.calls


def test_what_counts_by_its_slope_only_is_named():
    m = dd.Model("cart")
    x, v, u = m.state("x", start=1.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])

    def notes(running, final):
        ocp = dd.OptimalControl(m, 1.0, 10)
        ocp.minimise(running=running, final=final)
        return dd.Controller(ocp, every=0.1).notes

    assert notes(x**2 + x * v + v**2 + u**2, 3 * (x - 1) ** 2 + ca.exp(x) + 2 * v) == ()
    (note,) = notes(x**2 + u**2, v**2 - 2 * x**2)
    assert note == "(-2*sq(x)) of the final cost counts by its slope only: it bends downwards"
    (note,) = notes(ca.fabs(x) + u**2, v**2)
    assert note == "fabs(x) of the running cost counts by its slope only: it is bent at kinks alone"
    (note,) = notes(u**2 - ca.cos(x), None)
    assert note == "(-cos(x)) of the running cost counts by its slope only wherever it bends downwards"
    (note,) = notes(u**2, 3 * x * v)
    assert (
        note
        == "the quadratic part of the final cost counts by its slope only in directions in which it bends downwards"
    )


def test_the_curvature_of_costs_is_that_of_their_convex_terms():
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p")
    random = np.random.default_rng(4)
    root = random.normal(size=(3, 3))
    P = root @ root.T
    shifted = x - ca.vertcat(p, 2.0, -1.0)
    cost = p * (shifted.T @ ca.DM(P) @ shifted) / 2 + x[0] ** 4 + (ca.sin(x[1]) - 0.3) ** 2 + 7 * x[2]
    matrix = ca.Function("curvature", [x, p], [cost_curvature(cost, x)])(np.array([1.0, 0.4, 2.0]), 3.0).full()
    wanted = 3.0 * P + np.diag([8.0, 2 * np.cos(0.4) ** 2, 0.0])
    assert matrix == pytest.approx(wanted)
