"""What a run with hard contacts finds out about its model: overlaps, Painlevé's paradox, laws that contradict."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.model.mechanics.contact_shapes import LAW
from daedalus.model.names import listed
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.records_of_methods import OverlapAtStart, PainleveParadox
from daedalus.simulation.touching.body_rows import TWIST, cross, matrix_of
from daedalus.simulation.touching.conflicting_laws import NoMotionError
from daedalus.simulation.touching.contact_modes import Pair
from daedalus.simulation.touching.touching_bodies import TouchingBodies
from daedalus.simulation.touching.tree_rows import SeenTree

# Shapes that lie in each other deeper than this, in depths that count as touching, were put there; by judgement.
DEEP = 100


def overlap_at_start(bodies: TouchingBodies, x: np.ndarray, touch: float) -> OverlapAtStart | None:
    """Bodies that lie in each other at a row, deeper than `touch` explains."""
    world = bodies.world
    if not world.place(bodies.rows.poses(x), 0.0, 0.0):
        return None
    info = world.contacts()
    own = info[info[:, 0] < -DEEP * touch]
    if not len(own):
        return None
    deepest = own[np.argmin(own[:, 0])]
    pair = sorted((int(deepest[4]), int(deepest[5])), reverse=True)
    one, other = (bodies.names[k] if k >= 0 else "the ground" for k in pair)
    return OverlapAtStart(one, other, float(-deepest[0]), len(np.unique(own[:, 4:6], axis=0)))


def paradox_at(
    t: float, x: np.ndarray, points: np.ndarray, joints: np.ndarray | None, bodies: TouchingBodies, slow: float,
    name: Callable[[Pair], str],
) -> PainleveParadox | None:  # fmt: skip
    """The point at which no finite force fits the sliding at a row, the worst of several."""
    share = lifting(bodies, x, points, joints, slow)
    worst = int(np.argmin(share))
    if not share[worst] < 0:
        return None
    law, one, two = points[worst, :3].astype(int).tolist()
    return PainleveParadox(name((law, one, two)), t, float(bodies.laws[law, 0]), float(share[worst]))


def without_motion(found: NoMotionError, t: float, name: Callable[[Pair], str], bodies: TouchingBodies) -> Stop:
    """The end of a run whose contacts and joints contradict each other."""
    contacts = listed(dict.fromkeys(name(pair) for pair in found.pairs))
    return Stop(
        Ending.STUCK,
        t,
        f"no motion obeys both the contacts and the joints at {time_text(t)}",
        (
            f"{contacts} against {listed(bodies.joint_names(found.joints))}",
            f"velocities miss by {found.missing:.3g} m/s, whatever the forces",
        ),
        "a drive with a force in place of a prescribed motion, or stiffness= in m.contact",
        obstacle=Obstacle.CONFLICT,
    )


# Painlevé's paradox: sliding contacts at which every finite force presses the bodies further into each other.
#
# Where a body slides, friction turns it. The normal force N changes the normal velocity by (W_nn - μ W_nd) N per time,
# W being the inverse mass that the contact feels and d the direction of sliding. If that number is negative, no finite
# force fits (P. Painlevé, C. R. Acad. Sci. 121, 1895; F. Génot, B. Brogliato, Eur. J. Mech. A 18, 1999).


def inverse_masses(bodies: TouchingBodies, x: np.ndarray, joints: np.ndarray | None) -> np.ndarray:
    """The inverse mass matrix of all twists, forces in the world and moments in the bodies; joints hold."""
    seen = bodies.rows.seen_from(x)
    count = len(bodies.names)
    inverse = np.zeros((count * TWIST, count * TWIST))
    mass, inertia = bodies.inverse_masses
    for k in range(count):
        at = k * TWIST
        inverse[range(at, at + 3), range(at, at + 3)] = mass[k]
        inverse[at + 3 : at + 6, at + 3 : at + 6] = inertia[k]
    if isinstance(seen, SeenTree):
        inverse = seen.answer
    if joints is not None and len(joints):
        rows = joints.reshape(len(joints), -1)
        felt = inverse @ rows.T
        inverse -= felt @ np.linalg.pinv(rows @ felt, rcond=KNOWN_BY_DIFFERENCES) @ felt.T
    return inverse


def lifting(
    bodies: TouchingBodies, x: np.ndarray, points: np.ndarray, joints: np.ndarray | None, slow: float
) -> np.ndarray:  # fmt: skip
    """(W_nn - μ W_nd) / W_nn at points that push and slide at a moment, 1 at others; a paradox where it is negative.

    Points of moving surfaces are left out.
    """
    share = np.ones(len(points))
    friction = bodies.laws[points[:, 0].astype(int), 0]
    still = ~np.any(bodies.laws[points[:, 0].astype(int), len(LAW) :], axis=1)
    own = np.flatnonzero(still & (friction > 0))
    if not len(own):
        return share
    # Only those that slide are looked at further.
    sides, normal = points[own, 13:15].astype(int), points[own, 6:9]
    poses, twists = bodies.rows.poses(x), bodies.rows.twists(x)
    slip = _slip(poses, twists, sides, points[own, 3:6])
    slip -= np.sum(slip * normal, axis=1)[:, None] * normal
    speed = np.linalg.norm(slip, axis=1)
    slides = speed > slow
    own, sides, normal, slip, speed = own[slides], sides[slides], normal[slides], slip[slides], speed[slides]
    if not len(own):
        return share
    felt = _felt(bodies, x, _parts(poses, sides, points[own, 3:6]), sides, joints)
    along = normal - friction[own, None] * slip / speed[:, None]
    alone, lifted = (np.einsum("ni,nij,nj->n", normal, felt, way) for way in (normal, along))
    pushed = alone > 0
    share[own[pushed]] = lifted[pushed] / alone[pushed]
    return share


def _slip(poses: np.ndarray, twists: np.ndarray, sides: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The velocities of points, second body against first."""
    turns = np.moveaxis(matrix_of(poses[:, 3:].T), -1, 0)
    spins = np.einsum("bij,bj->bi", turns, twists[:, 3:])
    found = np.zeros((len(places), 3))
    for side, sign in ((0, -1.0), (1, 1.0)):
        body = sides[:, side]
        velocity = twists[body, :3] + cross(spins[body], places - poses[body, :3])
        found += sign * np.where(body[:, None] >= 0, velocity, 0.0)
    return found


