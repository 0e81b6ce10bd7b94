"""The state behind a reset of states that depend on each other, as `dd.simulate` finds it, with its derivatives."""

from __future__ import annotations

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.errors import SolverError
from daedalus.initialisation.behind_reset import Behind, reset_rule
from daedalus.initialisation.reset_refusals import RefusedReset
from daedalus.initialisation.reset_slopes import reset_slopes
from daedalus.simulation.start.restart import Restart


def restarted_state(
    case: Case, event: int, t: float, row: np.ndarray, u: np.ndarray, written: np.ndarray
) -> tuple[Behind, np.ndarray]:
    """What lies behind an event at a row, and ∂x⁺/∂(t, x, u, p); `written` is that of what the reset says."""
    try:
        behind = Restart(case.plant, case.settings.rtol).behind(t, row, u, case.p, event)
    except RefusedReset as error:
        name = case.system.events[event].name
        facts = [error.what.rstrip("."), *error.facts]
        raise SolverError(
            f"The run of {case.system.name!r} with its derivatives stopped at the event {name!r}.",
            [f"at t = {t:.6g}: {facts[0]}", *facts[1:]],
            because=error.because,
            remedy=error.remedy,
        ) from None
    return behind, reset_slopes(behind, reset_rule(case.system).assigned[event], written)
