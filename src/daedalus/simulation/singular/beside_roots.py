"""Whether an implicit run that passes infinite slopes follows its equations there.

Newton's method judges a step by its last correction, which the matrix makes small. Beside √x = 0, ∂f/∂x is larger by
orders than a tolerance away: a step of any length seems solved with x where it was. So the equations are looked at
without a matrix: a step changes x by the integral of its slopes, by Gauss' formula along the step, but for what states
that are off by some tolerances explain.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.rank_decision import ROUNDING
from daedalus.deadline import poll
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import find_plant
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.settings import Settings
from daedalus.simulation.sliding.rest import equations_have_roots

# By how many tolerances states may be off.
OFF_BY = 10.0
# Steps that nothing holds back grow eightfold, so that a run that stands still at its start has left it after so many.
FIRST_STEPS = 16
# Of Gauss' formula on -1 … 1.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)


def broken_beside_roots(done: Trajectory, settings: Settings) -> Stop | None:
    """The end of a run that does not follow its equations; None where it does, or where nothing has infinite slopes."""
    system, plant, run = done.system, done._plant, done._source
    if not plant.is_implicit or not run.steps:
        return None
    if not _has_steep_equations(system):
        return None
    dense, n = Dense(*run.dense()), system.sizes["x"]
    atol = np.atleast_1d(settings.call["atol"])[:n]
    for k in range(min(FIRST_STEPS, len(dense.ends))):
        starts, ends = float(dense.starts[k]), float(dense.ends[k])
        times = 0.5 * (starts + ends) + 0.5 * (ends - starts) * NODES
        x = dense.at(np.array([starts, *times, ends]))[:, plant.row_parts["x"]]
        sizes = OFF_BY * (settings.rtol * np.abs(x) + atol)
        beyond = _unexplained(done, times, x, sizes, ends - starts)
        if beyond.any():
            return _stop(done, system.labels["x"][int(np.argmax(beyond))], ends)
    return None


def _stop(done: Trajectory, name: str, t: float) -> Stop:
    return Stop(
        Ending.STUCK,
        t,
        f"steps by {done.method} do not follow the equations of {name} at {time_text(t)}",
        ("slopes are infinite where it begins, and corrections tell nothing there",),
        "method='bdf' or 'auto', or a root with finite slopes such as h / sqrt(h + 1e-9) for sqrt(h)",
        variables=(name,),
        obstacle=Obstacle.INFINITE_SLOPES,
    )


@remembered
def _has_steep_equations(system: System) -> bool:
    return equations_have_roots(system) and isinstance(find_plant(system), ExplicitPlant)


def _unexplained(done: Trajectory, times: np.ndarray, x: np.ndarray, sizes: np.ndarray, length: float) -> np.ndarray:
    """Which states a step changes by what no states within some sizes of its own would: x at both ends and between."""
    formulas, n = find_plant(done.system), x.shape[1]
    assert isinstance(formulas, ExplicitPlant)

    def change(states: np.ndarray) -> np.ndarray:
        slopes = formulas.rhs.core.evaluate_many(times[:, None], states, u, p)[0]
        with np.errstate(invalid="ignore", over="ignore"):  # of slopes that are infinite nothing follows
            return np.asarray(length * (0.5 * WEIGHTS) @ slopes)

    drive = done._drive
    u = drive.at(times) if drive.moves else np.broadcast_to(drive.constants, (len(times), len(drive.constants)))
    p = np.broadcast_to(done._parameters, (len(times), len(done._parameters)))
    own = change(x[1:-1])
    gap = np.abs(x[-1] - x[0] - own)
    allowed = sizes[-1] + OFF_BY * ROUNDING * np.abs(own)
    if not np.any(gap > allowed):
        return np.zeros(n, dtype=bool)
    for j in range(n):
        poll("slopes of a run")
        for sign in (-1.0, 1.0):
            moved = x[1:-1].copy()
            moved[:, j] += sign * sizes[1:-1, j]
            allowed = allowed + np.nan_to_num(np.abs(change(moved) - own))
    return np.asarray(gap > allowed)
