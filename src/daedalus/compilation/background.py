"""One thread that compiles long functions while the program goes on, and that never keeps a process from ending."""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)

# How long the end of a process waits for the piece in work; a piece takes about 0.1 s.
_PATIENCE = 10.0
# LLVM serves one thread at a time. What is being prepared asks for one function after another; code that is only to
# become faster waits until nobody has asked for so many seconds.
_IDLE = 1.0


class StoppedError(Exception):
    """The process is about to end; the work in progress is of no use any more."""


class _Worker:
    """A queue of jobs and the thread that does them one after another; made anew in a forked child.

    Improvements come when no other job is left and nobody has asked for code in the foreground for a while.
    """

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self.improvements: deque[Callable[[], object]] = deque()
        self.asking = 0  # how many threads are getting code
        self.asked = time.monotonic()  # when one of them got it last
        self.waited_for = 0  # how many threads want everything done
        self.stopping = threading.Event()
        self.starting = threading.Lock()
        self.thread: threading.Thread | None = None

    def submit(self, job: Callable[[], object], improves: bool = False) -> None:
        with self.starting:
            if improves:
                self.improvements.append(job)
            # A thread that sleeps has to look at how long it may.
            self.jobs.put(_nothing if improves else job)
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="daedalus compilation", daemon=True)
                self.thread.start()

    @contextmanager
    def counted(self, name: str) -> Iterator[None]:
        """One more thread that asks, or that waits, for the time of a block."""
        with self.starting:
            setattr(self, name, getattr(self, name) + 1)
        try:
            yield
        finally:
            with self.starting:
                setattr(self, name, getattr(self, name) - 1)
                self.asked = time.monotonic()

    def _rest(self) -> float:
        """How long improvements still wait at least."""
        if self.waited_for:
            return 0.0
        return _IDLE if self.asking else max(0.0, self.asked + _IDLE - time.monotonic())

    def _next(self) -> Callable[[], object] | None:
        while True:
            try:
                return self.jobs.get(timeout=self._rest() if self.improvements else None)
            except queue.Empty:
                # Code may have been asked for while it slept.
                if not self._rest():
                    return self.improvements.popleft()

    def _run(self) -> None:
        while (job := self._next()) is not None and not self.stopping.is_set():
            try:
                job()
            except StoppedError:
                return
            except Exception:
                # Whoever waits for the job does it again and meets the error in person.
                logger.exception("a compilation in the background failed")

    def stop(self) -> None:
        self.stopping.set()
        self.jobs.put(None)
        if self.thread is not None:
            self.thread.join(_PATIENCE)


def _nothing() -> None:
    pass


_worker = _Worker()


def _start_afresh() -> None:
    global _worker
    _worker = _Worker()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)
atexit.register(lambda: _worker.stop())


def submit(job: Callable[[], object], improves: bool = False) -> None:
    """Have a job done in the background, after those submitted before.

    improves: the job only makes code faster that is there already; it waits for all others, and until nobody has asked
    for code for a while.

    Example
    -------
    >>> import threading
    >>> done = threading.Event()
    >>> submit(done.set)
    >>> done.wait(10)
    True
    """
    _worker.submit(job, improves)


@contextmanager
def asking() -> Iterator[None]:
    """Improvements wait while code is asked for in this block, and for a while afterwards.

    Example
    -------
    >>> with asking():
    ...     pass
    """
    worker = _worker
    if threading.current_thread() is worker.thread:
        yield
    else:
        with worker.counted("asking"):
            yield


def finish() -> None:
    """Return when everything that was submitted before is done: from then on a process computes nothing on the side.

    Example
    -------
    >>> done = []
    >>> submit(lambda: done.append(True), improves=True)
    >>> finish()
    >>> done
    [True]
    """
    worker = _worker
    if worker.thread is None or threading.current_thread() is worker.thread:
        return
    reached = threading.Event()
    with worker.counted("waited_for"):
        worker.submit(reached.set, improves=True)
        while not reached.wait(0.1) and worker.thread.is_alive():
            pass


def check() -> None:
    """Raise StoppedError in the background thread when the process is about to end."""
    if _worker.stopping.is_set() and threading.current_thread() is _worker.thread:
        raise StoppedError
