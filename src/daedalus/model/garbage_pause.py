"""A pause of Python's search for cycles while thousands of expressions are made, none of which is garbage."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_pause() -> Iterator[None]:
    """No search for cycles inside; afterwards as before.

    Every few hundred new objects Python looks through the young ones, and now and then through all: of joining six
    thousand parts that was a quarter. What is made here is kept, so that nothing would be found.

    Example
    -------
    >>> with garbage_pause():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_on, own = gc.isenabled(), threading.get_ident()
    gc.disable()
    if was_on:
        _pausing.add(own)
    try:
        yield
    finally:
        if was_on:
            _pausing.discard(own)
            gc.enable()


# Threads that switch the collector on again when they are done.
_pausing: set[int] = set()


def _end_pauses_of_others() -> None:
    """In a forked child nobody else will."""
    if _pausing and threading.get_ident() not in _pausing:
        _pausing.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_pauses_of_others)
