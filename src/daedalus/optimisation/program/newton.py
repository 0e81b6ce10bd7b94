"""Newton steps from the last solution of a program, and how far a point is from optimal."""

from __future__ import annotations

import time

import numpy as np

from daedalus import _core
from daedalus.optimisation.program.program import Program
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome

# Steps double the digits: where so many are not enough, the last solution was too far.
MOST_STEPS = 12
# Multipliers beyond this size count relative to it (A. Wächter, L. T. Biegler, Math. Programming 106 (2006), eq. 5).
LARGE = 100.0


def solve_with_newton(
    newton: _core.NewtonProgram, program: Program, last: ProgramOutcome, *, tolerance: float
) -> ProgramOutcome | None:
    """The solution near the last one, to the tolerance of every search; None where steps do not lead to one.

    A step is taken where the Lagrangian has a minimum on the conditions that hold, so that no saddle is found.
    """
    scale = program.scale
    begin = last.w / scale, *last.duals(scale)
    started = time.perf_counter()
    found = newton.solve(program.parameters, program.scaled_bounds, begin, float(tolerance), MOST_STEPS)
    seconds = time.perf_counter() - started
    if found["status"] != 0:
        return None
    return ProgramOutcome(
        "newton", ProgramEnding.SOLVED, found["iterations"], np.clip(found["x"] * scale, program.lower, program.upper),
        found["objective"], found["multipliers"], (found["upper_multipliers"] - found["lower_multipliers"]) / scale,
        seconds,
    )  # fmt: skip


def optimality_error(program: Program, outcome: ProgramOutcome) -> float:
    """The largest of what is left of stationarity, of the conditions and of complementarity, in scaled variables.

    With L = f + λᵀg + zᵀx: ∂L/∂x, the distance of g and x from their bounds, and each multiplier times the distance of
    its bound.
    """
    w, rows_by = outcome.w, outcome.multipliers
    objective, rows = program.values(w)
    gradient, jacobian = program.first(w)
    if not (np.isfinite(objective) and np.isfinite(rows).all() and np.isfinite(jacobian).all()):
        return np.inf
    pull = np.bincount(program.jacobian_column, jacobian * rows_by[program.jacobian_row], minlength=len(w))
    bounds_by = outcome.bound_multipliers * program.scale
    still = (gradient + pull) * program.scale + bounds_by
    size = (np.abs(rows_by).sum() + np.abs(bounds_by).sum()) / max(1, len(rows_by) + len(w))
    shrink = max(LARGE, float(size)) / LARGE
    between = [
        (w / program.scale, program.lower / program.scale, program.upper / program.scale, bounds_by),
        (rows, program.row_lower, program.row_upper, rows_by),
    ]
    missed, pressed = 0.0, 0.0
    for value, lower, upper, by in between:
        missed = max(missed, float(np.maximum(lower - value, value - upper).max(initial=0.0)))
        # A positive multiplier belongs to the upper bound.
        room = np.where(by > 0, upper - value, value - lower)
        pressed = max(pressed, float(np.abs(by * np.where(np.isfinite(room), room, 1.0)).max(initial=0.0)))
    return max(float(np.abs(still).max(initial=0.0)) / shrink, missed, pressed / shrink)
