"""What the loss of a rank means where a run stopped: every kind of it is a short reading of the same measure.

The measure is the smallest singular value of a matrix with its vectors (`daedalus.algebra.rank_decision.weakest`), by
what it is elsewhere along the run.

- A dead centre: constraints act in fewer directions. The matrix is the system Jacobian, ∂F_i/∂w_j^(σ_ij) where
  d_j - c_i = σ_ij with the offsets c and d of the structure (J. D. Pryce, BIT 41, 2001), which is regular where the
  equations and their derivatives determine a motion.
- An impasse: with 0 = g(x, z) ∂g/∂z is singular and ∂g/∂x x' outside its range, so that z moves like √(t* - t) and no
  solution goes on behind t* (L. O. Chua, A.-C. Deng, IEEE Trans. Circuits and Systems 36, 1989). The same matrix.
- A lost rank: the best choice of redundant constraints is dependent. The matrix is their Jacobian, rows of length one.
- No regular choice: no choice of states can be solved for. The matrices are those of the choices.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_RANK, Weakest, taking_part, weakest
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.model.names import listed
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.redundancy.constraint_place import MotionPlace
from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.reduction.redundancy.redundant_rows import IndependentRows
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.selected_plant import SelectedPlant
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.singular.rank_watch import rank_watch_of

# Near a dead centre: so much of what the measure was at the beginning of the run, or less.
DEAD_CENTRE = 0.05
# An impasse is sudden: the measure falls by this within the last part of the run.
FALL, LAST_PART = 0.01, 0.01
# Near a place without a regular choice: so much of what the measure was at the beginning.
NO_CHOICE = 0.01


def named_place(done: Trajectory) -> Stop | None:
    """The end where a run stopped near a dead centre or at a fold of its algebraic equations; None for other ends."""
    return dead_centre_end(done) or impasse_end(done)


# -- a dead centre ---------------------------------------------------------------------------------------------


def dead_centre_end(done: Trajectory) -> Stop | None:
    """The end where a run of index 2 or 3, or reduced from that, stopped near a singular configuration, or None."""
    if not done.status.may_be_singular or len(done._times) < 2:
        return None
    plant, end = done._plant, done.end
    if isinstance(plant, ImplicitPlant):
        structure = structure_of(done.system)
        if plant.index.largest < 2 or structure.size > FULL_RANK:
            return None
        labels, constrains = done.system.equation_labels, structure.signature.c > 0
        found = _of_system(plant, end, done.at(float(done._times[0])))
    else:
        watch = rank_watch_of(plant)
        if watch is None:
            return None
        labels, constrains = watch.labels, watch.constrains
        found = watch.weakest(end, done.at(float(done._times[0])))
    # A combination of constraints vanishes; a fold of other equations is no place of the mechanism.
    if not (found.values[0] < DEAD_CENTRE and (constrains & taking_part(found.rows[0])).any()):
        return None
    weak = taking_part(found.rows[0] * constrains)
    return near_dead_centre(float(end.time), labels, weak, done.stop.findings, Obstacle.SINGULAR_CONFIGURATION)


def near_dead_centre(
    t: float, labels: Sequence[str], weak: np.ndarray, facts: tuple[str, ...], obstacle: Obstacle
) -> Stop:
    """The end of a run near a singular configuration, where some of the constraints are weak."""
    names = _named(labels, weak)
    hardly = "hardly acts on the motion" if len(names) == 1 else "hardly act in different directions"
    return Stop(
        Ending.STUCK,
        t,
        f"the run comes near a singular configuration (a dead centre) at {time_text(t)}: {listed(names)} {hardly} there"
        ", and the motion may go on in more than one way",
        facts,
        "another start, or a constraint that leads it through",
        equations=names,
        obstacle=obstacle,
    )


# -- an impasse ------------------------------------------------------------------------------------------------


def impasse_end(done: Trajectory) -> Stop | None:
    """The end where an implicit run stopped at a fold of its algebraic equations; None for other ends."""
    plant = done._plant
    if not isinstance(plant, ImplicitPlant) or not done.status.may_be_fold or len(done._times) < 2:
        return None
    system, end, structure = plant.system, float(done.end.time), structure_of(plant.system)
    if not plant.constraint_rows or structure.size > FULL_RANK:
        return None
    earlier = done.at(end - LAST_PART * (end - float(done.dense_spans[0][0])))
    found = _of_system(plant, done.end, earlier)
    if not found.values[0] < FALL:
        return None
    # Algebraic equations that nothing differentiates, and the algebraic variables that they give.
    signature, algebraic = structure.signature, np.zeros(structure.size)
    algebraic[plant.constraint_rows] = 1.0
    folds = found.rows[0] * algebraic * (signature.c == 0)
    given = np.isin(signature.rows, np.flatnonzero(taking_part(folds)))
    moved = found.columns[0] * (signature.d == 0)
    moved *= np.isin(np.arange(signature.size), signature.columns[given])
    if folds.max() < found.rows[0].max() or not taking_part(found.columns[0])[moved > 0].any():
        return None
    equations = _named(system.equation_labels, taking_part(folds))
    variables = _named(structure.labels, taking_part(moved))
    determine = "determines" if len(equations) == 1 else "determine"
    return Stop(
        Ending.STUCK,
        end,
        f"the algebraic equations become singular at {time_text(end)} (an impasse): {listed(equations)} no longer "
        f"{determine} {listed(variables)} there, and the solution may not go on",
        done.stop.findings,
        f"an event that ends the run before it, or what was neglected and makes {variables[0]} a state",
        variables,
        equations,
        obstacle=Obstacle.IMPASSE,
    )


# -- a lost rank -----------------------------------------------------------------------------------------------


def lost_rank(redundancy: Redundancy, place: MotionPlace, present: IndependentRows) -> Stop:
    """The end where the constraints of a mechanism lose a rank: the motion may branch."""
    matrix = redundancy.directions(place)[list(present.independent)]
    rows = [present.independent[k] for k in np.flatnonzero(taking_part(weakest(matrix[None]).rows[0]))]
    return Stop(
        Ending.STUCK,
        place.t,
        f"the mechanism comes to a singular configuration at {time_text(place.t)}: {redundancy.listed(rows)} no longer "
        "act in different directions there, and the motion may go on in more than one way",
        remedy="another start, or a constraint that leads it through",
        equations=tuple(redundancy.names[k] for k in rows),
        obstacle=Obstacle.SINGULAR_CONFIGURATION,
    )


# -- no regular choice -----------------------------------------------------------------------------------------


def no_choice_end(done: Trajectory, plant: SelectedPlant, drive: Drive, begin: float, row: np.ndarray) -> Stop | None:
    """The end where a run failed near a point at which no choice of states is regular; it began with a row."""
    t = float(done.end.time)
    before, now = (
        plant.selection.matrices(time, own[plant.row_parts["x"]], drive.at_time(time), done._parameters)
        for time, own in ((begin, row), (t, done.end._x[0]))
    )
    share, group = plant.selection.weakest(before, now)
    if share > NO_CHOICE:
        return None
    names = tuple(row.label for row in group.choice.constraints[0])
    hardly = "hardly determines any of its" if len(names) == 1 else "hardly determine any of their"
    head = f"the run comes near a singular configuration at {time_text(t)}"
    return Stop(
        Ending.STUCK, t, f"{head}: {listed(names)} {hardly} states there", done.stop.findings,
        equations=names, obstacle=Obstacle.SINGULAR_CONFIGURATION,
    )  # fmt: skip


# -- the matrix ------------------------------------------------------------------------------------------------


def _of_system(plant: ImplicitPlant, moment: Samples, usual: Samples) -> Weakest:
    """The measure of the whole system Jacobian at a moment of an implicit run."""
    now, before = (_system_matrix(plant, own) for own in (moment, usual))
    return weakest(now[None], before)


def _system_matrix(plant: ImplicitPlant, moment: Samples) -> np.ndarray:
    row = moment._x[0]
    parts = (row[plant.row_parts[letter]] for letter in ("xdot", "x", "z"))
    found = once(plant.system, _system_jacobian)(moment._times[0], *parts, moment._inputs[0], moment._parameters)
    return np.array(ca.DM(found).full())


def _system_jacobian(system: System) -> ca.Function:
    arguments = system.symbols()
    return ca.Function("jacobian", arguments, [structure_of(system).jacobian])


def _named(labels: Sequence[str], which: np.ndarray) -> tuple[str, ...]:
    return tuple(labels[int(k)] for k in np.flatnonzero(which))
