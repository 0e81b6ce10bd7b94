"""Runs are led over dead centres along their motion: windows of four bars that pass their stretched position."""

from functools import cache
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus.simulation.result.records_on_the_way import DeadCentresPassed


@cache
def windows(count):
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
    m.potential_energy(9.81 * heights)
    for j, p in enumerate(points):
        m.constraint(f"leg_{j}", ca.dot(p - ca.DM([j, 0]), p - ca.DM([j, 0])) - 1)
    for j, (a, b) in enumerate(pairwise(points)):
        m.constraint(f"bar_{j}", ca.dot(b - a, b - a) - 1)
    return m.freeze()


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


@pytest.mark.parametrize(("count", "rtol"), [(1, 1e-8), (2, 1e-4), (2, 1e-5), (2, 1e-7)])
def test_windows_pass_their_stretched_position(count, rtol):
    tr = dd.simulate(windows(count), 10.0, rtol=rtol)
    assert tr.success, tr.stop_reason
    assert largest_error(tr, count, 10.0) < 100 * rtol


def test_the_way_over_is_told_and_sampled():
    tr = dd.simulate(windows(2), 3.0, rtol=1e-5)
    assert records_of(tr, DeadCentresPassed)
    times = np.linspace(0.0, 3.0, 3001)
    sampled = dd.simulate(windows(2), 3.0, rtol=1e-5, save_at=times)
    assert sampled.time.tolist() == times.tolist()
    wanted = tr.at(times)["q"]
    # At the place itself the constraints do not say where a sample belongs.
    beside = np.abs(wanted[:, 1]) > 5e-3
    np.testing.assert_allclose(sampled["q"][beside], wanted[beside], atol=1e-4)
