"""Runs are led over dead centres along their motion: windows of four bars that pass their stretched position."""

from functools import cache
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq
from tests.support.records_of import records_of

import daedalus as dd
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed
from daedalus.simulation.singular.gauss_step import gauss_step


@cache
def windows(count):
    """The windows, frozen once."""
    return windows_model(count).freeze()


def windows_model(count):
    """IFToMM's A02: windows of unit bars of 1 kg side by side, legs upright at first with 1 m/s at their ends."""
    m = dd.Model(f"{count} windows")
    ends = count + 1
    q = m.coordinate("q", 2 * ends, start=[v for j in range(ends) for v in (float(j), 1.0)], rate=[1.0, 0.0] * ends)
    points = [q[2 * j : 2 * j + 2] for j in range(ends)]
    speeds = [m.rate(q)[2 * j : 2 * j + 2] for j in range(ends)]
    kinetic = sum(ca.dot(v, v) / 6 for v in speeds)
    kinetic += sum((ca.dot(a, a) + ca.dot(a, b) + ca.dot(b, b)) / 6 for a, b in pairwise(speeds))
    heights = sum(p[1] / 2 for p in points) + sum((a[1] + b[1]) / 2 for a, b in pairwise(points))
    m.kinetic_energy(kinetic)
    m.potential_energy(m.parameter("gravity", 9.81) * heights)
    for j, p in enumerate(points):
        m.constraint(f"leg_{j}", ca.dot(p - ca.DM([j, 0]), p - ca.DM([j, 0])) - 1)
    for j, (a, b) in enumerate(pairwise(points)):
        m.constraint(f"bar_{j}", ca.dot(b - a, b - a) - 1)
    return m


@cache
def motion(count, end):
    """All legs turn alike: one angle describes the motion."""
    m = dd.Model("angle")
    a, w = m.state("a", start=np.pi / 2), m.state("w", start=-1.0)
    inertia, weight = (count + 1) / 3 + count, (count + 1) / 2 + count
    m.equation(m.der(a), w)
    m.equation(m.der(w), -9.81 * weight / inertia * ca.cos(a))
    return dd.simulate(m, end, rtol=1e-13, atol=1e-13)


def largest_error(tr, count, end):
    times = np.linspace(0.0, end, 101)
    angle = motion(count, end).at(times)["a"]
    wanted = np.concatenate([np.stack([j + np.cos(angle), np.sin(angle)], axis=1) for j in range(count + 1)], axis=1)
    return np.abs(tr.at(times)["q"] - wanted).max()


MORE_WINDOWS = [(2, 1e-5), (2, 1e-6), (2, 1e-7), (10, 1e-5), (10, 1e-7)]


@pytest.mark.parametrize(
    ("count", "rtol"),
    [(1, 1e-8), (2, 1e-4), (2, 1e-8), *(pytest.param(*more, marks=pytest.mark.wide) for more in MORE_WINDOWS)],
)
def test_windows_pass_their_stretched_position(count, rtol):
    tr = dd.simulate(windows(count), 10.0, rtol=rtol)
    assert tr.success, tr.stop_reason
    assert largest_error(tr, count, 10.0) < 100 * rtol


# Errors below the tolerance decide whether an implicit step goes onto a dead centre, over it or onto another branch.
LADDER = [
    pytest.param(count, method, rtol, marks=[] if (count, method) == (1, "radau5") else pytest.mark.wide)
    for count, method, rtols in (
        (1, "radau3", (1e-4, 1e-5, 1e-6, 1e-7)),
        (1, "radau5", (1e-4, 1e-5, 1e-6, 1e-7)),
        (2, "radau5", (1e-4, 1e-5, 1e-6, 1e-7)),
        (2, "radau9", (1e-4, 1e-5, 1e-6, 1e-7)),
        (3, "radau9", (1e-4, 1e-5, 1e-6, 1e-7)),
    )
    for rtol in rtols
]


@pytest.mark.parametrize(("count", "method", "rtol"), LADDER)
def test_implicit_runs_stay_on_their_branch_at_any_tolerance(count, method, rtol):
    tr = dd.simulate(windows(count), 3.0, method=method, rtol=rtol, atol=1e-3 * rtol)
    assert tr.success, tr.stop_reason
    assert largest_error(tr, count, 3.0) < 100 * rtol


