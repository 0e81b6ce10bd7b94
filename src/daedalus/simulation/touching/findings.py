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
    if not np.any(still & (friction > 0)):
        return share
    poses, twists = bodies.rows.poses(x), bodies.rows.twists(x).ravel()
    inverse = inverse_masses(bodies, x, joints)
    for k in np.flatnonzero(still & (friction > 0)):
        normal, rows = points[k, 6:9], np.zeros((3, len(twists)))
        for body, sign in ((int(points[k, 14]), 1.0), (int(points[k, 13]), -1.0)):
            if body >= 0:
                at, arm = body * TWIST, points[k, 3:6] - poses[body, :3]
                rows[:, at : at + 3] = sign * np.eye(3)
                rows[:, at + 3 : at + 6] = -sign * cross(np.eye(3), arm).T @ matrix_of(poses[body, 3:])
        slip = rows @ twists
        slip -= (slip @ normal) * normal
        speed = float(np.linalg.norm(slip))
        felt = rows @ inverse @ rows.T
        alone = float(normal @ felt @ normal)
        if speed > slow and alone > 0:
            share[k] = float(normal @ felt @ (normal - friction[k] * slip / speed)) / alone
    return share
