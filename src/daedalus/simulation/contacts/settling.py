"""The contacts at one moment: impacts first, then bounces too short to count, then modes by complementarity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus._core import shared_numbers
from daedalus.algebra.rank_decision import CENTRAL, SINGULAR
from daedalus.deadline import poll
from daedalus.simulation.contacts.at_rest import ContactsAtRest
from daedalus.simulation.contacts.contact_laws import ContactLaws, ContactMotion, ContactPlace, UnitImpulses
from daedalus.simulation.contacts.impacts import Impact, impulses, replayed
from daedalus.simulation.contacts.modes_by_complementarity import settled_modes
from daedalus.simulation.contacts.refused_contacts import RefusedContacts
from daedalus.simulation.sliding.solved_slopes import Undetermined

# A rate below this, beside the largest number of the state, is zero; so is a gap. Contacts change nearer to zero.
AT_REST = 4e-12
# A friction that sticks may have been moved by errors of the steps, up to this.
STUCK = 1e-7
# A flight shorter than this part of the span is the end of bouncing: the contact comes to rest, before the core takes
# its ends for one moment.
SHORTEST_FLIGHT = 4 * shared_numbers["negligible"]


class Settled(NamedTuple):
    """The state and the modes behind a moment, and the impacts in it."""

    x: np.ndarray
    modes: np.ndarray
    impacts: tuple[Impact, ...]


def settled(
    laws: ContactLaws, place: ContactPlace, fired: np.ndarray, span: float, waiting: np.ndarray | None = None
) -> Settled:
    """The state and the modes behind a moment at which the guards of some contacts fired.

    waiting: contacts that stay as they are, as if their turn came right after.
    """
    modes = laws.modes_of(place)
    motion = laws.motion(place, modes)
    response = _with_signs(laws, place, motion, laws.response(place, motion.y))
    rest = _rest(laws, place)
    waiting = np.zeros(len(modes), dtype=bool) if waiting is None else waiting
    closed = ~waiting & ~laws.is_friction & ((modes == 1) | (motion.gap <= rest) | fired.astype(bool))
    restitution, landed = np.where(laws.is_friction, 0.0, motion.level), np.zeros(len(modes), dtype=bool)
    # What fired in flight is behind zero, however it moves.
    down = closed & fired.astype(bool) & (modes == 0)
    for _ in range(len(modes) + 1):
        poll("modes of conditions and contacts")
        moved, impacts = impulses(laws, response, motion.rate, closed, restitution, rest)
        found = _behind(laws, place, motion, response, moved, closed, fired, rest, waiting, landed, span)
        short = _too_short(found[1], found[2], closed & ((moved > 0) | down), span)
        if not short.any():
            break
        restitution, landed = np.where(short, 0.0, restitution), landed | short
    place, after, modes = found
    return Settled(place.x + _stopped(laws, after.rate, modes, response), modes, impacts)


def _rest(laws: ContactLaws, place: ContactPlace) -> float:
    """The size below which gaps and rates are zero at a moment."""
    return AT_REST * max(laws.usual, float(np.max(np.abs(place.x), initial=0.0)))


def acting(laws: ContactLaws, place: ContactPlace) -> np.ndarray:
    """Which contacts act by themselves at a moment: they approach at a gap of zero, or stop sliding."""
    modes, rest = laws.modes_of(place), _rest(laws, place)
    motion = laws.motion(place, modes)
    closing = ~laws.is_friction & (modes == 0) & (motion.gap <= rest) & (motion.rate < -rest)
    return np.asarray(closing | (laws.is_friction & (modes != 0) & (np.abs(motion.rate) <= rest)))


def _with_signs(laws: ContactLaws, place: ContactPlace, motion: ContactMotion, response: UnitImpulses) -> UnitImpulses:
    """What unit forces do, with zero where a force moves what it acts on by rounding alone, as at a dead centre.

    Forces that enter the equations with the other sign are refused: a friction would drive what it is to brake.
    """
    own = np.diag(response.rates)
    _check_signs(laws, own, np.flatnonzero((own < 0) & ~laws.is_friction))
    negative = own < 0
    if not negative.any():
        return response
    sizes = np.maximum(np.abs(place.x), laws.system.nominal["x"])
    sides = [place._replace(x=place.x + sign * CENTRAL * sizes) for sign in (-1.0, 1.0)]
    beside = [np.diag(laws.response(side, laws.motion(side, laws.modes_of(place)).y).rates) for side in sides]
    _check_signs(laws, own, np.flatnonzero(negative & (np.array(beside) < 0).all(axis=0)))
    rates = response.rates.copy()
    rates[negative, negative] = 0.0
    return response._replace(rates=rates)


def _check_signs(laws: ContactLaws, own: np.ndarray, wrong: np.ndarray) -> None:
    """Refuse the contacts that act the wrong way round, if there are any; own: what a force of 1 does to its rate."""
    if not len(wrong):
        return
    names = tuple(laws.names[k] for k in wrong)
    k = int(wrong[0])
    what = "speed" if laws.is_friction[k] else "gap"
    law = "opposes its speed" if laws.is_friction[k] else "opens its gap"
    raise RefusedContacts(
        f"{names[0]} acts the wrong way round.",
        [
            f"a force of 1 changes the rate of its {what} by {own[k]:.6g}",
            *[f"so it is with {name}" for name in names[1:6]],
        ],
        because=f"{names[0]} is a force that {law} as it is.",
        remedy=f"+ {names[0]} in place of - {names[0]} in the equations of motion",
        names=names,
    )


def state_behind(laws: ContactLaws, place: ContactPlace, moment: Settled) -> np.ndarray:
    """The state behind the same impacts, and in the same modes, at a place beside that of a moment."""
    motion = laws.motion(place, laws.modes_of(place))
    response = laws.response(place, motion.y)
    total, rates = replayed(response, motion.rate, motion.level, moment.impacts)
    return np.asarray(place.x + response.states @ total + _stopped(laws, rates, moment.modes, response))


def _behind(
    laws: ContactLaws,
    place: ContactPlace,
    motion: ContactMotion,
    response: UnitImpulses,
    moved: np.ndarray,
    closed: np.ndarray,
    fired: np.ndarray,
    rest: float,
    waiting: np.ndarray,
    landed: np.ndarray,
    span: float,
) -> tuple[ContactPlace, ContactMotion, np.ndarray]:
    """Place, motion and modes behind impulses; landed: contacts at rest for which a flight would be too short."""
    before = laws.modes_of(place)
    rates = motion.rate + response.rates @ moved
    if moved.any():
        place = place._replace(x=place.x + response.states @ moved)
    allowed = rest + AT_REST * float(np.max(np.abs(motion.rate), initial=0.0))
    # What fired has reached zero as well as a run tells, unless an impulse has moved it since.
    at_zero = np.where(before == 0, allowed * STUCK / AT_REST, allowed)
    at_zero = np.where(fired.astype(bool), np.maximum(at_zero, np.abs(motion.rate)), at_zero)
    resting = ~waiting & np.where(laws.is_friction, np.abs(rates) <= at_zero, closed & (landed | (rates <= allowed)))
    guess = np.where(laws.is_friction, np.where(resting, 0.0, np.sign(rates)), np.where(resting, 1.0, 0.0))
    guess = np.where(waiting, before, guess)
    slips = laws.is_friction & resting & fired.astype(bool) & (before == 0)
    guess = np.where(slips, -np.sign(motion.force), guess)
    opens = ~laws.is_friction & resting & fired.astype(bool) & (before == 1)
    guess = np.where(opens, 0.0, guess)
    free = np.flatnonzero(resting).tolist()
    leaving = _leaving(laws, place, guess, np.flatnonzero(opens), span)
    modes, after = settled_modes(ContactsAtRest(laws, place, free, response.rates, abs(span), leaving), guess)
    return place, after, modes


def _leaving(
    laws: ContactLaws, place: ContactPlace, modes: np.ndarray, opens: np.ndarray, span: float
) -> frozenset[int]:
    """Contacts whose forces have fired and that accelerate away within the moment, if not yet where it is located."""
    if not len(opens):
        return frozenset()
    step = shared_numbers["negligible"] * span
    try:
        now = laws.motion(place, modes)
        later = place._replace(t=place.t + step, x=place.x + step * now.y[: len(place.x)])
        return frozenset(opens[laws.motion(later, modes).change[opens] >= 0].tolist())
    except Undetermined:
        return frozenset()


def _too_short(motion: ContactMotion, modes: np.ndarray, from_zero: np.ndarray, span: float) -> np.ndarray:
    """Contacts that fly off and are back almost at once."""
    falling = np.minimum(motion.change, 0.0)
    flies = from_zero & (modes == 0) & (falling < 0) & (motion.rate > 0)
    lands_at_once: np.ndarray = flies & (2 * motion.rate < -falling * SHORTEST_FLIGHT * abs(span))
    return lands_at_once


def _stopped(laws: ContactLaws, rates: np.ndarray, modes: np.ndarray, response: UnitImpulses) -> np.ndarray:
    """The change of the state that brings the rates of all contacts that hold to zero: impulses of rounding size."""
    holds = np.where(laws.is_friction, modes == 0, modes == 1)
    if not np.any(rates[holds]):
        return np.zeros(len(response.states))
    size = np.linalg.lstsq(response.rates[np.ix_(holds, holds)], -rates[holds], rcond=SINGULAR)[0]
    return np.asarray(response.states[:, holds] @ size)
