"""Plans from several guesses: the cheapest local optimum counts, and what was found is told."""

import casadi as ca
import pytest

import daedalus as dd
from daedalus.errors import InputError


def aircraft(intervals: int = 30) -> dd.OptimalControl:
    """F-8, to rest in the least time: W. L. Garrard, J. M. Jordan, Automatica 13 (1977); 3.78 s (C. Y. Kaya, 2003)."""
    m = dd.Model("F-8")
    a, b, c = (m.state(name, start=value) for name, value in (("a", 0.4655), ("b", 0.0), ("c", 0.0)))
    w = m.input("w")
    lift = 3.846 * a**3 - 0.215 * w + 0.28 * a**2 * w + 0.47 * a * w**2 + 0.63 * w**3
    m.equation(m.der(a), -0.877 * a + c - 0.088 * a * c + 0.47 * a**2 - 0.019 * b**2 - a**2 * c + lift)
    m.equation(m.der(b), c)
    turn = -20.967 * w + 6.265 * a**2 * w + 46 * a * w**2 + 61.4 * w**3
    m.equation(m.der(c), -4.208 * a - 0.396 * c - 0.47 * a**2 - 3.564 * a**3 + turn)
    ocp = dd.OptimalControl(m, dd.unknown(4.0, 0.1, 20.0), intervals=intervals)
    ocp.start()
    ocp.finish({"a": 0.0, "b": 0.0, "c": 0.0})
    ocp.bound(w, -0.05236, 0.05236)
    ocp.minimise(final=ocp.duration)
    return ocp


def test_other_starts_find_the_faster_way():
    problem = aircraft()
    alone = problem.solve()
    assert 5.7 < alone.duration < 5.9
    best = problem.solve(starts=8)
    assert best.success
    assert best.duration == pytest.approx(3.78, abs=0.05)
    assert any("of 8 starts the cheapest plan counts" in note for note in best.notes)


def test_one_optimum_is_found_from_everywhere():
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.start()
    ocp.finish({"x": 1.0, "v": 0.0})
    ocp.minimise(running=ca.sumsqr(u))
    for method in ("collocation", "shooting"):
        plan = ocp.solve(method, starts=3, seed=1)
        assert plan.objective == pytest.approx(ocp.solve(method).objective)
        assert any("(3 times)" in note for note in plan.notes)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "3"])
def test_wrong_numbers_of_starts_are_refused(wrong):
    with pytest.raises(InputError, match="starts must be a whole number"):
        aircraft(5).solve(starts=wrong)
