"""The Jacobian of a long function as an instruction list, from the function's own list: no second graph in memory.

Reverse mode, all outputs at once: with w̄_ir = ∂(output i)/∂(row r),

    w̄_ia = Σ over the rows r that read a of w̄_ir · ∂r/∂a,

from the deepest rows down to the inputs, whole columns of pairs (i, r) at a time. Outputs of fields read a few rows
each, so that there are a few pairs for each instruction. The derivatives of the operations are CasADi's. An entry
stands wherever an output reads an element of an input, as in CasADi's own patterns.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation.operations import COPIES, operations
from daedalus.model.system.instruction_list import Instructions, column_of, read_instructions

# Chains deeper than this are left to CasADi: every level is a pass over the columns.
DEEPEST = 100
# Outputs that read more rows than this on average are, too: their pairs would not fit.
MOST_READ = 200


@dataclass(frozen=True, eq=False)
class InstructionSlopes:
    """The entries of Jacobians, one output for each, and their patterns.

    rows: the nonzeros of each Jacobian by columns, as functions of the same inputs.
    patterns: (columns, colind, row) of each.
    """

    rows: Instructions
    patterns: tuple[tuple[int, np.ndarray, np.ndarray], ...]

    def sparsity(self, which: int) -> ca.Sparsity:
        """The pattern of a Jacobian, as CasADi has it."""
        columns, begins, rows = self.patterns[which]
        return ca.Sparsity(self._height, columns, begins.tolist(), rows.tolist())

    _height: int = 0


def instruction_slopes(rows: Instructions, groups: Sequence[Sequence[int]]) -> InstructionSlopes | None:
    """The Jacobians of the first output by groups of inputs, whose elements follow each other.

    None where recursions are too deep, outputs read too much, or an operation has no derivative here.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.model.system.instruction_list import read_instructions
    >>> x, k = ca.SX.sym("x", 3000), ca.SX.sym("k")
    >>> rows = read_instructions(ca.Function("f", [x, k], [k * (x[1:] - x[:-1])**2]))
    >>> found = instruction_slopes(rows, [(0,), (1,)])
    >>> found.sparsity(0), found.sparsity(1).nnz()
    (Sparsity(2999x3000,5998nz), 2999)
    """
    work = _SlopeColumns(rows)
    depth = work.depths()
    if depth is None or not set(np.flatnonzero(np.bincount(work.operation)).tolist()) <= _known():
        return None
    active = work.reading([k for group in groups for k in group])
    entries = work.pulled_back(depth, active)
    return None if entries is None else work.written(entries, groups)


@functools.cache
def _known() -> frozenset[int]:
    return frozenset(operations(True)) | COPIES | {ca.OP_INPUT, ca.OP_CONST, ca.OP_OUTPUT}


@functools.cache
def _rule(operation: int, operands: int) -> tuple[Instructions, ...]:
    """The derivatives of an operation by each of its operands, as functions of these."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    value = ca.SX.binary(operation, x, y) if operands == 2 else ca.SX.unary(operation, x)
    slopes = ca.densify(ca.jacobian(value, ca.vertcat(x, y)[:operands]))
    return tuple(read_instructions(ca.Function("slope", [x, y], [slopes[k]])) for k in range(operands))


