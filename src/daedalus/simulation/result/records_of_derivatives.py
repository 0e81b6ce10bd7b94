"""What a run with derivatives met: equations that jump, events that nearly graze, happen together or nearly happen."""

from __future__ import annotations

from dataclasses import dataclass

from daedalus.simulation.result.records import Record


@dataclass(frozen=True)
class EquationsJump(Record):
    """The equations jump where a condition changes; at_once: others that change at the same time.

    >>> str(EquationsJump(1.0, "k > x"))
    'the equations jump at t = 1, where k > x changes'
    """

    time: float
    condition: str
    at_once: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = f"the equations jump at t = {self.time:.6g}, where {self.condition} changes"
        others = [f"{other} changes at the same time" for other in self.at_once]
        return "; ".join([told, *(f"{other}, and the derivative depends on which comes first" for other in others)])


@dataclass(frozen=True)
class JumpNotDifferentiated(Record):
    """A function in the equations whose jumps are not looked for.

    >>> str(JumpNotDifferentiated("floor"))
    'floor(...) in the equations may jump, which the derivative ignores'
    """

    function: str
    words = "{function}(...) in the equations may jump, which the derivative ignores"


@dataclass(frozen=True)
class NearlyGrazes(Record):
    """An event whose guard passes zero slowly."""

    event: str
    time: float
    words = "event {event} at t = {time:.6g} nearly touches zero only: derivatives after it are uncertain"


@dataclass(frozen=True)
class NearlyHappens(Record):
    """A guard that turns back close to zero: that of an event, or of a condition of the equations."""

    name: str
    time: float
    closest: float
    is_condition: bool = False

    def __str__(self) -> str:
        kind = "condition" if self.is_condition else "event"
        return (
            f"{kind} {self.name} nearly happens at t = {self.time:.6g}: its guard turns back at {self.closest:.1g}, "
            "and the derivative does not know of it"
        )


@dataclass(frozen=True)
class EventsTogether(Record):
    """Several events at one and the same time."""

    words = "events at the same time: the derivative belongs to this order of events"
