"""Runs of index 3 with different tolerances, compared: what the errors of all steps together have become.

`dae_check` looks at some steps. Their errors may be small and the motion may enlarge them, as that of a light cart does
below a heavy pole. A run with ten times the tolerances costs about half of the run, and differs from it by the error of
the run and more. Only where the two differ by much, at the end or at some times before it,

    |y_coarse(t) - y(t)| > 100 (atol + rtol |y(t)|),

finer runs follow until the difference of two tells that the last one is as accurate as asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.scipy_calls.dae_check import FINEST, MOST, StepCheck
from daedalus.scipy_calls.ivp_result import DenseSolution, IvpResult
from daedalus.scipy_calls.ivp_settings import IvpSettings
from daedalus.scipy_calls.ivp_task import Ask, Ended, Task
from daedalus.simulation.result.ending import Ending, time_text

# The tolerances of the run that the first one is compared with.
COARSER = 10.0
# The tolerances of each run that follows one that is less accurate than asked for, and how many may follow.
SECOND, MOST_REPEATED = 1 / 30, 2
# What is left of an error in the next run at most. Tolerances fall by more, but errors of index 3 not always in
# proportion: by a factor of six on carts of a hundred-thousandth of their pole's mass.
LEFT = 1 / 3
# Runs are compared at so many times, the last of which is the end.
TIMES = 8
# Multipliers are less accurate by their order, and move nothing else.
FORCES = 3


class Apart(NamedTuple):
    """Where two runs differ most: in units of the tolerance, when, in which component, by how much."""

    share: float
    time: float
    component: int
    distance: float


class Made(NamedTuple):
    """A result, the settings of its run, y (n, times) where runs are compared, and what its steps miss."""

    result: IvpResult
    settings: IvpSettings
    times: np.ndarray
    y: np.ndarray
    missed: str


@dataclass(eq=False)
class RepeatedRuns:
    """One run, checked by others; `index` is that of each component.

    `run` makes a result with given settings and tells its second argument what the run has left; `steps` checks some of
    them, where that is possible.
    """

    task: Task
    begin: float
    index: np.ndarray
    asked: IvpSettings
    run: Callable[[IvpSettings, Callable[[Ended], str]], IvpResult]
    steps: StepCheck | None
    calls: int = field(default=0, init=False)  # of the function, for runs whose results are not kept

    def result(self) -> IvpResult:
        """The first run that is as accurate as asked for, with what was found on the way in its reason."""
        first = self._made(self.asked, None)
        apart = None if first.missed or not first.times.size else self._from_coarse(first)
        if not first.missed and (apart is None or apart.share <= MOST):
            return self._counted([first], first)
        runs = [first]
        for finer in self._finer():
            made = self._made(finer, first.times)
            self.calls += 0 if made.result.success else made.result.nfev
            if not made.result.success:
                break
            apart = self.apart(runs[-1].y, made.y, first.times)
            runs.append(made)
            if LEFT * apart.share <= MOST:
                break
        return self._counted(runs, self._told(runs, apart))

    def _told(self, runs: list[Made], apart: Apart | None) -> Made:
        """The run whose result is returned, with what is to be said of it."""
        first, last = runs[0], runs[-1]
        if apart is None or (len(runs) == 2 and not first.missed and apart.share <= MOST):
            return first
        certain = len(runs) > 1 and LEFT * apart.share <= MOST
        if last is not first:
            why = first.result.message if first.missed else "errors of steps add up to more than the tolerance"
            last.result.reason += f"; solved with rtol = {last.settings.rtol:.2g}: {why}"
        if not certain:
            last.result.reason += (
                f"; y[{apart.component}] at {time_text(apart.time)} is certain to {apart.distance:.2g} only, "
                f"{apart.share:.2g} times the tolerance: runs with other tolerances differ by that much"
            )
        return last

    def _counted(self, runs: list[Made], kept: Made) -> IvpResult:
        """With the calls of all runs."""
        steps = self.steps.calls if self.steps else 0
        kept.result.nfev = sum(made.result.nfev for made in runs) + steps + self.calls
        return kept.result

    def _made(self, settings: IvpSettings, times: np.ndarray | None) -> Made:
        """A run with its values at these times; where they are None, at some of its own."""
        kept: list[tuple[np.ndarray, np.ndarray]] = []

        def look(ended: Ended) -> str:
            if ended.steps and ended.stop.ending in (Ending.FINISHED, Ending.EVENT):
                at = times_of(ended) if times is None else times
                kept.append((at, values_at(ended, at, self.task.size)))
            return self.steps.missed(ended) if self.steps else ""

        result = self.run(settings, look)
        at, y = kept[0] if kept else (np.zeros(0), np.zeros((self.task.size, 0)))
        return Made(result, settings, at, y, result.message if self.steps and self.steps.wrong else "")

    def _from_coarse(self, first: Made) -> Apart:
        """How far a run with coarser tolerances is from this one; infinitely where it does not arrive."""
        by = replace(self.asked, rtol=COARSER * self.asked.rtol, atol=COARSER * self.asked.atol, first_step=None)
        ended = self.task.run(Ask(self.begin, float(first.times[-1]), by, None), None, [])
        self.calls += ended.counts[0]
        if ended.stop.ending is not Ending.FINISHED:
            return Apart(np.inf, ended.stop.time, 0, np.inf)
        return self.apart(first.y, values_at(ended, first.times, self.task.size), first.times)

    def apart(self, one: np.ndarray, other: np.ndarray, times: np.ndarray) -> Apart:
        """The largest difference of two runs at these times."""
        distance = np.abs(one - other)
        allowed = self.asked.atol[:, None] + self.asked.rtol * np.abs(other) + NOT_ZERO
        share = np.where((self.index < FORCES)[:, None], distance / allowed, 0.0)
        component, k = np.unravel_index(int(np.argmax(share)), share.shape)
        return Apart(float(share[component, k]), float(times[k]), int(component), float(distance[component, k]))

    def _finer(self) -> Iterator[IvpSettings]:
        """The settings of the runs that may follow, as far as tolerances are no rounding."""
        for k in range(1, MOST_REPEATED + 1):
            part = max(SECOND**k, FINEST / self.asked.rtol)
            if part < 1:
                yield replace(self.asked, rtol=part * self.asked.rtol, atol=part * self.asked.atol)
            if part > SECOND**k:
                return


def times_of(ended: Ended) -> np.ndarray:
    """The times at which other runs are compared with this one."""
    starts, ends, _ = ended.dense()
    return np.linspace(starts[0], ends[-1], TIMES + 1)[1:]


def values_at(ended: Ended, times: np.ndarray, size: int) -> np.ndarray:
    """y at these times, (n, times)."""
    starts, ends, coefficients = ended.dense()
    return DenseSolution(starts, ends, coefficients[:, :, :size])(times)
