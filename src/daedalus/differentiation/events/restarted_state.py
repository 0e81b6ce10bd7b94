"""The state behind a reset of states that depend on each other, as `dd.simulate` finds it, with its derivatives."""

from __future__ import annotations

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.errors import SolverError
from daedalus.initialisation.behind_reset import Behind, reset_rule
from daedalus.initialisation.reset_refusals import RefusedReset
from daedalus.initialisation.reset_slopes import reset_slopes
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.start.restart import Restart


def restarted_state(
    case: Case, event: int, t: float, row: np.ndarray, u: np.ndarray, written: np.ndarray
) -> tuple[Behind, np.ndarray]:
    """What lies behind an event at a row, and ∂x⁺/∂(t, x, u, p); `written` is that of what the reset says."""
    where = f"the event {case.system.events[event].name!r}"
    behind = searched(case.plant, case.settings.rtol, t, row, u, case.p, event, where)
    return behind, reset_slopes(behind, reset_rule(case.system).assigned[event], written)


def searched(
    plant: Plant, rtol: float, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray, actor: int, where: str
) -> Behind:
    """What `dd.simulate` finds behind an actor at a row; where: what it is called if nothing is found."""
    try:
        return Restart(plant, rtol).behind(t, row, u, p, actor)
    except RefusedReset as error:
        raise SolverError(
            f"The run of {plant.system.name!r} with its derivatives stopped at {where}.",
            [f"at t = {t:.6g}: {error.what.rstrip('.')}", *error.facts],
            because=error.because,
            remedy=error.remedy,
        ) from None