def _parts(poses: np.ndarray, sides: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The velocities of points, second body against first, by the twists of both: (points, 2, 3, 6)."""
    turns = np.moveaxis(matrix_of(poses[:, 3:].T), -1, 0)
    parts = np.zeros((len(places), 2, 3, TWIST))
    for side, sign in ((0, -1.0), (1, 1.0)):
        body = sides[:, side]
        arms = places - poses[body, :3]
        across = np.stack([cross(axis, arms) for axis in np.eye(3)], axis=2)  # of unit turns about the world's axes
        parts[:, side, :, :3], parts[:, side, :, 3:] = sign * np.eye(3), sign * across @ turns[body]
        parts[body < 0, side] = 0.0
    return parts


def _felt(
    bodies: TouchingBodies, x: np.ndarray, parts: np.ndarray, sides: np.ndarray, joints: np.ndarray | None
) -> np.ndarray:
    """The changes of the velocities of points by unit impulses there, (points, 3, 3)."""
    if isinstance(bodies.rows.seen_from(x), SeenTree) or (joints is not None and len(joints)):
        rows = np.zeros((len(parts), 3, len(bodies.names), TWIST))
        for side in (0, 1):
            rows[np.arange(len(parts)), :, sides[:, side]] += parts[:, side]
        flat = rows.reshape(len(parts), 3, -1)
        coupled: np.ndarray = flat @ inverse_masses(bodies, x, joints) @ flat.transpose(0, 2, 1)
        return coupled
    mass, inertia = bodies.inverse_masses
    moved = np.concatenate([
        parts[..., :3] * mass[sides][:, :, None],
        np.einsum("nsij,nsjk->nsik", parts[..., 3:], inertia[sides]),
    ], axis=-1)  # fmt: skip
    alone: np.ndarray = np.einsum("nsik,nsjk->nij", moved, parts)
    return alone
