"""Walk along a branch, of equilibria or of orbits: steps, their ends, what lies between them, and the way onto others.

A kind of branch says what a step is, how the next one is found, what may happen between two of them, and in which words
it ends; the loop is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.model.names import counted
from daedalus.studies.branches.curve import LARGEST_TURN, CurvePoint, ImplicitCurve, next_length

# In lengths of the curve, where the whole range of the parameter is one: first and largest step.
FIRST, LARGEST = 1e-3, 0.025
# The parameter moves by at most this share of its range in a step, however little else moves.
PARAMETER_STEP = 0.08
# Distances at which another branch is looked for beside the point where two meet.
DISTANCES = (3e-3, 1e-3, 1e-2, 3e-4, 3e-2, 1e-4)
# The point on a limit is at most this many times as far away as the one beyond it.
BEYOND = 3.0
# The other branch is entered where the way there points along its direction, by less than 45 degrees.
ENTERED = 0.7


class BranchStep(Protocol):
    """One step of a branch: its point of the curve."""

    @property
    def point(self) -> CurvePoint:
        """Where it is on the curve."""
        ...


Step = TypeVar("Step", bound=BranchStep)
Special = TypeVar("Special")


class CurveWalk(ABC, Generic[Step, Special]):
    """Follow one branch over a parameter, the last unknown of its curve."""

    # What a point of the branch is called, the shortest step, and the shortest one that tells events apart.
    called, smallest, telling = "point", 1e-9, 1e-6

    def __init__(self, name: str, ends: tuple[float, float], most: int) -> None:
        self.name, self.ends, self.most = name, ends, most
        self.width = ends[1] - ends[0]
        self.largest = LARGEST
        self.missed: list[str] = []  # changes that no step was short enough to locate

    # -- what a kind of branch says ----------------------------------------------------------------------------

    def prepared(self, step: Step) -> Step | str:
        """A step that the next one can start from, or why there is none."""
        return step

    @abstractmethod
    def stepped(self, step: Step, length: float) -> Step | None:
        """The step at a distance along the curve."""

    @abstractmethod
    def between(self, before: Step, after: Step, length: float) -> list[Special] | None:
        """What happens between two steps; None where a shorter one has to tell it apart."""

    @abstractmethod
    def corrected(self, before: Step, guess: np.ndarray, k: int, along: np.ndarray) -> Step | None:
        """The step of the curve near a guess whose unknown k is as in the guess."""

    @abstractmethod
    def is_before(self, special: Special, first: Step, last: Step) -> bool:
        """Whether something happens before the last step."""

    @abstractmethod
    def ending(self, steps: Sequence[Step], after: Step) -> str:
        """Why the branch ends at a step inside its range; empty where it goes on."""

    @abstractmethod
    def lost(self, step: Step) -> str:
        """Where the branch was when no step was short enough."""

    # -- the loop ----------------------------------------------------------------------------------------------

    def gathered(self, step: Step) -> tuple[list[Step], list[Special], str]:
        """All steps from the first one, what happens on the way, and why the branch ends."""
        steps, special, length = [step], list[Special](), min(FIRST, self.largest)
        self.missed = []
        ended = ""
        while not ended:
            if len(steps) >= self.most:
                return steps, special, f"The branch was ended after {counted(self.most, self.called)}, most_points."
            onward = self.prepared(steps[-1])
            advanced = onward if isinstance(onward, str) else self._advanced(onward, length)
            if isinstance(onward, str) or isinstance(advanced, str):
                return steps, special, str(advanced)
            after, seen, length = advanced
            edge = self.edge(after.point)
            if edge is not None:
                k, value, ended = edge
                last = self._onto(onward, after, k, value)
                if last is not None:
                    seen = [one for one in seen if self.is_before(one, onward, last)]
                    after = last
            else:
                ended = self.ending(steps, after)
            special += seen
            steps.append(after)
        return steps, special, ended

    def _advanced(self, step: Step, length: float) -> tuple[Step, list[Special], float] | str:
        """The next step with what lies between and the length of the one behind it, or why there is none."""
        length = min(length, PARAMETER_STEP * self.width / max(abs(float(step.point.tangent[-1])), NOT_ZERO))
        while length >= self.smallest:
            after = self.stepped(step, length)
            if after is None or after.point.turn < LARGEST_TURN:
                length /= 2
                continue
            seen = self.between(step, after, length)
            if seen is None and length > self.telling:
                length /= 4
                continue
            if seen is None:
                seen = self.not_located(step, after)
            return after, seen, next_length(after.point, length, self.largest)
        return self.lost(step)

    @abstractmethod
    def not_located(self, before: Step, after: Step) -> list[Special]:
        """Note a change between two steps that no step was short enough to locate, and return what is known of it."""

    # -- ends --------------------------------------------------------------------------------------------------

    def edge(self, point: CurvePoint) -> tuple[int, float, str] | None:
        """What limit a point has passed: the position and value of the limit, and a sentence."""
        value, slope, slack = point.unknowns[-1], point.tangent[-1], 1e-9 * self.width
        low, high = self.ends
        passed = low if value <= low + slack and slope < 0 else high if value >= high - slack and slope > 0 else None
        if passed is None:
            return None
        return len(point.unknowns) - 1, passed, f"The branch leaves the range at {self.name} = {passed:.6g}."

    def _onto(self, before: Step, after: Step, k: int, value: float) -> Step | None:
        """The step between two where an unknown has a value."""
        first, last = before.point.unknowns, after.point.unknowns
        gap = last[k] - first[k]
        guess = first + ((value - first[k]) / gap if gap else 1.0) * (last - first)
        guess[k] = value
        found = self.corrected(before, guess, k, after.point.tangent)
        if found is None:
            return None
        # Where a branch goes to infinity at a limit, Newton's method may end on another one.
        size = np.maximum(np.maximum(np.abs(first), np.abs(last)), NOT_ZERO)
        way, whole = (float(np.linalg.norm((one - first) / size)) for one in (found.point.unknowns, last))
        return found if way <= BEYOND * whole else None

    def entered(self, curve: ImplicitCurve, base: np.ndarray, along: np.ndarray, sizes: Any) -> CurvePoint | None:
        """A point of another branch a short way along a direction, where Newton's method does not fall back."""
        along = along / (np.linalg.norm(along / sizes) / len(base) ** 0.25)
        for length in DISTANCES:
            point = curve.corrected(base + length * along, along / sizes**2, along)
            if point is None:
                continue
            gap = (point.unknowns - base) / sizes
            both = float(np.linalg.norm(gap) * np.linalg.norm(along / sizes))
            if float(gap @ (along / sizes)) > ENTERED * max(both, NOT_ZERO):
                # The tangent along the branch that is entered, away from the base.
                return curve.through(point.unknowns, gap * sizes)
        return None
