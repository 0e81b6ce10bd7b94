"""A piece of an implicit run of index 2 or 3 read by its states alone: x' and z follow from the reduced equations.

An implicit step cannot be taken onto a place where constraints lose a rank, and errors below the tolerance decide
whether one happens to be taken over it. By its states such a piece is led over it as every other run is.
"""

from __future__ import annotations

import numpy as np

from daedalus.model.system.system import System
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.solved_plant import solved_plant
from daedalus.simulation.result.recorded_run import Dense
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory


def solved_piece(piece: Trajectory) -> Trajectory | None:
    """The piece with rows of its states alone; None where x' and z do not follow from them by formulas or solves."""
    plant = piece._plant
    if not isinstance(plant, ImplicitPlant):
        return piece
    found = solved_plant(plant)
    if found is None:
        return None
    states, dense = plant.row_parts["x"], piece.dense
    rows = np.ascontiguousarray(piece._x[:, states])
    of_states = Dense(dense.starts, dense.ends, np.ascontiguousarray(dense.coefficients[:, :, states]))
    base = (found, piece._drive, piece._parameters, piece._times, rows)
    return Trajectory(*base, piece.status, piece.outcome, of_states)


def written_row(plant: Plant, drive: Drive, p: np.ndarray, t: float, x: np.ndarray) -> np.ndarray | None:
    """The row of a run by this plant at a state: x, or (x, z, x') of an implicit one; None where it has no value."""
    found = solved_plant(plant)
    if found is plant or found is None:
        return x
    moment = Samples(found, drive, p, np.array([t]), x[None, :])
    row = np.concatenate([x, _named(moment, plant.system, "z"), moment._vector("xdot")[0]])
    return row if np.isfinite(row).all() else None


def _named(moment: Samples, system: System, letter: str) -> np.ndarray:
    return np.array([float(moment[label][0]) for label in system.labels[letter]])
