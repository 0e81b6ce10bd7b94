"""What a model became before it ran: inputs that are called, start values that followed, equations reduced, solved."""

from __future__ import annotations

from dataclasses import dataclass

from daedalus.initialisation.start import MovedOnto
from daedalus.model.names import listed
from daedalus.reduction.findings import Finding
from daedalus.simulation.result.records import Record, Told


@dataclass(frozen=True)
class InputCalled(Record):
    """An input that Python evaluates, and why it could not be read as a formula.

    >>> str(InputCalled("u", "it prints"))
    'input u is called as a Python function: it prints'
    """

    name: str
    why: str
    words = "input {name} is called as a Python function: {why}"


@dataclass(frozen=True)
class StartCompleted(Record):
    """Start values that were left open and follow from the constraints, (name, value) each.

    >>> str(StartCompleted((("q[1]", 0.5),)))
    'start values that were not given follow from the constraints: q[1] = 0.5'
    """

    values: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        told = ", ".join(f"{name} = {value:.6g}" for name, value in self.values[:8])
        return f"start values that were not given follow from the constraints: {told}"


@dataclass(frozen=True)
class StartMoved(Record):
    """Start values that lay on the constraints to the tolerance of a run only, and the largest share they moved by.

    >>> str(StartMoved(("q",), 1e-8))
    'q moved by up to 1e-08 of their size onto the constraints'
    """

    names: tuple[str, ...]
    share: float

    def __str__(self) -> str:
        return str(MovedOnto(self.names, self.share))


@dataclass(frozen=True)
class Reduced(Record):
    """What the reduction of the index says of the system that is run: a finding with fields of its own.

    >>> from daedalus.reduction.findings import DifferentiatedInput
    >>> print(Reduced(DifferentiatedInput("u", 2)))
    the reduction differentiates the input u twice
    """

    finding: Finding | Told
    words = "{finding}"


@dataclass(frozen=True)
class SmallestTaken(Record):
    """Unknowns that the equations leave open while the motion does not feel them, of which the smallest are taken.

    >>> print(SmallestTaken(("f[0]", "f[1]")))
    the equations leave f[0], f[1] open, and they do not influence the motion: their values of least norm are taken
    """

    names: tuple[str, ...]

    def __str__(self) -> str:
        several = len(self.names) > 1
        they, those = ("they do", "their values of least norm are") if several else ("it does", "the smallest is")
        return f"the equations leave {listed(self.names)} open, and {they} not influence the motion: {those} taken"


@dataclass(frozen=True)
class SolvedEachTime(Record):
    """Linear equations that every evaluation solves.

    >>> str(SolvedEachTime(40))
    "40 equations are solved for x' and z at each evaluation"
    """

    equations: int
    words = "{equations} equations are solved for x' and z at each evaluation"


@dataclass(frozen=True)
class InvariantsNotKept(Record):
    """Invariants that steps are not held to, and why.

    >>> str(InvariantsNotKept(("30 of them depend on each other",)))
    'the invariants are not kept: 30 of them depend on each other'
    """

    why: tuple[str, ...]

    def __str__(self) -> str:
        return f"the invariants are not kept: {'; '.join(self.why)}"
