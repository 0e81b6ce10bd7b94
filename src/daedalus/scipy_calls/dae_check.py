"""A second opinion on runs of index 3: do some of their steps agree with finer ones?

Error estimates at index 3 count velocities and multipliers by weights, because constraints remove most of their errors
in the steps that follow. The check shares neither the estimates nor the weights. From the rows before and behind some
steps it goes on, with a tenth of the tolerances, to the same later time:

    y_before(t) - y_behind(t) = what stays of the errors of these steps

What constraints remove is gone by then, and an error of a velocity has become one of a place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from daedalus.algebra.rank_decision import ROUNDING
from daedalus.errors import DaedalusError
from daedalus.scipy_calls.dae_start import GivenStart
from daedalus.scipy_calls.ivp_settings import IvpSettings
from daedalus.scipy_calls.ivp_task import Ask, Ended, Task
from daedalus.simulation.result.ending import Ending, time_text

# Where such errors begin.
DEEP = 3
# In each of so many parts of the run the shortest step is looked at, with its neighbours up to steps of this part of
# the usual length: rows amid fast motion are as inexact in velocities as tolerances allow there, and no place to begin.
PARTS, QUIET = 3, 0.25
# How much of the run finer ones cover, and their part of the tolerances.
COVERED, FINER = 1 / 24, 0.1
# What steps may be off by, in tolerances: estimates are right by a factor, not to the digit.
MOST = 100.0
# Nothing finer can be told from rounding.
FINEST = ROUNDING


@dataclass(eq=False)
class StepCheck:
    """Whether steps of a run are as accurate as `asked`; `index` is that of each component.

    `settle` gives the consistent row near a start: finer steps would not begin with velocities across constraints.
    """

    task: Task
    index: np.ndarray
    asked: IvpSettings
    settle: Callable[[GivenStart], tuple[np.ndarray, str]]
    calls: int = field(default=0, init=False)  # of the function, for all checks
    wrong: bool = field(default=False, init=False)  # what the last one found

    def missed(self, ended: Ended) -> str:
        """What steps miss, in a sentence; empty where they agree with finer ones or none could be compared."""
        told = self._told(ended)
        self.wrong = bool(told)
        return told

    def _told(self, ended: Ended) -> str:
        if ended.stop.ending not in (Ending.FINISHED, Ending.EVENT) or ended.steps < 2:
            return ""
        starts, ends, coefficients = ended.dense()
        rows = np.vstack([coefficients[:, 0], coefficients[-1:].sum(axis=1)])
        times = np.append(starts, ends[-1])
        size = np.abs(rows[:, : self.task.size]).max(axis=0)
        allowed = MOST * (self.asked.atol + self.asked.rtol * size)
        for first, behind in _fastest(np.abs(np.diff(times))):
            off = self._off(times, rows, first, behind)
            if off is None:
                continue
            worst = int(np.argmax(off / allowed))
            if off[worst] > allowed[worst]:
                return (
                    f"steps at {time_text(float(times[first]))} leave an error of {off[worst]:.2g} in y[{worst}], "
                    f"where {allowed[worst] / MOST:.2g} was asked for (found by finer steps on both sides of them)"
                )
        return ""

    def _off(self, times: np.ndarray, rows: np.ndarray, first: int, behind: int) -> np.ndarray | None:
        """By how much the places differ; None where a finer run does not arrive."""
        until = times[first] + COVERED * (times[-1] - times[0])
        until = times[-1] if abs(until - times[0]) > abs(times[-1] - times[0]) else until
        if abs(until - times[first]) < abs(times[behind + 1] - times[first]):
            until = times[behind + 1]
        before, after = (self._finer(times[k], until, rows[k]) for k in (first, behind))
        if before is None or after is None:
            return None
        return np.where(self.index == 1, np.abs(before - after), 0.0)

    def _finer(self, t0: float, t1: float, row: np.ndarray) -> np.ndarray | None:
        rtol = max(FINER * self.asked.rtol, FINEST)
        settings = replace(self.asked, rtol=rtol, atol=rtol / self.asked.rtol * self.asked.atol, first_step=None)
        y = row[: self.task.size]
        try:
            row = self.settle(GivenStart(float(t0), y, None, settings.rtol, settings.atol, repair=True))[0]
        except DaedalusError:
            return None
        ended = replace(self.task, row=row).run(Ask(float(t0), float(t1), settings, None), None, [])
        self.calls += ended.counts[0]
        return ended.rows[-1][: self.task.size] if ended.stop.ending is Ending.FINISHED else None


def _fastest(lengths: np.ndarray) -> list[tuple[int, int]]:
    """Rows before and behind the steps to look at: the first of them, and one that is not the last."""
    found: list[tuple[int, int]] = []
    # The usual length at a time, not at a step.
    quiet = np.flatnonzero(lengths >= QUIET * np.sum(lengths**2) / np.sum(lengths))
    for part in np.array_split(np.arange(len(lengths)), min(PARTS, len(lengths) - 1)):
        shortest = int(part[np.argmin(lengths[part])])
        first = int(quiet[quiet < shortest].max(initial=0))
        behind = int(quiet[quiet > shortest].min(initial=len(lengths) - 1))
        if first < behind and (first, behind) not in found:
            found.append((first, behind))
    return found
