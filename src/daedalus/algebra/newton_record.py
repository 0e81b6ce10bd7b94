"""What Newton's method did: while a record is open, every search adds its iterates to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np


@dataclass(eq=False)
class NewtonRecord:
    """One search: its iterates, a measure of what is left at each, and the share of each step that was taken.

    measure: "residual", in sizes of the equations, or "correction", its length in sizes of the unknowns.
    solved: below this the equations hold.
    """

    measure: str
    solved: float
    iterates: list[np.ndarray] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    def at(self, values: np.ndarray, left: np.ndarray | float, share: float = 1.0) -> None:
        """Add an iterate; the share of the first does not count."""
        if self.iterates:
            self.shares.append(float(share))
        self.iterates.append(np.array(values, dtype=float).ravel())
        self.left.append(float(np.linalg.norm(left)))


_OPEN: ContextVar[list[NewtonRecord] | None] = ContextVar("open record of Newton's method", default=None)


def new_record(measure: str, solved: float) -> NewtonRecord | None:
    """A record of the search that begins, or None where nobody watches."""
    watching = _OPEN.get()
    if watching is None:
        return None
    watching.append(NewtonRecord(measure, solved))
    return watching[-1]


@contextmanager
def recorded() -> Iterator[list[NewtonRecord]]:
    """The records of all searches inside the block.

    Example
    -------
    >>> import numpy as np
    >>> from daedalus.algebra.damped_newton import damped_newton
    >>> with recorded() as searches:
    ...     root = damped_newton(lambda v: (v**2 - 2, 2 * np.diag(v), np.ones(1)), np.ones(1), np.ones(1))
    >>> len(searches), searches[0].left[0] > searches[0].left[-1]
    (1, True)
    """
    made: list[NewtonRecord] = []
    token = _OPEN.set(made)
    try:
        yield made
    finally:
        _OPEN.reset(token)
