"""Rows of save_at inside steps, moved onto what a model keeps: the dense output there obeys it to the tolerance only.

Explicit runs are moved as their steps are. Implicit runs have their algebraic variables solved for at index 1; at a
higher index their states are those of the mended dense output (mended_states.py), as `tr.at` reads it, moved onto the
equations that contain nothing else, by the shortest way in nominal values.
Hidden constraints hold to the tolerance there; `at(t, project=True)` has them too. What no way leads to stays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from daedalus.simulation.between.consistent_rows import moved_by, solved_rows
from daedalus.simulation.between.deep_values import DeepValues, deep_values
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.between.mended_states import mended_states
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.held_values import HeldModes, HeldValues, held_parameters

# Errors between steps are those of the steps, a few tolerances.
FARTHEST = 10.0


def keep_between_steps(
    plant: Plant, drive: Drive, p: np.ndarray, run: Any, rtol: float, fixed_step: bool = False,
    conditions: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Write into a core run its rows of save_at as the model keeps them; rows at steps are kept already.

    A row that would be moved by much more than rtol stays as it is: at a dead centre constraints do not say where it
    belongs, and the dense output does, to the tolerance. conditions: those of the equations whose modes the run kept.

    Example
    -------
    >>> import daedalus as dd, casadi as ca, numpy as np
    >>> m = dd.Model("pendulum")
    >>> q = m.coordinate("q", 2, start=[1.0, 0.0]); m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    >>> m.potential_energy(9.81 * q[1]); _ = m.constraint("rod", ca.sumsqr(q) - 1)
    >>> tr = dd.simulate(m, 1.0, save_at=np.linspace(0, 1, 30))
    >>> max(tr.drift().values()) < 1e-14, max(tr.drift(between=True).values()) > 1e-12
    (True, True)
    """
    if not plant.has_constraints:
        return
    between = run.between
    if between:
        times = run.t[between]
        step = abs(float(run.t[-1] - run.t[0])) / max(run.steps, 1)
        held = HeldValues.of_run(run, count, False) if (count := plant.system.discrete_count) else None
        p_at = partial(held_parameters, np.asarray(p, dtype=float), held)
        rows = run.x[between]
        if isinstance(plant, ImplicitPlant) and plant.deep_by_index.any() and not fixed_step:
            modes, ends = HeldModes.of_run(run, conditions), (float(run.t[0]), float(run.t[-1]))
            rows = _mended(plant, deep_values(plant, drive, p_at, modes, ends), run, times, rows)
        run.x[between] = _kept(plant, drive, p_at(times), times, rows, rtol, step)


def _mended(plant: Plant, deep: DeepValues | None, run: Any, times: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows with the states of the mended dense output, of which only the steps around them are mended."""
    dense = Dense(*run.dense())
    if deep is None or not len(dense.starts):
        return rows
    some = dense.steps_around(times)
    return mended_states(plant, deep, Dense(*(part[some] for part in dense))).at(times)


def _kept(
    plant: Plant, drive: Drive, p: np.ndarray, times: np.ndarray, rows: np.ndarray, rtol: float, step: float
) -> np.ndarray:
    inputs = drive.at(times)
    if plant.projection is not None:
        moved = moved_by(plant.projection.core, times, rows, inputs, p)
        far = np.abs(moved - rows) > FARTHEST * rtol * _sizes(plant, rows)
        rows = np.where(far.any(axis=1, keepdims=True), rows, _finite_or_before(moved, rows))
    if not isinstance(plant, ImplicitPlant) or plant.system.choices:
        return rows
    if plant.index.largest == 1:
        return _unless_steep(plant, solved_rows(plant, p, times, rows, inputs, step, rtol), rows, rtol)
    if plant.onto_written is not None:
        part = plant.row_parts["x"]
        states = np.ascontiguousarray(rows[:, part])
        moved = moved_by(plant.onto_written.core, times, states, inputs, p)
        rows[:, part] = _finite_or_before(moved, states)
    return rows


def _unless_steep(plant: Plant, solved: np.ndarray, rows: np.ndarray, rtol: float) -> np.ndarray:
    """Rows with z and x' as they were solved for; as they were where z is so steep in x that errors of x rule it.

    The voltage across a conducting junction, known to a tolerance of some volts, says nothing of its current, which the
    polynomial of the step knows.
    """
    z = plant.row_parts["z"]
    sizes = np.maximum(np.abs(rows[:, z]).max(axis=0, initial=0.0), plant.system.nominal["z"])
    limit = max(FARTHEST * rtol, np.sqrt(rtol))
    far = ~(np.abs(solved[:, z] - rows[:, z]) <= limit * sizes).all(axis=1)
    kept: np.ndarray = np.where(far[:, None], rows, solved)
    return kept


def _sizes(plant: Plant, rows: np.ndarray) -> np.ndarray:
    """How large the entries of rows get, their nominal values at least."""
    nominal = np.zeros(rows.shape[1])
    nominal[plant.row_parts["x"]] = plant.system.nominal["x"]
    sizes: np.ndarray = np.maximum(np.abs(rows).max(axis=0), nominal)
    return sizes


def _finite_or_before(moved: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(moved).all(axis=1, keepdims=True), moved, rows)
