"""Searches that lose their way begin again with other steps: two kinds of steps in turn, each time twice as patient.

IPOPT's multipliers may take the step that lessens the error in the slopes, or that of the variables (A. Wächter, L. T.
Biegler, Mathematical Programming 106, 2006, section 3.2, and option alpha_for_y). The first mostly leads further, but
either may swing for ever, or end where conditions cannot be met, from where the other comes through. With patience
that doubles, all searches together take a small multiple of the iterations of the one that succeeds (M. Luby, A.
Sinclair, D. Zuckerman: Optimal speedup of Las Vegas algorithms, Information Processing Letters 47, 1993).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from daedalus.optimisation.description.solve_settings import SolveSettings
from daedalus.optimisation.program.program import Program
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome
from daedalus.optimisation.program.solvers import solve_with_ipopt

# Iterations of the first search: plans of ordinary problems are found in a few tens.
FIRST = 100
STEPS: tuple[dict[str, Any], ...] = ({}, {"alpha_for_y": "primal"})

# Slopes beyond this size come from multipliers that grow without end; after so many such iterations nothing comes back,
# and factorisations that have to look for pivots everywhere take a hundred times as long.
LOST, MOST_LOST = 1e14, 5

# (most iterations, options, seconds left) -> what was found
Search = Callable[[int, dict[str, Any], float | None], ProgramOutcome]


def searched(
    program: Program, begin: np.ndarray, settings: SolveSettings, name: str, warm: ProgramOutcome | None = None,
    patience: int = FIRST,
) -> ProgramOutcome:  # fmt: skip
    """What IPOPT finds from a point, with its iterations told; options that were given are taken as they are.

    patience: iterations of the first search.
    """
    listener = listener_of(settings.progress, name)

    def search(most: int, options: dict[str, Any], seconds: float | None) -> ProgramOutcome:
        watch = _Lost(listener)
        found = solve_with_ipopt(
            program, begin, warm=warm, tolerance=settings.accuracy, most_iterations=most, time_limit=seconds,
            listener=watch, options=options,
        )  # fmt: skip
        return replace(found, ending=ProgramEnding.DIVERGED) if watch.lost else found

    try:
        if settings.options or warm is not None:
            return search(settings.most_iterations, settings.options, settings.time_limit)
        return patient_search(search, settings.most_iterations, settings.time_limit, patience)
    finally:
        if isinstance(listener, IterationLine):
            listener.close()


class _Lost:
    """Listens to a search, tells another listener, and ends the search where its multipliers grow without end."""

    def __init__(self, listener: Callable[[int, float, float, float], bool] | None) -> None:
        self._listener, self._count, self.lost = listener, 0, False

    def __call__(self, iteration: int, objective: float, violation: float, stationarity: float) -> bool:
        """Whether to go on."""
        self._count = self._count + 1 if stationarity > LOST else 0
        self.lost = self._count >= MOST_LOST
        if self.lost:
            return False
        return self._listener is None or self._listener(iteration, objective, violation, stationarity)


def within(settings: SolveSettings, iterations: int, seconds: float) -> SolveSettings | None:
    """The settings of another search after so many iterations and seconds; None where nothing is left."""
    most, limit = settings.most_iterations - iterations, settings.time_limit
    rest = None if limit is None else limit - seconds
    return (
        None
        if most <= 0 or (rest is not None and rest <= 0)
        else replace(settings, most_iterations=most, time_limit=rest)
    )


def patient_search(
    search: Search, most_iterations: int, time_limit: float | None = None, patience: int = FIRST
) -> ProgramOutcome:
    """What the first search finds that succeeds, or the last; its iterations and seconds are those of all."""
    began, done = time.perf_counter(), 0
    outcomes: list[ProgramOutcome] = []
    while True:
        left = None if time_limit is None else max(time_limit - (time.perf_counter() - began), 1e-3)
        last = done + patience >= most_iterations
        steps = STEPS[len(outcomes) % len(STEPS)]
        found = search(min(patience, most_iterations - done), steps, left)
        done, patience = done + found.iterations, 2 * patience
        outcomes.append(found)
        if found.success or last or found.ending in (ProgramEnding.STOPPED, ProgramEnding.TIME) or _hopeless(outcomes):
            return replace(found, iterations=done, seconds=time.perf_counter() - began)


def _hopeless(outcomes: list[ProgramOutcome]) -> bool:
    """Whether both kinds of steps ended for another reason than their patience."""
    ended = [k for k, found in enumerate(outcomes) if found.ending is not ProgramEnding.MANY_ITERATIONS]
    return len({k % len(STEPS) for k in ended}) == len(STEPS)


# The iterations of a search on one line of the terminal, or told to a function.


class IterationLine:
    """Writes over one line on standard error; `close` ends it."""

    def __init__(self, name: str) -> None:
        self.name, self._written = name, False

    def __call__(self, iteration: int, objective: float, violation: float, stationarity: float) -> bool:
        """Write the news of an iteration."""
        text = f"{self.name}: iteration {iteration}, cost {objective:.6g}, off by {violation:.1e}, {stationarity:.1e}"
        sys.stderr.write(f"\r{text:<78}")
        sys.stderr.flush()
        self._written = True
        return True

    def close(self) -> None:
        """End the line."""
        if self._written:
            sys.stderr.write("\n")


def listener_of(progress: Any, name: str) -> Callable[[int, float, float, float], bool] | None:
    """What is told of iterations: a line where `progress` is True (or None on a terminal), a function, or nothing.

    A function gets (iteration, objective, violation); where it returns False the search ends.
    """
    if progress is None:
        progress = sys.stderr.isatty()
    if progress is False:
        return None
    if progress is True:
        return IterationLine(name)

    def told(iteration: int, objective: float, violation: float, stationarity: float) -> bool:
        return progress(iteration, objective, violation) is not False

    return told
