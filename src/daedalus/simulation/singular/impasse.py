"""Tell a run that stopped where its algebraic equations fold from one with another fault.

With 0 = g(x, z) such a point has ∂g/∂z singular and ∂g/∂x x' outside its range: z moves like √(t* - t) and no solution
goes on behind t* (an impasse point: L. O. Chua, A.-C. Deng, IEEE Trans. Circuits and Systems 36, 1989). The smallest
singular value of the system Jacobian falls at the very end of the run there, and steps shrink with it.
"""

from __future__ import annotations

import numpy as np

from daedalus.analysis.rank_decision import FULL_RANK
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.model.names import listed
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.singular.independence import scales
from daedalus.simulation.singular.singular_configuration import SHARE, matrix_at

# Before the end: this part of the run; what the smallest singular value was there falls by this at least.
BEFORE, FALL = 0.01, 0.01


def impasse_end(done: Trajectory) -> Stop | None:
    """The end where an implicit run stopped at a fold of its algebraic equations; None for other ends."""
    plant = done._plant
    if not isinstance(plant, ImplicitPlant) or not done.status.may_be_fold or len(done._times) < 2:
        return None
    system, end = plant.system, float(done.end.time)
    if not plant.constraint_rows or structure_of(system).size > FULL_RANK:
        return None
    structure, jacobian = structure_of(system).signature, structure_of(system).jacobian
    earlier = done.at(end - BEFORE * (end - float(done.dense_spans[0][0])))
    before, now = (matrix_at(plant, jacobian, moment) for moment in (earlier, done.end))
    if not (np.all(np.isfinite(before)) and np.all(np.isfinite(now))):
        return None
    rows, columns = scales(before)
    left, values, right = np.linalg.svd(rows[:, None] * now * columns)
    usual = np.linalg.svd(rows[:, None] * before * columns, compute_uv=False)[-1]
    if not values[-1] < FALL * usual:
        return None
    # Algebraic equations that nothing differentiates, and the algebraic variables that they give.
    folds = np.zeros(len(left))
    folds[plant.constraint_rows] = np.abs(left[plant.constraint_rows, -1])
    folds *= structure.c == 0
    own = np.isin(structure.rows, np.flatnonzero(folds >= SHARE * folds.max()))
    moved = np.abs(right[-1]) * (structure.d == 0) * np.isin(np.arange(structure.size), structure.columns[own])
    if folds.max() < np.abs(left[:, -1]).max() or moved.max() < SHARE:
        return None
    labels = structure_of(system).labels
    equations, variables = (
        [names[int(k)] for k in np.flatnonzero(share >= SHARE * share.max())]
        for names, share in ((system.equation_labels, folds), (labels, moved))
    )
    determine = "determines" if len(equations) == 1 else "determine"
    return Stop(
        Ending.STUCK,
        end,
        f"the algebraic equations become singular at {time_text(end)} (an impasse): {listed(equations)} no longer "
        f"{determine} {listed(variables)} there, and the solution may not go on",
        done.stop.findings,
        f"an event that ends the run before it, or what was neglected and makes {variables[0]} a state",
        tuple(variables),
        tuple(equations),
        obstacle=Obstacle.IMPASSE,
    )
