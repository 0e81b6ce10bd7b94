"""Distances, normals and points of contact between shapes, against nearest points that are found in another way."""

from __future__ import annotations

import numpy as np
import pytest

from daedalus import _core
from daedalus.geometry.quaternions import rotation_from_quaternion

KINDS = {"plane": 0, "sphere": 1, "capsule": 2, "box": 3}
SIZES = {"sphere": [0.3, 0.0, 0.0], "capsule": [0.2, 0.5, 0.0], "box": [0.4, 0.3, 0.2]}
FAR = 10.0


def world(*shapes):
    """Bodies of mass one with a shape each, at their centres."""
    count = len(shapes)
    sizes = [SIZES.get(kind, [0.0, 0.0, 0.0]) for kind in shapes]
    return _core.ContactWorld(
        np.ones((count, 3)), np.tile(np.eye(3), (count, 1, 1)), np.array([KINDS[k] for k in shapes], dtype=np.int64),
        np.arange(count, dtype=np.int64), np.array(sizes), np.zeros((count, 3)), np.tile(np.eye(3), (count, 1, 1)),
        np.array([[0.5, 0, 0, 0, 0, 0, 0]]), np.zeros((count, count), dtype=np.int64),
    )  # fmt: skip


def pose(place, quaternion=(1.0, 0.0, 0.0, 0.0)):
    return [*place, *quaternion]


def touch(kinds, poses, limit=FAR):
    made = world(*kinds)
    made.place(np.array(poses, dtype=float), limit)
    return made.contacts(), made.places()


def frame(own):
    return np.array(own[:3]), np.asarray(rotation_from_quaternion(np.array(own[3:]) / np.linalg.norm(own[3:])))


def core_of(kind, at, turn, point):
    """The nearest point of a shape's core (a point, a segment, a box) to a point, and the radius around it."""
    if kind == "sphere":
        return at, SIZES[kind][0]
    local = turn.T @ (point - at)
    if kind == "capsule":
        return at + turn[:, 2] * min(max(local[2], -SIZES[kind][1]), SIZES[kind][1]), SIZES[kind][0]
    half = np.array(SIZES[kind])
    return at + turn @ np.minimum(np.maximum(local, -half), half), 0.0


def distance(kinds, poses):
    """By alternating projections (J. von Neumann), which find the nearest points of two convex sets."""
    one, two = frame(poses[0]), frame(poses[1])
    a = one[0]
    for _ in range(1000):
        b, rb = core_of(kinds[1], *two, a)
        a, ra = core_of(kinds[0], *one, b)
    return np.linalg.norm(a - b) - ra - rb


def drawn(seed, shift):
    """Two poses, the second moved along x."""
    draw = np.random.default_rng(seed)
    one, two = ((draw.uniform(-1, 1, 3), draw.normal(size=4)) for _ in range(2))
    return [pose(*one), pose(two[0] + np.array([shift, 0, 0]), two[1])]


ROUND = [("sphere", "sphere"), ("sphere", "capsule"), ("capsule", "capsule"), ("sphere", "box"), ("capsule", "box")]


@pytest.mark.parametrize("kinds", ROUND)
@pytest.mark.parametrize("seed", range(6))
def test_gaps_are_distances(kinds, seed):
    places = drawn(seed, 1.5)
    wanted = distance(kinds, places)
    for order in (1, -1):
        info, where = touch(kinds[::order], places[::order])
        assert info[:, 0].min() == pytest.approx(wanted, abs=1e-4)
        nearest = int(info[:, 0].argmin())
        # Half the gap before and behind the point are the surfaces of both shapes.
        if wanted > 1e-3:
            point, normal = where[nearest, :3], where[nearest, 3:]
            for shape, side in zip(info[nearest, 2:4].astype(int), (-1, 1)):
                surface = point + side * 0.5 * info[nearest, 0] * normal
                core, radius = core_of(kinds[::order][shape], *frame(places[::order][shape]), surface)
                assert np.linalg.norm(surface - core) == pytest.approx(radius, abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_boxes_touch_where_they_overlap(seed):
    places = drawn(seed, 0.3)
    apart = distance(("box", "box"), places)
    info, _ = touch(("box", "box"), places)
    # Boxes that are apart have a gap that the separating axis gives, which is at most the distance up to what clipping
    # leaves out; projections find an overlap slowly.
    if apart > 0.02:
        assert not len(info) or -1e-9 < info[:, 0].min() <= 1.05 * apart
    else:
        assert info[:, 0].min() <= 0.02


def test_a_box_on_a_plane_touches_with_four_corners():
    info, where = touch(("plane", "box"), [pose([0, 0, 0]), pose([0, 0, 0.2])], limit=0.01)
    assert len(info) == 4
    assert info[:, 0] == pytest.approx(0.0, abs=1e-15)
    assert {tuple(np.round(p[:2], 9)) for p in where} == {(x, y) for x in (-0.4, 0.4) for y in (-0.3, 0.3)}
    assert where[:, 3:] == pytest.approx(np.tile([0, 0, 1], (4, 1)))


def test_boxes_face_to_face_share_the_overlap_of_their_faces():
    info, where = touch(("box", "box"), [pose([0, 0, 0]), pose([0.2, 0.1, 0.39])], limit=0.05)
    assert info[:, 0] == pytest.approx(-0.01, abs=1e-12)
    corners = {tuple(np.round(p[:2], 9)) for p in where}
    assert corners == {(-0.2, -0.2), (-0.2, 0.3), (0.4, -0.2), (0.4, 0.3)}


def test_crossed_edges_touch_in_one_point():
    # Boxes on an edge, turned by 45° about x and about y: the edges cross at a right angle.
    s, c = np.sin(np.pi / 8), np.cos(np.pi / 8)
    top = (0.3 + 0.2) / np.sqrt(2)
    other = (0.4 + 0.2) / np.sqrt(2)
    places = [pose([0, 0, 0], (c, s, 0, 0)), pose([0.05, 0.03, top + other - 0.01], (c, 0, s, 0))]
    info, where = touch(("box", "box"), places, limit=0.05)
    assert len(info) == 1
    assert info[0, 0] == pytest.approx(-0.01, abs=1e-9)
    assert where[0, 3:] == pytest.approx([0, 0, 1])


def test_a_capsule_lies_on_a_box_with_both_ends():
    info, _ = touch(
        ("capsule", "box"), [pose([0, 0, 0.399], (np.sqrt(0.5), 0, np.sqrt(0.5), 0)), pose([0, 0, 0])], 0.05
    )
    assert len(info) == 2
    assert info[:, 0] == pytest.approx(-0.001, abs=1e-9)


def test_pairs_that_are_far_apart_are_not_looked_at():
    count = 60
    made = world(*["sphere"] * count)
    made.place(np.array([pose([2.0 * k, 0, 0]) for k in range(count)]), 0.01)
    assert made.pairs == 0
    made.place(np.array([pose([0.6 * k, 0, 0]) for k in range(count)]), 0.01)
    assert made.pairs == count - 1
