"""Which modes of contacts hold together: a complementarity problem between forces and the changes of rates.

A friction at rest sticks, with a force within its limit, or slides, in the direction in which it is accelerated. A
constraint that is closed pushes, with a force that is not negative, or opens, with an acceleration that is not.
Modes are turned one after the other, the first that contradicts itself first, which ends for P-matrices (K. G. Murty,
Opsearch 11, 1974); frictions whose limits depend on other forces may have none. Where it does not end all combinations
are looked at. At a dead centre a friction has no hold on its speed, and slides with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.deadline import poll
from daedalus.model.names import listed
from daedalus.simulation.contacts.contact_laws import ContactLaws, ContactMotion, ContactPlace
from daedalus.simulation.contacts.refused_contacts import RefusedContacts
from daedalus.simulation.sliding.solved_slopes import Undetermined

# Shares of the forces and accelerations of the problem that are not told from zero.
FORCE, ACCELERATION = 1e-9, 1e-7
# More combinations than these are not looked at.
MOST_COMBINATIONS = 2000


def settled_modes(
    laws: ContactLaws, place: ContactPlace, guess: np.ndarray, free: Sequence[int], stiffness: np.ndarray
) -> tuple[np.ndarray, ContactMotion]:
    """Modes that fit a place, and what follows from them.

    guess: modes to begin with; free: contacts at rest, whose modes are to be found; stiffness: the acceleration that a
    unit of its own force gives each contact.
    """
    modes, seen = guess.copy(), set()
    idle = [k for k in free if laws.is_friction[k] and stiffness[k] == 0 and modes[k] == 0]
    modes[idle] = np.where(laws.modes_of(place)[idle] < 0, -1.0, 1.0)
    while True:
        poll("modes of conditions and contacts")
        try:
            motion = laws.motion(place, modes)
        except Undetermined:
            return _sharing(laws, place, modes, free, stiffness)
        wrong = next((k for k in free if _turned(laws, motion, modes, k, stiffness[k]) is not None), None)
        if wrong is None:
            _check_single(laws, place, modes, free, stiffness)
            modes, motion = _lasting(laws, place, modes, motion, free, stiffness)
            _check_shares(laws, modes, motion, free, stiffness)
            return _without_idle(laws, place, modes, motion, free, stiffness)
        if tuple(modes) in seen:
            break
        seen.add(tuple(modes))
        modes[wrong] = _turned(laws, motion, modes, wrong, stiffness[wrong])
    found = _all_settled(laws, place, guess, free, stiffness)
    if not found:
        raise _none(laws, free)
    return found[0]


def _without_idle(
    laws: ContactLaws,
    place: ContactPlace,
    modes: np.ndarray,
    motion: ContactMotion,
    free: Sequence[int],
    stiffness: np.ndarray,
) -> tuple[np.ndarray, ContactMotion]:
    """The same with constraints open that are closed and push no more than rounding: their forces have no sign."""
    rounding = _rounding(laws, motion)
    idle = [
        k for k in free
        if not laws.is_friction[k] and modes[k] and motion.force[k] * stiffness[k] <= rounding
    ]  # fmt: skip
    if not idle:
        return modes, motion
    opened = modes.copy()
    opened[idle] = 0.0
    after = laws.motion(place, opened)
    fits = all(_turned(laws, after, opened, k, stiffness[k]) is None for k in free if k not in idle)
    fits = fits and all(after.change[k] >= -rounding for k in idle)
    return (opened, after) if fits else (modes, motion)


def _sharing(
    laws: ContactLaws, place: ContactPlace, modes: np.ndarray, free: Sequence[int], stiffness: np.ndarray
) -> tuple[np.ndarray, ContactMotion]:
    """Modes in which some contacts carry no more than they must where several hold the same motion.

    A block at a stop that a friction holds too: either the friction is within its limit and the stop idle, or it is at
    its limit and the stop pushes. Two frictions share a load likewise, such as a brake and a gear that locks. Of such
    ways the one is taken in which those that stick have the largest share of their limits left.
    """
    found = _all_settled(laws, place, modes, free, stiffness)
    if not found:
        raise _shared(laws, modes)
    _check_same_motion(laws, found, free, stiffness)
    modes, motion = _best(laws, found, free)
    _check_shares(laws, modes, motion, free, stiffness)
    return modes, motion


def _check_shares(
    laws: ContactLaws, modes: np.ndarray, motion: ContactMotion, free: Sequence[int], stiffness: np.ndarray
) -> None:
    """Refuse frictions that share a load and stick by more than they slide by: together they hold their static levels,
    which a friction at its kinetic one does not."""
    if not any(laws.is_friction[k] and modes[k] == 0 for k in free):
        return
    still = [k for k in free if laws.is_friction[k] and modes[k] != 0]
    still = [k for k in still if abs(motion.change[k]) <= _slack(laws, motion, k, stiffness[k])]
    if any(abs(motion.force[k]) < motion.level[k] * (1 - FORCE) for k in still):
        raise _shared(laws, np.where(np.isin(np.arange(len(modes)), still), 0.0, modes))


def _best(
    laws: ContactLaws, found: Sequence[tuple[np.ndarray, ContactMotion]], free: Sequence[int]
) -> tuple[np.ndarray, ContactMotion]:
    """Of modes with the same motion those that last longest, and of equal ones those with the smallest forces."""
    return max(found, key=lambda way: (_room(laws, way[0], way[1], free), -float(way[1].force @ way[1].force)))


def _lasting(
    laws: ContactLaws,
    place: ContactPlace,
    modes: np.ndarray,
    motion: ContactMotion,
    free: Sequence[int],
    stiffness: np.ndarray,
) -> tuple[np.ndarray, ContactMotion]:
    """Other modes where a friction that shares its load sticks at its limit already: it would slip at once."""
    frictions = [k for k in free if laws.is_friction[k]]
    if len(frictions) < 2 or _room(laws, modes, motion, free) >= 0 or 3 ** len(free) > MOST_COMBINATIONS:
        return modes, motion
    return _best(laws, [(modes, motion), *_all_settled(laws, place, modes, free, stiffness)], free)


def _room(laws: ContactLaws, modes: np.ndarray, motion: ContactMotion, free: Sequence[int]) -> float:
    """The smallest share of its limit that is left to a friction that sticks; 0 where none sticks, -1 at a limit."""
    sticking = [k for k in free if laws.is_friction[k] and modes[k] == 0]
    least = min((1 - abs(motion.force[k]) / max(motion.level[k], NOT_ZERO) for k in sticking), default=0.0)
    return least if least > FORCE or not sticking else -1.0


def _turned(laws: ContactLaws, motion: ContactMotion, modes: np.ndarray, k: int, stiffness: float) -> float | None:
    """The mode that a contact at rest turns to where its present one contradicts itself; None where it does not."""
    force, change = motion.force[k], motion.change[k]
    largest, slack = float(np.max(np.abs(motion.force), initial=0.0)), _slack(laws, motion, k, stiffness)
    if laws.is_friction[k] and stiffness == 0:
        away = change if abs(change) > _rounding(laws, motion) else motion.rate[k]
        return None if modes[k] * away >= 0 else float(np.sign(away))
    if laws.is_friction[k]:
        if modes[k] == 0:
            return None if abs(force) <= motion.level[k] + FORCE * largest else float(-np.sign(force))
        return None if modes[k] * change >= -slack else 0.0
    if modes[k]:
        return None if force >= -FORCE * largest else 0.0
    return None if change >= -slack else 1.0


def _rounding(laws: ContactLaws, motion: ContactMotion) -> float:
    """A change of the rate that is not told from zero beside the rates of all states."""
    return ACCELERATION * float(np.max(np.abs(motion.y[: laws.system.sizes["x"]]), initial=0.0))


def _slack(laws: ContactLaws, motion: ContactMotion, k: int, stiffness: float) -> float:
    """A change of the rate that is not told from zero beside the forces of the problem."""
    largest = float(np.max(np.abs(motion.force), initial=0.0))
    return ACCELERATION * abs(stiffness) * max(largest, abs(motion.level[k]) if laws.is_friction[k] else 0.0)


def _all_settled(
    laws: ContactLaws, place: ContactPlace, guess: np.ndarray, free: Sequence[int], stiffness: np.ndarray
) -> list[tuple[np.ndarray, ContactMotion]]:
    """All combinations of modes that fit a place."""
    sticks = [(0.0,) if stiffness[k] else () for k in free]
    choices = [(*sticks[n], 1.0, -1.0) if laws.is_friction[k] else (1.0, 0.0) for n, k in enumerate(free)]
    if np.prod([len(choice) for choice in choices]) > MOST_COMBINATIONS:
        raise _none(laws, free)
    found = []
    for chosen in product(*choices):
        poll("modes of conditions and contacts")
        modes = guess.copy()
        modes[list(free)] = chosen
        try:
            motion = laws.motion(place, modes)
        except Undetermined:
            continue
        if all(_turned(laws, motion, modes, k, stiffness[k]) is None for k in free):
            found.append((modes, motion))
    return found


def _check_single(
    laws: ContactLaws, place: ContactPlace, modes: np.ndarray, free: Sequence[int], stiffness: np.ndarray
) -> None:
    """Refuse several answers with different accelerations, which frictions may have whose limits are forces."""
    if not laws.limits_depend_on_forces or len(free) < 1 or 3 ** len(free) > MOST_COMBINATIONS // 20:
        return
    _check_same_motion(laws, _all_settled(laws, place, modes, free, stiffness), free, stiffness)


def _check_same_motion(
    laws: ContactLaws, found: list[tuple[np.ndarray, ContactMotion]], free: Sequence[int], stiffness: np.ndarray
) -> None:
    """Refuse answers that differ in their accelerations."""
    changes = [motion.change for _, motion in found]
    size = max((float(np.max(np.abs(c), initial=0.0)) for c in changes), default=0.0)
    same = max((_slack(laws, motion, k, stiffness[k]) for _, motion in found for k in free), default=0.0)
    if any(np.max(np.abs(c - changes[0])) > 1e-6 * size + 2 * same for c in changes):
        names = listed([laws.names[k] for k in free])
        raise RefusedContacts(
            f"The contacts {names} may go on in more than one way.",
            [f"{len(found)} combinations of modes fit the equations"],
            because="where a normal force depends on the friction, forces and motion need not determine each other.",
            remedy="a smaller coefficient of friction, or compliance in the contact",
            names=tuple(laws.names[k] for k in free),
        )


def _none(laws: ContactLaws, free: Sequence[int]) -> RefusedContacts:
    names = listed([laws.names[k] for k in free])
    return RefusedContacts(
        f"No modes of the contacts {names} fit together.",
        ["whether they stick or slide, push or open, a force or an acceleration has the wrong sign"],
        because="where a normal force depends on the friction, there may be no motion that obeys both.",
        remedy="a smaller coefficient of friction, or compliance in the contact",
        names=tuple(laws.names[k] for k in free),
    )


def _shared(laws: ContactLaws, modes: np.ndarray) -> RefusedContacts:
    holding = [name for name, m, is_friction in zip(laws.names, modes, laws.is_friction) if (m == 0) == is_friction]
    return RefusedContacts(
        f"The forces of {listed(holding)} are not determined.",
        ["they hold the same motion, and how they share its load is not said"],
        because="a rigid contact has any force that the motion asks for.",
        remedy="one contact in the place of those that hold the same thing, or compliance between them",
        names=tuple(holding),
    )
