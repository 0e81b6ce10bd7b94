"""The instruction list of a CasADi SX function as flat, single-assignment columns, for translators and files."""

from __future__ import annotations

import functools
import hashlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.model.system.casadi_instructions.instruction_columns import instruction_columns

# CasADi's numbers of operations are below this.
MOST_OPERATIONS = 1 << 10
# From this many instructions on they are read all at once.
LONG = 2000

# CasADi's own numbers and words of its operations, for example 13 and "sin".
OPERATION_NAMES: dict[int, str] = {
    getattr(ca, name): name.removeprefix("OP_").lower() for name in dir(ca) if name.startswith("OP_")
}

# Operations that need somebody beside the machine: another function, a screen, a value that was never given.
_NOT_ALONE = frozenset({ca.OP_CALL, ca.OP_PRINTME, ca.OP_PARAMETER})


class UnknownOperationError(Exception):
    """A function holds something that cannot be translated; the text says what, in a sentence.

    operations: the words of the operations in question; empty where the function is not made of operations at all.
    """

    def __init__(self, sentence: str, operations: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.operations = operations

    @classmethod
    def named(cls, operations: Iterable[int]) -> UnknownOperationError:
        """For operations by CasADi's numbers."""
        names = tuple(sorted(OPERATION_NAMES.get(operation, str(operation)) for operation in operations))
        return cls(f"there is no machine code for the operation {', '.join(names)}", names)


@dataclass(frozen=True, slots=True, eq=False)
class Instructions:
    """One row per instruction; the row number is the name of the value that the row computes.

    operation: CasADi's operation number.
    first, second: rows of the operands (-1: none). Of an input: which input, which of its nonzeros. Of a constant: its
        position in `constants`. Of an output: the row stored, and which output.
    slot: the place of the value in CasADi's work vector, free to carry it from one piece of code to the next. Of an
        output: which of its nonzeros.
    """

    operation: array[int]
    first: array[int]
    second: array[int]
    slot: array[int]
    constants: array[float]
    size_in: tuple[int, ...]
    size_out: tuple[int, ...]
    _digest: list[str] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.operation)

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Operation, first, second and slot as arrays of 32-bit numbers."""
        operation, first, second, slot = (
            np.frombuffer(column, np.int32) for column in (self.operation, self.first, self.second, self.slot)
        )
        return operation, first, second, slot

    def inputs_read(self) -> list[int]:
        """The numbers of the inputs that stand in the list."""
        operation, first, _, _ = self.columns()
        return sorted(np.flatnonzero(np.bincount(first[operation == ca.OP_INPUT])).tolist())

    def digest(self) -> str:
        """A hash of what is computed, blind to the names of the function, its arguments and its symbols."""
        if not self._digest:
            self._digest.append(self._hashed())
        return self._digest[0]

    def _hashed(self) -> str:
        hashed = hashlib.sha256(repr((self.size_in, self.size_out, len(self), len(self.constants))).encode())
        for column in (self.operation, self.first, self.second, self.slot, self.constants):
            hashed.update(memoryview(column))
        return hashed.hexdigest()


def sizes(f: ca.Function) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of nonzeros of the inputs and of the outputs."""
    return tuple(f.nnz_in(i) for i in range(f.n_in())), tuple(f.nnz_out(i) for i in range(f.n_out()))


