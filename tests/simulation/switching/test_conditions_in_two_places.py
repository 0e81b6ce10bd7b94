"""A condition of m.when that stands in an equation, or in another condition, too: it acts as it becomes true alone."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def turning(write):
    """a' = w, with a count of how often cos(a) > 0 has become true."""
    m = dd.Model("turning")
    a, count, w = m.state("a", start=0.3), m.discrete("count", start=0), m.parameter("w", 2.0)
    m.equation(m.der(a), w)
    m.when(ca.cos(a) > 0, {"count": count + 1}, name="counted")
    write(m, a)
    return m


def in_an_equation(m, a):
    y = m.state("y", start=0.0)
    m.equation(m.der(y), ca.if_else(ca.cos(a) > 0, 1, 0))


def in_another_condition(m, a):
    other = m.discrete("other", start=0)
    m.when(dd.all_of(ca.cos(a) > 0, a > -5), {"other": other + 1})


@pytest.mark.parametrize("write", [in_an_equation, in_another_condition])
@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5"])
def test_it_does_not_act_where_it_ends_to_hold(write, method):
    """Where cos(a) falls through zero and comes back within one step, rounding at its first zero is no event."""
    m, rng = turning(write), np.random.default_rng(3)
    for _ in range(12):
        begin, speed = rng.uniform(-1.5, 1.5), rng.uniform(1.0, 3.0)
        tr = dd.simulate(m, 10.0, start={"a": begin}, parameters={"w": speed}, method=method)
        turns = np.floor((np.array([begin + 10 * speed, begin]) + np.pi / 2) / (2 * np.pi))
        assert tr.end["count"] == turns[0] - turns[1]
