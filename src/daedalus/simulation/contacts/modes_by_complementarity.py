"""Which modes of contacts hold together: a complementarity problem between forces and the changes of rates.

A friction at rest sticks, with a force within its limit, or slides, in the direction in which it is accelerated. A
constraint that is closed pushes, with a force that is not negative, or opens, with an acceleration that is not.
Modes are turned one after the other, the first that contradicts itself first, which ends for P-matrices (K. G. Murty,
Opsearch 11, 1974); frictions whose limits depend on other forces may have none. Where it does not end all combinations
are looked at, or of many contacts the forces of least constraint. At a dead centre a friction has no hold on its speed,
and slides with it.
"""

from __future__ import annotations

import numpy as np

from daedalus.deadline import poll
from daedalus.simulation.contacts.at_rest import MOST_COMBINATIONS, ContactsAtRest, FoundModes
from daedalus.simulation.contacts.many_at_rest import modes_of_many
from daedalus.simulation.contacts.ways_to_share import check_shares, lasting, shared
from daedalus.simulation.sliding.solved_slopes import Undetermined


def settled_modes(rest: ContactsAtRest, guess: np.ndarray) -> FoundModes:
    """Modes that fit a place, and what follows from them; guess: modes to begin with."""
    laws, modes, seen = rest.laws, guess.copy(), set()
    idle = [k for k in rest.frictions if rest.stiffness[k] == 0 and modes[k] == 0]
    modes[idle] = np.where(laws.modes_of(rest.place)[idle] < 0, -1.0, 1.0)
    while True:
        poll("modes of conditions and contacts")
        try:
            way = rest.way(modes.copy())
        except Undetermined:
            return shared(rest, modes)
        turns = ((k, rest.turned(way, k)) for k in rest.free)
        wrong, turned = next(((k, new) for k, new in turns if new is not None), (-1, 0.0))
        if wrong < 0:
            _check_single(rest, guess)
            way = lasting(rest, way)
            check_shares(rest, way)
            return _without_idle(rest, way)
        if tuple(modes) in seen:
            break
        seen.add(tuple(modes))
        modes[wrong] = turned
    if rest.combinations > MOST_COMBINATIONS:
        return modes_of_many(rest, guess)
    found = rest.every_way(guess)
    if not found:
        raise rest.none_fits()
    return found[0]


def _without_idle(rest: ContactsAtRest, way: FoundModes) -> FoundModes:
    """The same with constraints open that are closed and push no more than rounding: their forces have no sign."""
    laws, rounding = rest.laws, rest.rounding(way.motion)
    idle = [
        k for k in rest.free
        if not laws.is_friction[k] and way.modes[k] and way.motion.force[k] * rest.stiffness[k] <= rounding
    ]  # fmt: skip
    if not idle:
        return way
    opened = way.modes.copy()
    opened[idle] = 0.0
    after = rest.way(opened)
    fits = all(rest.turned(after, k) is None for k in rest.free if k not in idle)
    fits = fits and all(after.motion.change[k] >= -rounding for k in idle)
    return after if fits else way


def _check_single(rest: ContactsAtRest, guess: np.ndarray) -> None:
    """Refuse several answers with different accelerations, which frictions may have whose limits are forces."""
    if rest.laws.limits_depend_on_forces and rest.free and 3 ** len(rest.free) <= MOST_COMBINATIONS // 20:
        rest.check_same_motion(rest.every_way(guess))
