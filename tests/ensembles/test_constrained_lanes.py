"""Constrained models on lanes: as they are written, kept on their constraints, left where branches may cross."""

import casadi as ca
import numpy as np
import pytest
from tests.support.slider_cranks import slider_crank

import daedalus as dd
from daedalus.compilation.lanes.machine import lane_width
from daedalus.ensembles.lanes.consistent_starts import ConsistentStarts


def note(count, left=0, method="dop853"):
    told = f"{count} cases on {lane_width()} lanes of this processor, by {method}"
    return (f"{told}; {left} of them left to the scalar core" if left else told,)


def pendulum(given=True):
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[0.6, -0.8] if given else [0.6, None], rate=[0.0, 0.0])
    length, mass = m.parameter("length", 1.0), m.parameter("mass", 1.0)
    m.kinetic_energy(0.5 * mass * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * mass * q[1])
    m.constraint("rod", ca.sumsqr(q) - length**2)
    return m


def test_pendulums_of_index_3_equal_simulate_and_keep_their_constraints():
    m, times = pendulum(), np.linspace(0.0, 2.0, 9)
    angles, lengths = np.linspace(0.2, 2.0, 7), np.linspace(0.5, 2.0, 7)
    places = np.stack([lengths * np.sin(angles), -lengths * np.cos(angles)], axis=1)
    over = {"length": lengths, "q": places}
    en = dd.sweep(m, 2.0, over=over, combine="zip", on="cpu", save_at=times)
    assert en.notes == note(7)
    assert np.abs((en["q"].values ** 2).sum(axis=-1) - lengths[:, None] ** 2).max() < 1e-14
    for k in (0, 3, 6):
        tr = dd.simulate(m, 2.0, start={"q": places[k]}, parameters={"length": lengths[k]}, save_at=times)
        np.testing.assert_allclose(en["q"].values[k], tr["q"], atol=1e-6)
        np.testing.assert_allclose(en["rod"].values[k], tr["rod"], atol=1e-4)


def test_starts_that_do_not_fit_are_solved_for_or_refused_as_by_simulate():
    over = {"length": [1.0, 1.2, 0.9]}
    free = dd.sweep(pendulum(given=False), 1.0, over=over, on="cpu", save_at=[0.0, 1.0])
    assert free.notes == note(3)
    tr = dd.simulate(pendulum(given=False), 1.0, parameters={"length": 1.2}, save_at=[0.0, 1.0])
    assert abs(tr["q"][0, 1]) > 0.8
    np.testing.assert_allclose(free["q"].values[1], tr["q"], atol=1e-6)
    fixed = dd.sweep(pendulum(), 1.0, over=over, on="cpu", save_at=[0.0, 1.0])
    assert fixed.success.values.tolist() == [True, False, False]
    assert fixed.notes == note(3, left=2)


def test_starts_are_looked_at_once_where_nothing_swept_enters_their_constraints(monkeypatch):
    looked = []
    settle = ConsistentStarts.settle
    monkeypatch.setattr(ConsistentStarts, "settle", lambda *given: looked.append(1) or settle(*given))
    masses, times = np.linspace(0.5, 2.0, 5), [0.5, 1.0]
    heavy = dd.sweep(pendulum(), 1.0, over={"mass": masses}, on="cpu", save_at=times)
    assert looked == []
    assert heavy.notes == note(5)
    tr = dd.simulate(pendulum(), 1.0, parameters={"mass": masses[4]}, save_at=times)
    np.testing.assert_allclose(heavy["rod"].values[4], tr["rod"], rtol=1e-5)
    dd.sweep(pendulum(), 1.0, over={"mass": masses, "length": [1.0]}, on="cpu", save_at=times)
    assert len(looked) == 1


def test_what_passes_a_dead_centre_is_left_to_the_core():
    m, starts = slider_crank(index=3), dd.simulate(slider_crank(index=3), 0.2, save_at=[0.0, 0.1, 0.2])
    over = {name: starts[name] for name in ("q", "v") if name in starts}
    en = dd.sweep(m, 5.0, over=over, combine="zip", on="cpu", method="dop853", save_at=[1.0, 5.0])
    assert en.notes == note(3, left=3)
    first = dd.simulate(m, 5.0, method="dop853", save_at=[1.0, 5.0])
    assert bool(en.success.values[0]) == first.success
    assert en["q"].values[0].tolist() == first["q"].tolist()


def crossed():
    """Two unknowns in two equations with a parameter on the diagonal, which may be zero."""
    m = dd.Model("crossed")
    x, y = m.state("x", start=1.0), m.state("y", start=2.0)
    a, b, r = m.algebraic("a"), m.algebraic("b"), m.parameter("r", 0.5)
    m.equation(r * a + (2 + ca.sin(x)) * b, 1.0)
    m.equation((3 + ca.cos(y)) * a + r * b, 2.0)
    m.equation([m.der(x), m.der(y)], [-a, -b])
    return m


def test_cases_whose_parameters_are_no_divisors_are_left_to_the_core():
    """Slopes divide by r; where that is zero, or costs digits, orthogonal factors are the way."""
    m, values = crossed(), [0.0, 1e-12, 0.5, 1.0]
    en = dd.sweep(m, 2.0, over={"r": values}, on="cpu", save_at="end", rtol=1e-8, method="dop853")
    assert en.notes == note(4, left=2)
    for k, value in enumerate(values):
        tr = dd.simulate(m, 2.0, parameters={"r": value}, save_at=[2.0], rtol=1e-8, method="dop853")
        np.testing.assert_allclose(en["x"].values[k, -1], tr["x"][-1], rtol=1e-7)
        np.testing.assert_allclose(en["y"].values[k, -1], tr["y"][-1], rtol=1e-7)


def test_strict_kernels_solve_as_the_core_does():
    m = crossed()
    en = dd.sweep(m, 2.0, over={"r": [0.0, 0.5]}, on="cpu", save_at="end", method="dop853", strict=True)
    assert en.notes == note(2)


@pytest.mark.parametrize("way", [{"method": "dop853"}, {"method": "rk4", "step": 0.1}])
def test_starts_at_rest_are_not_left(way):
    """Slopes are zero: whatever two formulas round to there says nothing."""
    m = dd.Model("at rest")
    x, y = m.state("x", start=0.0), m.state("y", start=0.0)
    a, b, r = m.algebraic("a"), m.algebraic("b"), m.parameter("r", 0.5)
    m.equation(r * a + (2 + ca.sin(x)) * b, 0.3 - 0.1 * 3 + x)
    m.equation((3 + ca.cos(y)) * a + r * b, y)
    m.equation([m.der(x), m.der(y)], [-a, -b])
    en = dd.sweep(m, 5.0, over={"r": [0.1, 1.0, 30.0]}, on="cpu", save_at="end", **way)
    assert en.notes == note(3, method=way["method"])
    np.testing.assert_allclose(en["x"].values[:, -1], 0.0, atol=1e-15)


def test_pendulums_that_hang_still_stay_on_their_lanes():
    """A coordinate is zero all along: how independent the constraints are does not divide by it."""
    start = {"q": [0.0, -1.0], "q_dot": [0.0, 0.0]}
    en = dd.sweep(
        pendulum(), 5.0, over={"mass": [0.1, 1.0, 30.0]}, start=start, on="cpu", save_at="end", method="dop853"
    )
    assert en.notes == note(3)
    np.testing.assert_array_equal(en["q"].values[:, -1], [[0.0, -1.0]] * 3)
