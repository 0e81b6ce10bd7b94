"""Forces of constraints in the rows of implicit runs: solved for anew from the states, which are far more exact.

At index 3 three stages of Radau give positions to order 4, velocities to order 3 and multipliers to order 2, between
the steps less, and error control counts an error of these h² times (E. Hairer, C. Lubich, M. Roche, The Numerical
Solution of Differential-Algebraic Systems by Runge-Kutta Methods, 1989). The reduced equations give them as a function
of the states. Measured on the mechanisms of the catalogue, radau5 at rtol = 1e-6: 60 to 60 000 tolerances as they come
out of the steps, 0.01 to 30 as solved for.
"""

from __future__ import annotations

import numpy as np

from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.solved_plant import solved_plant


def renewed_rows(
    plant: Plant, times: np.ndarray, rows: np.ndarray, inputs: np.ndarray, p: np.ndarray
) -> np.ndarray:  # fmt: skip
    """Rows with z and x' of a higher index as the states give them; one that has no such values stays as it is.

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus import catalogue
    >>> known = catalogue.load("pendulum_3d")
    >>> coarse = dd.simulate(known.model, 1.0, start=known.start, inputs=known.inputs, method="radau5", rtol=1e-4)
    >>> exact = dd.simulate(known.model, 1.0, start=known.start, inputs=known.inputs, rtol=1e-11)
    >>> bool(abs(coarse["cable"] / exact.at(coarse.time)["cable"] - 1).max() < 1e-4)
    True
    """
    solved = solved_plant(plant) if plant.deep_columns.any() and len(rows) else None
    if solved is None:
        return rows
    given = (times[:, None], np.ascontiguousarray(rows[:, plant.row_parts["x"]]), inputs, p)
    renewed = np.array(rows)
    for letter, function in (("z", solved.readout), ("xdot", solved.rhs)):
        part = plant.row_parts[letter]
        wanted = np.flatnonzero(plant.deep_columns[part])
        if len(wanted):
            labels, own = solved.system.labels[letter], plant.system.labels[letter]
            if not {own[k] for k in wanted} <= set(labels):
                return rows  # redundant constraints: the solved equations do without some of the forces
            values = function.core.evaluate_many(*given)[0]
            renewed[:, part.start + wanted] = values[:, [labels.index(own[k]) for k in wanted]]
    return np.where(np.isfinite(renewed).all(axis=1, keepdims=True), renewed, rows)
