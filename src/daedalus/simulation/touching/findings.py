"""What a run with hard contacts finds out about its model: overlaps, Painlevé's paradox, laws that contradict."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from daedalus.model.names import listed
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.records_of_methods import OverlapAtStart, PainleveParadox
from daedalus.simulation.touching.conflicting_laws import NoMotionError
from daedalus.simulation.touching.contact_modes import Pair
from daedalus.simulation.touching.sliding_response import lifting
from daedalus.simulation.touching.touching_bodies import TouchingBodies

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
