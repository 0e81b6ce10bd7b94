"""Variational equations by the implicit methods of `dd.simulate`, for stiff systems and those without formulas.

States and sensitivities are one system in one error test, as with explicit methods, and all sensitivities are solved
for with the factor of the states (column_equations.py).
"""

from __future__ import annotations

import numpy as np

from daedalus import _core
from daedalus.differentiation.case import Case, core_inputs
from daedalus.differentiation.variational.augmented import AnyAugmented
from daedalus.differentiation.variational.error_controlled import event_call, moves_far
from daedalus.differentiation.variational.recorded import Recorded, recorded_run
from daedalus.integrators.methods import choose_method


def run_implicit(case: Case, augmented: AnyAugmented, y0: np.ndarray) -> Recorded:
    """Integrate y with the implicit method of the case."""
    rows, (u, tables) = augmented.core_rows, core_inputs(case)
    call = {name: value for name, value in case.settings.call.items() if name in ("rtol", "max_step", "max_steps")}
    call |= {name: value for name, value in case.limits.items() if value is not None}
    call["atol"] = rows.tolerances(case)
    moved = rows.projection(moves_far(case)) if "projection" in case.settings.call else None
    if moved is not None:
        call["projection"] = moved.core
    if tables:
        call["tables"] = tables
    chosen = choose_method(case.method, call["rtol"], call.get("step")).core

    if rows.guards is not None:
        call.update(event_call(case.system), guards=rows.guards.core)
    run = _core.integrate(rows.model, chosen, case.t0, case.t1, rows.row(case, case.t0, y0), u, case.p, **call)
    return recorded_run(case, run, rows.unpacked, rows.entry, augmented.layout.width)
