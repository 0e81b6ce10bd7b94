"""What a run met on its way: switches, other states or constraints, divisors that vanish, dead centres."""

from __future__ import annotations

from dataclasses import dataclass

from daedalus.model.names import listed
from daedalus.simulation.result.records import Record

# Conditions and times in one sentence.
MOST_CONDITIONS, MOST_TIMES = 4, 4


@dataclass(frozen=True)
class SwitchesLocated(Record):
    """How many switches steps were cut at, and of which conditions.

    >>> str(SwitchesLocated(1, ("depth > 0",)))
    '1 switch located: depth > 0'
    """

    count: int
    conditions: tuple[str, ...]

    def __str__(self) -> str:
        switches = "switch" if self.count == 1 else "switches"
        return f"{self.count} {switches} located: {listed(self.conditions, MOST_CONDITIONS)}"

    def whole(self) -> str:
        """The sentence with every condition in full."""
        every = tuple(getattr(text, "whole", text) for text in self.conditions)
        switches = "switch" if self.count == 1 else "switches"
        return f"{self.count} {switches} located: {', '.join(every)}"


@dataclass(frozen=True)
class PastAtStart(Record):
    """An event whose condition holds at the start, or whose guard is past zero there.

    >>> str(PastAtStart("full", True))
    "the condition of 'full' holds at the start: it acts when it becomes true again"
    """

    event: str
    is_condition: bool = False

    def __str__(self) -> str:
        if self.is_condition:
            return f"the condition of {self.event!r} holds at the start: it acts when it becomes true again"
        return f"the guard of {self.event!r} is past zero at the start: it fires when it crosses zero again"


@dataclass(frozen=True)
class SwitchedTogether(Record):
    """Conditions that changed at one instant, with the algebraic unknowns between them solved anew.

    >>> str(SwitchedTogether(9e-6, ("diode.voltage > 0",)))
    'conditions changed at once at t = 9e-06, among them diode.voltage > 0: the algebraic unknowns were solved again'
    """

    time: float
    conditions: tuple[str, ...]

    def __str__(self) -> str:
        among = listed(self.conditions, MOST_CONDITIONS)
        return (
            f"conditions changed at once at t = {self.time:.6g}, among them {among}: the algebraic unknowns were solved"
            " again"
        )


@dataclass(frozen=True)
class Touched(Record):
    """A guard that touches zero without passing it.

    >>> str(Touched("full", 1.5))
    "the guard of 'full' touches zero at t = 1.5 and does not cross it: no event"
    """

    event: str
    time: float
    closest: float = 0.0
    words = "the guard of {event!r} touches zero at t = {time:.6g} and does not cross it: no event"


@dataclass(frozen=True)
class SwitchesNotLocated(Record):
    """Switches that steps are not cut at, and why."""

    why: str
    words = "switches are not located: {why}"


@dataclass(frozen=True)
class JumpNotLocated(Record):
    """A function in the equations that jumps, and steps do not end there.

    >>> str(JumpNotLocated("floor"))
    'floor(...) in the equations jumps, and steps do not end there'
    """

    function: str
    words = "{function}(...) in the equations jumps, and steps do not end there"


@dataclass(frozen=True)
class SlidesAlong(Record):
    """From a time on a run slides along a condition that both branches lead back to, rests or stays there.

    >>> str(SlidesAlong(0.5, "x > 0"))
    'from t = 0.5 on it slides along x > 0: both branches lead back to it'
    >>> str(SlidesAlong(0.5, "h > 0", True))
    'from t = 0.5 on it rests where h > 0 changes: both branches end there'
    >>> str(SlidesAlong(0.5, "x > 0", is_second=True))
    'from t = 0.5 on it stays where x > 0 changes: its turns have become endlessly short'
    """

    time: float
    condition: str
    rests: bool = False
    is_second: bool = False

    def __str__(self) -> str:
        if self.is_second:
            where = f"from t = {self.time:g} on it stays where {self.condition} changes"
            return f"{where}: its turns have become endlessly short"
        if self.rests:
            return f"from t = {self.time:g} on it rests where {self.condition} changes: both branches end there"
        return f"from t = {self.time:g} on it slides along {self.condition}: both branches lead back to it"


@dataclass(frozen=True)
class SwitchesCrossed(Record):
    """From a time on steps cross switches: what a condition did, or that no step got behind it.

    has_agreeing_branches: it changed to and fro, and both branches agree there. condition: None where no switch was met
    before.

    >>> str(SwitchesCrossed(0.5, "v > 0", True))
    'from t = 0.5 on steps cross switches: v > 0 changes back and forth, and both branches agree there'
    >>> str(SwitchesCrossed(0.5, None, False))
    'from t = 0.5 on steps cross switches: no step was possible to a switch'
    """

    time: float
    condition: str | None
    has_agreeing_branches: bool

    def __str__(self) -> str:
        why = "no step was possible to a switch"
        if self.has_agreeing_branches:
            why = f"{self.condition} changes back and forth, and both branches agree there"
        elif self.condition is not None:
            why = f"no step was possible after the switch of {self.condition}"
        return f"from t = {self.time:.6g} on steps cross switches: {why}"


