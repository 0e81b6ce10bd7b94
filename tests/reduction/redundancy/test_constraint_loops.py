"""Loops of hinges whose start says nothing of velocities: repeated constraints are found where they are assembled."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.reduction.findings import RedundantConstraints
from daedalus.reduction.redundancy.constraint_loops import closes_loops

# Hinges at corners of a cube, each at right angles to both links (R. Bricard, Leçons de cinématique II, 1927).
BRICARD = (
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]],
    [[0, 1, 0], [0, 0, 1], [1, 0, 0]] * 2,
)


def pose(turn, length, twist, offset):
    """Denavit and Hartenberg's step from one hinge to the next."""
    (c, s), (d, e) = (np.cos(turn), np.sin(turn)), (np.cos(twist), np.sin(twist))
    return np.array([[c, -s * d, s * e, length * c], [s, c * d, -c * e, length * s], [0, e, d, offset], [0, 0, 0, 1]])


def schatz():
    """P. Schatz's linkage, which mixes powders: links at right angles, and a frame with two parallel hinges."""
    quarter = np.pi / 2
    rows = [(0, quarter, 0.4), *[(1, quarter, 0)] * 3, (0, quarter, 0), (np.sqrt(3), 0, -0.4)]

    def frames(turns):
        found = [np.eye(4)]
        for turn, row in zip((0.6, *turns), rows):
            found.append(found[-1] @ pose(turn, *row))
        return found

    def gap(turns):
        return (frames(turns)[-1] - np.eye(4))[:3].ravel()

    turns = np.array(SCHATZ_TURNS)
    for _ in range(8):
        slopes = np.array([(gap(turns + step) - gap(turns - step)) / 2e-6 for step in 1e-6 * np.eye(5)]).T
        turns -= np.linalg.lstsq(slopes, gap(turns), rcond=None)[0]
    assert np.abs(gap(turns)).max() < 1e-12
    found = frames(turns)[:-1]
    return [frame[:3, 3] for frame in found], [frame[:3, 2] for frame in found]


# Of the other hinges, to three digits.
SCHATZ_TURNS = (-3.916, -1.549, 4.691, 5.487, 2.51)


def ring(places, axes, coordinates="body"):
    """Links between hinges, the last one on the ground; nothing but places is written."""
    m, before, origin = dd.Model("ring"), dd.ground, np.zeros(3)
    m.gravity([0.3, 0.2, -9.81])
    places = [np.array(place, float) for place in places]
    for k, (place, axis) in enumerate(zip(places, axes)):
        middle = (place + places[k + 1]) / 2 if k + 1 < len(places) else None
        link = dd.ground if middle is None else m.body(f"b{k}", 1.0 + 0.1 * k, [0.02, 0.03, 0.025], position=middle)
        end = np.zeros(3) if middle is None else middle
        m.joint(f"j{k}", "revolute", before, link, at_a=place - origin, at_b=place - end, axis_a=axis, axis_b=axis,
                coordinates=coordinates)  # fmt: skip
        before, origin = link, end
    return m


def test_loops_are_told_from_trees():
    m = dd.Model("pair")
    one, two = (m.body(name, 1.0, [1.0, 1.0, 1.0]) for name in ("one", "two"))
    m.joint("foot", "spherical", dd.ground, one)
    m.joint("knee", "spherical", two, one)
    assert not closes_loops(m)
    m.joint("rope", "distance", dd.ground, two, length=1.0)
    assert closes_loops(m)


def independent(m):
    found = [finding for finding in dd.reduce(m).reduction.findings if isinstance(finding, RedundantConstraints)]
    return [(finding.independent, finding.count) for finding in found]


def test_six_hinges_that_a_count_holds_still_have_one_constraint_too_many():
    """Singular only where the loop is closed: at random values of the unknowns all constraints are independent."""
    assert independent(ring(*BRICARD)) == [(29, 30)]


@pytest.mark.wide
@pytest.mark.parametrize("linkage", [lambda: BRICARD, schatz])
def test_they_move_as_in_joint_coordinates(linkage):
    ends = []
    for coordinates in ("body", "joint"):
        tr = dd.simulate(ring(*linkage(), coordinates), 0.5, rtol=1e-9, atol=1e-9)
        assert tr.success
        ends.append(np.array([tr[f"b{k}.position"][-1] for k in range(5)]))
    np.testing.assert_allclose(*ends, atol=1e-9)
    assert np.abs(ends[0] - [tr[f"b{k}.position"][0] for k in range(5)]).max() > 1e-2
