"""Forks amid threads: a child is made only at a moment when it will find every lock of the package free.

Of all threads the child has the forking one alone. A lock that another thread held at that moment stays held in the
child for ever, a module that it was importing stays half imported, and whoever asks for either waits without end. So
the forking thread first takes all locks of the list here and Python's lock of imports, at a moment when nobody else
imports anything. Where it gets all but one, it lets go of them, waits for that one and tries again (the rule of C++'s
std::lock), so that other threads may take them in any order. Last it closes a gate in the core that every call of
CasADi passes (see `core/python/process/bindings_forks.cpp`): CasADi lets go of Python's lock and holds locks of its
own, which nobody else can take.
"""

from __future__ import annotations

import _imp

# It and what it imports take locks of their own around forks, which they must know before the first one waits here.
import concurrent.futures.thread  # noqa: F401
import functools
import importlib._bootstrap as import_system
import os
import sys
import threading
import time
from typing import Any, Protocol

from daedalus import _core


class ReentrantLock(Protocol):
    """A lock that knows its owner: the thread that holds it may take it again."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it, or say that it is taken."""

    def release(self) -> None:
        """Let go of it once."""


# How long a fork waits for the imports of other threads, and how often it looks. A module may take seconds on a busy
# machine; one whose import waits for the forking thread itself would be waited for without end.
_PATIENCE, _PAUSE = 60.0, 0.001

# How long a fork keeps the gate of CasADi's calls closed before it lets everybody go on and tries anew, at first and
# each time twice as long; and how long altogether. A call that lasts longer is a solver at work, not one with a lock.
_GATE_CLOSED, _GATE_PATIENCE = 0.02, 10.0

_locks: list[ReentrantLock] = []


def fork_safe_lock() -> Any:
    """A re-entrant lock that a forking thread holds across the fork: the child finds it free and its data whole.

    Example
    -------
    >>> with fork_safe_lock():
    ...     pass
    """
    lock = threading.RLock()
    hold_across_forks(lock)
    return lock


def hold_across_forks(lock: ReentrantLock) -> None:
    """Have a forking thread hold a re-entrant lock, of this package or another, across every fork to come.

    Example
    -------
    >>> import threading
    >>> hold_across_forks(threading.RLock())
    """
    _locks.append(lock)


def _take_all() -> None:
    """Take every lock, at a moment when no other thread imports or is inside CasADi."""
    begin = time.monotonic()
    give_up, closed_for = begin + _PATIENCE, _GATE_CLOSED
    first: ReentrantLock | None = None
    lead_casadi_through_gate()
    while True:
        if first is not None:
            first.acquire()
        held, first = _taken_beside(first)
        if first is None and _imports_rest(time.monotonic() > give_up):
            if _core.close_fork_gate(closed_for):
                _taken.append(held)
                return
            if time.monotonic() > begin + _GATE_PATIENCE:
                _core.pass_over_at_fork_gate()
            closed_for *= 2
            _core.open_fork_gate(False)
            _imp.release_lock()
        for lock in held:
            lock.release()
        time.sleep(_PAUSE)


def _taken_beside(first: ReentrantLock | None) -> tuple[list[ReentrantLock], ReentrantLock | None]:
    """The locks that are free, up to the first that is not, and that one; `first` is taken already."""
    held = [] if first is None else [first]
    for lock in _locks:
        if lock is first:
            continue
        if not lock.acquire(blocking=False):
            return held, lock
        held.append(lock)
    return held, None


def _imports_rest(at_once: bool) -> bool:
    """Whether no other thread imports; then none begins to, until Python's lock of imports is released."""
    if _imp.lock_held() and not at_once:
        return False
    _imp.acquire_lock()
    own = threading.get_ident()
    # The lock of a module lives while somebody imports it.
    alive = (reference() for reference in list(getattr(import_system, "_module_locks", {}).values()))
    if at_once or all(lock is None or getattr(lock, "owner", own) == own for lock in alive):
        return True
    _imp.release_lock()
    return False


# What the fork on its way holds; there is one at a time, since another one finds the locks taken.
_taken: list[list[ReentrantLock]] = []


def _give_back(in_child: bool) -> None:
    _core.open_fork_gate(in_child)
    _imp.release_lock()
    for lock in _taken.pop():
        lock.release()


def lead_casadi_through_gate() -> int:
    """Have those calls of CasADi that let go of Python's lock pass the gate that forks close; returns how many.

    Example
    -------
    >>> lead_casadi_through_gate() in (0, 2)
    True
    """
    path = getattr(sys.modules.get("casadi._casadi"), "__file__", None)
    return 0 if path is None else _core.lead_through_fork_gate(path)


def make_forks_safe() -> None:
    """Have every fork from now on wait for its moment; done once, when the package is imported."""
    if hasattr(os, "register_at_fork"):
        lead_casadi_through_gate()
        os.register_at_fork(
            before=_take_all,
            after_in_parent=functools.partial(_give_back, in_child=False),
            after_in_child=functools.partial(_give_back, in_child=True),
        )
