"""Equations that were set apart because they follow from the others, looked at again in what a run computed."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import concatenate, elements
from daedalus.model.system.closed_loop import opened
from daedalus.model.system.equation_row import EquationRow
from daedalus.model.system.once import once
from daedalus.model.system.surplus_equations import size_of
from daedalus.model.system.system import System
from daedalus.reduction.findings import EquationsSetApart
from daedalus.reduction.reduction_record import Reduction
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.singular.cut_pieces import cut_at

# An equation that leaves more than this share of its terms no longer follows: errors of a run leave far less.
FOLLOWS = 1e-2


def repeated_equations_hold(whole: Trajectory, has_steps: bool) -> Trajectory:
    """The run, or its part up to where an equation that was set apart is broken, which is then its end."""
    pieces = whole.pieces
    for k, piece in enumerate(pieces):
        rows = once(piece._plant.system, _repeated)
        broken = _broken(piece, rows) if rows else None
        if broken is not None:
            return joined([*pieces[:k], cut_at(piece, broken, has_steps)])
    return whole


def _repeated(system: System) -> tuple[EquationRow, ...]:
    """The equations that were set apart, by the system itself or by the reduction that it came of."""
    own, reduction = opened(system).part(EquationsSetApart), opened(system).part(Reduction)
    findings = (*((own,) if own is not None else ()), *(() if reduction is None else reduction.findings))
    return tuple(row for finding in findings if isinstance(finding, EquationsSetApart) for row in finding.rows)


def _broken(piece: Trajectory, rows: tuple[EquationRow, ...]) -> Stop | None:
    """The end of a piece at the first row that breaks one of them."""
    plant = piece._plant
    levels = {row.level for row in rows}
    which = [k for k, row in enumerate(plant.system.watched_rows) if row.level in levels]
    if not which or len(piece._times) < 2:
        return None
    own = concatenate(plant.system.watched.values())[which]
    # Terms count at least as much as nominal values make them.
    unknowns = ca.vertcat(plant.system.symbol("x"), plant.system.symbol("z"))
    nominal = np.concatenate([plant.system.nominal["x"], plant.system.nominal["z"]])
    usual = ca.mtimes(ca.fabs(ca.jacobian(own, unknowns)), nominal)
    look = plant.compiled_values("repeated", ca.vertcat(own, *(size_of(row) for row in elements(own)), usual))
    values = np.abs(look.core.evaluate_many(*piece._arguments())[0])
    left, *sizes = np.split(values, 3, axis=1)
    off = left > FOLLOWS * np.maximum(*sizes).max(axis=0)
    off[0] = False  # where a run begins all equations hold
    if not off.any():
        return None
    first = int(np.flatnonzero(off.any(axis=1))[0])
    t, row = float(piece._times[first]), plant.system.watched_rows[which[int(np.flatnonzero(off[first])[0])]]
    return Stop(
        Ending.INCONSISTENT, t, f"{row.label} no longer follows from the other equations at {time_text(t)}",
        (f"it is off by {left[first].max():.3g}",), "equations that do not contradict each other",
        equations=(row.label,), obstacle=Obstacle.OTHER_RANK,
    )  # fmt: skip
