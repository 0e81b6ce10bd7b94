"""A pause of Python's search for cycles while thousands of expressions are made, none of which is garbage."""

from __future__ import annotations

import gc
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
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
