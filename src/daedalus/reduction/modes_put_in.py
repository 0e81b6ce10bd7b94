"""Equations read instruction by instruction, and written again with a mode in the place of each condition.

`daedalus.reduction.switches` says what a mode stands for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import TWELVE_DIGITS
from daedalus.model.expressions import (
    BENDS,
    CONDITIONS,
    CUT,
    STAIRS,
    concatenate,
    symbol_key,
)
from daedalus.model.printing import ConditionText
from daedalus.model.switching.pole_free_guard import POLES, pole_free
from daedalus.model.system.instruction_list import (
    Instructions,
    leading_to_first_output,
)
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.angle_cut import continued_angle, may_jump, point_of, sector_guard, slope_angle
from daedalus.reduction.protecting_conditions import Sources, continued_by_zero, protection_of

PARAMETERS = ARGUMENTS.index("p")
# Of these the ones that bend and do not jump need no mode in the guard of an event.
SWITCHING = CONDITIONS | BENDS.keys() | {ca.OP_COPYSIGN}
JUMPING = SWITCHING | STAIRS.keys() | CUT.keys() | {ca.OP_ATAN}
# What may be a sign without being written as one: a / |a|.
QUOTIENTS, MOST_FACTORS = frozenset((ca.OP_DIV, ca.OP_MUL)), 20
MODES, CLOCK = "modes of the switches", "conditions on time"


@dataclass
class ModesPutIn:
    """The equations, instruction by instruction, with modes in the place of conditions."""

    rows: Instructions
    symbols: Sequence[Sequence[ca.SX]]
    labels: Mapping[int, str]
    discrete: int  # the first of the parameters that is a discrete variable
    rests: frozenset[int]  # states that are discrete variables
    given: Mapping[int, np.ndarray]  # values of parameters
    guards: list[ca.SX] = field(default_factory=list)
    modes: list[ca.SX] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    left: set[str] = field(default_factory=set)
    hidden: list[ca.SX] = field(default_factory=list)  # inputs, and what they are of (t, p)
    clock: list[ca.SX] = field(default_factory=list)
    on_time: list[str] = field(default_factory=list)
    moving_symbols: frozenset[int] | None = None

    def rewritten(self, *sizes: int) -> tuple[ca.SX, ...]:
        """The equations and the guards of events with modes; guards, modes and texts are filled on the way."""
        rows = self.rows
        result = [[ca.SX(0)] * size for size in sizes]
        self.old: dict[int, ca.SX] = {}  # as written
        self.new: dict[int, ca.SX] = {}
        self.moving: dict[int, bool] = {}  # whether it depends on more than parameters
        self.timed: set[int] = set()  # what moves with time alone
        self.assigned: set[int] = set()  # what depends on discrete variables, which change at instants
        self.jumping: set[int] = set()  # what has stairs in it that stay as they are
        self.poled: set[int] = set()  # what may change its sign through infinity
        self.stepped: set[int] = set()  # what moves where conditions change, and only there
        self.number: dict[int, object] = {-1: -1}  # equal for equal expressions
        numbers: dict[tuple[object, ...], int] = {}
        self.known: dict[tuple[object, object], ca.SX] = {}
        self.kept, self.continued = protection_of(rows, Sources(self.symbols, frozenset((PARAMETERS,)), self.given))
        self.in_equations = leading_to_first_output(rows)
        zero = len(rows)
        self._constant(zero, 0.0, numbers)
        for row in range(len(rows)):
            operation, first, second = rows.operation[row], rows.first[row], rows.second[row]
            if operation == ca.OP_OUTPUT:
                result[second][rows.slot[row]] = self.new[first]
            elif operation == ca.OP_INPUT:
                self.old[row] = self.new[row] = self.symbols[first][second]
                rests = ARGUMENTS[first] == "x" and second in self.rests
                self.moving[row] = ARGUMENTS[first] != "p" and not rests
                if ARGUMENTS[first] == "t":
                    self.timed.add(row)
                if rests or (ARGUMENTS[first] == "p" and second >= self.discrete):
                    self.assigned.add(row)
                self.number[row] = numbers.setdefault(("symbol", first, second), len(numbers))
            elif operation == ca.OP_CONST:
                self._constant(row, rows.constants[first], numbers)
            else:
                key = (operation, self.number[first], self.number[second])
                self.number[row] = numbers.setdefault(key, len(numbers))
                self._rewrite(row, operation, first, second, zero)
        return tuple(concatenate(part) for part in result)

    def _constant(self, row: int, value: float, numbers: dict[tuple[object, ...], int]) -> None:
        self.old[row] = self.new[row] = ca.SX(value)
        self.moving[row] = False
        self.number[row] = numbers.setdefault(("constant", value), len(numbers))

    def _rewrite(self, row: int, operation: int, a: int, b: int, zero: int) -> None:
        operands = [k for k in (a, b) if k >= 0]
        self.moving[row] = any(self.moving[k] for k in operands)
        self.old[row] = _applied(operation, self.old, a, b)
        if not self.poled.isdisjoint(operands) or (operation in POLES and self.moving[operands[POLES[operation]]]):
            self.poled.add(row)
        on_conditions = self.moving[row] and all(k in self.stepped for k in operands if self.moving[k])
        if on_conditions or (operation in CONDITIONS and self.moving[row]):
            self.stepped.add(row)
        is_cut = self._is_cut(row, operation, a, b)
        if not self.assigned.isdisjoint(operands):
            self.assigned.add(row)
        elif self.moving[row] and all(k in self.timed for k in operands if self.moving[k]):
            self.timed.add(row)
            bends = operation in BENDS and not self.in_equations[row]
            if (operation in SWITCHING or operation in STAIRS or is_cut) and not bends and not on_conditions:
                self.new[row] = self._of_time(row, operation, a, b if b >= 0 else zero)
                return
        if not self.jumping.isdisjoint(operands):
            self.jumping.add(row)
        if row in self.continued:
            self.new[row] = continued_by_zero(operation, self.new[a], None if b < 0 else self.new[b])
        elif operation in BENDS and not self.in_equations[row]:
            self.new[row] = _applied(operation, self.new, a, b)
        elif operation in STAIRS and self.moving[row]:
            self.new[row] = self._stairs(row, operation, a, b)
        elif is_cut:
            self.new[row] = self._angle(row, operation, a, b)
        elif operation in QUOTIENTS and (signed := self._signed(operation, a, b, zero)) is not None:
            self.new[row] = signed
        elif operation not in SWITCHING or not self.moving[row] or row in self.jumping or on_conditions:
            self.new[row] = _applied(operation, self.new, a, b)
        elif self.kept[row]:
            self.new[row] = _applied(operation, self.new, a, b)
            self._watch(operation, a, b if b >= 0 else zero)
        elif operation == ca.OP_LT:
            self.new[row] = self._mode(b, a)
        elif operation == ca.OP_LE:
            self.new[row] = 1 - self._mode(a, b, "<=")
        elif operation == ca.OP_FABS:
            self.new[row] = (2 * self._mode(a, zero) - 1) * self.new[a]
        elif operation == ca.OP_SIGN:
            self.new[row] = self._sign(a, zero)
        elif operation == ca.OP_COPYSIGN:
            size = (2 * self._mode(a, zero) - 1) * self.new[a] if self.moving[a] else ca.fabs(self.new[a])
            self.new[row] = (1 - 2 * self._mode(zero, b)) * size
        else:
            larger, smaller = (a, b) if operation == ca.OP_FMAX else (b, a)
            self.new[row] = ca.if_else(self._mode(a, b), self.new[larger], self.new[smaller])

    def _sign(self, a: int, zero: int) -> ca.SX:
        return self._mode(a, zero) - self._mode(zero, a)

    def _signed(self, operation: int, a: int, b: int, zero: int) -> ca.SX | None:
        """A quotient with a / |a| or |a| / a in it, which is 0 / 0 at a = 0, by the sign of a; None for other ones."""
        over, under = ([a], b) if operation == ca.OP_DIV else self._as_quotient(a, b)
        if under < 0:
            return None
        rows, (factors, number) = self.rows, self._factors(over)
        if rows.operation[under] == ca.OP_FABS and self._may_turn(under):
            inner = rows.first[under]
            alike = [k for k, one in enumerate(factors) if self.number[one] == self.number[inner]]
        else:
            inner = under
            sizes = [k for k, one in enumerate(factors) if rows.operation[one] == ca.OP_FABS and self._may_turn(one)]
            alike = [k for k in sizes if self.number[rows.first[factors[k]]] == self.number[inner]]
        if not alike:
            return None
        product = number * self._sign(inner, zero)
        for k, one in enumerate(factors):
            product = product if k == alike[0] else product * self.new[one]
        return product

    def _as_quotient(self, a: int, b: int) -> tuple[list[int], int]:
        """The numerators and the denominator of a product with a quotient in it; -1 where there is none."""
        for one, other in ((a, b), (b, a)):
            if self.rows.operation[other] == ca.OP_INV:
                return [one], self.rows.first[other]
            if self.rows.operation[other] == ca.OP_DIV:
                return [one, self.rows.first[other]], self.rows.second[other]
        return [], -1

    def _may_turn(self, row: int) -> bool:
        """Whether an absolute value has a mode that turns."""
        return self.moving[row] and row not in self.timed and row not in self.jumping

    def _factors(self, products: Sequence[int]) -> tuple[list[int], float]:
        """The rows that products are made of, and the number that these have to be multiplied by; none of long ones."""
        found, left, number = list[int](), list(products), 1.0
        while left and len(found) + len(left) <= MOST_FACTORS:
            row = left.pop()
            operation = self.rows.operation[row]
            if operation == ca.OP_MUL:
                left += (self.rows.first[row], self.rows.second[row])
            elif operation in (ca.OP_NEG, ca.OP_TWICE):
                left.append(self.rows.first[row])
                number *= -1 if operation == ca.OP_NEG else 2
            else:
                found.append(row)
        return ([], 1.0) if left else (found, number)

    def _stairs(self, row: int, operation: int, a: int, b: int) -> ca.SX:
        """floor and its kin, which stay as they are where they keep an operation defined."""
        if self.kept[row] or row in self.jumping:
            self.jumping.add(row)
            self.left.add(STAIRS[operation])
            return _applied(operation, self.new, a, b)
        return self._held(row, operation, self.new[a], self.new[b] if b >= 0 else ca.SX(1))

    def _is_cut(self, row: int, operation: int, a: int, b: int) -> bool:
        """Whether an operation is an angle that may jump."""
        if not self.moving[row] or (operation not in CUT and (operation != ca.OP_ATAN or a not in self.poled)):
            return False
        point = self._point(self.old, operation, a, b)
        return point is not None and may_jump(operation, point)

    def _angle(self, row: int, operation: int, a: int, b: int) -> ca.SX:
        """atan2 or atan with the mode of its jump; where it keeps an operation defined it stays within its range."""
        point = self._point(self.new, operation, a, b)
        if row in self.jumping or point is None:
            return _applied(operation, self.new, a, b)
        whole = operation in CUT
        guard = sector_guard(*point) if whole else point[1]
        mode = self._turned((self.number[row], "cut"), guard, self._written(row))
        angle = continued_angle(*point, mode) if whole else slope_angle(*point, mode)
        most = np.pi if whole else 0.5 * np.pi
        return ca.SX(ca.fmin(ca.fmax(angle, -most), most)) if self.kept[row] else angle

    def _point(self, values: Mapping[int, ca.SX], operation: int, a: int, b: int) -> tuple[ca.SX, ca.SX] | None:
        return point_of(operation, [values[k] for k in (a, b) if k >= 0], self._moves)

    def _held(self, row: int, operation: int, a: ca.SX, b: ca.SX) -> ca.SX:
        """floor, ceil, fmod or remainder with the mode of their steps; truncation is floor of the size."""
        if operation == ca.OP_FLOOR:
            return self._floor(row, a)
        if operation == ca.OP_CEIL:
            return -self._floor(row, -a)
        if operation == ca.OP_REMAINDER:
            return a - b * self._floor(row, a / b + 0.5)
        sign = 2 * self._turned((self.number[row], "sign"), a / b, self._written(row).followed_by(" >= 0")) - 1
        return a - b * sign * self._floor(row, sign * a / b)

    def _floor(self, row: int, a: ca.SX) -> ca.SX:
        wave = ca.sin(np.pi * ca.remainder(a + TWELVE_DIGITS, 2))
        odd = 1 - self._turned((self.number[row], "even"), wave, self._written(row))
        return 2 * ca.floor((a - 0.5 - odd) / 2 + 0.5) + odd

    def _written(self, row: int) -> ConditionText:
        return ConditionText.of(self.old[row], self.labels)

    def _of_time(self, row: int, operation: int, a: int, b: int) -> ca.SX:
        """What an operation is between two of its times, with a hidden input for what changes at them."""
        x, y, new_x, new_y = self.old[a], self.old[b], self.new[a], self.new[b]
        written = self._written(row)
        if operation in (ca.OP_FLOOR, ca.OP_CEIL, ca.OP_SIGN, ca.OP_LT, ca.OP_LE):
            return self._hidden(row, self.old[row], written)
        if operation in (ca.OP_FMOD, ca.OP_REMAINDER):
            return new_x - new_y * self._hidden(row, ca.floor((x - self.old[row]) / y + 0.5), written)
        if operation == ca.OP_COPYSIGN:
            return ca.fabs(new_x) * self._hidden(row, ca.copysign(1, y), written)
        if operation in CUT or operation == ca.OP_ATAN:
            old, new = (self._point(values, operation, a, b) for values in (self.old, self.new))
            assert old is not None
            assert new is not None
            if operation in CUT:
                return continued_angle(*new, self._hidden(row, sector_guard(*old) > 0, written))
            return slope_angle(*new, self._hidden(row, old[1] > 0, written))
        above = self._hidden(row, x > y, self._text(a, b, ">"))
        if operation == ca.OP_FABS:
            return (2 * above - 1) * new_x
        larger, smaller = (new_x, new_y) if operation == ca.OP_FMAX else (new_y, new_x)
        return ca.if_else(above, larger, smaller)

    def _hidden(self, row: int, value: ca.SX, text: str) -> ca.SX:
        """The hidden input for a value that time alone decides, one for all that are equal to it."""
        key = (CLOCK, self.number[row])
        if key not in self.known:
            self.known[key] = ca.SX.sym(f"{CLOCK} {len(self.hidden)}")
            self.hidden.append(self.known[key])
            self.clock.append(value)
            self.on_time.append(text)
        return self.known[key]

    def _watch(self, operation: int, a: int, b: int) -> None:
        """A condition that stays in the equations; steps end where it changes."""
        if operation == ca.OP_LT:
            a, b = b, a
        self._mode(a, b, "<=" if operation == ca.OP_LE else ">")

    def _mode(self, a: int, b: int, written: str = ">") -> ca.SX:
        """The mode of a > b, one for all conditions that are equal to it."""
        key = (self.number[a], self.number[b])
        guard = self.new[a] - self.new[b]
        if not self.poled.isdisjoint((a, b)):
            guard = pole_free(guard, self._moves)
        return self._turned(key, guard, self._text(a, b, written))

    def _moves(self, key: int) -> bool:
        """Whether a symbol changes between instants."""
        if self.moving_symbols is None:
            groups = (own for letter, own in zip(ARGUMENTS, self.symbols) if letter != "p")
            self.moving_symbols = frozenset(symbol_key(s) for own in groups for s in own)
        return key in self.moving_symbols

    def _turned(self, key: tuple[object, object], guard: ca.SX, text: str) -> ca.SX:
        """The mode that a guard turns, one for each key."""
        if key not in self.known:
            self.known[key] = ca.SX.sym(f"mode {len(self.modes)}")
            self.modes.append(self.known[key])
            self.guards.append(guard)
            self.texts.append(text)
        return self.known[key]

    def _text(self, a: int, b: int, written: str) -> str:
        left, right = self.old[a], self.old[b]
        if left.is_constant():
            left, right, written = right, left, {">": "<", "<=": ">="}[written]
        one = ConditionText.of(left, self.labels)
        two = ConditionText.of(right, self.labels)
        return ConditionText(f"{one} {written} {two}", f"{one.whole} {written} {two.whole}")


def _applied(operation: int, values: Mapping[int, ca.SX], a: int, b: int) -> ca.SX:
    return ca.SX.binary(operation, values[a], values[b]) if b >= 0 else ca.SX.unary(operation, values[a])
