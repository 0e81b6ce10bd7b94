"""What a solver brings back, whichever it was: the point, its multipliers, and in which way it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

# The cost has to fall by this part of itself for another plan to be taken.
BETTER = 1e-6


class ProgramEnding(Enum):
    """How a search ended; the value is the sentence for it."""

    SOLVED = "solved"
    ACCEPTABLE = "solved, though not to the full tolerance"
    INFEASIBLE = "no point was found that obeys all conditions"
    SMALL_STEP = "the search made no more progress"
    DIVERGED = "the search ran away: some variable has no bound that matters"
    STOPPED = "stopped from outside"
    MANY_ITERATIONS = "the largest number of iterations was reached"
    TIME = "the time limit was reached"
    NOT_FINITE = "a function of the problem has no finite value at some iterate"
    TOO_FEW_FREEDOMS = "there are more conditions than freedoms"
    FAILED = "the solver gave up"
    BROKEN = "the search ended, but its plan does not keep what was asked for"


@dataclass(frozen=True)
class ProgramOutcome:
    """The end of a search, in the user's units.

    multipliers: of the rows; bound_multipliers: of the bounds, negative where the lower one presses.
    """

    solver: str
    ending: ProgramEnding
    iterations: int
    w: np.ndarray
    objective: float
    multipliers: np.ndarray
    bound_multipliers: np.ndarray
    seconds: float

    @property
    def success(self) -> bool:
        """Whether the point is a solution."""
        return self.ending in (ProgramEnding.SOLVED, ProgramEnding.ACCEPTABLE)

    def duals(self, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The multipliers of rows, lower and upper bounds for scaled variables, as solvers begin with them."""
        pressing = self.bound_multipliers * scale
        return self.multipliers, np.maximum(-pressing, 0.0), np.maximum(pressing, 0.0)


def is_better(other: ProgramOutcome, outcome: ProgramOutcome) -> bool:
    """Whether another search found a plan of lower cost."""
    return other.success and other.objective < outcome.objective - BETTER * max(abs(outcome.objective), BETTER)
