"""How a run ended, what happened on its way and what it cost, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from daedalus.simulation.result.ending import Stop
from daedalus.simulation.result.event_records import ContactChange, FiredEvent, SettledMoment, TurnedCondition
from daedalus.simulation.result.records import Record

COUNTED = 3  # numbers that the core counts of a step


@dataclass(frozen=True)
class Work:
    """What a run cost: counts are exact and the same on every machine, seconds are not.

    linear: how the linear systems of implicit steps were solved; empty where there were none.
    """

    steps: int = 0
    rejected: int = 0
    rhs: int = 0
    jacobians: int = 0
    factorisations: int = 0
    newton: int = 0
    seconds: float = 0.0
    linear: str = ""

    def __add__(self, other: Work) -> Work:
        counts = {name: getattr(self, name) + getattr(other, name) for name in COUNTS}
        return Work(**counts, linear=other.linear or self.linear)


COUNTS = tuple(name for name in Work.__dataclass_fields__ if name != "linear")


@dataclass(frozen=True)
class Outcome:
    """How a run ended and what happened on its way, in plain data."""

    stop: Stop
    method: str
    work: Work
    records: tuple[Record, ...] = ()
    events: tuple[FiredEvent, ...] = ()
    contacts: tuple[ContactChange, ...] = ()  # between bodies
    turns: tuple[TurnedCondition, ...] = ()  # of the conditions in the equations
    surfaces: tuple[str, ...] = ()  # the conditions that the whole piece slides along
    rests: bool = False  # on them, where slopes are infinite
    settled: tuple[SettledMoment, ...] | None = None  # at frictions and stops; None where it is not kept
    done_at_start: frozenset[str] = frozenset()  # events and clocks that had happened when it began
    # of each step: refused attempts and Newton's iterations since the start, its order; its ends where dense has more
    step_counts: np.ndarray = field(default_factory=lambda: np.zeros((0, COUNTED)))
    step_times: np.ndarray = field(default_factory=lambda: np.zeros(0))