def read_instructions(f: ca.Function, *, placed: bool = True) -> Instructions:
    """The instructions of an SX function in single-assignment form.

    placed: whether the slots have to be CasADi's; without them a list that was told is taken as it is.

    Raises UnknownOperationError for a function that is not made of scalar operations.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> rows = read_instructions(ca.Function("f", [x], [x[0] * x[1]]))
    >>> [OPERATION_NAMES[operation] for operation in rows.operation]
    ['input', 'input', 'mul', 'output']
    """
    if not f.is_a("SXFunction"):
        raise UnknownOperationError(
            f"{f.class_name()} {f.name()} is not made of scalar operations (f.expand() may help)"
        )
    if f.n_instructions() >= LONG and (found := _read_long(f, placed)) is not None:
        return found
    number, operands, results = f.instruction_id, f.instruction_input, f.instruction_output
    count = f.n_instructions()
    operation, first, second, slot = array("i"), array("i"), array("i"), array("i")
    constants = array("d")
    # The row whose value each place of CasADi's work vector holds at this point of the list.
    holder: dict[int, int] = {}
    for row in range(count):
        op = number(row)
        operation.append(op)
        if op == ca.OP_OUTPUT:
            (source,) = operands(row)
            output, nonzero = results(row)
            first.append(holder[source])
            second.append(output)
            slot.append(nonzero)
            continue
        if op in _NOT_ALONE:
            raise UnknownOperationError.named({op})
        (place,) = results(row)
        if op == ca.OP_INPUT:
            which, nonzero = operands(row)
            first.append(which)
            second.append(nonzero)
        elif op == ca.OP_CONST:
            first.append(len(constants))
            second.append(-1)
            constants.append(f.instruction_constant(row))
        else:
            places = operands(row)
            first.append(holder[places[0]])
            second.append(holder[places[1]] if len(places) > 1 else -1)
        slot.append(place)
        holder[place] = row
    return Instructions(operation, first, second, slot, constants, *sizes(f))


def outputs_with(rows: Instructions, operations: Iterable[int]) -> list[np.ndarray]:
    """Of each output, which of its nonzeros depend on a result of some operations.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> rows = read_instructions(ca.Function("f", [x], [ca.vertcat(x[0] + 1, 2 * ca.fabs(x[1]))]))
    >>> outputs_with(rows, [ca.OP_FABS])[0].tolist()
    [False, True]
    """
    return dependent_outputs(rows, _is_one_of(rows.columns()[0], operations))


def dependent_outputs(rows: Instructions, begins: np.ndarray) -> list[np.ndarray]:
    """Of each output, which of its nonzeros depend on some rows, whatever these read."""
    operation, first, second, slot = rows.columns()
    is_output = operation == ca.OP_OUTPUT
    reads = ~(_is_one_of(operation, (ca.OP_OUTPUT, ca.OP_INPUT, ca.OP_CONST)) | begins)
    found = _core.dependent_rows(first, second, reads.view(np.uint8), begins.view(np.uint8)).view(bool)
    marks = [np.zeros(size, bool) for size in rows.size_out]
    for output, mark in enumerate(marks):
        own = is_output & (second == output)
        mark[slot[own]] = found[first[own]]
    return marks


def expressions_at(f: ca.Function, arguments: Sequence[ca.SX], rows: Instructions, places: np.ndarray) -> ca.SX:
    """What some rows of a function compute, as the expressions that it was made of.

    arguments: those of the function, as it was made. rows: its own instructions, in CasADi's order.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> f = ca.Function("f", [x], [x[0] * ca.sin(x[1])])
    >>> expressions_at(f, [x], read_instructions(f), np.array([0, 2]))
    SX([x_0, sin(x_1)])
    """
    operation, first, second, _ = rows.columns()
    found = f.instructions_sx()[places.tolist()]
    # An argument itself is no instruction of its own.
    is_input = operation[places] == ca.OP_INPUT
    for which, argument in enumerate(arguments) if is_input.any() else ():
        own = np.flatnonzero(is_input & (first[places] == which))
        if len(own):
            found[own.tolist()] = argument[second[places[own]].tolist()]
    return found


# The last long function and its instructions: whoever searches a function and then compiles it reads it once. One
# that is much shorter, and soon read again, does not take its place.
MUCH_SHORTER = 0.25
_last: tuple[ca.Function, Instructions] | None = None
# The same of instructions that were told, which follow from others.
_told: tuple[ca.Function, Instructions] | None = None


