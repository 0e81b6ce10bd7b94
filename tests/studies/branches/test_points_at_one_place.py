"""Special points that lie together: each is found, or the branch tells what was not told apart."""

import numpy as np
import pytest

import daedalus as dd


def of(names, rates, parameter="a", first=-1.0, **others):
    """A model of scalar states that begin at zero, given their rates."""
    m = dd.Model("together")
    moved = m.parameter(parameter, first)
    values = [m.parameter(name, value) for name, value in others.items()]
    states = [m.state(name, start=0.0) for name in names]
    m.equation([m.der(state) for state in states], rates(moved, *states, *values))
    return m


def told(branch):
    return [(point.kind, float(point.parameter)) for point in branch.points]


def pitchforks(gap):
    return of("xy", lambda a, x, y, gap: [a * x - x**3, (a - gap) * y - y**3 - 0.3 * x**2 * y], gap=gap)


def test_two_pitchforks_side_by_side():
    points = told(dd.branch(pitchforks(1e-4), "a", (-1.0, 1.0)))
    assert [kind for kind, _ in points] == ["branch point", "branch point"]
    assert np.allclose([value for _, value in points], [0.0, 1e-4], atol=1e-9)


def test_two_pitchforks_at_one_place_are_told():
    branch = dd.branch(pitchforks(0.0), "a", (-1.0, 1.0))
    assert not branch.points
    assert branch.notes == (
        "2 eigenvalues pass through the imaginary axis near a = 0, and nothing that was located there explains it",
    )
    assert not branch.stable[-1]


def test_two_hopf_points_at_one_place():
    def rates(a, x, y, u, v):
        both = [a * x - y - x * (x**2 + y**2), x + a * y - y * (x**2 + y**2)]
        return [*both, a * u - 3 * v - u * (u**2 + v**2), 3 * u + a * v - v * (u**2 + v**2)]

    branch = dd.branch(of("xyuv", rates), "a", (-1.0, 1.0))
    assert [kind for kind, _ in told(branch)] == ["hopf", "hopf"]
    assert sorted(point.frequency for point in branch.points) == pytest.approx([1.0, 3.0])
    assert not branch.notes


def test_an_equation_whose_slopes_all_vanish_at_the_crossing():
    # AUTO-07P's demo "pp2", predators and prey under harvest p; at p = 0.6 all slopes of u' are zero.
    m = of("uv", lambda p, u, v: [3 * u * (1 - u) - u * v - p * (1 - np.exp(-5 * u)), -v + 3 * u * v], "p", 0.0)
    (point,) = dd.branch(m, "p", (0.0, 1.0)).points
    assert point.kind == "branch point"
    assert "transcritical" in point.sentence
    # u' = (3 - 5 p) u + (25 p / 2 - 3) u² + …
    assert point.coefficient == pytest.approx(4.5)
    second = point.switch()
    crossing = next(one for one in second.points if one.kind == "branch point")
    assert crossing.parameter == pytest.approx(2 / 3 / (1 - np.exp(-5 / 3)), rel=1e-9)
    (hopf,) = [one for one in crossing.switch().points if one.kind == "hopf"]
    # On u = 1/3 the trace is 3 - 2 - v - 5 p exp(-5/3), with v from u' = 0.
    left = (1 - np.exp(-5 / 3)) * 3
    assert hopf.parameter == pytest.approx(1 / (left - 5 * np.exp(-5 / 3)), rel=1e-9)


def test_a_crossing_of_algebraic_equations_has_no_motion():
    m = dd.Model("algebraic")
    a, x, z = m.parameter("a", -1.0), m.state("x", start=0.0), m.algebraic("z", start=0.0)
    m.equation(m.der(x), z - x)
    m.equation(z * (z - a), 0)
    (point,) = dd.branch(m, "a", (-1.0, 1.0)).points
    assert point.kind == "branch point"
    assert point.parameter == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(point.coefficient)