def test_prepared_runs_and_sweeps_are_led_over_as_well():
    times = np.linspace(0.0, 1.0, 11)
    wanted = dd.simulate(windows(2), 1.0, rtol=1e-5, save_at=times)["q"]
    run = dd.prepare(windows(2), 1.0, rtol=1e-5, save_at=times)
    assert run.trajectory().success
    np.testing.assert_allclose(run()[:, : wanted.shape[1]], wanted, atol=1e-12)
    swept = dd.sweep(windows(2), 1.0, {"gravity": [9.81, 9.7]}, rtol=1e-5, save_at=times)
    assert np.isfinite(swept["q"].values).all()
    np.testing.assert_allclose(swept["q"].values[0], wanted, atol=1e-12)


def test_the_way_over_is_told_and_sampled():
    tr = dd.simulate(windows(2), 3.0, rtol=1e-5)
    assert records_of(tr, DeadCentresPassed)
    times = np.linspace(0.0, 3.0, 3001)
    sampled = dd.simulate(windows(2), 3.0, rtol=1e-5, save_at=times)
    assert sampled.time.tolist() == times.tolist()
    wanted = tr.at(times)["q"]
    # At the place itself the constraints do not say where a sample belongs: the way over it does.
    np.testing.assert_allclose(sampled["q"], wanted, atol=1e-4)
    (told,) = records_of(tr, DeadCentresPassed)
    exactly = [angle_is_flat(2, 3.0, t) for t in told.times]
    there = dd.simulate(windows(2), 3.0, rtol=1e-5, save_at=exactly)
    assert np.abs(there["q"][:, 1::2]).max() < 100 * 1e-5


def angle_is_flat(count, end, near):
    """When the legs lie flat, near a time."""
    run = motion(count, end)
    return brentq(lambda t: np.sin(float(run.at(t)["a"])), near - 0.02, near + 0.02)


def test_a_motion_with_a_kink_has_no_way_over():
    """A push that begins at the very place: no polynomial follows it."""
    found = gauss_step(
        lambda t, x: np.where(t > 0.0, 1.0, -1.0)[:, None] + 0 * x, -0.01, np.zeros(1), 0.02, np.zeros((8, 1)),
        np.ones(1), 1e-6,
    )  # fmt: skip
    assert found.error > 1000
    assert found.error > 0.1 * found.motion


def test_events_are_not_stepped_over():
    m = windows_model(2)
    m.event("low", m["q"][1] + 0.001, direction=-1)
    tr = dd.simulate(m, 3.0, rtol=1e-6)
    run = motion(2, 3.0)
    times = np.linspace(0.0, 3.0, 30001)
    height = np.sin(run.at(times)["a"]) + 0.001
    crossed = times[1:][(height[:-1] > 0) & (height[1:] <= 0)]
    assert tr.success, tr.stop_reason
    np.testing.assert_allclose([event.time for event in tr.events], crossed, atol=2e-4)


@pytest.mark.parametrize("ticks", [[0.3, 2.0], np.arange(0.1, 3.0, 0.1)])
@pytest.mark.parametrize("sampled", [False, True])
def test_discrete_variables_keep_their_values_where_a_run_is_cut(ticks, sampled):
    m = windows_model(2)
    n = m.discrete("n")
    m.schedule(ticks, {"n": n + 1})
    save_at = np.linspace(0.0, 3.0, 601) if sampled else None
    tr = dd.simulate(m, 3.0, method="radau5", rtol=1e-5, save_at=save_at)
    assert 0.3 < tr.end.time < 2.0  # where it was cut
    away = np.abs(tr.time[:, None] - ticks).min(axis=1) > 1e-9
    np.testing.assert_array_equal(tr["n"][away], np.searchsorted(ticks, tr.time[away]))
    between = np.linspace(0.05, float(tr.end.time) - 1e-3, 50)
    np.testing.assert_array_equal(tr.at(between)["n"], np.searchsorted(ticks, between))
    assert tr.end["n"] == np.searchsorted(ticks, tr.end.time)
