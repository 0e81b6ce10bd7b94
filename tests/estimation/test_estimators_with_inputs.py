"""Estimators of models with inputs of every kind against an independent Kalman filter of the linear plant.

Between samples x, P by matrix exponentials (C. F. Van Loan, IEEE Trans. Autom. Control 23, 1978), at samples by the
formulas of the textbook; nothing of the package is used.
"""

import copy
import pickle

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm
from tests.support.rings import examples

import daedalus as dd


class Filter:
    """x' = A x + B u + noise of density Q."""

    def __init__(self, A, B, Q, x, P):
        self.A, self.B, self.Q, self.x, self.P = A, B, Q, np.array(x, dtype=float), np.array(P, dtype=float)

    def over(self, length, u):
        n, m = self.B.shape
        large = expm(np.block([[-self.A, self.Q], [np.zeros((n, n)), self.A.T]]) * length)
        F = large[n:, n:].T
        G = expm(np.block([[self.A, self.B], [np.zeros((m, n + m))]]) * length)[:n, n:]
        self.x, self.P = F @ self.x + G @ u, F @ self.P @ F.T + F @ large[:n, n:]

    def jump(self, J, b):
        self.x, self.P = J @ self.x + b, J @ self.P @ J.T

    def take_in(self, y, H, expected, R):
        seen = np.isfinite(y)
        H, R = H[seen], R[np.ix_(seen, seen)]
        if len(H):
            gain = np.linalg.solve(H @ self.P @ H.T + R, H @ self.P).T
            rest = np.eye(len(self.x)) - gain @ H
            self.x, self.P = self.x + gain @ (y - expected)[seen], rest @ self.P @ rest.T + gain @ R @ gain.T


def inputs(m, count, how):
    """Inputs in one vector: one by one, as a vector, or both."""
    if how == 0:
        return ca.vertcat(*(m.input(f"u{k}") for k in range(count)))
    if how == 1 or count == 1:
        return m.input("u", count)
    return ca.vertcat(m.input("a"), m.input("b", count - 1))


def ode(m, A, B, x0, u, random):
    x = m.state("x", len(A), start=x0.tolist())
    m.equation(m.der(x), ca.mtimes(ca.DM(A), x) + ca.mtimes(ca.DM(B), u))
    return x


def implicit(m, A, B, x0, u, random):
    x, M = m.state("x", len(A), start=x0.tolist()), random.normal(size=A.shape) + 3 * np.eye(len(A))
    m.equation(ca.mtimes(ca.DM(M), m.der(x)), ca.mtimes(ca.DM(M @ A), x) + ca.mtimes(ca.DM(M @ B), u))
    return x


def index_1(m, A, B, x0, u, random):
    """The rates are algebraic, of a nonlinear equation that has the linear plant as its solution."""
    x, z = m.state("x", len(A), start=x0.tolist()), m.algebraic("z", len(A))
    m.equation(m.der(x), z + 0.1 * z**3)
    m.equation(z + 0.1 * z**3, ca.mtimes(ca.DM(A), x) + ca.mtimes(ca.DM(B), u))
    return x


