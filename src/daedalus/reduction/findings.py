"""What a reduction found out beside the levels of its equations, each a record that prints its sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from daedalus.model.names import counted, listed, times_text
from daedalus.model.system.equation_row import EquationRow, collected


class Finding(ABC):
    """One fact about a reduction; `str` gives the sentence. told: whether runs of the reduced model tell it."""

    told = False

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True)
class LoweredIndex(Finding):
    """The structural index before, and the equations that were differentiated, each with how often."""

    index: int
    levels: tuple[EquationRow, ...]
    told = True

    def __str__(self) -> str:
        if not self.levels:
            return "reduced without a differentiation: the equations determine every highest derivative"
        return f"reduced from index {self.index}: {'; '.join(level_texts(self.levels))}"


@dataclass(frozen=True)
class DifferentiatedInput(Finding):
    """How often an input is differentiated."""

    name: str
    times: int
    told = True

    def __str__(self) -> str:
        return f"the reduction differentiates the input {self.name} {times_text(self.times)}"


@dataclass(frozen=True)
class CombinedEquations(Finding):
    """An equation that was combined with others."""

    row: EquationRow

    def __str__(self) -> str:
        return f"{self.row.equation}, which contains fewer derivatives"


@dataclass(frozen=True)
class HoldsForValues(Finding):
    """Parameters for whose values alone the reduced equations are right, with these."""

    values: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        told = listed([f"{name} = {value:g}" for name, value in self.values])
        return f"the reduction holds for {told} alone: with other values more derivatives come in"


@dataclass(frozen=True)
class CombinedUnknowns(Finding):
    """New unknowns, each with the two that it stands for a combination of."""

    combinations: tuple[tuple[str, str, str], ...]

    def __str__(self) -> str:
        told = "; ".join(f"{new} stands for a combination of {a} and {b}" for new, a, b in self.combinations)
        return f"{told}: the derivatives enter through fewer combinations than unknowns"


@dataclass(frozen=True)
class SingularAtStart(Finding):
    """Equations that do not determine their unknowns at the start."""

    equations: tuple[str, ...]
    unknowns: tuple[str, ...]
    told = True

    def __str__(self) -> str:
        return (
            f"at the start {listed(self.equations)} cannot be solved for {listed(self.unknowns)}: "
            "their matrix is singular there"
        )


@dataclass(frozen=True)
class StartOffConstraint(Finding):
    """A constraint that the written start values violate, and by how much."""

    constraint: str
    off: float

    def __str__(self) -> str:
        return f"the start values are off {self.constraint} by {self.off:.3g}: dd.initialise(m) finds values that fit"


@dataclass(frozen=True)
class ChangedKind(Finding):
    """A variable that became a state, or algebraic."""

    name: str
    is_state: bool

    def __str__(self) -> str:
        if self.is_state:
            return f"{self.name} has a derivative and is a state"
        return f"{self.name} has no derivative left and is algebraic"


@dataclass(frozen=True)
class RedundantConstraints(Finding):
    """Constraints that follow from others."""

    dependent: tuple[EquationRow, ...]
    independent: int
    count: int
    told = True

    def __str__(self) -> str:
        names = collected(self.dependent)
        return (
            f"redundant constraints: {', '.join(names)} {'follows' if len(names) == 1 else 'follow'} from the others "
            f"({self.independent} of {self.count} are independent)"
        )


@dataclass(frozen=True)
class SmallestMultipliers(Finding):
    """Multipliers that are not unique, of which the smallest are shown."""

    constraints: tuple[EquationRow, ...]
    told = True

    def __str__(self) -> str:
        return (
            f"the multipliers {', '.join(collected(self.constraints))} are not unique: the smallest that give the same "
            "forces are shown, each counted in the length of its row"
        )


@dataclass(frozen=True)
class EquationsSetApart(Finding):
    """Written equations that follow from the others, which are set apart and watched."""

    rows: tuple[EquationRow, ...]
    told = True

    def __str__(self) -> str:
        names = collected(self.rows)
        verb = "follows" if len(names) == 1 else "follow"
        return f"{listed(names)} {verb} from the other equations: watched, not solved"


@dataclass(frozen=True)
class EliminatedUnknowns(Finding):
    """Which algebraic variables were put into the other equations, and which have no formula."""

    names: tuple[str, ...]
    kept: tuple[str, ...] = ()

    def __str__(self) -> str:
        gone = f"eliminated: {in_line(self.names)}" if self.names else "nothing was eliminated"
        return f"{gone}; without a formula: {in_line(self.kept)}" if self.kept else gone


@dataclass(frozen=True)
class TornUnknowns(Finding):
    """How many algebraic unknowns there were, and those that are left."""

    count: int
    left: tuple[str, ...]

    def __str__(self) -> str:
        unknowns = counted(self.count, "algebraic unknown")
        return f"{unknowns} torn to {len(self.left)}: {listed(self.left)}" if self.left else f"{unknowns} eliminated"


def level_texts(levels: Sequence[EquationRow]) -> list[str]:
    """The equations of each level in words: `a, b differentiated once`, `rod differentiated twice`."""
    return [
        f"{in_line(collected([row for row in levels if row.times == times]))} differentiated {times_text(times)}"
        for times in sorted({row.times for row in levels})
    ]


def in_line(names: Sequence[str], mark: str = ", ", most: int = 8) -> str:
    """Names in a line, the first of many with their number."""
    if not names:
        return "none"
    return mark.join(names[:most]) + (f"{mark}… ({len(names)} in all)" if len(names) > most else "")
