"""The instruction list of a long SX function read at once.

Asking CasADi for one instruction after another takes 3 µs each. It keeps them in one array, and writes them into its
own text of the function, 16 bytes each: four whole numbers (operation, result, two operands), or two and a double for a
constant. What is read there is compared with what CasADi itself says of some instructions; where anything differs, as
after a change of CasADi, there is no answer.
"""

from __future__ import annotations

import struct

import casadi as ca
import numpy as np

from daedalus.model.system.casadi_instructions.in_memory import RECORD, records_in_memory
from daedalus.model.system.casadi_instructions.in_text import serialised_records

# So many instructions, evenly spread, are compared with what CasADi says of them.
COMPARED = 64
# Of an operation with one operand the end of its record is not known: so many bytes all records have.
_SURE = 8

Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def instruction_columns(f: ca.Function) -> Columns | None:
    """Operation, result, first and second operand and constant of every instruction as CasADi numbers them; None where
    that fails.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 4)
    >>> operation, *_ = instruction_columns(ca.Function("f", [x], [ca.sin(x) * x]))
    >>> bool((operation == ca.OP_SIN).sum() == 4)
    True
    """
    count = f.n_instructions()
    if count < 3:
        return None
    raw = next((found for found in records_in_memory(f) if _is_of(f, found)), None)
    if raw is None:
        begins = _record(f, 0)
        if len(begins) == RECORD:
            begins += _record(f, 1)[:_SURE]
        raw = next((found for found in serialised_records(f, begins) if _is_of(f, found)), None)
    if raw is None:
        return None
    numbers = raw.view("<i4").reshape(count, 4)
    constants = raw.view("<f8").reshape(count, 2)[:, 1]
    columns = [np.ascontiguousarray(numbers[:, k], np.int32) for k in range(4)]
    return columns[0], columns[1], columns[2], columns[3], constants


def _is_of(f: ca.Function, raw: np.ndarray) -> bool:
    """Whether CasADi says the same of some instructions."""
    for k in np.unique(np.linspace(0, f.n_instructions() - 1, COMPARED).astype(int)).tolist():
        known = _record(f, k)
        if raw[RECORD * k : RECORD * k + len(known)].tobytes() != known:
            return False
    return True


def _record(f: ca.Function, k: int) -> bytes:
    """An instruction as CasADi writes it; of an operation with one operand, the part that is known."""
    operation = f.instruction_id(k)
    if operation == ca.OP_OUTPUT:
        (source,), (output, nonzero) = f.instruction_input(k), f.instruction_output(k)
        return struct.pack("<4i", operation, output, source, nonzero)
    (place,) = f.instruction_output(k)
    if operation == ca.OP_CONST:
        return struct.pack("<2id", operation, place, f.instruction_constant(k))
    operands = f.instruction_input(k)
    return struct.pack(f"<{2 + len(operands)}i", operation, place, *operands)
