"""Newton's method on a program that was solved nearby before: full steps on the conditions of optimality."""

from __future__ import annotations

import time

import numpy as np

from daedalus import _core
from daedalus.optimisation.program.program import Program
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome

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
