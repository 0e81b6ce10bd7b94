"""Whether an implicit run that passes infinite slopes follows its equations there.

Newton's method judges a step by its last correction, which the matrix makes small. Beside √x = 0, ∂f/∂x is larger by
orders than a tolerance away: a step of any length seems solved with x where it was. So the equations are looked at
without a matrix. What they leave of x' at the end of a step has to be explained by states that are off by some
tolerances, or by the error of a slope.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, ROUNDING
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import find_plant
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.settings import Settings
from daedalus.simulation.sliding.rest import has_roots

# Ends of steps that are looked at, and by how many tolerances states may be off there.
ENDS, OFF_BY = 4, 10.0
# Steps that nothing holds back grow eightfold, so that a run that stands still has no more of them.
MOST_STEPS = 16


def broken_beside_roots(done: Trajectory, settings: Settings) -> Stop | None:
    """The end of a run that does not follow its equations; None where it does, or where nothing has infinite slopes."""
    system, plant, run = done.system, done._plant, done._source
    if not plant.is_implicit or not 0 < run.steps <= MOST_STEPS or done.status is not Ending.FINISHED:
        return None
    if not _has_steep_equations(system):
        return None
    dense = Dense(*run.dense())
    last = len(dense.ends) - 1
    which = sorted({last * k // ENDS for k in range(1, ENDS + 1)})
    atol = np.atleast_1d(settings.call["atol"])[: system.sizes["x"]]
    rows = dense.at(dense.ends[which])
    x, own = rows[:, plant.row_parts["x"]], rows[:, plant.row_parts["xdot"]]
    sizes = OFF_BY * (settings.rtol * np.abs(x) + atol)
    times, lengths = dense.ends[which], np.abs(dense.ends[which] - dense.starts[which])
    beyond = _unexplained(done, times, x, own, sizes, lengths)
    if not beyond.any():
        return None
    k, state = (int(number) for number in np.argwhere(beyond)[0])
    name, t = system.labels["x"][state], float(times[k])
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
    return has_roots(system.residual) and isinstance(find_plant(system), ExplicitPlant)


def _unexplained(
    done: Trajectory, times: np.ndarray, x: np.ndarray, own: np.ndarray, sizes: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Of rows which slopes in a run no state within some sizes of the row has, (times, states)."""
    (count, n), formulas = x.shape, find_plant(done.system)
    assert isinstance(formulas, ExplicitPlant)
    ways = np.concatenate([np.zeros((1, n)), np.eye(n), -np.eye(n)])
    moved = (x[:, None, :] + ways * sizes[:, None, :]).reshape(-1, n)
    drive = done._drive
    u = drive.at(times) if drive.moves else np.broadcast_to(drive.constants, (count, len(drive.constants)))
    p = np.broadcast_to(done._parameters, (len(moved), len(done._parameters)))
    held = [np.repeat(part, len(ways), axis=0) for part in (times[:, None], u)]
    slopes = formulas.rhs.core.evaluate_many(held[0], moved, held[1], p)[0].reshape(count, len(ways), n)
    reached = np.nan_to_num(np.abs(slopes[:, 1:] - slopes[:, :1])).reshape(count, 2, n, n).max(axis=1).sum(axis=1)
    rounding = OFF_BY * ROUNDING * np.abs(slopes[:, 0])
    allowed = reached + sizes / np.maximum(lengths, NOT_ZERO)[:, None] + rounding
    return np.asarray(np.abs(slopes[:, 0] - own) > allowed)
