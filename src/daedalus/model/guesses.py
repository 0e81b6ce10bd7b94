"""Start values that may move: `dd.guess(value)` where a number would be kept as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class GuessedStart:
    """A value that a start may move away from; `dd.guess` makes it."""

    value: Any

    def __repr__(self) -> str:
        return f"dd.guess({self.value!r})"


def guess(value: object) -> GuessedStart:
    """Mark a start value as a guess, which may change to make the start consistent.

    Use it in `start=` of states and in `position=`, `velocity=`, `rotation=` and `angular_velocity=` of bodies, to
    assemble a mechanism from approximate poses.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("pendulum")
    >>> m.gravity([0, -9.81])
    >>> rod = m.body("rod", 1.0, 1 / 12, "planar", position=dd.guess([0.4, -0.2]), rotation=0.0,
    ...              velocity=dd.guess([0, 0]), angular_velocity=0.0)
    >>> hinge = m.joint("hinge", "revolute", dd.ground, rod, at_b=[-0.5, 0.0])
    >>> dd.initialise(m)["rod.position"].tolist()
    [0.5, 0.0]
    """
    return GuessedStart(value)


def value_of(start: Any) -> Any:
    """The value behind a guess; what is not a guess is its own."""
    return start.value if isinstance(start, GuessedStart) else start
