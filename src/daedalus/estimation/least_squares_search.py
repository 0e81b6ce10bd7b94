"""The search of a fit: least squares in a trust region within bounds, from one place or several, told on the way.

Losses that forgive outliers are flat far from the data, and a search that begins there ends anywhere: such a search
begins where least squares end (A. Blake, A. Zisserman, Visual Reconstruction, 1987). Oscillations and jumps make many
local optima, the more the longer the data; where what is left of the data is no noise, the search is repeated along
stretches that grow, each from the values of the last (K. Schittkowski, Numerical Data Fitting in Dynamical Systems,
2002, 2.4).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedalus.algebra.newton_steps import full_newton
from daedalus.deadline import OutOfTime, current_deadline
from daedalus.errors import DaedalusError
from daedalus.estimation.experiments import Experiment
from daedalus.estimation.residual_tests import judged_as_noise
from daedalus.estimation.weighted_residuals import WeightedResiduals
from daedalus.model.names import counted
from daedalus.simulation.run.progress import PATIENCE_SECONDS, bar_maker, wants_progress

# The search comes near, in relative changes of χ² and of the unknowns; Gauss–Newton steps then find the last digits.
FOUND, COME_NEAR = 1e-11, 1e-7
POLISHING, POLISHED = 6, 1e-12
# Values this near to a bound, as a share of it or of where they came from, are at it.
AT_BOUND = 1e-9
# Stretches of the data, as shares of its time, with at least so many samples for each unknown.
STRETCHES, SAMPLES = (0.1, 0.2, 0.35, 0.5, 0.7), 2
# What is left of the data is no noise: so many times a given noise, or this share of the data where the noise is
# estimated, with signs or neighbours that are less probable than this, or so many times
# the noise or the middle one: outliers, or samples between a jump of the data and that of the model.
LARGE, LARGE_SHARE, NOT_NOISE, SPIKES = 2.0, 0.02, 1e-6, 10.0
# Few samples cannot tell noise from a wrong motion: then this share of the data where the noise is estimated.
MUCH = 0.2
# Then the search is repeated from so many other values, each the best of so many drawn ones, until two searches lead to
# the same sum of squares.
ELSEWHERE, DRAWN, SAME_SUM = 8, 16, 1e-3
WORSE = "the search over all data ended at a worse fit"


@dataclass(frozen=True)
class SearchEnd:
    """How the search for the least squares ended."""

    success: bool
    message: str
    evaluations: int
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    forgives: bool = False  # outliers, so that χ² is no measure


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


# What losses make of squares, as SciPy's least_squares has them.
LOSS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda z: z,
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(z) - 1),
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "cauchy": lambda z: np.asarray(np.log1p(z)),
    "arctan": lambda z: np.asarray(np.arctan(z)),
}


def _begin_of(one: Experiment, share: float) -> Experiment:
    """The first part of an experiment."""
    end = one.times[0] + share * (one.times[-1] - one.times[0])
    count = max(2, int(np.searchsorted(one.times, end, side="right")))
    measured = {name: data[:count] for name, data in one.measured.items()}
    return replace(one, times=one.times[:count], measured=measured)


@dataclass(eq=False)
class LeastSquaresSearch:
    """What is searched, within which limits, with which loss."""

    problem: WeightedResiduals
    limits: tuple[np.ndarray, np.ndarray]
    loss: str
    progress: SearchProgress

    def best_of(
        self, theta: np.ndarray, starts: int, seed: int, estimated: Sequence[str] = ()
    ) -> tuple[np.ndarray, SearchEnd]:
        """The best of several searches; the first begins at theta. An interrupt ends them all.

        estimated: names whose noise is not known yet.
        """
        random = np.random.default_rng(seed)
        found, end = self._begun(theta)
        try:
            for _ in range(starts - 1):
                if end.interrupted:
                    break
                begin = self._drawn(theta, random)
                if np.all(np.isfinite(self.problem.value(begin))):
                    found, end = self._better((found, end), self._begun(begin))
            if end.interrupted or not self._is_doubtful(found, estimated):
                return found, end
            other, other_end = self._along_stretches(theta)
            if self._cost(other) < self._cost(found):
                note = "along stretches of the data that grow"
                found, end = other, replace(other_end, notes=(f"{WORSE}: this one was found {note}",))
            end = replace(end, interrupted=other_end.interrupted)
        except (KeyboardInterrupt, OutOfTime) as reason:
            return found, self._cut_short(reason, end.evaluations)
        return self._from_elsewhere((found, end), random, estimated)

    def _from_elsewhere(
        self, first: tuple[np.ndarray, SearchEnd], random: np.random.Generator, estimated: Sequence[str]
    ) -> tuple[np.ndarray, SearchEnd]:
        """A better fit from values around the best, where what is left of the data is no noise.

        Another start that leads to the same fit says that the model is what does not suit the data.
        """
        found, end = first
        for _ in range(ELSEWHERE):
            if end.interrupted or not self._is_doubtful(found, estimated):
                break
            try:
                drawn, least = [self._drawn(found, random) for _ in range(DRAWN)], self._cost(found)
                begin = min(drawn, key=self._cost)
                if not np.isfinite(self._cost(begin)):
                    continue
                other, other_end = self._begun(begin)
                cost = self._cost(other)
            except (KeyboardInterrupt, OutOfTime) as reason:
                return found, self._cut_short(reason, end.evaluations)
            if abs(cost - least) <= SAME_SUM * least:
                break
            if cost < least:
                found, end = other, replace(other_end, notes=(f"{WORSE}: this one was found from other values",))
            end = replace(end, interrupted=other_end.interrupted)
        return found, end

    def _drawn(self, theta: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Other values to begin at: within their bounds, or within a factor of two."""
        (low, high), share = self.limits, random.uniform(size=len(theta))
        bounded = np.isfinite(low) & np.isfinite(high)
        inside = np.where(bounded, low, 0.0) + share * np.where(bounded, high - low, 0.0)
        return np.asarray(np.clip(np.where(bounded, inside, theta * 2.0 ** (2 * share - 1)), low, high))

    def _begun(self, theta: np.ndarray) -> tuple[np.ndarray, SearchEnd]:
        """A search from theta; with a loss that forgives outliers, also from where least squares end."""
        if self.loss == "linear":
            return self.from_here(theta)
        plain, end = replace(self, loss="linear").from_here(theta)
        if not end.interrupted:
            plain, end = replace(self, loss="huber").from_here(plain)
        if end.interrupted:
            return plain, end
        return self._better(self.from_here(plain), self.from_here(theta))

    def _better(
        self, one: tuple[np.ndarray, SearchEnd], other: tuple[np.ndarray, SearchEnd]
    ) -> tuple[np.ndarray, SearchEnd]:
        """The better of two searches; an interrupt of either counts."""
        best = other if self._cost(other[0]) < self._cost(one[0]) else one
        interrupted = one[1].interrupted or other[1].interrupted
        return best[0], replace(best[1], interrupted=interrupted)

    def _cost(self, theta: np.ndarray) -> float:
        """What the loss makes of the residuals, as SciPy's least_squares counts it."""
        with np.errstate(invalid="ignore"):
            squares = self.problem.value(theta) ** 2
            return float(np.nan_to_num(np.sum(LOSS[self.loss](squares)), nan=np.inf))

    def _is_doubtful(self, theta: np.ndarray, estimated: Sequence[str]) -> bool:
        """Whether what is left of some data is large, and no noise."""
        series: dict[str, list[np.ndarray]] = {}
        try:
            every = self.problem.curves(theta)
        except DaedalusError:
            return False
        for one, curves in zip(self.problem.experiments, every):
            for name, data in one.measured.items():
                series.setdefault(name, []).extend(((curves[name][0] - data) / self.problem.sigma[name]).T)
        for name, parts in series.items():
            left = np.concatenate(parts)
            # Before its estimate the noise is the size of the data. Losses that forgive outliers do not look at them.
            middle, size = float(np.nanmedian(np.abs(left))), float(np.sqrt(np.nanmean(left**2)))
            size = size if self.loss == "linear" else middle
            tests = judged_as_noise(parts)
            no_noise = min(tests.runs, tests.whiteness) < NOT_NOISE or size > SPIKES * min(middle, 1.0)
            is_large = size > (LARGE_SHARE if name in estimated else LARGE)
            if (is_large and no_noise) or (name in estimated and size > MUCH):
                return True
        return False

    def _along_stretches(self, theta: np.ndarray) -> tuple[np.ndarray, SearchEnd]:
        """Searches along longer and longer parts of the data, each from where the last one ended, then along all."""
        for share in STRETCHES:
            part = [_begin_of(one, share) for one in self.problem.experiments]
            if any(one.samples < SAMPLES * len(theta) for one in part):
                continue
            there = replace(self, problem=replace(self.problem, experiments=part))
            if np.all(np.isfinite(there.problem.value(theta))):
                theta, end = there._begun(theta)
                if end.interrupted:
                    return theta, end
        if not np.all(np.isfinite(self.problem.value(theta))):
            return theta, SearchEnd(False, "the model does not run to the end of the data", 0)
        return self._begun(theta)

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
                method="trf", loss=self.loss, ftol=FOUND, xtol=COME_NEAR, gtol=1e-14, max_nfev=200 * len(theta),
            )  # fmt: skip
            found = self._polished(done.x) if self.loss == "linear" and done.status > 0 else done.x
            # A search within bounds comes as near to them as it likes, and never there.
            for limit in self.limits:
                close = np.abs(found - limit) <= AT_BOUND * np.maximum(np.abs(limit), np.abs(theta))
                found = np.where(np.isfinite(limit) & close, limit, found)
        except (KeyboardInterrupt, OutOfTime) as reason:
            return best, self._cut_short(reason, self.progress.runs - before)
        return found, SearchEnd(bool(done.status > 0), str(done.message), int(done.nfev))

    def _cut_short(self, reason: BaseException, runs: int) -> SearchEnd:
        """How a search ends that the user or the time limit of the fit ends."""
        message = "interrupted by the user"
        if isinstance(reason, OutOfTime):
            if reason.deadline is not current_deadline():
                raise reason
            reason.deadline.dismiss()  # what is told of the best so far may take a run more
            message = f"time_limit = {reason.deadline.seconds:g} s passed after {counted(self.progress.runs, 'run')}"
        return SearchEnd(False, message, runs, True)

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
