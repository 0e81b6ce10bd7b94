"""States that oscillate for long without anything that leads them: told, since errors of steps add up in their phase.

Tolerances hold the error of one step. Where neighbouring motions come together again, that is about the error of the
run; the phase of an oscillation that nothing outside drives stays where errors have put it, and N steps make N of them.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.records_of_methods import LongOscillation
from daedalus.simulation.run.settings import Settings

# So many periods are a long oscillation: at the fewest rows a period that steps of any method have, a thousand steps.
LONG = 100
# A motion whose size in the last quarter of the run is below this share of its largest has come to rest.
LASTS = 0.1
# Changes from row to row below this share of the motion are no turns.
TURNS = 1e-3


def long_oscillations(settings: Settings, drive: Drive, run: Any) -> tuple[LongOscillation, ...]:
    """The record of states that oscillate at least LONG times in a core run of an autonomous model."""
    if settings.call.get("step") is not None or run.steps < LONG or drive.moves:
        return ()
    x, system = run.x[:, settings.plant.row_parts["x"]], settings.plant.system
    periods = lasting_periods(x)
    if not (periods >= LONG).any() or ca.depends_on(system.residual, system.symbol("t")):
        return ()
    names = tuple(system.labels["x"][k] for k in np.flatnonzero(periods >= LONG))
    return (LongOscillation(names, int(periods.max()), int(run.steps), float(settings.rtol)),)


def lasting_periods(x: np.ndarray) -> np.ndarray:
    """How often each column of rows turns to and fro, half of it; 0 where that has come to rest in the end."""
    periods = np.zeros(x.shape[1], dtype=int)
    if len(x) < 2 * LONG:
        return periods
    last = x[-len(x) // 4 :]
    size = last.max(axis=0) - last.min(axis=0)
    for k in np.flatnonzero(size > LASTS * (x.max(axis=0) - x.min(axis=0))):
        steps = np.diff(x[:, k])
        turning = steps[np.abs(steps) > TURNS * size[k]] > 0
        periods[k] = np.count_nonzero(turning[1:] != turning[:-1]) // 2
    return periods
