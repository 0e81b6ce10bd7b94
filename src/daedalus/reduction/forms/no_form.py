"""Why a system has no form of a kind, as a value: whoever asked for it goes another way, or raises its error."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from enum import Enum

from daedalus.errors import DaedalusError


class FormObstacle(Enum):
    """What stands in the way of a form."""

    LARGE = "too many coupled equations for formulas, though linear ones"
    NONLINEAR = "equations that are not linear in their unknowns"
    SINGULAR = "equations that do not determine their unknowns"
    OTHER = "something else in the model"


@dataclass(frozen=True)
class NoForm:
    """Why x' and z do not follow by formulas or linear solves.

    >>> from daedalus.errors import SolverError
    >>> NoForm(SolverError("There is no formula.", ["cosine is nonlinear in z", "its slope is 0"])).reason
    'cosine is nonlinear in z; its slope is 0'
    """

    found: DaedalusError
    obstacle: FormObstacle = FormObstacle.OTHER

    @property
    def error(self) -> DaedalusError:
        """The error that says so, to be raised: a copy, so that what is kept holds on to no caller."""
        fresh = copy(self.found)
        vars(fresh).update(vars(self.found))
        return fresh

    @property
    def reason(self) -> str:
        """The facts in one line, or what happened where there are none."""
        return "; ".join(self.found.facts) or self.found.what
