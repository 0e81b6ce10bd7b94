"""What brought a transition about that the run recorded, and how its moment τ moves with v = (x, u, p).

Of all that changes at a moment something was led to zero by the motion, and the rest changed with it. A guard g that
was led there has

    ∂τ/∂v = -g_v / (g_t + g_x f⁻).

A guard that jumps across zero moves with the stair in it that takes a step; what time alone decides does not move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import agree
from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.differentiation.case import Case
from daedalus.differentiation.events.jumping_conditions import JumpingConditions
from daedalus.differentiation.events.part_guards import expression_slopes
from daedalus.differentiation.events.smoothness import stairs_of
from daedalus.differentiation.instants.foreseen import Change, Stretch

# A formula of time is zero at a moment that lies this near to it, in parts of the run.
NEAR = 1e-6


class Passage(NamedTuple):
    """A guard at a moment of a run: its value, its rate along the motion, and ∂g/∂(x, u, p)."""

    value: float
    rate: float
    slopes: np.ndarray

    @property
    def moves(self) -> np.ndarray:
        """∂τ/∂(x, u, p)."""
        return -self.slopes / self.rate


def passage(value: float, slopes: np.ndarray, row: np.ndarray, states: int) -> Passage:
    """A guard by its value and ∂g/∂(t, x, u, p), at a row that ends with x'."""
    return Passage(value, float(slopes[0] + slopes[1 : 1 + states] @ row[-states:]), slopes[1:])


def passage_of(case: Case, guard: ca.SX, t: float, row: np.ndarray) -> Passage:
    """A guard of the system of a case, at a row (x, z, x')."""
    return passage(*expression_slopes(case, guard, t, row), row, len(case.x0))


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
    case: Case, conditions: JumpingConditions, before: Stretch, change: Change, t: float, row: np.ndarray
) -> Cause:
    """What brought a change about at which some conditions turned; before: what held until then.

    Those that the motion led to zero did, as the run recorded it; the others turned with them, with time, or since
    something in them jumps.
    """
    assert before.modes is not None
    modes, put_in = before.modes, conditions.chosen(False if case.foreseen is None else case.foreseen.corners)
    still = np.zeros(len(case.x0) + case.system.sizes["u"] + len(case.p))

    def in_time(k: int) -> np.ndarray:
        moved = moved_in_time(case, [conditions.guard(k, modes)], t, row)
        return still if moved is None else moved  # an input has jumped, at a time that is given

    moves = {k: passage_of(case, conditions.guard(k, modes), t, row).moves for k in change.located if k in put_in}
    moves |= {k: in_time(k) for k in change.conditions if k >= conditions.located}
    led = tuple(moves)
    if not led:
        first = next(k for k in change.conditions if not conditions.corners[k])
        moved = _moved_by_stairs(case, [conditions.guard(first, modes)], t, row)
        return Cause(first, still if moved is None else moved, (), ())
    others = (k for k in led[1:] if np.all(np.isfinite(moves[k])))
    apart = tuple(k for k in others if not move_together(case, moves[k], moves[led[0]]))
    return Cause(led[0], moves[led[0]], apart, led)


def moved_in_time(case: Case, formulas: Sequence[ca.SX], t: float, row: np.ndarray) -> np.ndarray | None:
    """∂τ/∂(x, u, p) of a moment that formulas of time and parameters decide; None where none of them does.

    One of them is zero there, or a stair in it takes a step.
    """
    for formula in formulas:
        passing = passage_of(case, formula, t, row)
        if passing.rate and _is_zero(case, passing):
            return passing.moves
    return _moved_by_stairs(case, formulas, t, row)


def _moved_by_stairs(case: Case, formulas: Sequence[ca.SX], t: float, row: np.ndarray) -> np.ndarray | None:
    """The same where formulas jump: the ramp fmod(t, T) falls where t/T is a whole number."""
    for steps in (own for formula in formulas for own in stairs_of(formula)):
        passing = passage_of(case, steps, t, row)
        if passing.rate and _is_zero(case, passing._replace(value=passing.value - round(passing.value))):
            return passing.moves
    return None


def _is_zero(case: Case, formula: Passage) -> bool:
    """Whether a formula of time is zero at a moment that it decides, which is known to rounding."""
    span = abs(case.last_time - case.first_time)
    return abs(formula.value) <= NEAR * abs(formula.rate) * span
