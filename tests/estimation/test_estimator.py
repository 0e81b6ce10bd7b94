"""Estimators against the textbook filter of a linear plant, on constraints, and with missing measurements."""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import daedalus as dd

EVERY = 0.1


def oscillator() -> dd.Model:
    m = dd.Model("oscillator")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation(m.der(x), v)
    m.equation(m.der(v), -2.0 * x - 0.3 * v + u)
    return m


def textbook(measured, drive):
    """The Kalman filter of the oscillator; noise over an interval by Van Loan's matrix."""
    A, B, Q = np.array([[0, 1], [-2.0, -0.3]]), np.array([0.0, 1.0]), np.diag([0.0, 0.05])
    large = expm(np.block([[-A, Q], [np.zeros((2, 2)), A.T]]) * EVERY)
    F, H, R = large[2:, 2:].T, np.array([[1.0, 0.0]]), 0.01
    Qd = F @ large[:2, 2:]
    G = np.linalg.solve(A, (F - np.eye(2)) @ B)
    x, P, found = np.zeros(2), np.eye(2), []
    for k, y in enumerate(measured):
        if k:
            x, P = F @ x + G * drive[k - 1], F @ P @ F.T + Qd
        if np.isfinite(y):
            gain = P @ H.T / (H @ P @ H.T + R)
            x, P = x + gain[:, 0] * (y - x[0]), (np.eye(2) - gain @ H) @ P
        found.append(x)
    return np.array(found), P


