"""The one clock of a call with `time_limit=`: every search polls it between two of its trials.

A run is more than its steps. Before it and between its pieces, operating points, starts, modes and reductions are
searched, each by a loop that calls `poll()` once a round. Where the time is over, `poll` raises `OutOfTime`. That is no
`Exception`: a search that takes a failure for an answer does not take this for one, and nothing is kept of what was
half done. Whoever has results already catches it and returns these; else it becomes a SolverError at the door.

The first two seconds of preparing a run do not count: they go by with imports and the translation to machine code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import thread_time

from daedalus.errors import SolverError

# Seconds that preparing a run may take beside its limit.
GRACE = 2.0
# The share of the limit that the steps of a run get at least.
LEAST_SHARE = 0.1
# Searches compute all the time: seconds of the processor are seconds of the user where it has nothing else to do, and
# on a busy machine nothing is given up that would have been found. Tests put another clock here.
clock = thread_time


class OutOfTime(BaseException):
    """Raised by `poll` where the time of a call is over."""

    def __init__(self, deadline: Deadline, search: str) -> None:
        super().__init__(search)
        self.deadline, self.search = deadline, search


class Deadline:
    """When the time of a call is over; one inside another holds as well."""

    def __init__(self, seconds: float, outer: Deadline | None = None) -> None:
        self.seconds, self.outer = seconds, outer
        self.ends = clock() + seconds + GRACE

    def check(self, search: str) -> None:
        """Raise `OutOfTime` where the time is over."""
        if self.outer is not None:
            self.outer.check(search)
        if clock() > self.ends:
            raise OutOfTime(self, search)

    def begin_steps(self) -> float:
        """The seconds that the steps of the run get, from now on."""
        now = clock()
        self.ends = max(now + LEAST_SHARE * self.seconds, min(self.ends, now + self.seconds))
        return self.left

    def dismiss(self) -> None:
        """The call ends with what it has: what is left to do is done without a limit."""
        self.ends = math.inf

    @property
    def left(self) -> float:
        """The seconds that are left; never quite nothing."""
        own = max(1e-9, self.ends - clock())
        return own if self.outer is None else min(own, self.outer.left)


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def poll(search: str = "preparing the model") -> None:
    """Raise `OutOfTime` where the time of the call is over; `search` says what is being done, for the message.

    Example
    -------
    >>> poll("a search without a limit")
    """
    deadline = _current.get()
    if deadline is not None:
        deadline.check(search)


def current_deadline() -> Deadline | None:
    """The deadline of the call that is being worked on, None where it has none."""
    return _current.get()


@contextmanager
def limited_to(seconds: float) -> Iterator[None]:
    """What is done inside ends soon after so many seconds.

    Where time runs out before there is anything to return, a SolverError says so.

    Example
    -------
    >>> with limited_to(60.0):
    ...     poll("a short search")
    """
    deadline = Deadline(seconds, _current.get())
    token = _current.set(deadline)
    try:
        yield
    except OutOfTime as spent:
        if spent.deadline is not deadline:
            raise
        raise SolverError(
            "The time limit passed before there was a result.",
            f"time_limit = {seconds:g} s; the search was at: {spent.search}",
            because="time_limit counts what is computed before the first step, too.",
            remedy="a larger time_limit, start values or guesses nearer to a solution, or a smaller model",
        ) from None
    finally:
        _current.reset(token)


@contextmanager
def undisturbed() -> Iterator[None]:
    """No search inside ends for the time: whoever calls it has a limit of its own, as the core's runs have."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)
