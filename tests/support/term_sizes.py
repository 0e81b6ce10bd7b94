"""How large the terms of an equation are, which what is left of it has to be compared with."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.trajectory import Trajectory


def term_sizes(trajectory: Trajectory) -> dict[str, float]:
    """For each equation without derivatives of an implicit run the largest Σ |∂F/∂w| |w| at its steps, at least 1.

    Of a run in pieces those of its implicit ones count.
    """
    if len(trajectory.pieces) > 1:
        found: dict[str, float] = {}
        for piece in trajectory.pieces:
            own = term_sizes(piece)
            found.update({name: max(size, found.get(name, 1.0)) for name, size in own.items()})
        return found
    plant = trajectory._plant
    if not isinstance(plant, ImplicitPlant) or not plant.constraint_rows:
        return {}
    unknowns = ca.vertcat(plant.system.symbol("x"), plant.system.symbol("z"))
    rows = plant.system.residual[plant.constraint_rows]
    terms = ca.mtimes(ca.fabs(ca.jacobian(rows, unknowns)), ca.fabs(unknowns))
    values = plant._compiled("terms", terms).core.evaluate_many(*trajectory._arguments())[0]
    largest = np.maximum(np.abs(values).max(axis=0), 1.0)
    labels = [plant.system.equation_labels[row] for row in plant.constraint_rows]
    return dict(zip(labels, largest.tolist()))