FORMS = (ode, implicit, index_1)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("seed", range(examples(3)))
def test_random_plants_with_changing_inputs(seed, form):
    random = np.random.default_rng([seed, FORMS.index(form)])
    n, count, rows = (int(random.integers(1, top)) for top in (5, 4, 3))
    A, B = random.normal(size=(n, n)) - 1.5 * np.eye(n), random.normal(size=(n, count))
    H, D = random.normal(size=(rows, n)), random.normal(size=(rows, count)) * (seed % 2)
    x0, half, every = random.normal(size=n), random.normal(size=(n, n)), float(10 ** random.uniform(-1.5, 0.5))
    Q, P0, R = half @ half.T, np.diag(random.uniform(0.1, 1, n)), np.diag(random.uniform(0.01, 1, rows))
    m = dd.Model("plant")
    u = inputs(m, count, seed % 3)
    x = form(m, A, B, x0, u, random)
    m.output("y", ca.mtimes(ca.DM(H), x) + ca.mtimes(ca.DM(D), u))
    estimator = dd.Estimator(
        m, ["y"], start_covariance=P0, process_noise=Q, measurement_noise=R, kind=("ekf", "mhe")[seed % 2],
        every=every, horizon=4,
    )  # fmt: skip
    right, drive, measured = Filter(A, B, Q, x0, P0), random.normal(size=(7, count)), random.normal(size=(7, rows))
    measured[3, 0] = np.nan
    for k, (y, held) in enumerate(zip(measured, drive)):
        if k:
            right.over(every, drive[k - 1])
        right.take_in(y, H, H @ right.x + D @ drive[max(k - 1, 0)], R)
        if k in (2, 4):
            estimator = pickle.loads(pickle.dumps(estimator)) if k == 2 else copy.deepcopy(estimator)
        np.testing.assert_allclose(estimator(y, held), right.x, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(estimator.covariance, right.P, rtol=1e-4, atol=1e-5 * np.abs(right.P).max())


@pytest.mark.parametrize("index", [2, 3])
@pytest.mark.parametrize("kind", ["ekf", "mhe"])
def test_driven_plants_on_a_constraint(index, kind):
    """A bead on a line, by positions (index 3) or by velocities that friction alone gives it (index 2)."""
    m, along = dd.Model("bead"), np.array([0.6, 0.8])
    x, rod, push = m.state("x", 2, start=[0, 0]), m.algebraic("rod"), m.input("push", 2)
    across = ca.DM([0.8, -0.6])
    m.equation(ca.dot(across, x), 0)
    if index == 3:
        v = m.state("v", 2, start=[0, 0])
        m.equation(m.der(x), v)
        m.equation(m.der(v), push / 2 - 1.5 * x + rod * across)
        A, B, noisy = np.array([[0, 1], [-1.5, 0]]), np.vstack([np.zeros(2), along / 2]), ["v[0]", "v[1]"]
    else:
        m.equation(m.der(x), push - x + rod * across)
        A, B, noisy = np.array([[-1.0]]), along[None, :], ["x[0]", "x[1]"]
    n = len(A)
    estimator = dd.Estimator(
        m, ["x[0]"], start_covariance=0.5, process_noise=dict.fromkeys(noisy, 0.04), measurement_noise=0.1, every=0.3,
        kind=kind,
    )  # fmt: skip
    right = Filter(A, B, np.diag([0.0, 0.04][-n:]), np.zeros(n), 0.5 * np.eye(n))
    random, H = np.random.default_rng(1), np.eye(1, n) * 0.6
    drive = random.normal(size=(5, 2))
    for k, (y, held) in enumerate(zip(random.normal(size=(5, 1)), drive)):
        if k:
            right.over(0.3, drive[k - 1])
        right.take_in(y, H, H @ right.x, np.array([[0.1]]))
        found = estimator(y, {"push": held})
        np.testing.assert_allclose(found.reshape(n, 2) @ along, right.x, atol=1e-6)


def test_a_motor_of_parts_with_two_inputs():
    C, R, m = dd.components.electrical, dd.components.rotational, dd.Model("drive")
    voltage, load = m.input("voltage"), m.input("load")
    source, ground = m.add(C.VoltageSource("source", voltage=voltage)), m.add(C.Ground("ground"))
    motor = m.add(dd.components.machines.DCMotor("motor", resistance=1.0, inductance=0.1, constant=0.5, inertia=0.2))
    brake = m.add(R.TorqueSource("brake", torque=-load))
    m.connect(source.plus, motor.plus)
    m.connect(source.minus, motor.minus, ground.pin)
    m.connect(motor.shaft, brake.shaft)
    estimator = dd.Estimator(
        m, ["source.current"], start_covariance=0.5, process_noise=0.04, measurement_noise=0.1, every=0.2
    )
    order = ["motor.current", "motor.angle", "motor.angle_dot"]
    places = [estimator.labels["x"].index(name) for name in order]
    A = np.array([[-10.0, 0, -5.0], [0, 0, 1.0], [2.5, 0, 0]])
    right = Filter(A, np.array([[10.0, 0], [0, 0], [0, -5.0]]), 0.04 * np.eye(3), np.zeros(3), 0.5 * np.eye(3))
    random, H = np.random.default_rng(2), np.array([[-1.0, 0, 0]])
    drive = random.normal(size=(6, 2))
    for k, (y, held) in enumerate(zip(random.normal(size=(6, 1)), drive)):
        if k:
            right.over(0.2, drive[k - 1])
        right.take_in(y, H, H @ right.x, np.array([[0.1]]))
        found = estimator(y, {"voltage": held[0], "load": held[1]})
        np.testing.assert_allclose(found[places], right.x, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("every", [0.1, 0.2, 0.05, 0.15])
@pytest.mark.parametrize("kind", ["ekf", "mhe"])
def test_a_sampled_loop_with_an_input(every, kind):
    """A clock with a memory: ticks at the time of a call come after its measurement, with its inputs."""
    A, B, gains, period = np.array([[0.0, 1.0], [-2.0, -0.3]]), np.array([0.0, 1.0]), np.array([-0.8, -0.4]), 0.1
    m = dd.Model("loop")
    x, u, wish = m.state("x", 2, start=[0.4, 0.0]), m.discrete("u", start=0.2), m.input("wish")
    memory, count = m.discrete("memory", start=0.1), m.discrete("count", start=0)
    m.equation(m.der(x), ca.mtimes(ca.DM(A), x) + ca.DM(B) * u)
    fresh = memory + 0.2 * (wish - x[0])
    m.every(period, {"u": ca.dot(ca.DM(gains), x) + fresh, "memory": fresh, "count": count + 1})
    estimator = dd.Estimator(
        m, ["x[0]"], start_covariance={"x[0]": 0.3, "x[1]": 0.2, "memory": 0.1}, process_noise=0.05,
        measurement_noise=0.01, every=every, kind=kind, horizon=4,
    )  # fmt: skip
    assert estimator.labels["x"] == ("x[0]", "x[1]", "u", "memory", "count")
    whole = np.zeros((4, 4))
    whole[:2, :2], whole[:2, 2] = A, B
    tick = np.eye(4)
    tick[2] = [gains[0] - 0.2, gains[1], 0, 1]
    tick[3] = [-0.2, 0, 0, 1]
    Q = np.diag([0.05, 0.05, 0, 0])
    right = Filter(whole, np.zeros((4, 1)), Q, [0.4, 0.0, 0.2, 0.1], np.diag([0.3, 0.2, 0.0, 0.1]))
    random, H, ticked, now = np.random.default_rng(3), np.eye(1, 4), 0, 0.0
    for y, wished in zip(random.normal(size=(6, 1)), random.normal(size=6)):
        right.take_in(y, H, H @ right.x, np.array([[0.01]]))
        found = estimator(y, [wished])
        np.testing.assert_allclose(found[:4], right.x, rtol=1e-5, atol=1e-5)
        assert found[4] == pytest.approx(ticked, abs=1e-12)
        end = now + every
        while ticked * period < end - 1e-9:
            if ticked * period > now + 1e-9:
                right.over(ticked * period - now, np.zeros(1))
                now = ticked * period
            right.jump(tick, np.array([0, 0, 0.2 * wished, 0.2 * wished]))
            ticked += 1
        right.over(end - now, np.zeros(1))
        now = end


def test_modes_are_followed_and_not_corrected():
    """A thermostat whose heater is a mode; measurements correct the temperature alone."""
    m = dd.Model("thermostat")
    T, on, outside = m.state("T", start=20.0), m.discrete("on", start=1), m.input("outside")
    m.equation(m.der(T), ca.if_else(on > 0.5, 30.0, 0.0) - (T - outside))
    m.when(T > 22, {"on": 0}, name="warm")
    m.when(T < 18, {"on": 1}, name="cold")
    true = dd.simulate(m, 2.0, inputs={"outside": 5.0}, save_at=np.linspace(0, 2, 21))
    estimator = dd.Estimator(
        m, ["T"], start={"T": 19.0}, start_covariance=4.0, process_noise=0.01, measurement_noise=0.01, every=0.1
    )
    for T_now in true["T"]:
        found = estimator([T_now], [5.0])
        assert found[1] in (0.0, 1.0)
    assert found[0] == pytest.approx(true["T"][-1], abs=0.2)
    assert estimator.covariance[1].tolist() == [0.0, 0.0]


def test_an_input_that_the_model_differentiates_is_told():
    """A capacitor straight on a source: held values would make impulses of its current."""
    C, m = dd.components.electrical, dd.Model("filter")
    source, ground = m.add(C.VoltageSource("source", voltage=m.input("drive"))), m.add(C.Ground("ground"))
    first, last = m.add(C.Capacitor("first", capacitance=1.0)), m.add(C.Capacitor("last", capacitance=0.5))
    r = m.add(C.Resistor("r", resistance=2.0))
    m.connect(source.plus, r.plus, first.plus)
    m.connect(r.minus, last.plus)
    m.connect(last.minus, source.minus, ground.pin, first.minus)
    with pytest.raises(dd.InputError, match="drive is held between calls, and the model differentiates it"):
        dd.Estimator(m, ["r.current"], start={"last.voltage": 0.0})
    driven = dd.Estimator(
        m, ["r.current"], start={"last.voltage": 0.0}, inputs={"drive": lambda t: np.sin(t)}, start_covariance=0.0,
        every=0.5,
    )  # fmt: skip
    for _ in range(3):
        found = driven([np.nan])
    # v' = sin t - v from rest
    assert found[driven.labels["x"].index("last.voltage")] == pytest.approx(
        (np.sin(1) - np.cos(1) + np.exp(-1)) / 2, abs=1e-7
    )


def test_a_thousand_calls_do_not_drift_from_the_clock():
    m = dd.Model("counter")
    x, n = m.state("x", start=0.0), m.discrete("n", start=0)
    m.equation(m.der(x), 0)
    m.every(0.1, {"n": n + 1})
    estimator = dd.Estimator(m, ["x"], every=0.1)
    estimator([np.nan], time=99.0)
    for _ in range(7):
        estimator([np.nan])
    assert estimator.time == 99.7
