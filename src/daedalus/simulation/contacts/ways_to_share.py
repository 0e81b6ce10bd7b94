"""How contacts that hold one motion share its load: of many ways the one that lasts longest is taken.

A block at a stop that a friction holds too: either the friction is within its limit and the stop idle, or it is at its
limit and the stop pushes. Two frictions share a load likewise, such as a brake and a gear that locks. Of such ways the
one is taken in which those that stick have the largest share of their limits left; where all are at a limit, one that
still fits a moment later.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, SINGULAR
from daedalus.simulation.contacts.at_rest import FORCE, MOST_COMBINATIONS, ContactsAtRest, FoundModes
from daedalus.simulation.contacts.many_at_rest import modes_of_many
from daedalus.simulation.sliding.solved_slopes import Undetermined

# A contact is held by others where they take all but this share of what its own force does to it.
LOOSE = 1e-9
# A moment later, as a part of the run.
AHEAD = 1e-6


def shared(rest: ContactsAtRest, modes: np.ndarray) -> FoundModes:
    """Modes in which some contacts carry no more than they must where several hold the same motion."""
    if rest.combinations > MOST_COMBINATIONS:
        way = modes_of_many(rest, modes)
    else:
        found = rest.every_way(modes)
        if not found:
            raise rest.not_shared(modes)
        rest.check_same_motion(found)
        way = _best(rest, found)
    check_shares(rest, way)
    return way


def lasting(rest: ContactsAtRest, way: FoundModes) -> FoundModes:
    """Other modes where a friction that shares its load is at its limit already: it would slip at once."""
    if len(rest.frictions) < 2 or _room(rest, way) >= 0:
        return way
    if rest.combinations > MOST_COMBINATIONS:
        return way if rest.laws.limits_depend_on_forces else modes_of_many(rest, way.modes)
    return _best(rest, [way, *rest.every_way(way.modes)])


def check_shares(rest: ContactsAtRest, way: FoundModes) -> None:
    """Refuse frictions that share a load and stick by more than they slide by: together they hold their static levels,
    which a friction at its kinetic one does not."""
    modes, motion = way
    if not any(modes[k] == 0 for k in rest.frictions):
        return
    still = [k for k in rest.frictions if modes[k] and abs(motion.change[k]) <= rest.slack(motion, k)]
    rounding = FORCE * float(np.max(np.abs(motion.force), initial=0.0))
    if any(abs(motion.force[k]) < motion.level[k] * (1 - FORCE) - rounding for k in still):
        raise rest.not_shared(np.where(np.isin(np.arange(len(modes)), still), 0.0, modes))


def _best(rest: ContactsAtRest, found: Sequence[FoundModes]) -> FoundModes:
    """Of ways with the same motion the one that lasts longest, and of equal ones that with the smallest forces."""
    rooms = [_room(rest, way) for way in found]
    if max(rooms) < 0:
        rooms = [room + _fits_ahead(rest, way) for room, way in zip(rooms, found)]
    sizes = [-float(way.motion.force @ way.motion.force) for way in found]
    return found[max(range(len(found)), key=lambda k: (rooms[k], sizes[k]))]


def _room(rest: ContactsAtRest, way: FoundModes) -> float:
    """The smallest share of its limit that is left to a friction that sticks; 0 where none sticks, -1 at a limit.

    Also -1 where one that slides stands still by accident: nothing holds it, and it moves at once, either way.
    """
    if any(_stands_by_accident(rest, way, k) for k in rest.frictions):
        return -1.0
    modes, motion = way
    sticking = [k for k in rest.frictions if modes[k] == 0]
    least = min((1 - abs(motion.force[k]) / max(motion.level[k], NOT_ZERO) for k in sticking), default=0.0)
    return least if least > FORCE or not sticking else -1.0


def _stands_by_accident(rest: ContactsAtRest, way: FoundModes, k: int) -> bool:
    """Whether a friction at its limit does not begin to move, though the contacts that hold leave it free to."""
    modes, motion = way
    if not modes[k] or abs(motion.change[k]) > rest.slack(motion, k):
        return False
    holds = [j for j in rest.free if (modes[j] == 0) == rest.laws.is_friction[j]]
    own, matrix = rest.stiffness[k], rest.response
    held = np.linalg.lstsq(matrix[np.ix_(holds, holds)], matrix[holds, k], rcond=SINGULAR)[0]
    return bool(own - matrix[k, holds] @ held > LOOSE * own)


def _fits_ahead(rest: ContactsAtRest, way: FoundModes) -> bool:
    """Whether a way still fits a moment later: what is at its limit does not go beyond it."""
    place, (modes, motion) = rest.place, way
    step = AHEAD * rest.span
    rates = motion.y[: len(place.x)]
    try:
        ahead = rest.laws.motion(place._replace(t=place.t + step, x=place.x + step * rates), modes)
    except Undetermined:
        return False
    forces = FORCE * float(np.max(np.abs(motion.force), initial=0.0))
    for k in rest.frictions:
        slips = abs(ahead.force[k]) - ahead.level[k] - max(abs(motion.force[k]) - motion.level[k], 0.0)
        turns = -modes[k] * (ahead.change[k] - motion.change[k])
        if modes[k] == 0 and slips > forces:
            return False
        if _stands_by_accident(rest, way, k) and turns > abs(float(rest.stiffness[k])) * forces:
            return False
    return True
