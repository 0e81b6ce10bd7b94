"""The noise an estimator gathers over an interval, against SciPy's Lyapunov equations and integrated covariances."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm, solve_continuous_lyapunov

import daedalus as dd

KINDS = ("ekf", "mhe")


def foreseen(m, every, kind="ekf", steps=1, outputs=None, u=None, **options):
    """The state and covariance after intervals without measurements."""
    names = outputs or [v.name for v in m.freeze().of_kind("state")][:1]
    estimator = dd.Estimator(m, names, kind=kind, every=every, **options)
    rows = len(estimator._noise)
    for _ in range(steps + 1):
        estimator(np.full(rows, np.nan), u)
    return estimator.state, estimator.covariance


def linear(A: np.ndarray, start: np.ndarray) -> dd.Model:
    m = dd.Model("linear")
    x = m.state("x", len(A), start=start.tolist())
    m.equation(m.der(x), ca.mtimes(ca.DM(A), x))
    return m


def integrated(f, x0, P0, Q, length, method="DOP853"):
    """x and P' = A P + P Aᵀ + Q by SciPy; f a function of casadi symbols."""
    n = len(x0)
    s, t = ca.SX.sym("x", n), ca.SX.sym("t")
    rhs = ca.vertcat(*f(t, s))
    numbers = ca.Function("f", [t, s], [rhs, ca.jacobian(rhs, s)])

    def both(time, y):
        value, A = numbers(time, y[:n])
        P, A = y[n:].reshape(n, n), A.full()
        return np.concatenate([value.full().ravel(), (A @ P + P @ A.T + Q).ravel()])

    y0 = np.concatenate([x0, np.asarray(P0).ravel()])
    found = solve_ivp(both, (0.0, length), y0, method, rtol=1e-9, atol=1e-12).y[:, -1]
    return found[:n], found[n:].reshape(n, n)


