"""Redundant constraints told apart from undetermined motion."""

import casadi as ca
import pytest

import daedalus as dd


def twice_held(second):
    m = dd.Model("twice held")
    q = m.coordinate("q", 2, start=[0.6, -0.8], rate=[0.8, 0.6])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    m.constraint("again", second(q))
    return m


def test_two_constraints_that_say_the_same_leave_their_forces_open_and_the_motion_unique():
    report = dd.analyse(twice_held(lambda q: 3 * (q[0] ** 2 + q[1] ** 2) - 3))
    assert report.redundant == ["rod", "again"]
    assert report.non_unique_multipliers == ["rod", "again"]
    assert report.undetermined == []
    assert report.degrees_of_freedom == 2
    assert report.index == 3
    assert report.notes == []
    assert [text.partition(":")[0] for text, _ in report.hidden_constraints] == [
        "rod, differentiated once",
        "rod, differentiated twice",
    ]
    printed = " ".join(str(report).split())
    assert "the motion is unique, single multipliers are not" in printed
    assert (
        "derivatives follow after differentiating 3 times at most, the multipliers below only in their sum" in printed
    )


def test_only_the_multipliers_involved_are_named():
    m = dd.Model("three")
    q = m.coordinate("q", 3, start=[0.6, -0.8, 0.0], rate=[0.8, 0.6, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - 1)
    m.constraint("plane", q[2])
    m.constraint("again", 2 * q[2])
    report = dd.analyse(m)
    assert report.redundant == ["plane", "again"]
    assert report.non_unique_multipliers == ["plane", "again"]
    assert report.degrees_of_freedom == 2


@pytest.mark.wide
def test_independent_constraints_are_not_redundant():
    report = dd.analyse(twice_held(lambda q: q[0] - 0.6))
    assert report.redundant == []
    assert report.index == 3
    assert report.degrees_of_freedom == 0


def test_an_undetermined_motion_is_named_with_all_that_moves():
    m = dd.Model("free input")
    x, v, force = m.state("x", start=0.0), m.state("v", start=0.0), m.algebraic("force")
    other = m.algebraic("other")
    m.equation(m.der(x), v)
    m.equation(m.der(v), force + other)
    m.equation(force + other, m.der(v))
    m.equation(other, 2 * x)
    report = dd.analyse(m)
    assert not report.solvable
    assert report.undetermined == ["v", "force"]
    assert set(report.redundant) == {"equation_2", "equation_3"}
    assert report.non_unique_multipliers == []
    assert "does not determine v, force" in str(report)


def test_one_equation_too_many_that_agrees_with_the_others():
    m = dd.Model("ellipse")
    x = m.state("x", 2, start=[1.0, 0.0])
    m.equation(m.der(x), [x[1], -x[0]])
    m.equation(x[0] * m.der(x)[0] + x[1] * m.der(x)[1], name="no change of radius")
    report = dd.analyse(m)
    assert report.undetermined == []
    assert "no change of radius" in report.redundant
    assert report.solvable
    assert "with redundant equations" in str(report)
    assert report.overdetermined == []
