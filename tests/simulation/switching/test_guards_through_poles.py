"""Conditions that change where a divisor passes zero: cot(θ) > 0, tan(θ) > c, a / (v - u) > b, by closed forms."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

START, SPEED, SPAN = 0.3, 2.0, 20.0
CONDITIONS = {
    "cot > 0": (lambda a: ca.cos(a) / ca.sin(a) > 0, 0.0, np.pi / 2, np.pi),
    "tan > 0": (lambda a: ca.tan(a) > 0, 0.0, np.pi / 2, np.pi),
    "tan > 1": (lambda a: ca.tan(a) > 1, np.pi / 4, np.pi / 2, np.pi),
    "sec > 1/2": (lambda a: 1 / ca.cos(a) > 0.5, -np.pi / 2, np.pi / 2, 2 * np.pi),
}


def true_until(angle, begin, end, period):
    """How much of (0, angle) a condition is true that holds from begin to end in every period."""
    turns = np.floor((angle - begin) / period)
    return turns * (end - begin) + min(angle - begin - turns * period, end - begin)


def share(begin, end, period):
    """The time during which a condition holds."""
    both = (true_until(angle, begin, end, period) for angle in (START + SPEED * SPAN, START))
    return np.subtract(*both) / SPEED


def became_true(begin, period):
    return np.floor((START + SPEED * SPAN - begin) / period) - np.floor((START - begin) / period)


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "tsit5"])
def test_conditions_in_equations_and_on_time(name, method):
    written, begin, end, period = CONDITIONS[name]
    m = dd.Model("poles")
    angle, y, of_time = m.state("angle", start=START), m.state("y", start=0.0), m.state("of_time", start=0.0)
    m.equation(m.der(angle), SPEED)
    m.equation(m.der(y), ca.if_else(written(angle), 1, 0))
    m.equation(m.der(of_time), ca.if_else(written(START + SPEED * m.time), 1, 0))
    tr = dd.simulate(m, SPAN, method=method)
    expected = share(begin, end, period)
    assert (tr.end["y"], tr.end["of_time"]) == pytest.approx([expected, expected], abs=1e-6)


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_become_true_behind_a_pole(name):
    written, begin, _, period = CONDITIONS[name]
    m = dd.Model("counted")
    angle, count = m.state("angle", start=START), m.discrete("count", start=0)
    m.equation(m.der(angle), SPEED)
    m.when(written(angle), {"count": count + 1})
    tr = dd.simulate(m, SPAN)
    assert tr.end["count"] == became_true(begin, period)


@pytest.mark.parametrize("seed", range(8))
def test_random_quotients(seed):
    """a / b > c with a, b waves of time: the sign of (a - c b) b, sampled closely, is the condition."""
    rng = np.random.default_rng(seed)
    (p, q), (f, g), c = rng.uniform(0, 6, 2), rng.uniform(0.5, 3, 2), rng.uniform(-1, 1)
    m = dd.Model("quotients")
    one, two, y = m.state("one", start=p), m.state("two", start=q), m.state("y", start=0.0)
    m.equation(m.der(one), f)
    m.equation(m.der(two), g)
    m.equation(m.der(y), ca.if_else(ca.sin(one) / ca.sin(two) + 0.2 > c, 1, -0.5))
    tr = dd.simulate(m, 10.0)
    times = (np.arange(1_000_000) + 0.5) * 1e-5
    holds = np.sin(p + f * times) / np.sin(q + g * times) + 0.2 > c
    assert tr.end["y"] == pytest.approx(10.0 * np.mean(np.where(holds, 1, -0.5)), abs=2e-4)


def test_lanes_take_the_same_guards():
    written, begin, end, period = CONDITIONS["tan > 1"]
    m = dd.Model("poles")
    angle, y, w = m.state("angle", start=START), m.state("y", start=0.0), m.parameter("w", 1.0)
    m.equation(m.der(angle), SPEED)
    m.equation(m.der(y), w * ca.if_else(written(angle), 1, 0))
    en = dd.sweep(m, SPAN, over={"w": [1.0, 2.0]}, save_at="end")
    assert np.ravel(en["y"]) == pytest.approx(np.array([1.0, 2.0]) * share(begin, end, period), abs=1e-6)
