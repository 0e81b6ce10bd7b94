"""How far a point with multipliers is from the conditions of optimality: what a solver ends by, looked at once more."""

from __future__ import annotations

import numpy as np

from daedalus.optimisation.program.program import Program
from daedalus.optimisation.program.program_outcome import ProgramOutcome

# Multipliers beyond this size count relative to it (A. Wächter, L. T. Biegler, Math. Programming 106 (2006), eq. 5).
LARGE = 100.0


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