@pytest.mark.parametrize("kind", ["ekf", "mhe"])
def test_a_linear_plant_has_the_textbook_filter(kind):
    random = np.random.default_rng(3)
    drive, measured = np.sin(0.4 * np.arange(15)), random.normal(size=15)
    measured[4] = np.nan
    estimator = dd.Estimator(
        oscillator(), ["x"], start_covariance=1.0, process_noise={"v": 0.05}, measurement_noise=0.01, kind=kind,
        every=EVERY, horizon=4, inputs={"u": 0.0},
    )  # fmt: skip
    found = np.array([estimator([y], [u]) for y, u in zip(measured, drive)])
    expected, covariance = textbook(measured, drive)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(estimator.covariance, covariance, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("kind", ["ekf", "mhe"])
def test_estimates_of_a_pendulum_lie_on_its_rod(kind):
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    times = EVERY * np.arange(12)
    true = dd.simulate(m, times[-1], start={"q": [np.cos(0.1), np.sin(0.1)]}, save_at=times)["q"]
    estimator = dd.Estimator(
        m, ["q[0]"], start_covariance=0.1, process_noise=1e-6, measurement_noise=1e-4, kind=kind, every=EVERY, horizon=3
    )
    rows = np.array([estimator([value])[:2] for value in true[:, 0]])
    assert np.abs(np.sum(rows**2, axis=1) - 1).max() < 1e-12
    assert np.abs(rows[-4:] - true[-4:]).max() < 0.02


def test_a_quaternion_is_corrected_in_its_tangent_space():
    m = dd.Model("top")
    m.body("top", 1.0, np.diag([0.1, 0.2, 0.3]), "quaternion", angular_velocity=[0.3, 1.0, 0.2])
    estimator = dd.Estimator(
        m, ["top.quaternion"], start_covariance=0.01, measurement_noise=1e-4, process_noise=1e-6, every=0.05
    )
    labels = estimator.labels["x"]
    places = [labels.index(f"top.quaternion[{k}]") for k in range(4)]
    true = dd.simulate(m, 0.3, save_at=np.linspace(0, 0.3, 7))["top.quaternion"]
    for row in true:
        x = estimator(row + 0.01)
        quaternion = x[places]
        assert abs(quaternion @ quaternion - 1) < 1e-12
        # Nothing is uncertain across the sphere, but for what one correction turns the tangent.
        own = estimator.covariance[np.ix_(places, places)]
        assert quaternion @ own @ quaternion < 1e-2 * np.trace(own)
    assert np.abs(quaternion - true[-1]).max() < 0.02


def test_wrong_arguments_are_told():
    with pytest.raises(dd.InputError, match="not an estimator"):
        dd.Estimator(oscillator(), ["x"], kind="ukf", inputs={"u": 0.0})
    with pytest.raises(dd.InputError, match="process_noise= has y"):
        dd.Estimator(oscillator(), ["x"], process_noise={"y": 1.0}, inputs={"u": 0.0})
    with pytest.raises(dd.InputError, match="measurements do not fit"):
        dd.Estimator(oscillator(), ["x"], inputs={"u": 0.0})([1.0, 2.0])


def test_late_measurements_are_taken_in_where_they_belong():
    random = np.random.default_rng(5)
    drive, measured = np.sin(0.4 * np.arange(12)), random.normal(size=12)

    def following(kind):
        return dd.Estimator(
            oscillator(), ["x"], process_noise={"v": 0.05}, measurement_noise=0.01, kind=kind, every=EVERY, horizon=20,
            inputs={"u": 0.0},
        )  # fmt: skip

    for kind in ("ekf", "mhe"):
        punctual, late = following(kind), following(kind)
        for k, (y, u) in enumerate(zip(measured, drive)):
            expected = punctual([y], [u])
            found = late([np.nan if k == 6 else y], [u])
            if k == 9:
                found = late([measured[6]], time=6 * EVERY)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        np.testing.assert_allclose(late.covariance, punctual.covariance, rtol=1e-6)


def test_measurements_between_the_samples():
    """A moment in between without a measurement changes nothing, and one of an earlier time is gone through."""
    plain, between = (
        dd.Estimator(oscillator(), ["x"], process_noise=0.1, measurement_noise=0.01, every=EVERY, inputs={"u": 0.3})
        for _ in range(2)
    )
    for k, y in enumerate((0.1, 0.4, 0.2, -0.1)):
        expected = plain([y], time=k * EVERY)
        found = between([y], time=k * EVERY)
        between([np.nan], time=(k + 0.4) * EVERY)
    assert between.time == pytest.approx(3.4 * EVERY)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    moved = between([0.5], time=2.5 * EVERY)
    assert not np.allclose(moved, found)


def test_what_cannot_be_taken_in_is_told():
    estimator = dd.Estimator(oscillator(), ["x"], every=EVERY, horizon=3, inputs={"u": 0.0})
    for _ in range(6):
        estimator([0.0])
    with pytest.raises(dd.InputError, match=r"measurements of t = 0\.1 are too late") as caught:
        estimator([0.0], time=0.1)
    assert caught.value.facts == ["the last 3 moments are remembered, from t = 0.3 on"]
    with pytest.raises(dd.InputError, match="Late measurements do not accept inputs"):
        estimator([0.0], [1.0], time=0.4)
    with pytest.raises(dd.InputError, match="The inputs do not fit"):
        estimator([0.0], [1.0, 2.0])
    certain = dd.Estimator(oscillator(), ["x"], start_covariance=0.0, measurement_noise=0.0, inputs={"u": 0.0})
    with pytest.raises(dd.InputError, match="cannot be weighted"):
        certain([0.0])


def test_a_model_with_events_is_followed_by_its_sensitivities():
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation([m.der(h), m.der(v)], [v, -9.81])
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    true = dd.simulate(m, 0.8, save_at=np.linspace(0, 0.8, 9))["h"]
    estimator = dd.Estimator(m, ["h"], start={"v": 0.5}, process_noise=1e-6, measurement_noise=1e-6, every=0.1)
    for value in true:
        x = estimator([value])
    assert x[0] == pytest.approx(true[-1], abs=1e-3)


def test_a_stiff_plant_takes_implicit_steps():
    m = dd.Model("stiff")
    x, y = m.state("x", start=1.0), m.state("y", start=1.0)
    m.equation([m.der(x), m.der(y)], [-1e5 * (x - ca.cos(y)), -y])
    estimator = dd.Estimator(m, ["y"], measurement_noise=1e-4, every=0.5)
    for k in range(4):
        found = estimator([np.exp(-0.5 * k)])
    assert found == pytest.approx([np.cos(np.exp(-1.5)), np.exp(-1.5)], abs=1e-4)


def test_time_in_the_equations_is_that_of_the_estimator():
    m = dd.Model("driven")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), ca.cos(m.time))
    estimator = dd.Estimator(m, ["x"], start_covariance=1e-12, every=0.5)
    rows = [float(estimator([np.nan])[0]) for _ in range(5)]
    assert rows == pytest.approx(np.sin(0.5 * np.arange(5)), abs=1e-7)


