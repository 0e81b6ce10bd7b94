"""The instruction list of a long SX function read at once, out of CasADi's own text of it.

Asking CasADi for one instruction after another takes 3 µs each. Its text of a function has all of them in one place: 16
bytes each, four whole numbers (operation, result, two operands) or two and a double for a constant, a byte as two
letters. Where the list begins is known by its first instructions. What is read is compared with what CasADi itself says
of some instructions; where anything differs, as after a change of CasADi's format, there is no answer.
"""

from __future__ import annotations

import struct

import casadi as ca
import numpy as np

# So many instructions, evenly spread, are compared with what CasADi says of them.
COMPARED = 64
_RECORD = 32  # letters


def serialised_columns(f: ca.Function) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Operation, result, first and second operand and constant of every instruction as CasADi numbers them; None where
    that fails.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 4)
    >>> operation, *_ = serialised_columns(ca.Function("f", [x], [ca.sin(x) * x]))
    >>> bool((operation == ca.OP_SIN).sum() == 4)
    True
    """
    count = f.n_instructions()
    if count < 3:
        return None
    text = f.serialize().encode("ascii")
    at = text.rfind(_letters(b"".join(_record(f, k) for k in range(2)) + _record(f, 2)[:8]))
    if at < 0 or at + _RECORD * count > len(text):
        return None
    pairs = np.frombuffer(text, np.uint8, _RECORD * count, at).reshape(-1, 2) - np.uint8(97)
    raw = (pairs[:, 0] | (pairs[:, 1] << 4)).astype(np.uint8)
    numbers = raw.view("<i4").reshape(count, 4)
    constants = raw.view("<f8").reshape(count, 2)[:, 1]
    for k in np.unique(np.linspace(0, count - 1, COMPARED).astype(int)).tolist():
        known = _record(f, k)
        if raw[16 * k : 16 * k + len(known)].tobytes() != known:
            return None
    columns = [numbers[:, k].astype(np.int64) for k in range(4)]
    return columns[0], columns[1], columns[2], columns[3], constants


def _letters(raw: bytes) -> bytes:
    return b"".join(bytes((97 + (byte & 15), 97 + (byte >> 4))) for byte in raw)


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
