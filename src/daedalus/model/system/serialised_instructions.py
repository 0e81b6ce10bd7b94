"""The instruction list of a long SX function read at once, out of CasADi's own text of it.

Asking CasADi for one instruction after another takes 3 µs each. Its text of a function has all of them in one place: 16
bytes each, four whole numbers (operation, result, two operands) or two and a double for a constant, a byte as two
letters. Where the list begins is known by its first instructions. What is read is compared with what CasADi itself says
of some instructions; where anything differs, as after a change of CasADi's format, there is no answer.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import casadi as ca
import numpy as np

# So many instructions, evenly spread, are compared with what CasADi says of them.
COMPARED = 64
# Places in the text that look like the beginning of the list and are tried, from the last one back.
MOST_PLACES = 8
_RECORD = 32  # letters
# Instructions that are turned into numbers at a time.
BLOCK = 1 << 16
# Letters of the text that are searched at a time.
SEARCHED = 1 << 20


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
    # Of an operation with one operand the end of its record is not known: the first record, and the second as far as
    # all have it.
    known = _record(f, 0)
    begins = _letters(known + _record(f, 1)[:8] if len(known) == _RECORD // 2 else known)
    with _text_of(f) as text:
        tried = islice(_last_places(text, begins), MOST_PLACES)
        raw = next((found for at in tried if (found := _read(f, text, at, count)) is not None), None)
    if raw is None:
        return None
    numbers = raw.view("<i4").reshape(count, 4)
    constants = raw.view("<f8").reshape(count, 2)[:, 1]
    columns = [np.ascontiguousarray(numbers[:, k], np.int32) for k in range(4)]
    return columns[0], columns[1], columns[2], columns[3], constants


@contextmanager
def _text_of(f: ca.Function) -> Iterator[BinaryIO]:
    """CasADi's text of a function in a file that is gone afterwards, for in memory it would take five times the room of
    the instructions several times over; in memory where no file can be written."""
    with ExitStack() as stack:
        yield _in_a_file(f, stack) or io.BytesIO(f.serialize().encode("ascii"))


def _in_a_file(f: ca.Function, stack: ExitStack) -> BinaryIO | None:
    try:
        folder = stack.enter_context(TemporaryDirectory(prefix="daedalus-", ignore_cleanup_errors=True))
        path = Path(folder) / "function"
        f.save(str(path))
        return stack.enter_context(path.open("rb"))
    except (OSError, RuntimeError):
        return None


def _last_places(text: BinaryIO, begins: bytes) -> Iterator[int]:
    """Where some letters stand in a text, from the end on."""
    end = text.seek(0, io.SEEK_END)
    while end > 0:
        begin = max(end - SEARCHED, 0)
        text.seek(begin)
        block = text.read(end - begin + len(begins) - 1)
        at = block.rfind(begins)
        while at >= 0:
            yield begin + at
            at = block.rfind(begins, 0, at)
        end = begin


def _read(f: ca.Function, text: BinaryIO, at: int, count: int) -> np.ndarray | None:
    """The bytes of all instructions from a place on; None where CasADi says otherwise of some of them."""
    raw = np.empty(_RECORD // 2 * count, np.uint8)
    text.seek(at)
    for begin in range(0, count, BLOCK):
        size = min(BLOCK, count - begin)
        letters = text.read(_RECORD * size)
        if len(letters) < _RECORD * size:
            return None
        pairs = np.frombuffer(letters, "<u2") - np.uint16(97 * 257)
        raw[16 * begin : 16 * (begin + size)] = pairs | (pairs >> np.uint16(4))
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
