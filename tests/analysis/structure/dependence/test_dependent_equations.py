"""Redundant constraints at any size: what depends for good, at one place alone, and what contradicts."""

import casadi as ca
import numpy as np
import pytest
from tests.support.redundant_models import (
    chain,
    first_rod,
    planar_linkage_in_space,
    platform,
    rolling_chain,
    with_chain,
)

import daedalus as dd
from daedalus.analysis.structure import examination


def verdict(report):
    return (
        report.degrees_of_freedom,
        report.index,
        report.redundant,
        report.non_unique_multipliers,
        report.undetermined,
        report.overdetermined,
        report.moved,
    )


@pytest.mark.parametrize("rods", [2, 9, 40])
def test_a_rod_written_twice_in_a_chain_of_any_length(rods):
    report = dd.analyse(chain(rods, first_rod))
    pair = ["rod0", "again0"]
    assert verdict(report) == (2 * rods, 3, pair, pair, [], [], [])
    assert report.solvable
    assert not report.directly_solvable
    # Every rod once, differentiated once and twice, but the one that says nothing new.
    assert len(report.written_constraints) == rods
    assert len(report.hidden_constraints) == 2 * rods
    assert "the motion is unique, single multipliers are not" in report.verdict
    assert report.warnings == []
    assert report.notes == []


def test_no_derivative_array_is_built_for_a_large_chain(monkeypatch):
    def refuse(*_):
        raise AssertionError("the dense derivative array was used")

    monkeypatch.setattr(examination, "consistent_jet", refuse)
    monkeypatch.setattr(examination, "JetJacobian", refuse)
    assert dd.analyse(chain(30, first_rod)).index == 3


def test_several_redundancies_at_once_more_than_the_pattern_can_hold():
    """Three rows for the two coordinates of the first mass: no assignment is full."""
    m = chain(12, first_rod, lambda q: ca.sumsqr(q[2:4] - q[:2]) - 1, lambda q: ca.norm_2(q[:2]) - 1)
    report = dd.analyse(m)
    names = ["rod0", "rod1", "again0", "again1", "again2"]
    assert verdict(report) == (24, 3, names, names, [], [], [])
    assert report.structural_index is None
    assert report.warnings == []


@pytest.mark.parametrize("legs", [3, 8, 40])
def test_null_vectors_that_depend_on_the_state(legs):
    """The legs of a plank depend on each other where all of them hold, and nowhere else."""
    report = dd.analyse(platform(legs))
    names = [f"leg{k}" for k in range(legs)]
    assert verdict(report) == (2, 3, names, names, [], [], [])
    assert len(report.hidden_constraints) == 4


def test_a_plank_on_two_legs_has_nothing_redundant():
    report = dd.analyse(platform(2))
    assert verdict(report) == (2, 3, [], [], [], [], [])


def test_a_planar_linkage_in_space_has_three_rows_too_many():
    report = dd.analyse(planar_linkage_in_space())
    # One angle, its rate, and the lengths of three quaternions.
    assert report.degrees_of_freedom == 5
    assert report.index == 3
    assert {"A[1]", "D[1]"} <= set(report.redundant)
    assert "A[0]" not in report.redundant
    assert len(report.hidden_constraints) == 2 * (20 - 3)


@pytest.mark.parametrize("rods", [3, 15])
def test_redundant_velocity_constraints(rods):
    report = dd.analyse(rolling_chain(rods, holonomic=False))
    assert verdict(report) == (3 * rods, 2, ["rod0", "again"], ["rod0", "again"], [], [], [])


@pytest.mark.parametrize("rods", [3, 15])
def test_a_velocity_constraint_that_a_length_implies(rods):
    """The velocity is dropped, not the length: that does not follow from the velocity."""
    report = dd.analyse(rolling_chain(rods, holonomic=True))
    assert verdict(report) == (2 * rods, 3, ["rod0", "again"], ["rod0", "again"], [], [], [])
    assert [text.partition(":")[0] for text, _ in report.written_constraints][:2] == ["rod0", "rod1"]


def test_a_dead_centre_is_a_warning_and_no_redundancy():
    report = dd.analyse(with_chain(platform(2, angle=0.0), 12))
    assert report.redundant == []
    assert report.non_unique_multipliers == []
    assert report.degrees_of_freedom == 26
    assert report.warnings == [
        "at this point the slopes of leg0, leg1 are not independent, so that leg0, leg1 cannot be determined; nearby "
        "that is not so: another point in at= gives the index"
    ]
    elsewhere = dd.analyse(with_chain(platform(2, angle=0.3), 12))
    assert (elsewhere.index, elsewhere.degrees_of_freedom, elsewhere.warnings) == (3, 26, [])


def test_a_dead_centre_of_a_redundant_mechanism():
    report = dd.analyse(with_chain(platform(4, angle=0.0), 12))
    names = [f"leg{k}" for k in range(4)]
    assert (report.redundant, report.non_unique_multipliers, report.index) == (names, names, None)
    assert report.warnings == [
        "at this point more of leg0, leg1, leg2, leg3 depend on each other than nearby: another point in at= gives the "
        "index"
    ]


def test_redundant_rows_that_disagree_are_named():
    report = dd.analyse(chain(15, lambda q: first_rod(q) + 0.3))
    assert report.overdetermined == ["rod0", "again0"]
    assert report.redundant == []
    assert report.index is None
    assert "whose equations contradict each other" in str(report)


def test_what_agrees_at_one_time_only_is_a_contradiction():
    """sin t and t agree at t = 0 with two derivatives, and part soon after."""
    m = dd.Model("driven")
    t, q = m.time, m.coordinate("q", 2, start=[0.0, 0.0], rate=[1.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("drive", q[0] - ca.sin(t))
    m.constraint("series", q[0] - t)
    report = dd.analyse(m)
    assert report.redundant == []
    assert report.overdetermined == ["drive", "series"]


def test_the_dropped_equations_hold_along_a_run():
    """Two independent ways: what analyse calls redundant stays at zero along the motion of the others."""
    once, twice = (dd.simulate(m, 0.3, rtol=1e-9, atol=1e-11) for m in (chain(6), chain(6, first_rod)))
    assert np.abs(once["q"][-1] - twice["q"][-1]).max() < 1e-9
    assert np.abs(np.sum(once["q"][:, :2] ** 2, axis=1) - 1).max() < 1e-8
