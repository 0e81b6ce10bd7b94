"""The search of a fit: least squares in a trust region within bounds, from one place or several, told on the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.newton_steps import full_newton
from daedalus.estimation.weighted_residuals import WeightedResiduals
from daedalus.simulation.run.progress import PATIENCE_SECONDS, bar_maker, wants_progress

# The search comes near, in relative changes of χ² and of the unknowns; Gauss–Newton steps then find the last digits.
FOUND, NEAR = 1e-11, 1e-7
POLISHING, POLISHED = 6, 1e-12


@dataclass(frozen=True)
class SearchEnd:
    """How the search for the least squares ended."""

    success: bool
    message: str
    evaluations: int
    interrupted: bool = False


class SearchProgress:
    """Counts the runs of a search and keeps the best; shows both in a bar, or to whoever asked."""

    def __init__(self, wanted: bool | Callable[[int, float], None] | None, title: str) -> None:
        self._told = wanted if callable(wanted) else None
        self._shows = self._told is None and wants_progress(wanted)  # type: ignore[arg-type]
        self._title, self._begin = title, time.monotonic() + PATIENCE_SECONDS
        self._bar: Any = None
        self.runs, self.least = 0, np.inf

    def __call__(self, cost: float) -> None:
        """One run more, with a χ²."""
        self.runs, self.least = self.runs + 1, min(self.least, cost)
        if self._told is not None:
            self._told(self.runs, self.least)
        elif self._shows and (self._bar is not None or time.monotonic() > self._begin):
            if self._bar is None:
                self._bar = bar_maker()(desc=f"fit {self._title}", bar_format="{desc} [{elapsed}]", leave=False)
            self._bar.set_description(f"fit {self._title}: {self.runs} runs, χ² = {self.least:.5g}")

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


@dataclass(eq=False)
class LeastSquaresSearch:
    """What is searched, within which limits, with which loss."""

    problem: WeightedResiduals
    limits: tuple[np.ndarray, np.ndarray]
    loss: str
    progress: SearchProgress

    def best_of(self, theta: np.ndarray, starts: int, seed: int) -> tuple[np.ndarray, SearchEnd]:
        """The best of several searches; the first begins at theta. An interrupt ends them all."""
        (low, high), random = self.limits, np.random.default_rng(seed)
        found, end = self.from_here(theta)
        for _ in range(starts - 1):
            if end.interrupted:
                break
            share = random.uniform(size=len(theta))
            bounded = np.isfinite(low) & np.isfinite(high)
            inside = np.where(bounded, low, 0.0) + share * np.where(bounded, high - low, 0.0)
            begin = np.clip(np.where(bounded, inside, theta * 2.0 ** (2 * share - 1)), low, high)
            if not np.all(np.isfinite(self.problem.value(begin))):
                continue
            other, other_end = self.from_here(begin)
            if self._cost(other) < self._cost(found):
                found, end = other, other_end
            elif other_end.interrupted:
                end = other_end
        return found, end

    def _cost(self, theta: np.ndarray) -> float:
        return float(np.sum(self.problem.value(theta) ** 2))

    def from_here(self, theta: np.ndarray) -> tuple[np.ndarray, SearchEnd]:
        """One search from theta; an interrupt ends it with the best so far."""
        from scipy.optimize import least_squares

        best, least, before = theta, np.inf, self.progress.runs

        def residuals(point: np.ndarray) -> np.ndarray:
            nonlocal best, least
            found = self.problem.value(point)
            cost = float(np.sum(found**2))
            if cost < least:
                best, least = np.array(point), cost
            self.progress(cost)
            return found

        try:
            done = least_squares(
                residuals, theta, jac=lambda point: self.problem.both(point)[1], bounds=self.limits, x_scale="jac",
                method="trf", loss=self.loss, ftol=FOUND, xtol=NEAR, gtol=1e-14, max_nfev=200 * len(theta),
            )  # fmt: skip
            found = self._polished(done.x) if self.loss == "linear" and done.status > 0 else done.x
        except KeyboardInterrupt:
            return best, SearchEnd(False, "interrupted by the user", self.progress.runs - before, True)
        return found, SearchEnd(bool(done.status > 0), str(done.message), int(done.nfev))

    def _polished(self, theta: np.ndarray) -> np.ndarray:
        """The last digits: Gauss–Newton steps while they get shorter; none at a bound or with a blind direction."""

        def correction(point: np.ndarray) -> np.ndarray | None:
            residuals, slopes = self.problem.both(point)
            step, _, rank, _ = np.linalg.lstsq(slopes, -residuals)
            moved = point + step
            inside = np.all(moved > self.limits[0]) and np.all(moved < self.limits[1])
            return step if rank == len(point) and inside and length(step, moved) < 1e-3 else None

        def length(step: np.ndarray, moved: np.ndarray) -> float:
            begin = moved - step
            return float(np.linalg.norm(step / np.where(begin == 0, 1.0, begin)))

        # Residuals of a fit do not vanish, so that steps alone tell how near it is.
        theta = full_newton(correction, theta, length, most=POLISHING, tolerance=POLISHED, contracts=True).values
        return theta
