"""Tell an implicit run that stopped at a singular configuration, such as a dead centre, from one with another fault.

There the constraints act in fewer directions than elsewhere: the system Jacobian, ∂F_i/∂w_j^(σ_ij) where
d_j - c_i = σ_ij with the offsets c and d of the structure (J. D. Pryce, BIT 41, 2001), which is regular where the
equations and their derivatives determine a motion, loses a rank. Its smallest singular value, with rows and columns
scaled as at the beginning of the run, measures how near that is.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from daedalus.analysis.structure.signature import Signature, signature
from daedalus.simulation.implicit_plant import ImplicitPlant
from daedalus.simulation.pieces import Stuck
from daedalus.simulation.samples import Samples
from daedalus.simulation.stop_reason import without_advice
from daedalus.simulation.trajectory import Trajectory

# Ends that a singular configuration may have led to.
SUSPECT = ("newton_failed", "rounding", "step_too_small", "singular")
# Near: so much of what the smallest singular value was at the beginning of the run, or less.
NEAR = 0.05
# Larger systems are not judged, since the singular values of a full matrix would take too long.
LARGEST = 400
# How many equations are named, and which part of the largest share counts.
MOST_NAMES, SHARE = 6, 0.1


def singular_end(done: Trajectory) -> Stuck | None:
    """The reason where an implicit run of index 2 or 3 stopped near a singular configuration; None for other ends."""
    plant = done._plant
    if not isinstance(plant, ImplicitPlant) or done.status not in SUSPECT or len(done._times) < 2:
        return None
    if plant.index.largest < 2 or sum(plant.system.sizes[letter] for letter in ("x", "z")) > LARGEST:
        return None
    system = plant.system
    unknowns = ca.vertcat(system.symbol("x"), system.symbol("z"))
    rates = ca.vertcat(system.symbol("xdot"), ca.SX.sym("no rate", system.sizes["z"]))
    structure = signature(system.residual, [unknowns, rates])
    begin, now = (_matrix(plant, structure, moment) for moment in (done.at(float(done._times[0])), done.end))
    if not (np.all(np.isfinite(begin)) and np.all(np.isfinite(now))):
        return None
    rows, columns = _scales(begin)
    left, values, _ = np.linalg.svd(rows[:, None] * now * columns)
    usual = np.linalg.svd(rows[:, None] * begin * columns, compute_uv=False)[-1]
    if not values[-1] < NEAR * usual:
        return None
    # A combination of constraints vanishes; a fold of other equations is no place of the mechanism.
    share = np.abs(left[:, -1])
    of_constraints = share * (structure.c > 0)
    if of_constraints.max() < SHARE * share.max():
        return None
    weak = _weak_constraints(system.equation_labels, of_constraints)
    return Stuck(
        f"the run comes near a singular configuration (a dead centre) at t = {float(done.end.time):.6g}: {weak} there, "
        f"and the motion may go on in more than one way; {without_advice(done.stop_reason)}; try another start, or a "
        "constraint that leads it through"
    )


def _matrix(plant: ImplicitPlant, structure: Signature, moment: Samples) -> np.ndarray:
    """The system Jacobian at a moment of the run."""
    system = plant.system
    arguments = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    row = moment._x[0]
    values = [
        moment._times[0],
        *(row[plant.row_parts[k]] for k in ("xdot", "x", "z")),
        moment._inputs[0],
        moment._parameters,
    ]
    found = ca.Function("jacobians", arguments, list(plant.jacobians))(*values)
    dot, whole = (np.array(ca.DM(part).full()) for part in found)
    matrix = np.zeros(whole.shape)
    for i, j, order in zip(*(part[structure.tight] for part in (structure.rows, structure.columns, structure.orders))):
        matrix[i, j] = dot[i, j] if order else whole[i, j]
    return matrix


def _scales(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scales of rows and columns that make the largest entry of each about one (D. Ruiz, RAL-TR-2001-034)."""
    rows, columns = np.ones(matrix.shape[0]), np.ones(matrix.shape[1])
    for _ in range(10):
        scaled = np.abs(rows[:, None] * matrix * columns)
        across, along = scaled.max(axis=1), scaled.max(axis=0)
        rows /= np.sqrt(np.where(across > 0, across, 1.0))
        columns /= np.sqrt(np.where(along > 0, along, 1.0))
    return rows, columns


def _weak_constraints(labels: Sequence[str], share: np.ndarray) -> str:
    """The equations whose combination vanishes there, and that it does."""
    names = [labels[int(k)] for k in np.flatnonzero(share >= SHARE * share.max())]
    if len(names) == 1:
        return f"{names[0]} hardly acts on the motion"
    listed = ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "")
    return f"{listed} hardly act in different directions"