def close(found, expected, rtol=1e-6):
    """Whether covariances agree in the deviations that they tell of."""
    sizes = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.all(np.abs(found - expected) <= rtol * sizes + 1e-300), (found, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rate", "every"), [(10.0, 1.0), (1e3, 1.0), (1e-3, 1.0), (1e9, 3.0), (0.5, 40.0)])
def test_a_decay_settles_at_its_variance(kind, rate, every):
    m = dd.Model("decay")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), -rate * x)
    _, P = foreseen(m, every, kind, start_covariance=0.0, process_noise=1.0)
    assert P[0, 0] == pytest.approx(-np.expm1(-2 * rate * every) / (2 * rate), rel=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_linear_plants_of_any_stiffness_and_interval(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 6))
    rates = -(10.0 ** random.uniform(-1, 1 + 4 * (seed % 2), n))
    A = np.diag(rates) + np.triu(random.normal(size=(n, n)), 1) * np.sqrt(np.abs(np.outer(rates, rates)))
    A[:2, :2] = np.array([[0.0, 1.0], [-(10.0 ** random.uniform(-1, 3)), -0.1]])
    turn = np.linalg.qr(random.normal(size=(n, n)))[0]
    A = turn @ A @ turn.T
    half, start = random.normal(size=(n, n)), random.normal(size=n)
    Q, P0 = half @ half.T, np.diag(random.uniform(0, 1, n))
    every = float(10.0 ** random.uniform(-2, 1))
    x, P = foreseen(linear(A, start), every, KINDS[seed % 2], start_covariance=P0, process_noise=Q)
    rest, F = solve_continuous_lyapunov(A, -Q), expm(A * every)
    close(P, rest + F @ (P0 - rest) @ F.T, 1e-6)
    np.testing.assert_allclose(x, F @ start, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("every", [2e-3, 2e-2, 0.2])
def test_a_motor_that_is_sampled_slowly(every):
    m = dd.Model("motor")
    w, i, u = m.state("speed", start=0.0), m.state("current", start=0.0), m.input("voltage")
    m.equation(m.der(w), (0.05 * i - 1e-4 * w) / 1e-4)
    m.equation(m.der(i), (u - 1.0 * i - 0.05 * w) / 2e-3)
    A, Q = np.array([[-1.0, 500.0], [-25.0, -500.0]]), np.diag([0.0, 1.0])
    _, P = foreseen(m, every, start_covariance=0.0, process_noise={"current": 1.0}, u=[0.0])
    rest, F = solve_continuous_lyapunov(A, -Q), expm(A * every)
    close(P, rest - F @ rest @ F.T)


def van_der_pol(mu):
    return lambda t, x: [x[1], mu * ((1 - x[0] ** 2) * x[1] - x[0])]


NONLINEAR = {
    "pendulum": (lambda t, x: [x[1], -9.81 * ca.sin(x[0]) - 0.2 * x[1]], [2.0, 0.0], 1.3, "DOP853"),
    "driven by time": (lambda t, x: [-(1 + ca.cos(3 * t)) * x[0] + x[1], -ca.sin(t) * x[1] ** 3], [1.0, 1.0], 2.0,
        "DOP853"),
    "stiff": (lambda t, x: [-1e5 * (x[0] - ca.cos(x[1])), -x[1]], [0.0, 1.0], 0.5, "Radau"),
    "van der Pol": (van_der_pol(100.0), [2.0, 0.0], 0.3, "Radau"),
    "at rest": (lambda t, x: [-20 * ca.sinh(x[0]), x[0] - x[1]], [0.0, 0.0], 1.0, "DOP853"),
    "corner": (lambda t, x: [x[1], -4 * ca.fmax(x[0], 0.3 * x[0]) - 0.1 * x[1]], [1.0, 0.0], 2.0, "DOP853"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NONLINEAR)
def test_nonlinear_models_have_the_covariance_that_is_integrated(name, kind):
    f, start, every, method = NONLINEAR[name]
    m = dd.Model(name)
    x = m.state("x", len(start), start=start)
    m.equation(m.der(x), ca.vertcat(*f(m.time, x)))
    P0, Q = np.diag([0.02, 0.01]), np.array([[0.3, 0.1], [0.1, 0.5]])
    state, P = foreseen(m, every, kind, start_covariance=P0, process_noise=Q)
    expected, covariance = integrated(f, start, P0, Q, every, method)
    np.testing.assert_allclose(state, expected, rtol=1e-6, atol=1e-7)
    close(P, covariance, 1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_random_nonlinear_models(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 4))
    A, B, C = random.normal(size=(n, n)), random.normal(size=(n, n)), 10.0 ** random.uniform(0, 2, n)

    def f(t, x):
        return ca.vertsplit(ca.mtimes(ca.DM(A), ca.tanh(ca.mtimes(ca.DM(B), x))) - ca.DM(C) * x + ca.sin(2 * t))

    m = dd.Model("network")
    x = m.state("x", n, start=random.normal(size=n).tolist())
    m.equation(m.der(x), ca.vertcat(*f(m.time, x)))
    half, every = random.normal(size=(n, n)), float(10.0 ** random.uniform(-1.5, 0.5))
    Q, P0 = half @ half.T, np.diag(random.uniform(0, 1, n))
    state, P = foreseen(m, every, KINDS[seed % 2], start_covariance=P0, process_noise=Q)
    expected, covariance = integrated(f, np.array(m.freeze().start["x"]), P0, Q, every, "Radau")
    np.testing.assert_allclose(state, expected, rtol=1e-5, atol=1e-6)
    close(P, covariance, 1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pendulum_on_its_rod_has_the_noise_of_its_angle(kind):
    """Noise in the velocity of a point on a circle is noise in its angular rate, along the circle."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    density = {"q_dot[0]": 0.04, "q_dot[1]": 0.04}
    state, P = foreseen(m, 0.8, kind, outputs=["q[0]"], start_covariance=0.0, process_noise=density)
    f = lambda t, x: [x[1], -9.81 * ca.cos(x[0])]  # noqa: E731
    angle, covariance = integrated(f, [0.0, 0.0], np.zeros((2, 2)), np.diag([0.0, 0.04]), 0.8)
    a, w = angle
    T = np.array([[-np.sin(a), 0], [np.cos(a), 0], [-w * np.cos(a), -np.sin(a)], [-w * np.sin(a), np.cos(a)]])
    np.testing.assert_allclose(state, [np.cos(a), np.sin(a), -w * np.sin(a), w * np.cos(a)], atol=1e-6)
    close(P, T @ covariance @ T.T, 1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("formula", [True, False])
def test_a_model_with_algebraic_variables(kind, formula):
    """A capacitor over a diode: its current follows from the voltage, with a formula or by a solve."""
    m = dd.Model("leak")
    v, i = m.state("v", start=1.0), m.algebraic("i", start=0.5)
    m.equation(m.der(v), -2 * i)
    m.equation(0, i - ca.sinh(v) if formula else i + 0.3 * i**3 - v)
    if formula:
        f = lambda t, x: [-2 * ca.sinh(x[0])]  # noqa: E731
    else:  # Cardano's root of i + 0.3 i³ = v
        root = lambda v: ca.sqrt(v**2 / 0.36 + 1 / 0.729)  # noqa: E731
        f = lambda t, x: [-2 * (cube(x[0] / 0.6 + root(x[0])) - cube(-x[0] / 0.6 + root(x[0])))]  # noqa: E731
    state, P = foreseen(m, 0.9, kind, outputs=["i"], start_covariance=0.1, process_noise=0.3)
    expected, covariance = integrated(f, [1.0], [[0.1]], np.array([[0.3]]), 0.9)
    np.testing.assert_allclose(state, expected, rtol=1e-6)
    close(P, covariance, 1e-5)


def cube(value):
    return ca.exp(ca.log(value) / 3)


def test_noise_through_a_bounce():
    """Before the bounce noise is gathered as in free fall, behind it what came is turned by the saltation matrix."""
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation([m.der(h), m.der(v)], [v, -9.81])
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    P0, Q, every = np.diag([0.01, 0.02]), np.diag([0.03, 0.05]), 0.7
    _, P = foreseen(m, every, outputs=["h"], start_covariance=P0, process_noise=Q)

    def fall(P, t):
        F = np.array([[1, t], [0, 1]])
        N = np.array([[Q[0, 0] * t + Q[1, 1] * t**3 / 3, Q[1, 1] * t**2 / 2], [Q[1, 1] * t**2 / 2, Q[1, 1] * t]])
        return F @ P @ F.T + N

    touch = np.sqrt(2 / 9.81)
    speed = -9.81 * touch
    # S = R + (f⁺ − R f⁻) ∇h / v⁻.
    S = np.diag([1.0, -0.8]) + np.outer([-0.8 * speed - speed, -9.81 - 0.8 * 9.81], [1 / speed, 0.0])
    close(P, fall(S @ fall(P0, touch) @ S.T, every - touch), 1e-4)


def test_noise_through_a_jump_in_the_equations():
    m = dd.Model("two speeds")
    x = m.state("x", start=-1.0)
    m.equation(m.der(x), ca.if_else(x < 0, 1.0, 3.0))
    _, P = foreseen(m, 1.5, start_covariance=0.01, process_noise=0.1)
    # What came before the jump is stretched with the speed.
    assert P[0, 0] == pytest.approx(9 * (0.01 + 0.1 * 1.0) + 0.1 * 0.5, rel=1e-4)


def test_noise_of_a_model_driven_by_a_signal():
    m = dd.Model("heated")
    x, u = m.state("x", start=0.5), m.input("u")
    m.equation(m.der(x), -(1 + u) * x**3)
    table = dd.signal([0.0, 0.4, 1.0], [0.0, 2.0, 1.0], "linear")
    estimator = dd.Estimator(m, ["x"], start_covariance=0.1, process_noise=0.2, every=0.9, inputs={"u": table})
    for _ in range(2):
        estimator([np.nan])
    drive = lambda t: ca.if_else(t < 0.4, 5 * t, 2 - (t - 0.4) / 0.6)  # noqa: E731
    f = lambda t, x: [-(1 + drive(t)) * x[0] ** 3]  # noqa: E731
    expected, covariance = integrated(f, [0.5], [[0.1]], np.array([[0.2]]), 0.9)
    np.testing.assert_allclose(estimator.state, expected, rtol=1e-6)
    close(estimator.covariance, covariance, 1e-5)


def test_an_interval_in_pieces_is_the_same_interval():
    m = dd.Model("pendulum")
    a, w = m.state("a", start=1.0), m.state("w", start=0.0)
    m.equation([m.der(a), m.der(w)], [w, -9.81 * ca.sin(a)])
    once = foreseen(m, 1.2, outputs=["a"], process_noise=0.1)
    often = foreseen(m, 0.1, outputs=["a"], process_noise=0.1, steps=12)
    np.testing.assert_allclose(once[0], often[0], rtol=1e-6)
    close(once[1], often[1], 1e-5)
