"""Conditions on time that are solved for: no pulse is too narrow, no tooth of a saw too short."""

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd
from daedalus.simulation.switching.condition_times import condition_times
from daedalus.simulation.switching.solved_times import solved_times


def clock(*values):
    """A clock of (t, p) without parameters."""
    t = ca.SX.sym("t")
    return ca.Function("clock", [t, ca.SX.sym("p", 0)], [ca.vertcat(*(value(t) for value in values))])


def found(span, *values):
    """Times with a change inside a span, found anew."""
    m = dd.Model("nothing")
    m.equation(m.der(m.state("x", start=0.0)), 1)
    times, after = condition_times(m.freeze(), clock(*values), np.zeros(0), span)
    return times[1:], after


def quadrature(rate):
    m = dd.Model("quadrature")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), rate(m.time))
    return m


@pytest.mark.parametrize("method", ["auto", "dop853", "radau5", "bdf"])
def test_a_pulse_of_a_nanosecond_in_a_hundred_seconds_counts(method):
    m = quadrature(lambda t: ca.if_else(ca.logic_and(t > 41.003, t < 41.003 + 1e-9), 1e9, 0.0))
    # The width of the pulse is a difference of numbers that have a spacing of 7e-15.
    assert dd.simulate(m, 100.0, method=method)["x"][-1] == pytest.approx(1.0, rel=1e-4)


def test_every_pulse_of_a_narrow_pulse_width_modulation_counts():
    """500 pulses, each a ten thousandth of its period: two steps at least for each, and not many more."""
    m = quadrature(lambda t: ca.if_else(ca.fmod(t, 2e-3) < 2e-7, 1.0, 0.0))
    tr = dd.simulate(m, 1.0, method="tsit5")
    assert tr["x"][-1] == pytest.approx(500 * 2e-7, rel=1e-8)
    assert 1000 <= tr.work.steps <= 1500
    assert tr.work.rejected == 0


def test_lines_inside_lines_are_solved_for():
    """A saw of a saw, cut at a height: times in the third operation follow from those of the first two."""
    times, _ = found((0.0, 2.0), lambda t: ca.fmod(ca.fmod(t, 1.0), 0.4) > 0.399999)
    inside = np.array([0.399999, 0.4, 0.799999, 0.8])
    np.testing.assert_allclose(times, np.concatenate([inside, 1 + inside]), atol=1e-12)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (lambda t: ca.ceil(-3 * t + 0.5), [0.1666666667, 0.5, 0.8333333333]),
        (lambda t: ca.remainder(t, 0.4) > 0, [0.2, 0.4, 0.6, 0.8]),
        (lambda t: ca.fabs(t - 0.5) < 1e-7, [0.4999999, 0.5000001]),
        (lambda t: ca.fmin(t, 1 - t) > 0.49999995, [0.49999995, 0.50000005]),
        (lambda t: ca.fmax(t, 1 - t) < 0.50000005, [0.49999995, 0.50000005]),
        (lambda t: ca.sign(t - 0.25), [0.25]),
        (lambda t: ca.floor(2 * t) + (ca.floor(2 * t) > 0), [0.5]),
    ],
)
def test_each_operation_has_its_own_times(value, wanted):
    known = solved_times(clock(value), np.zeros(0), 0.0, 0.999)
    assert known.all_of_them
    np.testing.assert_allclose(found((0.0, 0.999), value)[0], wanted, atol=1e-9)


def test_conditions_without_bounds_are_still_looked_for():
    conditions = lambda t: ca.erfinv((t - 1) / 4) > 0.1, lambda t: t > 1
    known = solved_times(clock(*conditions), np.zeros(0), 0.0, 3.0)
    assert not known.all_of_them
    assert known.times.tolist() == [1.0]
    times, _ = found((0.0, 3.0), *conditions)
    np.testing.assert_allclose(times, [1.0, 1 + 4 * math.erf(0.1)], atol=1e-12)
    known = solved_times(clock(lambda t: ca.erf(t - 1) > 0.5), np.zeros(0), 0.0, 3.0)
    assert known.all_of_them
    np.testing.assert_allclose(known.times, [1.4769362762044699], atol=1e-12)


@settings(max_examples=examples(60), deadline=None)
@given(
    period=st.floats(1e-3, 1.0), duty=st.floats(1e-6, 1 - 1e-6), begin=st.floats(-50.0, 50.0), count=st.integers(1, 60)
)
def test_pulses_are_on_for_their_share_of_every_period(period, duty, begin, count):
    """The law of a pulse-width modulation, wherever the span begins: two changes in each period."""
    span = (begin, begin + count * period)
    saw = lambda t: (t / period - ca.floor(t / period)) < duty  # noqa: E731
    times, values = found(span, saw)
    ends = np.concatenate([[span[0]], times, [span[1]]])
    lengths = np.diff(ends)
    # Rounding of the times moves each edge by a few spacings.
    error = 64 * len(ends) * np.finfo(float).eps * (abs(begin) + count * period)
    assert lengths[values[:, 0] > 0].sum() == pytest.approx(count * duty * period, abs=error)
    assert abs(len(times) - 2 * count) <= 1
