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
# Places in the text that look like the beginning of the list and are tried, from the last one back.
MOST_PLACES = 8
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
    # Of an operation with one operand the end of its record is not known: the first record, and the second as far as
    # all have it.
    known = _record(f, 0)
    begins = _letters(known + _record(f, 1)[:8] if len(known) == _RECORD // 2 else known)
    at = text.rfind(begins)
    for _ in range(MOST_PLACES):
        if at < 0:
            return None
        raw = _read(f, text, at, count)
        if raw is not None:
            break
        at = text.rfind(begins, 0, at)
    else:
        return None
    numbers = raw.view("<i4").reshape(count, 4)
    constants = raw.view("<f8").reshape(count, 2)[:, 1]
    columns = [numbers[:, k].astype(np.int64) for k in range(4)]
    return columns[0], columns[1], columns[2], columns[3], constants


def _read(f: ca.Function, text: bytes, at: int, count: int) -> np.ndarray | None:
    """The bytes of all instructions from a place on; None where CasADi says otherwise of some of them."""
    if at + _RECORD * count > len(text):
        return None
    pairs = np.frombuffer(text, np.uint8, _RECORD * count, at).reshape(-1, 2) - np.uint8(97)
    raw = (pairs[:, 0] | (pairs[:, 1] << 4)).astype(np.uint8)
    for k in np.unique(np.linspace(0, count - 1, COMPARED).astype(int)).tolist():
        known = _record(f, k)
        if raw[16 * k : 16 * k + len(known)].tobytes() != known:
            return None
    return raw


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
