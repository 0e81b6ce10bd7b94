"""Cut off the last rows of a run that stopped where they no longer lie on what its equations imply.

At index 2 and 3 the errors of velocities and forces count h or h² times only, so that on the way into a singular
configuration, where steps shrink to rounding, the error test lets pass what rounding makes of them: velocities of
1e6 m/s on constraints that hold to 1e-16. Such rows are far from the hidden constraints. The distance is that of the
shortest way onto all levels, in units of the tolerances; rows from the first one on that is too far away are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_RANK
from daedalus.model.expressions import concatenate
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.plant.held_levels import system_with_levels
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.ending import Obstacle, Stop
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.singular.cut_pieces import cut_at
from daedalus.simulation.singular.stopped_places import near_dead_centre

# How far from the constraints a row may lie, in tolerances or in what is usual in a run where that is more: errors of
# velocities at index 3 are larger than tolerances, all along. As many times as usual its states may be large.
OFF_CONSTRAINTS = 100.0
# So many rows tell what is usual.
LOOKED_AT = 64
# So many rows in a row must lie on the constraints before those ahead of them are believed.
BELIEVED = 64


def without_lost_rows(whole: Trajectory, tolerances: np.ndarray, rtol: float, has_steps: bool) -> Trajectory:
    """A run that stopped, up to the last row on the constraints; `has_steps`: its rows are steps, not samples."""
    piece = whole.pieces[-1]
    plant = piece._plant
    if not isinstance(plant, ImplicitPlant) or plant.index.largest < 2 or plant.system.sizes["x"] > FULL_RANK:
        return whole
    levels = once(plant.system, _levels, plant.index)
    if levels is None or len(piece._times) < 2:
        return whole
    rows = _spread(len(piece._times))
    sizes = np.median(np.abs(piece._x[rows][:, plant.row_parts["x"]]), axis=0)
    most = OFF_CONSTRAINTS * np.maximum(sizes, plant.system.nominal["x"])
    look = partial(_distance, levels, piece, tolerances, rtol, most)
    usual = np.median([look(float(piece._times[k]), piece._x[k]) for k in rows])
    first = _first_lost(look, OFF_CONSTRAINTS * max(1.0, float(usual)), piece, has_steps)
    return whole if first is None else joined([*whole.pieces[:-1], _until(piece, first)])


def _spread(count: int) -> list[int]:
    """Some rows of many, evenly."""
    return list(range(0, count, -(-count // LOOKED_AT)))


def _first_lost(
    distance: Callable[[float, np.ndarray], float], farthest: float, piece: Trajectory, has_steps: bool
) -> int | None:
    """The first of the last rows that is lost, or their number where only the end is; None where all are right."""
    times, rows, end = piece._times, piece._x, piece.end
    lost = None if has_steps or distance(float(end.time), end._x[0]) <= farthest else len(rows)
    believed = 0
    for k in range(len(rows) - 1, 0, -1):
        if distance(float(times[k]), rows[k]) > farthest:
            believed, lost = 0, k
        elif (believed := believed + 1) == BELIEVED:
            break
    return lost


def _levels(system: System, index: object) -> ca.Function | None:
    """The constraints of all levels and their slopes in x, as a function of (t, x, u, p)."""
    found = system_with_levels(system, index)  # type: ignore[arg-type]
    if found is None or not found.has_invariants:
        return None
    kept = concatenate(found.invariants.values())
    arguments = found.symbols(("t", "x", "u", "p"))
    return ca.Function("levels", arguments, [ca.densify(kept), ca.densify(ca.jacobian(kept, arguments[1]))])


def _distance(
    levels: ca.Function, piece: Trajectory, tolerances: np.ndarray, rtol: float, most: np.ndarray, t: float,
    row: np.ndarray,
) -> float:  # fmt: skip
    """The shortest way from a row onto the constraints, in tolerances; infinite where it has no value.

    most: states beyond these sizes have the tolerance of these, so that lost ones are not judged by their own size.
    """
    x = row[piece._plant.row_parts["x"]]
    found = levels.call([t, x, piece._drive.at_time(t), piece._parameters])
    left, slope = found[0].full().ravel(), found[1].full()
    if not (np.isfinite(left).all() and np.isfinite(slope).all()):
        return np.inf
    size = tolerances[: x.size] + rtol * np.minimum(np.abs(x), most)
    return float(np.abs(np.linalg.lstsq(slope * size, left, rcond=None)[0]).max(initial=0.0))


def _until(piece: Trajectory, lost: int) -> Trajectory:
    """The piece up to the row before the first that is lost."""
    stop = _stop_at(piece.outcome.stop, float(piece._times[lost - 1]))
    return cut_at(piece, stop, adds_row=False, with_end=True)


def _stop_at(stop: Stop, t: float) -> Stop:
    """The end of a run with the time up to which it is right."""
    if stop.obstacle is not Obstacle.SINGULAR_CONFIGURATION:
        return replace(stop, time=t)
    weak = np.ones(len(stop.equations), dtype=bool)
    return near_dead_centre(t, stop.equations, weak, stop.facts, stop.obstacle)