def tell_instructions(f: ca.Function, rows: Instructions) -> None:
    """Instructions of a long function that follow from others, without places in CasADi's work vector."""
    global _told
    _told = f, rows


def was_told(f: ca.Function) -> bool:
    """Whether the instructions of a function were told: these have no places in CasADi's work vector."""
    told = _told
    return told is not None and told[0].__hash__() == f.__hash__()


def forget_told() -> None:
    """Drops the instructions that were told, once there is code of them."""
    global _told
    _told = None


def _read_long(f: ca.Function, placed: bool) -> Instructions | None:
    global _last
    last, told = _last, _told
    if told is not None and not placed and was_told(f):
        return told[1]
    if last is not None and last[0].__hash__() == f.__hash__():
        return last[1]
    found = read_at_once(f)
    if found is not None and (last is None or len(found) > MUCH_SHORTER * len(last[1])):
        _last = f, found
    return found


def read_at_once(f: ca.Function) -> Instructions | None:
    """The same for a long function, column by column, and not kept; None where CasADi's format is not known."""
    columns = instruction_columns(f)
    if columns is None:
        return None
    operation, result, one, two, numbers = columns
    kinds = set(np.flatnonzero(np.bincount(operation)).tolist())
    if not kinds.isdisjoint(_NOT_ALONE):
        raise UnknownOperationError.named(kinds & _NOT_ALONE)
    is_output, is_input, is_constant = (operation == kind for kind in (ca.OP_OUTPUT, ca.OP_INPUT, ca.OP_CONST))
    reads = ~(is_input | is_constant)
    has_two = reads & ~is_output & _is_one_of(operation, _two_operands())
    # Places of the work vector: an operand is what was written there last.
    writes = np.where(is_output, np.int32(-1), result)
    first = _core.last_writers(writes, np.where(reads, one, np.int32(-1)))
    second = _core.last_writers(writes, np.where(has_two, two, np.int32(-1)))
    first[is_input], second[is_input] = one[is_input], two[is_input]
    first[is_constant] = np.arange(int(is_constant.sum()))
    second[is_output] = result[is_output]
    slot = np.where(is_output, two, result)
    constants = array("d", numbers[is_constant].tobytes())
    return Instructions(
        column_of(operation), column_of(first), column_of(second), column_of(slot), constants, *sizes(f)
    )


def column_of(numbers: np.ndarray) -> array[int]:
    """A column of an instruction list."""
    column = array("i")
    column.frombytes(np.ascontiguousarray(numbers, np.int32).data.cast("B"))
    return column


def _is_one_of(operation: np.ndarray, kinds: Iterable[int]) -> np.ndarray:
    table = np.zeros(MOST_OPERATIONS, bool)
    table[list(kinds)] = True
    found: np.ndarray = table[operation]
    return found


