"""The instruction list of a long SX function out of CasADi's own text of it.

The text has all instructions in one place, 16 bytes each, a byte as two letters. Where the list begins is known by its
first instructions.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import casadi as ca
import numpy as np

from daedalus.model.system.casadi_instructions.in_memory import RECORD

# Places in the text that look like the beginning of the list and are tried, from the last one back.
MOST_PLACES = 8
_LETTERS = 2 * RECORD
# Instructions that are turned into numbers at a time.
BLOCK = 1 << 16
# Letters of the text that are searched at a time.
SEARCHED = 1 << 20


def serialised_records(f: ca.Function, begins: bytes) -> Iterator[np.ndarray]:
    """What may be the bytes of all instructions of a function, where some bytes stand that these begin with.

    Example
    -------
    >>> import casadi as ca, struct
    >>> x = ca.SX.sym("x")
    >>> f = ca.Function("f", [x], [ca.sin(x) * x])
    >>> begins = struct.pack("<4i", ca.OP_INPUT, 0, 0, 0)
    >>> next(serialised_records(f, begins)).view("<i4")[:5].tolist() == [ca.OP_INPUT, 0, 0, 0, ca.OP_SIN]
    True
    """
    with _text_of(f) as text:
        for at in islice(_last_places(text, _letters(begins)), MOST_PLACES):
            found = _read(text, at, f.n_instructions())
            if found is not None:
                yield found


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


def _read(text: BinaryIO, at: int, count: int) -> np.ndarray | None:
    """The bytes of all instructions from a place on; None where the text is too short."""
    raw = np.empty(RECORD * count, np.uint8)
    text.seek(at)
    for begin in range(0, count, BLOCK):
        size = min(BLOCK, count - begin)
        letters = text.read(_LETTERS * size)
        if len(letters) < _LETTERS * size:
            return None
        pairs = np.frombuffer(letters, "<u2") - np.uint16(97 * 257)
        raw[RECORD * begin : RECORD * (begin + size)] = pairs | (pairs >> np.uint16(4))
    return raw


def _letters(raw: bytes) -> bytes:
    return b"".join(bytes((97 + (byte & 15), 97 + (byte >> 4))) for byte in raw)
