"""IPOPT on a program: a primal-dual interior-point search with a filter."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus.optimisation.program.program import Program
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome
from daedalus.optimisation.program.solver_library import solver_addresses

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
