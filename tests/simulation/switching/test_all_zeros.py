"""Zeros of functions of time: every one of them, in a span of any length."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd
from daedalus.analysis.interval_arithmetic import range_over
from daedalus.simulation.switching.all_zeros import NotEnclosed, all_zeros


def zeros(expression, begin, end, steps=False):
    t, none = ca.SX.sym("t"), ca.SX.sym("none", 0)
    return all_zeros(expression(t), t, none, np.array([begin]), np.array([end]), np.zeros((0, 1)), steps)


def pulses(level):
    m = dd.Model("pulses")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), ca.if_else(ca.sin(2 * np.pi * 50 * m.time) > level, 1, 0))
    return m


@pytest.mark.parametrize("method", ["auto", "dop853", "radau5", "bdf"])
@pytest.mark.parametrize("end", [10.0, 50.0])
def test_narrow_pulses_in_long_runs(method, end):
    share = np.arccos(0.99) / np.pi
    assert dd.simulate(pulses(0.99), end, method=method)["x"][-1] == pytest.approx(share * end, rel=1e-9)


@pytest.mark.wide
def test_a_share_of_a_millionth_in_twenty_thousand_periods():
    level = np.cos(np.pi * 1e-6)
    assert dd.simulate(pulses(level), 400.0)["x"][-1] == pytest.approx(400e-6, rel=1e-3)


@given(
    frequency=st.floats(1.0, 300.0),
    phase=st.floats(0.0, 6.0),
    level=st.floats(-0.999, 0.999),
    begin=st.floats(-50.0, 50.0),
)
@settings(max_examples=examples(30, 4), deadline=None)
def test_all_crossings_of_a_wave(frequency, phase, level, begin):
    end = begin + 40.0
    turns = np.arange(np.floor((frequency * begin + phase) / 6.29) - 2, np.ceil((frequency * end + phase) / 6.28) + 2)
    angles = np.concatenate([2 * np.pi * turns + a for a in (np.arcsin(level), np.pi - np.arcsin(level))])
    wanted = np.sort((angles - phase) / frequency)
    wanted = wanted[(wanted > begin) & (wanted < end)]
    found = zeros(lambda t: ca.sin(frequency * t + phase) - level, begin, end)
    inside = found[(found > begin + 1e-9) & (found < end - 1e-9)]
    assert len(inside) == np.count_nonzero((wanted > begin + 1e-9) & (wanted < end - 1e-9))
    assert np.all(np.min(np.abs(inside[:, None] - wanted[None, :]), axis=1) < 1e-9)


def test_two_close_zeros_are_two_and_a_touch_is_near_one():
    gap = 1e-9
    close = zeros(lambda t: (t - 3.0) ** 2 - gap**2 / 4, 0.0, 100.0)
    assert close == pytest.approx([3 - gap / 2, 3 + gap / 2], abs=1e-13)
    touch = zeros(lambda t: (t - 3.0) ** 2, 0.0, 100.0)
    assert len(touch) >= 1
    assert np.all(np.abs(touch - 3.0) < 1e-6)
    assert len(zeros(lambda t: (t - 3.0) ** 2 + 1e-9, 0.0, 100.0)) == 0


def test_growing_frequency_and_stairs_of_a_curve():
    found = zeros(lambda t: ca.sin(t**2), 0.5, 60.0)
    wanted = np.sqrt(np.pi * np.arange(1, 1146))
    assert found == pytest.approx(wanted[wanted < 60.0], abs=1e-12)
    assert zeros(lambda t: t**2, 0.5, 5.2, steps=True) == pytest.approx(np.sqrt(np.arange(1, 28)), abs=1e-12)


def test_what_has_no_bounds_is_refused_and_what_rests_at_zero_ends():
    with pytest.raises(NotEnclosed):
        zeros(lambda t: ca.erfinv(t), -0.5, 0.5)
    assert len(zeros(lambda t: 0 * t, 0.0, 1.0)) == 0


OPERATIONS = [
    lambda x: -x, lambda x: 2 * x, lambda x: x**2, lambda x: 1 / x, lambda x: ca.sqrt(x), ca.exp, ca.expm1, ca.log,
    ca.log1p, ca.sin, ca.cos, ca.tan, ca.asin, ca.acos, ca.atan, ca.sinh, ca.cosh, ca.tanh, ca.asinh, ca.fabs, ca.sign,
    ca.floor, ca.ceil, lambda x: x**3, lambda x: x**-2, lambda x: x**1.5, lambda x: ca.fmin(x, 0.3),
    lambda x: ca.fmax(x, 0.3), lambda x: x > 0.3, lambda x: x <= 0.3, lambda x: ca.if_else(x > 0.3, x - 1, x + 1),
    lambda x: ca.atan2(x, 0.5 - x), lambda x: x / (x + 1.7), lambda x: (x - 0.2) * (x + 0.4),
    lambda x: ca.logic_not(x > 0),
]  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS)
@given(begin=st.floats(-4.0, 4.0), length=st.floats(0.0, 5.0))
@settings(max_examples=examples(40), deadline=None)
def test_bounds_hold_everywhere_in_a_stretch(operation, begin, length):
    x = ca.SX.sym("x")
    function = ca.Function("f", [x], [operation(x)])
    found = range_over(function, [np.array([[begin]])], [np.array([[begin + length]])])
    values = function(np.linspace(begin, begin + length, 101)[None, :]).full().ravel()
    values = values[~np.isnan(values)]
    assert np.all(values >= found.low[0])
    assert np.all(values <= found.high[0])
