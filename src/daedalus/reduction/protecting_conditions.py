"""Which conditions keep an operation where it is defined, and so stay in the equations as they are.

In if_else(x > 0, log(x), 0) a step that holds the branch would take the logarithm of a negative number. In
if_else(x > 0, 2 / R, 0) or v / if_else(x > 0, 1, 2) nothing comes near to a limit: these conditions are modes like any
other, however the formula is factored. A condition protects an operation where, at places on its surface, the operation
is defined on one side and, with the condition held as it is there, undefined right beyond it. Where the equations do
not jump on its surface a condition in front of such an operation may stay, too: there is nothing to hold.

A root, a power or a logarithm that is protected is continued by zero where the equations are continuous then, as with
2 + sqrt(x) or 2 + x log(x) in place of log(x): its condition is a mode too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import BESIDE
from daedalus.algebra.newton_steps import full_newton
from daedalus.algebra.rank_decision import SAME_FORMULA
from daedalus.deadline import poll
from daedalus.model.expressions import CONDITIONS
from daedalus.model.system.instruction_list import Instructions
from daedalus.model.system.once import KeptByKey

# Operations that are not defined everywhere, with the operands that this depends on.
LIMITED = {
    **{
        getattr(ca, f"OP_{name}"): (0,) for name in ("SQRT", "LOG", "LOG1P", "ASIN", "ACOS", "ACOSH", "ATANH", "ERFINV")
    },
    **{ca.OP_POW: (0, 1), ca.OP_CONSTPOW: (0,), ca.OP_DIV: (1,), ca.OP_INV: (0,)},
}
LEAVES = frozenset((ca.OP_INPUT, ca.OP_CONST, ca.OP_OUTPUT))
DIVISIONS = frozenset((ca.OP_DIV, ca.OP_INV))
# Operations that are defined for positive operands.
OF_POSITIVE = frozenset((ca.OP_SQRT, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_LOG))
# An operation is tried beside a surface at so many places, which so many corrections lead to at most.
PLACES, CORRECTIONS = 8, 30
# So much nearer to a surface a difference is below this share of what it was, unless it is a jump.
NEARER, VANISHES = 1e-3, 0.3


class Protection(NamedTuple):
    """Rows that stay as they are, and operations that are continued by zero beyond their limit."""

    kept: bytearray
    continued: frozenset[int]


# What was found of functions, by their instructions.
_known: KeptByKey[Protection] = KeptByKey()


class Sources(NamedTuple):
    """The symbols of a function by arguments, which of its arguments are constant along a run, and their values."""

    symbols: Sequence[Sequence[ca.SX]]
    constant: frozenset[int]
    values: Mapping[int, np.ndarray]  # of constant arguments, NaN where nothing is given


def protection_of(rows: Instructions, sources: Sources) -> Protection:
    """The rows of a function that have to stay as they are; found once for equal functions."""
    values = tuple((k, given.tobytes()) for k, given in sorted(sources.values.items()))
    key = (rows.digest(), sources.constant, values)
    found = _known.get(key)
    if found is None:
        found = _known[key] = _found(rows, sources)
    return found


def _found(rows: Instructions, sources: Sources) -> Protection:
    limited = _limited(rows, sources.constant)
    kept = _protecting(rows, limited, frozenset())
    doubtful = [row for row in range(len(rows)) if kept[row] and rows.operation[row] in CONDITIONS]
    if not doubtful:
        return Protection(kept, frozenset())
    trial = _Trial(rows, sources, doubtful, [row for row in range(len(rows)) if limited[row]])
    released, continued = set(), set()
    for row in doubtful:
        poll("conditions that change")
        places = trial.on_surface(row)
        # Most that are let go jump at the first place, and most others nowhere: asked first, this is the least work.
        if not trial.jumps(row, places):
            continue
        protects = trial.protected_by(row, places)
        if trial.are_continued(row, places, protects):
            released.add(row)
            continued.update(protects)
    return Protection(_protecting(rows, limited, frozenset(released)), frozenset(continued))


def continued_by_zero(operation: int, a: ca.SX, b: ca.SX | None) -> ca.SX:
    """A root, a power or a logarithm of a where a is positive, else zero; its derivatives are finite for a < 0 too."""
    safe = ca.if_else(a > 0, a, 1)
    value = ca.SX.unary(operation, safe) if b is None else ca.SX.binary(operation, safe, b)
    return ca.SX(ca.if_else(a > 0, value, 0))


def _operands(rows: Instructions, row: int) -> tuple[int, ...]:
    if rows.operation[row] in LEAVES:
        return ()
    return tuple(k for k in (rows.first[row], rows.second[row]) if k >= 0)


def _limited(rows: Instructions, constant: frozenset[int]) -> bytearray:
    """1 for every operation that may become undefined along a run: the operand that decides it moves."""
    moving, found = bytearray(len(rows)), bytearray(len(rows))
    for row in range(len(rows)):
        operation = rows.operation[row]
        if operation == ca.OP_INPUT:
            moving[row] = rows.first[row] not in constant
        operands = _operands(rows, row)
        moving[row] |= any(moving[k] for k in operands)
        found[row] = any(moving[operands[place]] for place in LIMITED.get(operation, ()) if place < len(operands))
    return found


def _protecting(rows: Instructions, limited: bytearray, released: frozenset[int]) -> bytearray:
    """1 for every row that may decide whether an operation is defined: in its operand, or in a condition on it."""
    below = bytearray(limited)
    for row in range(len(rows)):
        below[row] |= any(below[k] for k in _operands(rows, row))
    kept = bytearray(len(rows))
    for row in range(len(rows) - 1, -1, -1):
        operands = _operands(rows, row)
        if not operands or row in released:
            kept[row] = kept[row] and row not in released
            continue
        places = (0, 1) if kept[row] else LIMITED[rows.operation[row]] if limited[row] else ()
        if rows.operation[row] == ca.OP_IF_ELSE_ZERO and below[operands[1]]:
            places = (0, *places)
        for place in places:
            if place < len(operands):
                kept[operands[place]] = 1
    return kept


def _applied(operation: int, values: Mapping[int, ca.SX], a: int, b: int) -> ca.SX:
    return ca.SX.binary(operation, values[a], values[b]) if b >= 0 else ca.SX.unary(operation, values[a])


class _Beside(NamedTuple):
    """A place on a surface, and a small step across it."""

    place: np.ndarray
    step: np.ndarray


def _both_sides(places: Sequence[_Beside]) -> list[_Beside]:
    return [side for place, step in places for side in (_Beside(place, step), _Beside(place, -step))]


class _Trial:
    """The operations of a function beside the surfaces of some conditions, each of which may be held."""

    def __init__(self, rows: Instructions, sources: Sources, conditions: list[int], limited: list[int]) -> None:
        self._rows, self._sources = rows, sources
        self._number = {row: k for k, row in enumerate(conditions)}
        self._limited = limited
        self._divides = np.array([rows.operation[row] in DIVISIONS for row in limited], dtype=bool)
        self._reads = [_operands(rows, row) for row in range(len(rows))]
        self._free = ca.DM.zeros(len(conditions))
        self._moving = np.concatenate(
            [np.full(len(own), k not in sources.constant) for k, own in enumerate(sources.symbols)]
        )
        y = ca.vertcat(ca.SX(0, 1), *(s for own in sources.symbols for s in own))
        held, values = ca.SX.sym("held", len(conditions)), ca.SX.sym("values", len(conditions))
        new = self._rebuilt(held, values)
        guards = ca.vertcat(*(self._guard(new, row) for row in conditions))
        tried = ca.vertcat(ca.SX(0, 1), *(self._tried(new, row) for row in limited))
        stored = [rows.first[row] for row in range(len(rows)) if rows.operation[row] == ca.OP_OUTPUT]
        arguments = [y, held, values]
        self._guards = ca.Function("guards", arguments, [ca.densify(guards), ca.jacobian(guards, y)])
        self._operations = ca.Function("operations", arguments, [ca.densify(tried)])
        self._outputs = ca.Function("outputs", arguments, [ca.densify(ca.vertcat(*(new[row] for row in stored)))])

    def _rebuilt(self, held: ca.SX, values: ca.SX) -> dict[int, ca.SX]:
        """Every row, with conditions that can be held and operations continued by zero."""
        rows, new, continued = self._rows, {}, frozenset(self._limited)
        for row in range(len(rows)):
            operation, a, b = rows.operation[row], rows.first[row], rows.second[row]
            if operation == ca.OP_INPUT:
                new[row] = self._sources.symbols[a][b]
            elif operation == ca.OP_CONST:
                new[row] = ca.SX(rows.constants[a])
            elif operation in OF_POSITIVE and row in continued:
                new[row] = continued_by_zero(operation, new[a], None if b < 0 else new[b])
            elif operation != ca.OP_OUTPUT:
                new[row] = _applied(operation, new, a, b)
            if row in self._number:
                k = self._number[row]
                new[row] = ca.if_else(held[k], values[k], new[row])
        return new

    def _guard(self, new: Mapping[int, ca.SX], row: int) -> ca.SX:
        a, b = self._rows.first[row], self._rows.second[row]
        return new[a] - new[b] if b >= 0 else new[a]

    def _tried(self, new: Mapping[int, ca.SX], row: int) -> ca.SX:
        """A divisor, whose sign must stay; else the value, which must be finite."""
        operation, operands = self._rows.operation[row], _operands(self._rows, row)
        if operation in DIVISIONS:
            return new[operands[LIMITED[operation][0]]]
        return _applied(operation, new, self._rows.first[row], self._rows.second[row])

    def protected_by(self, row: int, places: Sequence[_Beside]) -> set[int]:
        """The operations that a condition protects at some places on its surface."""
        related = self._related(row)
        below, above = self._values_of(row)
        found: set[int] = set()
        for place, step in places:
            for side, value in ((-step, below), (step, above)):
                before, beyond = (self._at(self._operations, place + way, row, value) for way in (side, -side))
                lost = np.flatnonzero(self._are_lost(before, beyond))
                found.update(related.intersection(self._limited[k] for k in lost))
        return found

    def jumps(self, row: int, places: Sequence[_Beside]) -> bool:
        """Whether the function has other values on the two sides of a condition."""
        low, high = self._values_of(row)
        return any(not np.all(self._is_small(row, side, (1.0, low), (1.0, high))) for side in _both_sides(places))

    def are_continued(self, row: int, places: Sequence[_Beside], protected: set[int]) -> bool:
        """Whether operations continued by zero leave the function continuous where a condition is held across it."""
        if not all(self._rows.operation[k] in OF_POSITIVE for k in protected):
            return False
        sides = [(side, value) for side in _both_sides(places) for value in self._values_of(row)]
        return not protected or all(np.all(self._is_small(row, side, (1.0, v), (-1.0, v))) for side, v in sides)

    def _is_small(self, row: int, side: _Beside, one: tuple[float, float], other: tuple[float, float]) -> np.ndarray:
        """Of each value of the function whether two of it, at parts of a step and with a condition held, draw together.

        What has no value is not told apart.
        """

        def pair(share: float) -> list[np.ndarray]:
            ways = ((side.place + share * part * side.step, value) for part, value in (one, other))
            return [self._at(self._outputs, place, row, value) for place, value in ways]

        with np.errstate(invalid="ignore"):
            a, b = pair(NEARER)
            near = np.abs(a - b)
            apart = near > SAME_FORMULA * np.maximum(np.abs(a), np.abs(b))
            if not apart.any():
                return ~apart
            a, b = pair(1.0)
            return ~(apart & (near > VANISHES * np.abs(a - b)))

    def _values_of(self, row: int) -> tuple[float, float]:
        """What a condition is where its first operand is the smaller one, and where it is the larger one."""
        return (-1.0, 1.0) if self._rows.operation[row] == ca.OP_SIGN else (1.0, 0.0)

    def _are_lost(self, before: np.ndarray, beyond: np.ndarray) -> np.ndarray:
        """Of each operation whether it is defined before a surface and not beyond it."""
        with np.errstate(all="ignore"):
            turned = (before * beyond <= 0) & (before != beyond)
        return np.where(self._divides, turned, np.isfinite(before) & ~np.isfinite(beyond))

    def _at(self, function: ca.Function, y: np.ndarray, row: int, value: float) -> np.ndarray:
        held = ca.DM(self._free)
        held[self._number[row]] = 1.0
        return np.asarray(function(y, held, held * value).full().ravel())

    def _related(self, row: int) -> set[int]:
        """The operations in whose operands, or in a branch before which, a condition stands."""
        rows, reads, after, guarded = self._rows, self._reads, bytearray(len(self._rows)), bytearray(len(self._rows))
        after[row] = 1
        for k in range(row + 1, len(rows)):
            for j in reads[k]:
                if after[j]:
                    after[k] = 1
        for k in range(len(rows) - 1, -1, -1):
            if rows.operation[k] == ca.OP_IF_ELSE_ZERO and after[reads[k][0]]:
                guarded[reads[k][1]] = 1
            if guarded[k]:
                for j in reads[k]:
                    guarded[j] = 1
        return {k for k in self._limited if after[k] or guarded[k]}

    def on_surface(self, row: int) -> list[_Beside]:
        """Places on the surface of a condition, each with a small step across it."""
        rng = np.random.default_rng(5)
        found = (self._corrected(self._number[row], self._drawn(rng, k % 2 == 1)) for k in range(PLACES))
        return [place for place in found if place is not None]

    def _drawn(self, rng: np.random.Generator, given: bool) -> np.ndarray:
        """A random place; given: with the parameters as they are."""
        parts = []
        for k, own in enumerate(self._sources.symbols):
            part = rng.uniform(0.5, 1.5, len(own))
            if k not in self._sources.constant:
                part *= rng.choice([-1.0, 1.0], len(own))
            values = self._sources.values.get(k)
            if given and values is not None:
                part[: len(values)] = np.where(np.isnan(values), part[: len(values)], values)
            parts.append(part)
        return np.concatenate(parts)

    def _corrected(self, number: int, y: np.ndarray) -> _Beside | None:
        """The place moved onto the surface by Newton's method, in sizes of its numbers."""
        side = np.zeros_like(y)
        scale = np.maximum(np.abs(y), 1e-3)

        def correction(y: np.ndarray) -> np.ndarray | None:
            nonlocal side, scale
            guards, slopes = self._guards(y, self._free, self._free)
            value, slope = float(guards[number]), slopes[number, :].full().ravel() * self._moving
            scale = np.maximum(np.abs(y), 1e-3)
            steep = float(np.sum((slope * scale) ** 2))
            if not np.isfinite(value + steep) or steep == 0:
                return None
            side = scale**2 * slope / np.sqrt(steep)
            return -value / np.sqrt(steep) * side

        def length(step: np.ndarray, _: np.ndarray) -> float:
            return float(np.linalg.norm(step / scale))

        found = full_newton(correction, y, length, most=CORRECTIONS, tolerance=1e-12)
        return _Beside(found.values, BESIDE * side) if found.converged else None
