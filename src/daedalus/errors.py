"""The errors Daedalus raises: what is wrong, the facts in the user's names, why, and what to try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class DaedalusError(Exception):
    """Every error of the package; its text has up to four parts.

    Parameters
    ----------
    what: the headline, one sentence.
    facts: numbers and names, one string or several lines.
    because: why this happens.
    remedy: what to try; printed after "Try:".

    Example
    -------
    >>> import daedalus as dd
    >>> print(dd.ModelError("The model has one equation too few.", "3 unknowns, 2 equations",
    ...                     because="nothing determines v.", remedy="m.equation(v, ...)"))
    The model has one equation too few.
      3 unknowns, 2 equations
      Because nothing determines v.
      Try: m.equation(v, ...)
    """

    def __init__(
        self, what: str, facts: str | list[str] | tuple[str, ...] = (), because: str = "", remedy: str = ""
    ) -> None:
        self.what = what
        self.facts = [facts] if isinstance(facts, str) else list(facts)
        self.because = because
        self.remedy = remedy
        super().__init__(what)

    @property
    def in_one_line(self) -> str:
        """The headline and the remedy, for lists of many failures."""
        return self.what + (f" Try: {self.remedy}" if self.remedy else "")

    def __str__(self) -> str:
        lines = [self.what, *(f"  {fact}" for fact in self.facts if fact)]
        if self.because:
            lines.append(f"  Because {self.because}")
        if self.remedy:
            lines.append(f"  Try: {self.remedy}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.what, self.facts, self.because, self.remedy)


class ModelError(DaedalusError):
    """The model as written cannot be used: a wrong name, shape, symbol or count of equations."""


class SingularModelError(ModelError):
    """The model leaves something undetermined: a matrix that must be invertible is singular."""


@dataclass(frozen=True)
class Way:
    """A way out of a conflict: an argument as one writes it, what comes of it, and whether it frees given values.

    Only `dd.initialise` can free values, other calls take the start that it finds.
    """

    argument: str
    outcome: str = ""
    frees: bool = False

    def __str__(self) -> str:
        return self.argument + self.outcome


class InconsistentStartError(DaedalusError):
    """The start values contradict the equations. `ways` lists possible remedies, if some were found."""

    def __init__(
        self, what: str, facts: str | list[str] | tuple[str, ...] = (), because: str = "", remedy: str = "",
        ways: tuple[Way, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(what, facts, because, ", or ".join(map(str, ways)) if ways else remedy)
        self.ways = tuple(ways)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.what, self.facts, self.because, self.remedy, self.ways)


class SolverError(DaedalusError):
    """A computation failed: the run stopped early, or the method cannot solve this kind of system."""


class InputError(DaedalusError):
    """An argument of a call cannot be used: an unknown name, a wrong shape, a value that is not a number."""