@dataclass(frozen=True)
class StatesSelected(Record):
    """Which states are integrated and which follow; time: since when, or None at the start.

    >>> str(StatesSelected(None, ("x",), ("y",)))
    'states selected at the start: x; dependent: y'
    """

    time: float | None
    selected: tuple[str, ...]
    dependent: tuple[str, ...]

    def __str__(self) -> str:
        when = "at the start" if self.time is None else f"again at t = {self.time:.6g}"
        return f"states selected {when}: {listed(self.selected)}; dependent: {listed(self.dependent)}"


@dataclass(frozen=True)
class ConstraintsRechosen(Record):
    """Redundant constraints were chosen anew.

    >>> str(ConstraintsRechosen(1.25))
    'redundant constraints are reselected at t = 1.25'
    """

    time: float
    words = "redundant constraints are reselected at t = {time:.6g}"


@dataclass(frozen=True)
class DivisorVanishes(Record):
    """What an equation is divided by passes through zero, from when to when.

    >>> print(DivisorVanishes("u - x", "x_dot", "valve", 0.5, 0.5))
    u - x, the factor of x_dot in valve, passes through zero near t = 0.5: dd.analyse shows what the model is there
    """

    divisor: str
    unknown: str
    equation: str
    begin: float
    end: float

    def __str__(self) -> str:
        return (
            f"{self.divisor}, the factor of {self.unknown} in {self.equation}, passes through zero "
            f"{_when(self.begin, self.end)}: dd.analyse shows what the model is there"
        )


def _when(begin: float, end: float) -> str:
    """A moment, or two that something lies between."""
    one, other = f"{begin:.6g}", f"{end:.6g}"
    return f"near t = {one}" if one == other else f"between t = {one} and {other}"


@dataclass(frozen=True)
class NotDetermined(Record):
    """Equations that an implicit method solved where they do not determine their unknowns, from when to when.

    >>> print(NotDetermined(("valve",), ("x_dot",), 0.5, 0.5))
    valve does not determine x_dot near t = 0.5: the matrix before it is singular there, and solutions may end or go on
    in several ways; dd.analyse shows what the model is there
    """

    equations: tuple[str, ...]
    unknowns: tuple[str, ...]
    begin: float
    end: float

    def __str__(self) -> str:
        several, many = len(self.equations) > 1, len(self.unknowns) > 1
        return (
            f"{listed(self.equations)} {'do' if several else 'does'} not determine {listed(self.unknowns)} "
            f"{_when(self.begin, self.end)}: the matrix before {'them' if many else 'it'} is singular there, and "
            "solutions may end or go on in several ways; dd.analyse shows what the model is there"
        )


@dataclass(frozen=True)
class DeadCentresPassed(Record):
    """Singular configurations that a run passed, and when.

    Forces follow from places there by a matrix that is singular at the dead centre itself.

    >>> print(DeadCentresPassed((0.5, 1.5)))  # doctest: +NORMALIZE_WHITESPACE
    the run passes singular configurations (dead centres) and stays on its branch: t = 0.5, 1.5; close to them
    algebraic variables, such as forces, are less accurate than the tolerance
    """

    times: tuple[float, ...] = ()

    def __str__(self) -> str:
        told = "the run passes singular configurations (dead centres) and stays on its branch"
        times = listed([f"{t:.6g}" for t in self.times], MOST_TIMES)
        told = f"{told}: t = {times}" if times else told
        return f"{told}; close to them algebraic variables, such as forces, are less accurate than the tolerance"


@dataclass(frozen=True)
class LoadShared(Record):
    """Frictions that have held one motion together.

    >>> print(LoadShared(("front", "rear")))  # doctest: +NORMALIZE_WHITESPACE
    front, rear hold the same motion: how they share its load is not determined, and the motion does not depend on it
    """

    names: tuple[str, ...]

    def __str__(self) -> str:
        told = "how they share its load is not determined, and the motion does not depend on it"
        return f"{listed(self.names)} hold the same motion: {told}"


@dataclass(frozen=True)
class BrokenBetweenSteps(Record):
    """A force or share that is beyond its limit between steps, however often these were made shorter.

    >>> print(BrokenBetweenSteps(1.25, 3))  # doctest: +NORMALIZE_WHITESPACE
    from t = 1.25 on, at 3 points between steps, a friction force exceeds its limit or a contact pulls: changes
    shorter than these steps may be missed; try max_step=
    """

    time: float
    count: int

    def __str__(self) -> str:
        places = "one point" if self.count == 1 else f"{self.count} points"
        return (
            f"from t = {self.time:.6g} on, at {places} between steps, a friction force exceeds its limit or a contact "
            "pulls: changes shorter than these steps may be missed; try max_step="
        )