def driven(seed: int) -> tuple[dd.Model, int, np.random.Generator]:
    """A random nonlinear model with two inputs, one of them a vector, and an output that they pass through."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 4))
    m = dd.Model("driven")
    x, u, w = m.state("x", n, start=random.normal(size=n).tolist()), m.input("u", 2), m.input("w")
    A, B = random.normal(size=(n, n)), random.normal(size=(n, 2))
    m.equation(m.der(x), ca.mtimes(ca.DM(A), ca.tanh(x)) - x + ca.mtimes(ca.DM(B), u) + w)
    m.output("y", x[0] + 0.3 * u[1])
    return m, n, random


@pytest.mark.parametrize("kind", ["ekf", "mhe"])
@pytest.mark.parametrize("seed", range(3))
def test_inputs_come_with_the_call(seed, kind):
    m, _, random = driven(seed)
    noise = {"process_noise": 0.1, "measurement_noise": 0.01, "every": 0.2, "kind": kind, "horizon": 3}
    drive, measured = random.normal(size=(6, 3)), random.normal(size=6)
    names = {"inputs": {"u": [0.0, 0.0], "w": 0.0}}
    with_all = dd.Estimator(m, ["y"], **noise, **names)
    with_none = dd.Estimator(m, ["y"], **noise)
    by_name = dd.Estimator(m, ["y"], **noise)
    partly = dd.Estimator(m, ["y"], **noise, inputs={"w": 7.0})
    with_all([np.nan], drive[0], time=0.0)
    for each in (with_none, by_name, partly):
        each([np.nan], drive[0], time=0.0)
    assert with_none.labels["u"] == ("u[0]", "u[1]", "w")
    for y, u in zip(measured, drive):
        expected = with_all([y], u)
        np.testing.assert_allclose(with_none([y], u), expected, rtol=1e-9)
        np.testing.assert_allclose(by_name([y], {"u": u[:2], "w": u[2]}), expected, rtol=1e-9)
        np.testing.assert_allclose(partly([y], {"u[0]": u[0], "u[1]": u[1], "w": u[2]}), expected, rtol=1e-9)
        np.testing.assert_allclose(with_none.covariance, with_all.covariance, rtol=1e-9, atol=1e-15)


def test_inputs_hold_until_they_are_told_anew_and_are_asked_for():
    m = oscillator()
    told, held = (dd.Estimator(m, ["x"], every=EVERY) for _ in range(2))
    for k in range(4):
        expected = told([0.1 * k], [0.7])
        found = held([0.1 * k], [0.7] if k == 0 else None)
    np.testing.assert_allclose(found, expected)
    missing = dd.Estimator(m, ["x"], every=EVERY)
    missing([0.0])
    with pytest.raises(dd.InputError, match="The estimator has no value of u") as caught:
        missing([0.0])
    assert "estimator(y, u)" in caught.value.remedy
    with pytest.raises(dd.InputError, match="x is not an input"):
        missing([0.0], {"x": 1.0})
    through, _, _ = driven(0)
    with pytest.raises(dd.InputError, match="no value of u, w"):
        dd.Estimator(through, ["y"])([0.0])
    with pytest.raises(dd.InputError, match="no value of u, w"):
        dd.Estimator(through, ["y"])([0.0], {"w": 1.0})


def test_a_start_that_inputs_decide_about_is_that_of_the_first_call():
    """A rod whose length is an input: where the pendulum begins depends on it."""
    m = dd.Model("pendulum on a winch")
    q, length = m.coordinate("q", 2, start=[1.0, 0.0]), m.input("length")
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.output("angle", ca.atan2(q[0] - length, -q[1] + 2))
    m.constraint("rod", ca.sumsqr(q) - 1)
    told = dd.Estimator(m, ["angle"], every=EVERY, inputs={"length": 0.5})
    found = dd.Estimator(m, ["angle"], every=EVERY)
    np.testing.assert_allclose(found([0.1], [0.5]), told([0.1]), rtol=1e-10)


def test_an_input_that_may_not_be_zero_needs_no_value_either():
    m = dd.Model("chamber")
    x, volume = m.state("x", start=1.0), m.input("volume", nominal=0.2)
    m.equation(m.der(x), -x / volume)
    m.output("pressure", x / volume)
    estimator = dd.Estimator(m, ["pressure"], start_covariance=0.0, every=0.1)
    estimator([np.nan], [0.5])
    assert estimator([np.nan], [0.5])[0] == pytest.approx(np.exp(-0.2), rel=1e-6)


def test_a_closed_loop_tells_the_estimator_its_inputs():
    m = oscillator()
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.minimise(running=m["x"] ** 2 + m["v"] ** 2 + 0.1 * m["u"] ** 2)
    estimator = dd.Estimator(m, ["x"], start={"x": 0.5}, start_covariance=0.1, process_noise=1e-3, every=0.1)
    loop = dd.closed_loop(m, dd.Controller(ocp, every=0.1), 3.0, start={"x": 0.5}, estimator=estimator)
    assert abs(loop["x"][-1]) < 0.1
