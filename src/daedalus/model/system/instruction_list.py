"""The instruction list of a CasADi SX function as flat, single-assignment columns, for translators and files."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca

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

    def __len__(self) -> int:
        return len(self.operation)

    def digest(self) -> str:
        """A hash of what is computed, blind to the names of the function, its arguments and its symbols."""
        hashed = hashlib.sha256(repr((self.size_in, self.size_out, len(self), len(self.constants))).encode())
        for column in (self.operation, self.first, self.second, self.slot, self.constants):
            hashed.update(column.tobytes())
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