@functools.cache
def _two_operands() -> tuple[int, ...]:
    """The operations with two operands, as CasADi counts them."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    found = []
    for number in OPERATION_NAMES:
        try:
            trial = ca.SX.binary(number, x, y)
        except (RuntimeError, NotImplementedError):
            continue
        if not trial.is_symbolic() and not trial.is_constant() and trial.n_dep() == 2:
            found.append(number)
    return tuple(found)


def leading_to_first_output(rows: Instructions) -> bytearray:
    """1 for every row that the first output depends on."""
    found = bytearray(len(rows))
    for row in range(len(rows) - 1, -1, -1):
        operation, first, second = rows.operation[row], rows.first[row], rows.second[row]
        if operation == ca.OP_OUTPUT:
            if second == 0:
                found[first] = 1
        elif found[row] and operation not in (ca.OP_INPUT, ca.OP_CONST):
            for k in (first, second):
                if k >= 0:
                    found[k] = 1
    return found


# -- a list that follows from another -----------------------------------------------------------------------------

_LEAVES = (ca.OP_INPUT, ca.OP_CONST)


def tell_replaced(f: ca.Function, rows: Instructions, places: np.ndarray, parts: ca.Function) -> None:
    """For a function that is another one, whose instructions are known, but at some places: it is not read again."""
    tell_instructions(f, with_replaced_entries(rows, places, read_instructions(parts)))


def with_replaced_entries(rows: Instructions, places: np.ndarray, parts: Instructions) -> Instructions:
    """The list with other formulas at some places of its first output; what only the old ones needed is gone.

    rows, parts: functions of inputs of the same kinds; those of the parts may be longer. What parts computes is its
        first output, an entry for each of the places.
    The values have no places in a work vector (all 0), so that the list is for loops and for looking, and not for code
    that is written piece by piece.

    Example
    -------
    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x", 2), ca.SX.sym("p")
    >>> rows = read_instructions(ca.Function("f", [x, ca.SX(0, 1)], [ca.vertcat(ca.sin(x[0]), ca.cos(x[1]))]))
    >>> parts = read_instructions(ca.Function("g", [x, p], [p * x[0]]))
    >>> found = with_replaced_entries(rows, np.array([0]), parts)
    >>> [OPERATION_NAMES[k] for k in found.operation], found.size_in
    (['input', 'cos', 'output', 'input', 'input', 'mul', 'output'], (2, 1))
    """
    own, other = rows.columns(), parts.columns()
    is_replaced = np.zeros(rows.size_out[0], bool)
    is_replaced[places] = True
    is_output = own[0] == ca.OP_OUTPUT
    gone = is_output & (own[2] == 0)
    gone[gone] = is_replaced[own[3][gone]]
    kept = ~_unread(own, gone)
    mine = _renumbered([column[kept] for column in own], np.cumsum(kept) - 1)
    theirs = _renumbered(other, np.arange(len(parts)) + int(kept.sum()))
    is_constant, is_stored = theirs[0] == ca.OP_CONST, theirs[0] == ca.OP_OUTPUT
    theirs[1][is_constant] += len(rows.constants)
    theirs[3][is_stored] = places[theirs[3][is_stored]]
    operation, first, second, slot = (np.concatenate(pair) for pair in zip(mine, theirs))
    slot[operation != ca.OP_OUTPUT] = 0
    columns = column_of(operation), column_of(first), column_of(second), column_of(slot)
    return Instructions(*columns, rows.constants + parts.constants, parts.size_in, rows.size_out)


def _renumbered(columns: Sequence[np.ndarray], number: np.ndarray) -> list[np.ndarray]:
    """Rows under other numbers."""
    operation, first, second, slot = (column.copy() for column in columns)
    inner = ~np.isin(operation, _LEAVES)
    first[inner] = number[first[inner]]
    has_two = inner & (second >= 0) & (operation != ca.OP_OUTPUT)
    second[has_two] = number[second[has_two]]
    return [operation, first, second, slot]


def _unread(columns: Sequence[np.ndarray], gone: np.ndarray) -> np.ndarray:
    """Rows that nobody reads once some are gone, from those on down; rows that nobody ever read stay."""
    operation, first, second, _ = columns
    inner = np.flatnonzero(~np.isin(operation, _LEAVES))
    has_two = inner[(second[inner] >= 0) & (operation[inner] != ca.OP_OUTPUT)]
    readers = np.bincount(first[inner], minlength=len(operation)) + np.bincount(
        second[has_two], minlength=len(operation)
    )
    found, frontier = gone.copy(), np.flatnonzero(gone)
    while len(frontier):
        frontier = frontier[~np.isin(operation[frontier], _LEAVES)]
        two = frontier[(second[frontier] >= 0) & (operation[frontier] != ca.OP_OUTPUT)]
        below, times = np.unique(np.concatenate([first[frontier], second[two]]), return_counts=True)
        readers[below] -= times
        frontier = below[readers[below] == 0]
        found[frontier] = True
    return found
