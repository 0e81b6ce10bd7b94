"""Which of many shapes are close: as many comparisons as there are shapes, and the pairs that all comparisons give."""

from __future__ import annotations

import numpy as np
import pytest

from daedalus import _core

RADIUS = 0.1


def balls(places, sizes=None):
    """A world of balls, and how many contacts they have within a gap."""
    count = len(places)
    sizes = np.full(count, RADIUS) if sizes is None else sizes
    unit = np.tile(np.eye(3).ravel(), (count, 1))
    world = _core.ContactWorld(
        np.ones((count, 3)), unit, np.ones(count, dtype=np.int64), np.arange(count), np.column_stack([sizes] * 3),
        np.zeros((count, 3)), unit, np.array([[0.5, 0, 0, 0, 0, 0, 0]]), np.zeros((count, count), dtype=np.int64),
    )  # fmt: skip
    poses = np.zeros((count, 7))
    poses[:, :3], poses[:, 3] = places, 1.0
    world.place(poses, 0.01, 0.0)
    return world


def by_all_comparisons(places, sizes):
    apart = np.linalg.norm(places[:, None] - places, axis=-1) - sizes[:, None] - sizes
    one, two = np.nonzero(np.triu(apart <= 0.01, k=1))
    return set(zip(one.tolist(), two.tolist()))


def pairs_of(world):
    return {(int(min(pair)), int(max(pair))) for pair in world.contacts()[:, 2:4]}


@pytest.mark.parametrize("side", [4, 6, 9])
def test_each_ball_of_a_heap_is_compared_with_those_beside_it(side):
    # A heap as wide as it is high: sorted along one axis, each would be compared with a whole layer (2 side²).
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3), axis=-1).reshape(-1, 3)
    draw = np.random.default_rng(side)
    places = 2 * RADIUS * grid + draw.uniform(-0.02, 0.02, (side**3, 3))
    world = balls(places)
    assert pairs_of(world) == by_all_comparisons(places, np.full(side**3, RADIUS))
    assert world.tests <= 16 * side**3


def test_pairs_are_complete_whatever_the_sizes():
    draw = np.random.default_rng(5)
    for spread in (0.3, 1.0, 4.0):
        places = draw.uniform(-spread, spread, (150, 3))
        sizes = np.concatenate([draw.uniform(0.02, 0.1, 140), draw.uniform(0.3, 2.0, 10)])
        assert pairs_of(balls(places, sizes)) == by_all_comparisons(places, sizes)


def test_places_that_are_not_finite_end_no_search():
    places = np.array([[0, 0, 0], [np.nan, 0, 0], [1e300, 0, 0], [0.15, 0, 0.0]])
    assert pairs_of(balls(places)) == {(0, 3)}
