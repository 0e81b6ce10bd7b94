"""What solves a program: IPOPT, an interior-point search with a filter; fatrop; Newton steps from a solution."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.optimisation.program.program import Program
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome
from daedalus.optimisation.program.solver_library import solver_addresses
from daedalus.optimisation.program.stage_structure import StageStructure

# (iteration, objective, violation, stationarity) -> whether to go on
Listener = Callable[[int, float, float, float], bool]

# Where all slopes of the cost at the guess are below the first, in scaled variables, the cost counts as much more as
# brings them to the second, which is usual for costs of about 1 on a hundred intervals, within the third: the tolerance
# is one on slopes, and a cost of 1e-5 would not be minimised before it ends.
SMALL_SLOPE, USUAL_SLOPE, MOST_WEIGHT = 1e-3, 1e-2, 1e6
# Slopes above this are more than IPOPT's own scaling brings to ordinary ones: it divides by 1e8 at most
# (nlp_scaling_max_gradient 100, nlp_scaling_min_value 1e-8).
LARGE_SLOPE = 1e10

ENDINGS = {
    0: ProgramEnding.SOLVED,
    1: ProgramEnding.ACCEPTABLE,
    2: ProgramEnding.INFEASIBLE,
    3: ProgramEnding.SMALL_STEP,
    4: ProgramEnding.DIVERGED,
    5: ProgramEnding.STOPPED,
    6: ProgramEnding.SOLVED,
    -1: ProgramEnding.MANY_ITERATIONS,
    -2: ProgramEnding.INFEASIBLE,
    -4: ProgramEnding.TIME,
    -5: ProgramEnding.TIME,
    -10: ProgramEnding.TOO_FEW_FREEDOMS,
    -13: ProgramEnding.NOT_FINITE,
}


def solve_with_ipopt(
    program: Program,
    begin: np.ndarray,
    *,
    tolerance: float,
    parameters: np.ndarray | None = None,
    warm: ProgramOutcome | None = None,
    most_iterations: int = 3000,
    time_limit: float | None = None,
    listener: Listener | None = None,
    options: dict[str, Any] | None = None,
) -> ProgramOutcome:
    """Search from `begin`; `warm`: an earlier outcome whose multipliers are taken along."""
    n, m = program.shape
    scale = program.scale
    chosen: dict[str, Any] = {
        "print_level": 0,
        "sb": "yes",
        "tol": float(tolerance),
        "max_iter": int(most_iterations),
        "linear_solver": "mumps",
        # Variables and rows are scaled by their nominal values: MUMPS' own scaling made factorisations 40 times slower.
        "mumps_scaling": 0,
        "mumps_pivot_order": 0,
        # Multipliers take the step that lessens the error in the slopes, not that of the variables: where a cost bends
        # little, as a least time does, full steps of multipliers throw the search far off.
        "alpha_for_y": "min-dual-infeas",
    }
    slope = float(np.abs(program.first(begin, parameters)[0] * scale).max(initial=0.0))
    if 0 < slope < SMALL_SLOPE:
        chosen["obj_scaling_factor"] = min(USUAL_SLOPE / slope, MOST_WEIGHT)
    elif LARGE_SLOPE < slope < np.inf:
        # What is left of slopes is judged beside their size; IPOPT asks for less than 1 without scaling too.
        chosen |= {"obj_scaling_factor": USUAL_SLOPE / slope, "dual_inf_tol": slope}
    duals = np.zeros(m), np.zeros(n), np.zeros(n)
    if warm is not None:
        chosen.update(
            warm_start_init_point="yes", mu_init=1e-5, warm_start_bound_push=1e-8, warm_start_mult_bound_push=1e-8
        )
        duals = warm.duals(scale)
    if time_limit is not None:
        chosen["max_wall_time"] = float(time_limit)
    chosen.update(options or {})
    started = time.perf_counter()
    found = program.core.ipopt(
        solver_addresses("ipopt"), program.parameters if parameters is None else parameters, program.scaled_bounds,
        (begin / scale, *duals), chosen, listener, 1e-6,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    ending = ProgramEnding.STOPPED if found["interrupted"] else ENDINGS.get(found["status"], ProgramEnding.FAILED)
    return _outcome(program, found, ending, seconds, parameters)


def _outcome(
    program: Program, found: dict[str, Any], ending: ProgramEnding, seconds: float, parameters: np.ndarray | None
) -> ProgramOutcome:
    solved = ending in (ProgramEnding.SOLVED, ProgramEnding.ACCEPTABLE)
    x = found["x"] if solved or found["best"] is None else found["best"]
    w = np.clip(x * program.scale, program.lower, program.upper)
    pressing = (found["upper_multipliers"] - found["lower_multipliers"]) / program.scale
    multipliers = found["multipliers"]
    fixed = program.lower == program.upper
    if fixed.any():
        # Fixed variables are taken out of the search: what they would be worth follows from stationarity.
        gradient, jacobian = program.first(w, parameters)
        with np.errstate(invalid="ignore"):  # at a point where the functions are not finite
            pull = gradient + np.bincount(
                program.jacobian_column, jacobian * multipliers[program.jacobian_row], minlength=len(w)
            )
        pressing = np.where(fixed, -pull, pressing)
    objective = found["objective"] if solved else program.values(w, parameters)[0]
    return ProgramOutcome("ipopt", ending, found["iterations"], w, float(objective), multipliers, pressing, seconds)


# -- fatrop, stage by stage along time ---------------------------------------------------------------------------------


def solve_with_fatrop(
    program: Program,
    stages: StageStructure,
    begin: np.ndarray,
    *,
    tolerance: float,
    most_iterations: int,
) -> ProgramOutcome:
    """Search from `begin`; an outcome that is not a success may still be found by IPOPT."""
    n, m = program.shape
    scale = program.scale
    options: dict[str, object] = {"tolerance": float(tolerance), "max_iter": int(most_iterations), "print_level": 0}
    inside = np.clip(begin, program.lower, program.upper)
    started = time.perf_counter()
    found = program.core.fatrop(
        {**solver_addresses("fatrop"), **solver_addresses("blasfeo")}, program.parameters, program.scaled_bounds,
        (inside / scale, np.zeros(m), np.zeros(n), np.zeros(n)), stages.tables(), options,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    w = found["x"] * scale
    objective, rows = program.values(w)
    off = max(
        float(np.maximum(program.row_lower - rows, rows - program.row_upper).max(initial=0.0)),
        float((np.maximum(program.lower - w, w - program.upper) / scale).max(initial=0.0)),
    )
    good = found["status"] == 0 and np.isfinite(objective) and off < 1e-5
    pressing = (found["upper_multipliers"] - found["lower_multipliers"]) / scale
    ending = ProgramEnding.SOLVED if good else ProgramEnding.FAILED
    return ProgramOutcome(
        "fatrop", ending, found["iterations"], np.clip(w, program.lower, program.upper), objective,
        found["multipliers"], pressing, seconds,
    )  # fmt: skip


# -- Newton steps from the last solution -------------------------------------------------------------------------------

# Steps double the digits: where so many are not enough, the last solution was too far.
MOST_STEPS = 12


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
    shrink = max(_core.large_multiplier, float(size)) / _core.large_multiplier
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
