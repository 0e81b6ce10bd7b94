"""An interval that is run with its sensitivities, through events and jumps, and the noise gathered on the way.

Between two jumps N' = A N + N Aᵀ + Q with A = ∂x'/∂x along the run, in steps that agree with their two halves. Across a
jump the derivative is that of a run which is just long enough to hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from daedalus import _core
from daedalus.differentiation.result.sensitivity_result import Sensitivities
from daedalus.differentiation.variational.implicit_slopes import ImplicitSlopes
from daedalus.differentiation.variational.recorded import RunPart
from daedalus.errors import SolverError
from daedalus.estimation.held_flow import COVARIANCE_RTOL, LARGEST_STIFF, Propagated, slopes_by_state
from daedalus.estimation.kept_directions import kept_projector
from daedalus.integrators.methods import is_implicit
from daedalus.integrators.tableaux.collocation import radau_iia
from daedalus.model.system.once import once
from daedalus.model.system.system import System

# The share of an interval that a run across a jump takes on each side of it.
SIDE_OF_JUMP = 1e-6
# Steps shorter than this share of an interval do not agree with their halves for other reasons.
SHORTEST = 1e-10
# Where a step and its two halves look at A and Q, as shares of the step: in three places each.
HALVES = np.array([[0.0, 0.5, 1.0], [0.0, 0.25, 0.5], [0.5, 0.75, 1.0]])
RADAU = radau_iia(3).c
STIFF = np.array([RADAU, RADAU / 2, (1 + RADAU) / 2])

Running = Callable[[float, float, np.ndarray], Sensitivities]


class _NoiseStep(NamedTuple):
    """The derivative over a time, and the noise gathered in it."""

    transition: np.ndarray
    noise: np.ndarray

    def then(self, later: _NoiseStep) -> _NoiseStep:
        noise = later.transition @ self.noise @ later.transition.T + later.noise
        return _NoiseStep(later.transition @ self.transition, noise)

    def carried(self, covariance: np.ndarray) -> np.ndarray:
        return np.asarray(self.transition @ covariance @ self.transition.T + self.noise)


def noisy_run(
    run: Running,
    t: float,
    length: float,
    x: np.ndarray,
    covariance: np.ndarray,
    density: np.ndarray,
    ticks: Callable[[float], bool],
) -> Propagated:
    """Where an interval leads, by `run(t, length, x)`; x holds the discrete variables too.

    ticks: whether clocks act at a time. What they do at the end belongs to the next interval, with its inputs.
    """
    sens = run(t, length, x)
    beside, end = SIDE_OF_JUMP * length, t + length
    parts = _before_ticks(sens, ticks)
    whole, at = _NoiseStep(np.eye(len(x)), np.zeros_like(density)), t
    for jump in [*_jumps(parts), np.inf]:
        before, behind = min(jump - beside, end), min(jump + beside, end)
        if before > at:
            whole = whole.then(_SmoothStretch(sens, density).over(at, before, whole.carried(covariance)))
            at = before
        if behind > at:
            here = sens.at(at)
            state = x if at == t else here.state_and_transition()[0]
            whole = whole.then(_across(run(at, behind - at, state), behind - at, density, ticks))
            at = behind
    found = _NoiseStep(whole.transition, 0.5 * (whole.noise + whole.noise.T))
    return Propagated(_ended(sens, parts)[0], found.carried(covariance), *found)


def _before_ticks(sens: Sensitivities, ticks: Callable[[float], bool]) -> Sequence[RunPart]:
    """The parts of a run without what clocks do at its end."""
    parts = list(sens.parts)
    end = float(parts[-1].recorded.t[-1]) if parts else 0.0
    while len(parts) > 1 and float(parts[-1].recorded.t[0]) == end and ticks(end):
        parts.pop()
    return parts


def _jumps(parts: Sequence[RunPart]) -> list[float]:
    """When something happens: where one part of a run follows another."""
    return sorted({float(part.recorded.t[-1]) for part in parts[:-1]})


def _ended(sens: Sensitivities, parts: Sequence[RunPart]) -> tuple[np.ndarray, np.ndarray]:
    """The state at the end of the last of some parts, and its derivative by the start."""
    return sens.state_and_transition(None if len(parts) == len(sens.parts) else parts[-1])


def _across(sens: Sensitivities, length: float, density: np.ndarray, ticks: Callable[[float], bool]) -> _NoiseStep:
    """Over a time so short that noise comes before or behind the jump in it."""
    half, M = 0.5 * length * density, _ended(sens, _before_ticks(sens, ticks))[1]
    return _NoiseStep(M, M @ half @ M.T + half)


class _SmoothStretch:
    """A stretch of a run between two jumps."""

    def __init__(self, sens: Sensitivities, density: np.ndarray) -> None:
        self._sens, self._density = sens, density
        self._projector: Any = None

    def over(self, begin: float, end: float, covariance: np.ndarray) -> _NoiseStep:
        """The derivative and the noise of a stretch."""
        part = self._part_at(0.5 * (begin + end))
        self._projector = kept_projector(part.case)
        n, whole = len(covariance), end - begin
        found, at, step = _NoiseStep(np.eye(n), np.zeros((n, n))), begin, whole
        while at < end:
            step = min(step, end - at)
            own, error = self._tried(part, at, step, found.carried(covariance))
            if error > 1 and step <= SHORTEST * whole:
                raise SolverError(
                    f"The estimator cannot continue at t = {at:.6g}.",
                    f"steps of {step:.3g} s do not reach the tolerance of the covariance",
                    remedy="a shorter interval every=",
                )
            if error <= 1:
                found, at = found.then(own), end if end - at - step <= SHORTEST * whole else at + step
            step *= min(4.0, max(0.1, 0.9 * max(error, 1e-10) ** -0.2))
        return found

    def _part_at(self, t: float) -> RunPart:
        parts = self._sens.parts
        return next((part for part in parts if t <= part.recorded.t[-1]), parts[-1])

    def _tried(self, part: RunPart, t: float, h: float, covariance: np.ndarray) -> tuple[_NoiseStep, float]:
        """One step as two halves, and how far it is from one whole, in tolerances."""
        stiff = is_implicit(part.case.settings.method) and len(covariance) <= LARGEST_STIFF
        slopes, densities = self._at_nodes(part, t + h * (STIFF if stiff else HALVES).ravel())
        whole, first, second = (
            _step(h * share, slopes[k : k + 3], densities[k : k + 3], stiff)
            for k, share in ((0, 1.0), (3, 0.5), (6, 0.5))
        )
        halves = first.then(second)
        fine, coarse = halves.carried(covariance), whole.carried(covariance)
        largest = np.maximum(np.diag(fine), np.diag(covariance))
        deviations = np.sqrt(np.maximum(np.diag(fine), 1e-4 * np.maximum(largest, 0.0)))
        sizes = np.outer(deviations, deviations)
        off = np.abs(fine - coarse)[sizes > 0] / (15 * COVARIANCE_RTOL * sizes[sizes > 0])
        error = float(off.max(initial=0.0))
        return halves, error if np.isfinite(error) else 1e10

    def _at_nodes(self, part: RunPart, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and Q, (times, n, n) each; Q along what the model keeps."""
        case, n = part.case, len(self._density)
        rows = part.augmented.layout.rows(part.recorded.at(times))
        inputs = case.drive.at(times)
        slopes, densities = [], []
        for t, row, u in zip(times.tolist(), rows, inputs):
            slopes.append(_by_state(part, t, row, u))
            densities.append(self._along(t, row[:n], u, case.p))
        return np.array(slopes), np.array(densities)

    def _along(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        if self._projector is None:
            return self._density
        onto = self._projector(np.array([t]), x, u, p)[0].reshape(len(x), len(x))
        return np.asarray(onto @ self._density @ onto.T)


def _by_state(part: RunPart, t: float, row: np.ndarray, u: np.ndarray) -> np.ndarray:
    """∂x'/∂x at a row of a run."""
    case, n = part.case, part.augmented.layout.n
    if not case.has_formulas:
        return once(case.system, _implicit_slopes).at(t, row, u, case.p)[2][:n, 1 : n + 1]
    return np.asarray(slopes_by_state(case.system)(np.array([t]), row, u, case.p)[0]).reshape(n, n)


def _implicit_slopes(system: System) -> ImplicitSlopes:
    return ImplicitSlopes(system)


def _step(length: float, slopes: np.ndarray, densities: np.ndarray, stiff: bool) -> _NoiseStep:
    found = _core.noise_step(length, slopes, densities, slopes.shape[1], stiff)
    return _NoiseStep(*found) if found else _NoiseStep(np.full_like(slopes[0], np.nan), np.full_like(slopes[0], np.nan))
