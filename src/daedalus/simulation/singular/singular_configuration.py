"""Tell a run that stopped at a singular configuration, such as a dead centre, from one with another fault.

There the constraints act in fewer directions than elsewhere: the system Jacobian, ∂F_i/∂w_j^(σ_ij) where
d_j - c_i = σ_ij with the offsets c and d of the structure (J. D. Pryce, BIT 41, 2001), which is regular where the
equations and their derivatives determine a motion, loses a rank. Its smallest singular value, with rows and columns
scaled as at the beginning of the run, measures how near that is.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from daedalus.analysis.rank_decision import FULL_RANK
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.model.names import listed
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.singular.independence import independence_of, scales

# Near: so much of what the smallest singular value was at the beginning of the run, or less.
NEAR = 0.05
# Equations with this part of the largest share are named.
SHARE = 0.1


def singular_end(done: Trajectory) -> Stop | None:
    """The end where a run of index 2 or 3, or reduced from that, stopped near a singular configuration, or None."""
    if not done.status.may_be_singular or len(done._times) < 2:
        return None
    found = _constraints_at_both_ends(done)
    if found is None or not all(np.all(np.isfinite(matrix)) for matrix in found[:2]):
        return None
    begin, now, labels, constrains = found
    rows, columns = scales(begin)
    left, values, _ = np.linalg.svd(rows[:, None] * now * columns)
    usual = np.linalg.svd(rows[:, None] * begin * columns, compute_uv=False)[-1]
    if not values[-1] < NEAR * usual:
        return None
    # A combination of constraints vanishes; a fold of other equations is no place of the mechanism.
    share = np.abs(left[:, -1])
    of_constraints = share * constrains
    if of_constraints.max() < SHARE * share.max():
        return None
    weak = weak_constraints(labels, of_constraints)
    return came_near(float(done.end.time), weak, done.stop.findings, Obstacle.SINGULAR_CONFIGURATION)


def _constraints_at_both_ends(done: Trajectory) -> tuple[np.ndarray, np.ndarray, Sequence[str], np.ndarray] | None:
    """What the constraints and their forces act on at the beginning and at the end, its equations, which constrain."""
    plant, system, begin = done._plant, done.system, float(done._times[0])
    if not isinstance(plant, ImplicitPlant):
        measure = independence_of(plant)
        if measure is None:
            return None
        return *measure.matrices(done.at([begin, float(done.end.time)])), measure.labels, measure.constrains
    if plant.index.largest < 2 or structure_of(system).size > FULL_RANK:
        return None
    structure = structure_of(system)
    first, last = (matrix_at(plant, structure.jacobian, moment) for moment in (done.at(begin), done.end))
    return first, last, system.equation_labels, structure.signature.c > 0


def came_near(t: float, weak: tuple[str, ...], facts: tuple[str, ...], obstacle: Obstacle) -> Stop:
    """The end of a run near a singular configuration, where some constraints are weak."""
    hardly = "hardly acts on the motion" if len(weak) == 1 else "hardly act in different directions"
    return Stop(
        Ending.STUCK,
        t,
        f"the run comes near a singular configuration (a dead centre) at {time_text(t)}: {listed(weak)} {hardly} there"
        ", and the motion may go on in more than one way",
        facts,
        "another start, or a constraint that leads it through",
        equations=weak,
        obstacle=obstacle,
    )


def matrix_at(plant: ImplicitPlant, jacobian: ca.SX, moment: Samples) -> np.ndarray:
    """The system Jacobian at a moment of the run."""
    arguments = [plant.system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    row = moment._x[0]
    values = [
        moment._times[0],
        *(row[plant.row_parts[k]] for k in ("xdot", "x", "z")),
        moment._inputs[0],
        moment._parameters,
    ]
    return np.array(ca.DM(ca.Function("jacobian", arguments, [jacobian])(*values)).full())


def weak_constraints(labels: Sequence[str], share: np.ndarray) -> tuple[str, ...]:
    """The equations whose combination vanishes there."""
    return tuple(labels[int(k)] for k in np.flatnonzero(share >= SHARE * share.max()))
