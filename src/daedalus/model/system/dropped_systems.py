"""When Python's garbage collector runs: before memory of dropped models piles up, not while expressions are made.

A system and what was computed of it refer to each other, so that Python's collector of cycles has to find them. It
counts objects and does not see the expressions and the code behind them: of 300 dropped networks it kept 3 GB. Before a
model is frozen the memory of the process is looked at, and the collector is called where that has grown by much since
the last time, or where many systems were made. Who has switched the collector off (`gc.disable`) is not disturbed.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from daedalus.model.forking import fork_safe_lock

# Memory may grow by so many bytes, or by this share of what is in use, and so many systems are made before the
# collector is called; calls take no more than a twentieth of the processor's time.
ROOM, SHARE_OF_MEMORY, SYSTEMS, SHARE_OF_TIME = 16_000_000, 0.1, 10, 0.05
# After so many systems it is called however little memory has grown: of small networks 10 kB each stayed for long
# (1 kB with it, at the same processor time).
MANY = 100


def resident_bytes() -> int:
    """Memory of the process, or the most it ever was where only that is told; 0 where nothing is."""
    with suppress(OSError, ValueError):
        if sys.platform == "linux":
            with open("/proc/self/statm", "rb") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        if sys.platform == "darwin":
            import resource

            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 0


def give_back_pages() -> None:
    """Have the C library return free memory to the system, where it can."""
    with suppress(OSError, AttributeError):
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)


class DroppedSystems:
    """When the collector is to be called: seen from the memory in use, the systems made and the time it takes."""

    def __init__(self) -> None:
        self.share_of_time = SHARE_OF_TIME
        self._lock = fork_safe_lock()
        self._made, self._least, self._not_before = 0, 0, 0.0

    def one_more(self) -> None:
        """Note that a system is made."""
        self._made += 1

    def collect(self) -> None:
        """Collect the dropped ones where memory has grown since the last time."""
        if self._made < SYSTEMS or not gc.isenabled():
            return
        used = resident_bytes()
        self._least = min(self._least or used, used)
        grown = used - self._least >= max(ROOM, SHARE_OF_MEMORY * self._least) or self._made >= MANY
        if not grown or time.process_time() < self._not_before:
            return
        # One thread at a time; the others need not wait for it.
        if self._lock.acquire(blocking=False):
            try:
                self._collect_now()
            finally:
                self._lock.release()

    def _collect_now(self) -> None:
        began = time.process_time()
        gc.collect()
        give_back_pages()
        ended = time.process_time()
        self._made, self._least = 0, resident_bytes()
        self._not_before = ended + (ended - began) / self.share_of_time


dropped_systems = DroppedSystems()


@contextmanager
def garbage_pause() -> Iterator[None]:
    """No search for cycles while thousands of expressions are made, none of which is garbage; afterwards as before.

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
