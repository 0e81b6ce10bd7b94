"""Searches by fatrop, stage by stage along time."""

from __future__ import annotations

import time

import numpy as np

from daedalus.optimisation.program.program import Program
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome
from daedalus.optimisation.program.solver_library import solver_addresses
from daedalus.optimisation.program.stage_structure import StageStructure


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
