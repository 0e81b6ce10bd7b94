"""What was decided about equations is kept on disk as plain data, beside the machine code of the same equations.

A decision that follows from the equations and their start alone, such as which constraints are independent, is made
once; the next process reads it. The folder, its limit, and what happens to damaged entries are those of the machine
code (`compilation.disk_cache`). A decision is bound to the program that made it: a changed program decides anew.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from daedalus.compilation import disk_cache
from daedalus.errors import InputError
from daedalus.model.system.plain_record import parsed

Decision = TypeVar("Decision")

# The rooms whose text decides; anything that is changed in them makes earlier decisions void.
DECIDING = ("algebra", "analysis", "geometry", "model", "reduction")


class NotADecisionError(ValueError):
    """Stored data that cannot be the answer to the question."""


def kept_decision(
    question: str,
    about: tuple[object, ...],
    make: Callable[[], Decision],
    plain: Callable[[Decision], Any],
    read: Callable[[Any], Decision],
) -> Decision:
    """A decision out of the disk cache, or the one that `make` makes, which is stored.

    about: everything that the decision follows from, as text, numbers and digests. plain: the decision as JSON has it.
    read: the inverse of `plain`; it raises NotADecisionError for data that is no answer to the question.

    Example
    -------
    >>> kept_decision("the larger one", (2, 3), lambda: 3, int, int)
    3
    """
    key = hashlib.sha256(repr(("decision", _program(), question, about)).encode()).hexdigest()
    stored = disk_cache.load(key)
    if stored is not None:
        try:
            return read(parsed(stored[0]))
        except (NotADecisionError, InputError):
            pass
    made = make()
    disk_cache.store(key, [json.dumps(plain(made)).encode()])
    return made


@functools.cache
def _program() -> str:
    """A hash of the rooms that decide."""
    hashed, house = hashlib.sha256(), Path(__file__).parents[1]
    for room in DECIDING:
        for path in sorted((house / room).rglob("*.py")):
            hashed.update(path.relative_to(house).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()
