"""What brought a transition about that the run recorded, and how its moment τ moves with v = (x, u, p).

Of all that changes at a moment something was led to zero by the motion, and the rest changed with it. A guard g that
was led there has

    ∂τ/∂v = -g_v / (g_t + g_x f⁻).

A guard that jumps across zero moves with the stair in it that takes a step; what time alone decides does not move.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import agree
from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.differentiation.case import Case
from daedalus.differentiation.events.jumping_conditions import JumpingConditions
from daedalus.differentiation.events.part_guards import event_of, expression_slopes
from daedalus.differentiation.events.saltation import is_met
from daedalus.differentiation.events.smoothness import stairs_of


class Passage(NamedTuple):
    """A guard at a moment of a run: its value, its rate along the motion, and ∂g/∂(x, u, p)."""

    value: float
    rate: float
    slopes: np.ndarray

    @property
    def moves(self) -> np.ndarray:
        """∂τ/∂(x, u, p)."""
        return -self.slopes / self.rate

    @property
    def distance(self) -> float:
        """How far from the moment it is zero."""
        return abs(self.value) / abs(self.rate) if self.rate else np.inf


def passage(value: float, slopes: np.ndarray, row: np.ndarray, states: int) -> Passage:
    """A guard by its value and ∂g/∂(t, x, u, p), at a row that ends with x'."""
    return Passage(value, float(slopes[0] + slopes[1 : 1 + states] @ row[-states:]), slopes[1:])


def passage_of(case: Case, guard: ca.SX, t: float, row: np.ndarray) -> Passage:
    """A guard of the system of a case, at a row (x, z, x')."""
    return passage(*expression_slopes(case, guard, t, row), row, len(case.x0))


def is_led_to_zero(case: Case, guard: Passage) -> bool:
    """Whether the motion led a guard to zero, so that it brought the transition about."""
    return bool(is_met(guard.value, guard.rate, case.last_time - case.first_time, case.settings.rtol))


def move_together(case: Case, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two moments have the same ∂τ/∂(x, u, p), whether the run takes seconds or nanoseconds."""
    return agree(one, other, KNOWN_BY_DIFFERENCES, 1 / varied_sizes(case))


def varied_sizes(case: Case) -> np.ndarray:
    """How large x, u and p are along a run: nominal values where they stay zero, and of inputs at least those."""
    nominal = case.system.nominal
    x = np.abs(case.x0) if case.foreseen is None else case.foreseen.largest
    return np.concatenate([
        np.where(x > 0, x, nominal["x"]), np.maximum(np.abs(case.u0), nominal["u"]),
        np.where(case.p != 0, np.abs(case.p), nominal["p"]),
    ])  # fmt: skip


def slope_sizes(case: Case) -> np.ndarray:
    """The usual sizes of ∂x/∂(x, u, p), by those of what is divided."""
    sizes = varied_sizes(case)
    return np.asarray(sizes[: len(case.x0), None] / sizes)


class Cause(NamedTuple):
    """The condition that brought a change about, how its moment moves, and others whose moments move otherwise.

    led: all that the motion led to zero.
    """

    condition: int
    moves: np.ndarray
    apart: tuple[int, ...]
    led: tuple[int, ...]


def cause_of(
    case: Case,
    conditions: JumpingConditions,
    modes: tuple[int, ...],
    turned: tuple[int, ...],
    t: float,
    row: np.ndarray,
) -> Cause:
    """What brought a change about at which some conditions turned; modes: those before it.

    Those that the motion leads to zero did; the others turned with them, with time, or since something in them jumps.
    """

    def guard(k: int) -> ca.SX:
        return case.system.guards[event_of(case, k)]

    put_in = conditions.chosen(case.foreseen.corners if case.foreseen is not None else False)
    known = {k: passage_of(case, guard(k), t, row) for k in turned if k in put_in}
    led = [k for k in known if is_led_to_zero(case, known[k])]
    timed = [k for k in turned if k >= conditions.located]
    first = led[0] if led else next(k for k in turned if not conditions.corners[k])
    if timed and (first not in led or first >= conditions.located):
        moves = _moved_in_time(case, conditions.guard(timed[0], modes), t, row)
    else:
        moves = known[first].moves if led else _moved_by_stairs(case, guard(first), t, row)
    others = {k: known[k].moves for k in led[1:]}
    apart = (k for k, own in others.items() if np.all(np.isfinite(own)) and not move_together(case, own, moves))
    return Cause(first, moves, tuple(apart), tuple(led))


def _moved_in_time(case: Case, guard: ca.SX, t: float, row: np.ndarray) -> np.ndarray:
    """∂τ/∂(x, u, p) of a condition that time and parameters decide, wherever it stands."""
    found = passage_of(case, guard, t, row)
    if is_led_to_zero(case, found):
        return found.moves
    return _moved_by_stairs(case, guard, t, row)  # it jumps across zero


def _moved_by_stairs(case: Case, guard: ca.SX, t: float, row: np.ndarray) -> np.ndarray:
    """∂τ/∂(x, u, p) of a guard that changes its sign away from zero: that of the stair in it that takes a step there.

    The ramp fmod(t, T) falls where t/T is a whole number, at a moment that the state does not move. Without such a
    stair an input has jumped, at a time that is given.
    """
    for steps in stairs_of(guard):
        found = passage_of(case, steps, t, row)
        if found.rate and is_led_to_zero(case, found._replace(value=found.value - round(found.value))):
            return found.moves
    return np.zeros(len(case.x0) + case.system.sizes["u"] + len(case.p))
