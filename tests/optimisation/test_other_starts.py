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


@pytest.mark.parametrize("intervals", [20, 50])
def test_the_faster_way_is_found_by_default(intervals):
    plan = aircraft(intervals).solve()
    assert plan.success
    assert plan.duration == pytest.approx(3.78, abs=0.02)
    (note,) = plan.notes
    assert note.startswith("a local optimum, because the problem is not convex: one of ")
    assert "led to a cost of 3.7" in note


def test_asked_for_one_start_the_first_way_is_told_to_be_local():
    problem = aircraft(20)
    alone = problem.solve(starts=1)
    assert alone.duration > 5.0
    best = aircraft(20).solve(starts=8)
    assert best.duration == pytest.approx(3.78, abs=0.02)
    assert any("of 8 starts the cheapest plan counts" in note for note in best.notes)


def test_a_given_guess_is_followed():
    problem = aircraft(20)
    problem.guess({"a": 0.2})
    plan = problem.solve()
    assert any("no other start was tried" in note for note in plan.notes)


def swing(running, duration=2.0):
    m = dd.Model("pendulum")
    a, w, u = m.state("a", start=0.0), m.state("w", start=0.0), m.input("u")
    m.equation([m.der(a), m.der(w)], [w, u - ca.sin(a)])
    ocp = dd.OptimalControl(m, duration, intervals=10)
    ocp.start()
    ocp.minimise(running=running(a, w, u))
    return ocp


def test_what_is_not_convex_is_told_and_what_is_convex_is_not():
    (note,) = swing(lambda a, w, u: u**2 + (a - 1) ** 2).solve().notes
    assert note == (
        "a local optimum, because the problem is not convex: 8 other starts on a coarse mesh led to no cheaper one; "
        "to try more, ocp.solve(starts=8)"
    )
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])
    for cost, convex in (
        (u**2 + x * v + x**2 + v**2, True),
        (u**4 + ca.fabs(x), True),
        (u**2 - x**2, False),
        (1e-12 * (u**2 - x**2), False),
    ):
        ocp = dd.OptimalControl(m, 1.0, intervals=10)
        ocp.start()
        ocp.finish({"x": 1.0})
        ocp.minimise(running=cost)
        assert any(note.startswith("a local optimum") for note in ocp.solve().notes) is not convex


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
