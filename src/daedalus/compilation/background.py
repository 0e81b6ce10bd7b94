"""One thread that compiles long functions while the program goes on, and that never keeps a process from ending."""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)

# How long the end of a process waits for the piece in work; a piece takes about 0.1 s.
_PATIENCE = 10.0


class StoppedError(Exception):
    """The process is about to end; the work in progress is of no use any more."""


class _Worker:
    """A queue of jobs and the thread that does them one after another; made anew in a forked child."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self.stopping = threading.Event()
        self.starting = threading.Lock()
        self.thread: threading.Thread | None = None

    def submit(self, job: Callable[[], object]) -> None:
        with self.starting:
            self.jobs.put(job)
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="daedalus compilation", daemon=True)
                self.thread.start()

    def _run(self) -> None:
        while (job := self.jobs.get()) is not None and not self.stopping.is_set():
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


_worker = _Worker()


def _start_afresh() -> None:
    global _worker
    _worker = _Worker()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)
atexit.register(lambda: _worker.stop())


def submit(job: Callable[[], object]) -> None:
    """Have a job done in the background, after those submitted before.

    Example
    -------
    >>> import threading
    >>> done = threading.Event()
    >>> submit(done.set)
    >>> done.wait(10)
    True
    """
    _worker.submit(job)


def finish() -> None:
    """Return when everything that was submitted before is done: from then on a process computes nothing on the side.

    Example
    -------
    >>> done = []
    >>> submit(lambda: done.append(True))
    >>> finish()
    >>> done
    [True]
    """
    if _worker.thread is None or threading.current_thread() is _worker.thread:
        return
    reached = threading.Event()
    submit(reached.set)
    while not reached.wait(0.1) and _worker.thread.is_alive():
        pass


def check() -> None:
    """Raise StoppedError in the background thread when the process is about to end."""
    if _worker.stopping.is_set() and threading.current_thread() is _worker.thread:
        raise StoppedError
