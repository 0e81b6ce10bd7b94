"""How often functions were compiled, loaded, found again or left to the interpreter in this process."""

from __future__ import annotations

from typing import NamedTuple

from daedalus.compilation import background
from daedalus.model.forking import fork_safe_lock


class Counts(NamedTuple):
    """Numbers of functions by where their code came from, since the process began."""

    compiled: int = 0
    loaded_from_disk: int = 0
    found_in_memory: int = 0
    interpreted: int = 0


_lock = fork_safe_lock()
_so_far = Counts()


def counts() -> Counts:
    """How many functions were compiled, loaded from disk, found in memory, and left to the interpreter so far.

    A test that nothing is compiled twice takes the counts before and after. What compiles in the background is waited
    for, so that it counts with the call that asked for it.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.compilation import compile_function, counts
    >>> x = ca.SX.sym("x")
    >>> f = ca.Function("f", [x], [3 * x])
    >>> first = compile_function(f)
    >>> before = counts()
    >>> compile_function(f) is first
    True
    >>> counts().compiled - before.compiled, counts().found_in_memory - before.found_in_memory
    (0, 1)
    """
    background.finish()
    return _so_far


def count(name: str) -> None:
    """Add one to the count of that name."""
    global _so_far
    with _lock:
        _so_far = _so_far._replace(**{name: getattr(_so_far, name) + 1})
