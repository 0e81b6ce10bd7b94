"""The process in which a foreign FMU runs: requests on standard input, answers on standard output.

A message is the length of its head and of its body as two 32-bit numbers, the head as JSON, the body as doubles. What
the FMU prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from array import array
from pathlib import Path
from typing import Any, BinaryIO

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from fmi_calls import FmuInstance  # type: ignore[import-not-found]
else:
    from daedalus.exchange.fmu_import.fmi_calls import FmuInstance

# Bytes of the head of a message at most.
MOST = 1 << 28


def send(stream: BinaryIO, head: Any, numbers: list[float]) -> None:
    """Write a message."""
    text, body = json.dumps(head).encode(), array("d", numbers).tobytes()
    stream.write(struct.pack("<II", len(text), len(body)) + text + body)
    stream.flush()


def numbers_of(body: bytes) -> list[float]:
    """The numbers of a message."""
    found = array("d")
    found.frombytes(body)
    return found.tolist()


class FmuPool:
    """The instances of one FMU, by number."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.instances: dict[int, Any] = {}
        FmuInstance(spec)  # whether the library can be loaded at all

    def answer(self, head: list[Any], numbers: list[float]) -> list[float]:
        """What an instance answers: method, its number, lengths of the parts of the numbers, and single values."""
        method, number, lengths, *single = head
        if method not in ALLOWED:
            raise ValueError(f"there is no request {method!r}")
        if method == "close":
            instance = self.instances.pop(number, None)
            if instance is not None:
                instance.close()
            return []
        if number not in self.instances:
            self.instances[number] = FmuInstance(self.spec)
        parts, at = [], 0
        for length in lengths:
            parts.append(numbers[at : at + length])
            at += length
        return list(getattr(self.instances[number], method)(*single, *numbers[at:], *parts))


# The methods that a request may name.
ALLOWED = (
    "start",
    "evaluate",
    "event",
    "jacobian",
    "step",
    "save",
    "restore",
    "drop",
    "domains_now",
    "read",
    "one",
    "close",
)


def _serve() -> None:
    source = os.fdopen(os.dup(0), "rb")
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    pool: Any = None
    while True:
        sizes = source.read(8)
        if len(sizes) < 8:
            # Not by the usual way out: what a foreign library leaves behind at its end is not our concern.
            os._exit(0)
        head_size, body_size = struct.unpack("<II", sizes)
        head = json.loads(source.read(head_size))
        numbers = numbers_of(source.read(body_size))
        try:
            if isinstance(head, dict):
                pool, found = FmuPool(head), []
            else:
                found = pool.answer(head, numbers)
            send(target, ["ok"], found)
        except Exception as error:
            send(target, ["error", type(error).__name__, str(error)[:2000]], [])


if __name__ == "__main__":
    _serve()
