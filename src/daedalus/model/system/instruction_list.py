"""The instruction list of a CasADi SX function as flat, single-assignment columns, for translators and files."""

from __future__ import annotations

import functools
import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from daedalus.model.system.serialised_instructions import serialised_columns

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


def read_instructions(f: ca.Function) -> Instructions:
    """The instructions of an SX function in single-assignment form.

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
    if f.n_instructions() >= LONG and (found := _read_long(f)) is not None:
        return found
    number, operands, results = f.instruction_id, f.instruction_input, f.instruction_output
    count = f.n_instructions()
    operation, first, second, slot = array("q"), array("q"), array("q"), array("q")
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
    operation, first, second, slot = (
        np.frombuffer(column, np.int64) for column in (rows.operation, rows.first, rows.second, rows.slot)
    )
    found = np.isin(operation, list(operations))
    is_output = operation == ca.OP_OUTPUT
    computed = np.flatnonzero(~np.isin(operation, (ca.OP_OUTPUT, ca.OP_INPUT, ca.OP_CONST)))
    # Who reads each row, sorted by what is read.
    read = np.concatenate([first[computed], second[computed]])
    reader = np.concatenate([computed, computed])
    order = np.argsort(read, kind="stable")
    read, reader = read[order], reader[order]
    frontier = np.flatnonzero(found)
    while len(frontier):
        begin, end = np.searchsorted(read, frontier), np.searchsorted(read, frontier, side="right")
        counts = end - begin
        places = np.repeat(begin - np.append(0, np.cumsum(counts)[:-1]), counts) + np.arange(int(counts.sum()))
        frontier = np.unique(reader[places])
        frontier = frontier[~found[frontier]]
        found[frontier] = True
    marks = [np.zeros(size, bool) for size in rows.size_out]
    for output, mark in enumerate(marks):
        own = is_output & (second == output)
        mark[slot[own]] = found[first[own]]
    return marks


# The last long function and its instructions: whoever searches a function and then compiles it reads it once. One
# that is much shorter, and soon read again, does not take its place.
MUCH_SHORTER = 0.25
_last: tuple[ca.Function, Instructions] | None = None


def _read_long(f: ca.Function) -> Instructions | None:
    global _last
    last = _last
    if last is not None and last[0].__hash__() == f.__hash__():
        return last[1]
    found = _read_at_once(f)
    if found is not None and (last is None or len(found) > MUCH_SHORTER * len(last[1])):
        _last = f, found
    return found


def _read_at_once(f: ca.Function) -> Instructions | None:
    """The same for a long function, column by column."""
    columns = serialised_columns(f)
    if columns is None:
        return None
    operation, result, one, two, numbers = columns
    if np.isin(operation, list(_NOT_ALONE)).any():
        raise UnknownOperationError.named(set(operation[np.isin(operation, list(_NOT_ALONE))].tolist()))
    is_output, is_input, is_constant = (operation == kind for kind in (ca.OP_OUTPUT, ca.OP_INPUT, ca.OP_CONST))
    computed = ~(is_output | is_input | is_constant)
    has_two = computed & np.isin(operation, _two_operands())
    count = len(operation)
    rows = np.arange(count)
    # Places of the work vector, with the row that wrote them: an operand is what was written there last.
    written = np.flatnonzero(~is_output)
    keys = np.sort(result[written] * (count + 1) + rows[written])

    def maker(places: np.ndarray, readers: np.ndarray) -> np.ndarray:
        rows_of_makers: np.ndarray = keys[np.searchsorted(keys, places * (count + 1) + readers) - 1] % (count + 1)
        return rows_of_makers

    first, second = np.full(count, -1), np.full(count, -1)
    reads = computed | is_output
    first[reads] = maker(one[reads], rows[reads])
    second[has_two] = maker(two[has_two], rows[has_two])
    first[is_input], second[is_input] = one[is_input], two[is_input]
    first[is_constant] = np.arange(int(is_constant.sum()))
    second[is_output] = result[is_output]
    slot = np.where(is_output, two, result)
    return Instructions(
        _column(operation), _column(first), _column(second), _column(slot),
        array("d", numbers[is_constant].tobytes()), *sizes(f),
    )  # fmt: skip


def _column(numbers: np.ndarray) -> array[int]:
    return array("q", numbers.astype(np.int64).tobytes())


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
