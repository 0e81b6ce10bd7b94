"""Variational equations with error control: state and sensitivities are one system in one error test.

The absolute tolerance of ∂x_i/∂θ_j is that of x_i divided by the size of θ_j. What happens in a run ends a part of it,
and sensitivities are carried across between two parts; a condition whose moment the motion decides ends its part here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus import _core
from daedalus.differentiation.case import Case, core_inputs
from daedalus.differentiation.variational.augmented import AnyAugmented, Augmented
from daedalus.differentiation.variational.recorded import Recorded, recorded_run
from daedalus.model.system.system import System
from daedalus.simulation.result.ending import Ending


def run_error_controlled(case: Case, augmented: AnyAugmented, y0: np.ndarray) -> Recorded | None:
    """Integrate y from the start of the case to its end, or to a terminal event; None where the system is stiff."""
    assert isinstance(augmented, Augmented)  # explicit methods run formulas
    settings, system = case.settings, case.system
    sizes = augmented.variational.directions.sizes(system, case.p)
    call = {**settings.call, "atol": augmented.variational.tolerances(settings.call["atol"], sizes)}
    if "projection" in call:
        call["projection"] = (augmented.exact if moves_far(case) else augmented.tangential).core
    u, tables = core_inputs(case)
    if tables:
        call["tables"] = tables
    if case.save_at is not None and not system.events:
        call["save_at"] = case.save_at
    for name in ("guards", "directions", "actions", "occurrences", "resets", "restart", "writes"):
        call.pop(name, None)
    if system.events:
        call.update(event_call(system), guards=augmented.guards.core)
    run = _core.integrate(augmented.rhs.core, settings.core_method, case.t0, case.t1, y0, u, case.p, **call)
    if run.status == Ending.STIFF:
        return None
    return recorded_run(case, run, lambda rows: rows, lambda unknown: unknown, augmented.layout.width)


def moves_far(case: Case) -> bool:
    """Whether a step may be moved onto the invariants by more than a tolerance; then the move is differentiated itself.

    So it is at fixed step, where the variational equations become the derivative of the steps.
    """
    return case.limits.get("step") is not None


def event_call(system: System) -> dict[str, Any]:
    """What the core does at conditions: one that the part ends with ends the run."""
    return {
        "directions": [e.direction for e in system.events],
        "actions": [2 if e.terminal else 1 for e in system.events],
        "occurrences": [1] * len(system.events),
    }