class _SlopeColumns:
    """The columns of an instruction list, and those that are appended to them."""

    def __init__(self, rows: Instructions) -> None:
        self.rows = rows
        self.operation, self.first, self.second, self.slot = rows.columns()
        self.count = self.total = len(rows)
        self.is_input = self.operation == ca.OP_INPUT
        is_output, is_constant = self.operation == ca.OP_OUTPUT, self.operation == ca.OP_CONST
        self.outputs = np.flatnonzero(is_output & (self.second == 0))
        self.reads = (~(self.is_input | is_output | is_constant)).view(np.uint8)
        self.columns: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        # Which rows are constants, and their values; grown as rows are appended.
        self.constant = is_constant.copy()
        self.value = np.zeros(self.count)
        self.numbers = np.frombuffer(rows.constants, float) if len(rows.constants) else np.zeros(0)
        self.value[is_constant] = self.numbers[self.first[is_constant]]
        self.further: list[np.ndarray] = []
        self.further_count = len(self.numbers)
        self.rows_of_numbers: dict[float, int] = {}

    # -- what is read ------------------------------------------------------------------------------------------

    def depths(self) -> np.ndarray | None:
        """How many operations lie below each other; None where these are too many."""
        depth = _core.row_depths(self.first, self.second, self.reads)
        return depth if depth.max(initial=0) <= DEEPEST else None

    def reading(self, inputs: Sequence[int]) -> np.ndarray:
        """The rows that depend on some inputs."""
        own = self.is_input & np.isin(self.first, list(inputs))
        return _core.dependent_rows(self.first, self.second, self.reads, own.view(np.uint8)).view(bool)

    # -- appended rows -----------------------------------------------------------------------------------------

    def _append(self, operation: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        made = self.total + np.arange(len(first))
        self.total += len(first)
        self.columns.append((np.full(len(first), operation, np.int32), first.astype(np.int32), second.astype(np.int32)))
        if self.total > len(self.constant):
            room = max(self.total, 2 * len(self.constant))
            self.constant, self.value = np.resize(self.constant, room), np.resize(self.value, room)
        self.constant[made] = False
        return made

    def number(self, values: np.ndarray) -> np.ndarray:
        """Rows of constants."""
        if len(values) and bool(np.all(values == values[0])):
            found, inverse = values[:1], np.zeros(len(values), np.int64)
        else:
            found, inverse = np.unique(values, return_inverse=True)
        new = np.array([v for v in found.tolist() if v not in self.rows_of_numbers])
        if len(new):
            made = self._append(ca.OP_CONST, self.further_count + np.arange(len(new)), np.full(len(new), -1))
            self.further.append(new)
            self.further_count += len(new)
            self.constant[made], self.value[made] = True, new
            self.rows_of_numbers.update(zip(new.tolist(), made.tolist()))
        rows = np.array([self.rows_of_numbers[v] for v in found.tolist()], np.int64)
        return rows[inverse]

    def product(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a b, without the operations that change nothing."""
        a_known, b_known = self.constant[a], self.constant[b]
        x, y = self.value[a], self.value[b]
        result = np.full(len(a), -1)
        both = a_known & b_known
        nothing = ~both & ((a_known & (x == 0)) | (b_known & (y == 0)))
        result[nothing] = self.number(np.zeros(1))[0] if nothing.any() else -1
        result[both] = self.number(x[both] * y[both]) if both.any() else -1
        open_ = ~both & ~nothing
        for known, by, other in ((a_known, x, b), (b_known, y, a)):
            same, turned = open_ & known & (by == 1), open_ & known & (by == -1)
            result[same] = other[same]
            if turned.any():
                result[turned] = self._append(ca.OP_NEG, other[turned], np.full(int(turned.sum()), -1))
            open_ &= ~same & ~turned
        if open_.any():
            result[open_] = self._append(ca.OP_MUL, a[open_], b[open_])
        return result

    def sum(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a + b, without the operations that change nothing."""
        a_known, b_known = self.constant[a], self.constant[b]
        both = a_known & b_known
        result = np.full(len(a), -1)
        if both.any():
            result[both] = self.number(self.value[a[both]] + self.value[b[both]])
        left, right = ~both & a_known & (self.value[a] == 0), ~both & b_known & (self.value[b] == 0)
        result[left], result[right] = b[left], a[right]
        rest = ~(both | left | right)
        if rest.any():
            result[rest] = self._append(ca.OP_ADD, a[rest], b[rest])
        return result

    def _partial(self, rule: Instructions, operation: int, r: np.ndarray) -> np.ndarray:
        """The derivative of an operation in many rows."""
        values: dict[int, np.ndarray] = {}
        operands = (self.first[r], self.second[r])
        for k, (op, one, two) in enumerate(zip(rule.operation, rule.first, rule.second)):
            if op == ca.OP_OUTPUT:
                return values[one]
            if op == ca.OP_INPUT:
                values[k] = operands[one]
            elif op == ca.OP_CONST:
                values[k] = np.repeat(self.number(np.array([rule.constants[one]])), len(r))
            elif op == ca.OP_MUL:
                values[k] = self.product(values[one], values[two])
            elif op == operation and self._are_operands(values, one, two, operands):
                values[k] = r
            else:
                second = values[two] if two >= 0 else np.full(len(r), -1)
                values[k] = self._append(op, values[one], second)
        raise AssertionError("a function without an output")

    @staticmethod
    def _are_operands(
        values: dict[int, np.ndarray], one: int, two: int, operands: tuple[np.ndarray, np.ndarray]
    ) -> bool:
        """Whether a row of a rule is the operation itself, as that of exp is."""
        return values[one] is operands[0] and (two < 0 or values[two] is operands[1])

    # -- the way back ------------------------------------------------------------------------------------------

    def pulled_back(self, depth: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Output, input row and value of every entry."""
        sources = self.first[self.outputs]
        own = active[sources]
        seeds = np.repeat(self.number(np.ones(1)), int(own.sum()))
        waiting: dict[int, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}
        self._hand_on(waiting, depth, self.slot[self.outputs][own], sources[own], seeds)
        budget = MOST_READ * max(len(self.outputs), 1)
        for level in range(int(depth.max(initial=0)), 0, -1):
            if level not in waiting:
                continue
            output, row, value = self._added(*(np.concatenate(part) for part in zip(*waiting.pop(level))))
            budget -= len(row)
            if budget < 0:
                return None
            kinds = self.operation[row]
            for operation in np.flatnonzero(np.bincount(kinds)).tolist():
                chosen = kinds == operation
                self._through(operation, waiting, depth, active, output[chosen], row[chosen], value[chosen])
        if 0 not in waiting:
            nothing = np.zeros(0, np.int64)
            return nothing, nothing, nothing
        return self._added(*(np.concatenate(part) for part in zip(*waiting.pop(0))))

    def _through(
        self,
        operation: int,
        waiting: dict[int, list[tuple[np.ndarray, np.ndarray, np.ndarray]]],
        depth: np.ndarray,
        active: np.ndarray,
        output: np.ndarray,
        row: np.ndarray,
        value: np.ndarray,
    ) -> None:
        """The contributions of rows of one operation to their operands."""
        mark = np.zeros(self.count, bool)
        mark[row] = True
        distinct = np.flatnonzero(mark)
        which = np.searchsorted(distinct, row)
        two = int(self.second[distinct[0]]) >= 0
        for side, rule in enumerate(_rule(operation, 2 if two else 1)):
            operand = (self.second if side else self.first)[distinct]
            needed = active[operand]
            if not needed.any():
                continue
            partial = np.full(len(distinct), -1)
            partial[needed] = self._partial(rule, operation, distinct[needed])
            kept = needed[which]
            handed = self.product(value[kept], partial[which[kept]])
            self._hand_on(waiting, depth, output[kept], operand[which[kept]], handed)

    @staticmethod
    def _hand_on(
        waiting: dict[int, list[tuple[np.ndarray, np.ndarray, np.ndarray]]],
        depth: np.ndarray,
        output: np.ndarray,
        row: np.ndarray,
        value: np.ndarray,
    ) -> None:
        levels = depth[row]
        for level in np.flatnonzero(np.bincount(levels)).tolist():
            chosen = levels == level
            waiting.setdefault(level, []).append((output[chosen], row[chosen], value[chosen]))

    def _added(
        self, output: np.ndarray, row: np.ndarray, value: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Contributions to one pair added up, in the order in which they came."""
        keys = output.astype(np.int64) * self.count + row
        order = np.argsort(keys, kind="stable")
        keys, value = keys[order], value[order]
        begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        times = np.diff(np.append(begins, len(keys)))
        total = value[begins]
        for k in range(1, int(times.max(initial=1))):
            more = times > k
            total[more] = self.sum(total[more], value[begins[more] + k])
        return output[order][begins], row[order][begins], total

    # -- the new list ------------------------------------------------------------------------------------------

    def written(
        self, entries: tuple[np.ndarray, np.ndarray, np.ndarray], groups: Sequence[Sequence[int]]
    ) -> InstructionSlopes:
        """The instruction list of the entries, without what they do not need."""
        output, row, value = entries
        sizes, height = self.rows.size_in, self.rows.size_out[0]
        patterns, stored = [], []
        for which, group in enumerate(groups):
            begin, columns = 0, np.full(len(row), -1)
            for one in group:
                own = self.first[row] == one
                columns[own] = begin + self.second[row[own]]
                begin += sizes[one]
            inside = np.flatnonzero(columns >= 0)
            inside = inside[np.lexsort((output[inside], columns[inside]))]
            counts = np.bincount(columns[inside], minlength=begin)
            patterns.append((begin, np.append(0, np.cumsum(counts)), output[inside]))
            stored.append((value[inside], np.full(len(inside), which), np.arange(len(inside))))
        operation, first, second = (
            np.concatenate([own, *(part[k] for part in self.columns)])
            for k, own in enumerate((self.operation, self.first, self.second))
        )
        sources, outputs, places = (np.concatenate(part) for part in zip(*stored))
        needed = _needed(operation, first, second, sources)
        number = np.cumsum(needed, dtype=np.int32) - np.int32(1)
        operation, first, second = operation[needed], first[needed], second[needed]
        is_input, is_constant = operation == ca.OP_INPUT, operation == ca.OP_CONST
        inner = ~(is_input | is_constant)
        first[inner] = number[first[inner]]
        has_two = inner & (second >= 0)
        second[has_two] = number[second[has_two]]
        constants = np.concatenate([self.numbers, *self.further])[first[is_constant]]
        first[is_constant] = np.arange(len(constants))
        made = Instructions(
            _column(operation, np.full(len(sources), ca.OP_OUTPUT)), _column(first, number[sources]),
            _column(second, outputs), _column(np.zeros(len(operation), np.int64), places),
            array("d", constants.tobytes()), sizes, tuple(len(pattern[2]) for pattern in patterns),
        )  # fmt: skip
        return InstructionSlopes(made, tuple(patterns), height)


def _needed(operation: np.ndarray, first: np.ndarray, second: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Which rows some others depend on."""
    reads = (operation != ca.OP_INPUT) & (operation != ca.OP_CONST) & (operation != ca.OP_OUTPUT)
    wanted = np.zeros(len(operation), np.uint8)
    wanted[sources] = 1
    return _core.needed_rows(first, second, reads.view(np.uint8), wanted).view(bool)


def _column(*parts: np.ndarray) -> array[int]:
    return column_of(np.concatenate(parts))
