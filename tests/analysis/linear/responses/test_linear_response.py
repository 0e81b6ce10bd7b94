"""Responses against closed forms, SciPy and a fine numerical solution."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from random_systems import random_system, shapes
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.signal import lsim

from daedalus.analysis.linear.lti import LTI
from daedalus.errors import InputError
from daedalus.model.signals import signal

DOUBLE_INTEGRATOR = LTI([[0, 1], [0, 0]], [0, 1], states=["x", "v"], inputs=["a"])


def by_integration(system, function, breaks, times, start):
    """The response by an ODE solver restarted at every break of the input."""
    grid = np.unique(np.concatenate([times, breaks[(breaks > times[0]) & (breaks < times[-1])]]))
    x = [np.asarray(start, dtype=float)]
    for a, b in itertools.pairwise(grid):
        # Evaluated inside the interval, where a held value does not change.
        inside = lambda t, a=a, b=b: function(min(max(t, a), b - 1e-13 * (b - a)))  # noqa: E731
        run = solve_ivp(
            lambda t, y, u=inside: system.A @ y + system.B @ np.atleast_1d(u(t)),
            (a, b),
            x[-1],
            method="DOP853",
            rtol=1e-12,
            atol=1e-12,
        )
        x.append(run.y[:, -1])
    return np.array(x)[np.searchsorted(grid, times)]


@given(shapes)
def test_samples_agree_with_scipy(shape):
    system, rng = random_system(shape)
    times = np.linspace(0.0, 2.0, 21)
    u = rng.normal(size=(21, system.B.shape[1]))
    start = rng.normal(size=len(system.A))
    for sampled, interp in (("linear", True), ("hold", False)):
        _, y, x = lsim((system.A, system.B, system.C, system.D), u, times, start, interp=interp)
        r = system.respond(times, u, start, sampled=sampled)
        scale = 1.0 + np.abs(x).max()
        assert np.allclose(r.states, x.reshape(r.states.shape), rtol=1e-9, atol=1e-10 * scale)
        assert np.allclose(r.outputs, y.reshape(r.outputs.shape), rtol=1e-9, atol=1e-9 * scale)


@given(shapes)
def test_signals_are_exact_across_their_own_times(shape):
    system, rng = random_system(shape)
    times = np.sort(rng.uniform(0.0, 1.5, 4))
    breaks = np.concatenate([[0.0], np.sort(rng.uniform(0.0, 1.5, 5)), [2.0]])
    values = rng.normal(size=(7, system.B.shape[1]))
    start = rng.normal(size=len(system.A))
    for kind in ("hold", "linear"):
        u = signal(breaks, values, kind)
        r = system.respond(times, u, start)
        expected = by_integration(system, u, breaks, times, start)
        assert np.allclose(r.states, expected, rtol=1e-9, atol=1e-9)
        assert np.allclose(r.inputs, u(times))
        assert np.allclose(r.outputs, r.states @ system.C.T + u(times) @ system.D.T)


def test_double_integrator_closed_forms():
    t = np.array([0.0, 0.3, 1.0, 2.5])
    assert np.allclose(DOUBLE_INTEGRATOR.respond(t, 3.0)["x"], 1.5 * t**2, rtol=1e-14)
    ramp = DOUBLE_INTEGRATOR.respond(t, signal([0.0, 10.0], [0.0, 20.0], "linear"), {"x": 1.0, "v": -1.0})
    assert np.allclose(ramp["x"], 1 - t + t**3 / 3, rtol=1e-14)
    assert np.allclose(ramp["v"], -1 + t**2, rtol=1e-14)
    pulse = DOUBLE_INTEGRATOR.respond([0.0, 5.0], signal([0.0, 1.0], [1.0, 0.0]))
    assert np.allclose(pulse.states[-1], [0.5 + 4.0, 1.0], rtol=1e-15)


def test_charging_capacitor():
    R, C = 2.2e3, 1e-6
    rc = LTI([[-1 / (R * C)]], [[1 / (R * C)]], states=["voltage"], inputs=["source"])
    t = np.linspace(0.0, 10e-3, 11)
    assert np.allclose(rc.step_response(t)["voltage"], 1 - np.exp(-t / (R * C)), rtol=1e-13)
    assert np.allclose(rc.impulse_response(t)["voltage"], np.exp(-t / (R * C)) / (R * C), rtol=1e-13)


def test_a_function_of_time_is_followed():
    """A resonant oscillator x'' + x = sin t from rest: x = (sin t - t cos t) / 2."""
    system = LTI([[0, 1], [-1, 0]], [0, 1], states=["x", "v"], inputs=["force"])
    t = np.array([0.0, 1.0, 7.0, 40.0])
    r = system.respond(t, {"force": np.sin})
    assert np.allclose(r["x"], (np.sin(t) - t * np.cos(t)) / 2, atol=1e-9)
    assert r.notes[0].startswith("input force is a function: followed by ")


def test_a_function_that_jumps_is_followed_and_the_jump_is_noted():
    r = DOUBLE_INTEGRATOR.respond([0.0, 1.0, 2.0], lambda t: 1.0 if t < 1 / 3 else 0.0)
    assert np.allclose(r["v"][1:], 1 / 3, atol=1e-12)
    assert "jumps near t = 0.333333" in r.notes[0]


def test_a_function_of_several_inputs():
    system = LTI(np.zeros((2, 2)), np.eye(2))
    r = system.respond([0.0, 1.0], lambda t: [2 * t, 3 * t**2])
    assert np.allclose(r.states[-1], [1.0, 1.0], rtol=1e-14)


def test_ten_thousand_steps_do_not_drift():
    A = np.array([[0.0, 1.0], [-1.0, 0.0]])
    times = np.linspace(0.0, 100.0, 10_001)
    r = LTI(A).respond(times, start=[1.0, 0.0])
    assert np.abs(r.states[:, 0] - np.cos(times)).max() < 2e-12
    assert np.allclose(r.states[-1], expm(100 * A) @ [1.0, 0.0], atol=2e-12)


def test_breakpoints_a_rounding_away_from_a_time_make_no_sliver():
    times = np.arange(11) * 0.1  # 0.30000000000000004 among them
    u = signal([0.0, 0.3, 0.7], [1.0, 2.0, 3.0])
    r = LTI([[0.0]], [[1.0]]).respond(times, u)
    assert np.allclose(r["x"][-1], 0.3 + 0.4 * 2 + 0.3 * 3, rtol=1e-14)


def test_the_future_does_not_change_the_past():
    u = signal([0.0, 0.4, 0.9], [1.0, -2.0, 5.0])
    short, long = (DOUBLE_INTEGRATOR.respond(np.arange(n) * 0.25, u) for n in (3, 9))
    assert np.allclose(long.states[:3], short.states, rtol=1e-14)


@pytest.mark.parametrize(
    ("times", "first"),
    [
        ([0.0, 1.0, 1.0], "The times of a response do not increase."),
        ([], "The times of a response are a list of finite numbers."),
        (5.0, "The times of a response are a list of finite numbers."),
        (["a"], "The times of a response are a list of finite numbers."),
    ],
)
def test_times_are_checked(times, first):
    with pytest.raises(InputError) as caught:
        DOUBLE_INTEGRATOR.respond(times)
    assert str(caught.value).splitlines()[0] == first
