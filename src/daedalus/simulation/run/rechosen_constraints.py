"""Redundant constraints chosen anew where a run can no longer go on with those it has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.model.system.closed_loop import opened
from daedalus.model.system.system import System
from daedalus.reduction.redundancy.constraint_place import MotionPlace, constraints_at, jacobian_at, moved_onto
from daedalus.reduction.redundancy.independent_constraints import EVENT, EVENTS, Redundancy
from daedalus.reduction.redundancy.redundant_rows import IndependentRows, chosen_rows, rank_of, scaled
from daedalus.reduction.rewriting import ReducedModel
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.pieces import Next, Piece, Stuck
from daedalus.simulation.run.road import Road, road_through
from daedalus.simulation.singular.singular_passage import PASSED, passage

# Ends of a run that a bad choice may have led to.
SUSPECT = ("singular", "not_projected", "not_finite", "step_too_small", "newton_failed", "rounding")
# Near a state that obeys all constraints: as far as this, in nominal values.
NEAR = 1e-3
# The smallest singular value of the best rows, divided by their lengths, at a singular configuration.
SINGULAR = 3e-3
# The prolonged motion misses the constraints by no more than this, in nominal values.
PROLONGED = 1e-5
# Another choice helps where its smallest singular value is so many times that of the present one.
BETTER = 3.0


@dataclass(frozen=True)
class Rechosen:
    """The model to go on with, and where from: the state that was reached, or one moved onto all constraints."""

    reduced: ReducedModel
    start: Samples | dict[str, float]


def with_other_constraints(road: Road, first: Piece, done: Trajectory) -> Next:
    """The rest of a run whose redundant constraints had to be chosen anew, by the method it had."""
    request, t = road.request, float(done.end.time)
    redundancy = road.solved.part(Redundancy)
    found = None if redundancy is None else rechosen(redundancy, done, request.t1)
    if not isinstance(found, Rechosen):
        return found
    method = done.method if isinstance(done._plant, ImplicitPlant) else request.method
    way = road_through(request, found.reduced.freeze(), road.inputs, method, done.notes[0], t)
    return begin(way, t, found.start)


def rechosen(redundancy: Redundancy, done: Trajectory, t1: float) -> Rechosen | Trajectory | Stuck | None:
    """How a run to t1 goes on that stopped for its choice of constraints; None where it stopped for something else."""
    asked = done.status == "event" and done.events[-1].name in EVENTS
    present = _present(redundancy, done.system)
    if present is None or not (asked or done.status in (PASSED, *SUSPECT)):
        return None
    place = _place(redundancy, done.end)
    if done.status == PASSED:
        return _behind(redundancy, place, present)
    matrix, rank = scaled(jacobian_at(redundancy.moving, place)), len(present.independent)
    own, best = (_smallest(matrix[list(rows)]) for rows in (present.independent, chosen_rows(matrix, rank)[0]))
    if best < SINGULAR:

        def distance(t: float) -> float:
            return _smallest(scaled(jacobian_at(redundancy.moving, _place(redundancy, done.at(t))))[rows])

        rows = list(present.independent)
        return passage(done, t1, distance) or _singular_configuration(redundancy, place, present)
    if asked and done.events[-1].name == EVENT:
        return _with_more(redundancy, done, place, present)
    if not asked and best < BETTER * own:
        return None
    choice = redundancy.choose(place, rank)
    if choice is None or choice.independent == present.independent:
        return _singular_configuration(redundancy, place, present)
    return Rechosen(redundancy.model(choice), done.end)


def _with_more(
    redundancy: Redundancy, done: Trajectory, place: MotionPlace, present: IndependentRows
) -> Rechosen | Stuck:
    """After a dropped constraint was violated: all of them at a state nearby, if there is one."""
    moving, names = redundancy.moving, redundancy.names
    off = constraints_at(moving, place)[0]
    worst = max(present.dependent, key=lambda k: abs(off[k]))
    others = redundancy.listed([k for k in present.independent if k in present.involved])
    head = f"{names[worst]} no longer follows from {others} at t = {place.t:.6g} (violated by {abs(off[worst]):.2g})"
    onto = moved_onto(moving, place, list(range(len(names))))
    size = np.maximum(np.abs(place.x), moving.system.nominal["x"])
    if onto is None or np.any(np.abs(onto.x - place.x) > NEAR * size):
        return Stuck(
            f"{head}, and no state nearby obeys both; try constraints that allow the motion, or an event that ends "
            "one of them"
        )
    matrix = scaled(jacobian_at(moving, onto))
    rank = rank_of(matrix)
    choice = redundancy.choose(onto, rank)
    if choice is None or choice.independent == present.independent:
        return Stuck(
            f"{head}: {rank} of {len(names)} constraints are independent there, {len(present.independent)} were "
            "before; try a run that begins there with the constraints that count from then on"
        )
    start = dict(zip(moving.system.labels["x"], onto.x.tolist()))
    return Rechosen(redundancy.model(choice), start)


def _behind(redundancy: Redundancy, place: MotionPlace, present: IndependentRows) -> Rechosen | Stuck:
    """Behind a singular configuration: on all constraints again, which are near."""
    onto = moved_onto(redundancy.moving, place, list(range(len(redundancy.names))))
    size = np.maximum(np.abs(place.x), redundancy.moving.system.nominal["x"])
    if onto is None or np.any(np.abs(onto.x - place.x) > PROLONGED * size):
        return _singular_configuration(redundancy, place, present)
    return Rechosen(redundancy.model(present), dict(zip(redundancy.moving.system.labels["x"], onto.x.tolist())))


def _singular_configuration(redundancy: Redundancy, place: MotionPlace, present: IndependentRows) -> Stuck:
    """The constraints lose a rank here: the motion may branch."""
    matrix = scaled(jacobian_at(redundancy.moving, place))
    weakest = np.linalg.svd(matrix[list(present.independent)])[0][:, -1]
    rows = [present.independent[k] for k in np.flatnonzero(np.abs(weakest) > 0.1)]
    names = redundancy.listed(rows)
    return Stuck(
        f"the mechanism comes to a singular configuration at t = {place.t:.6g}: {names} no longer act in different "
        "directions there, and the motion may go on in more than one way; try another start, or a constraint that "
        "leads it through"
    )


def _smallest(matrix: np.ndarray) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False)[-1])


def _place(redundancy: Redundancy, end: Samples) -> MotionPlace:
    """The moment of a run in the symbols of the model itself."""
    system = redundancy.moving.system
    vectors = {
        letter: np.array([float(end[label]) if label in end else 0.0 for label in system.labels[letter]])
        for letter in ("x", "u", "p")
    }
    return MotionPlace(float(end.time), **vectors)


def _present(redundancy: Redundancy, system: System) -> IndependentRows | None:
    """The choice that a system was made for; a loop closed around it changes nothing."""
    for choice, reduced in redundancy.reduced.items():
        if opened(system) is reduced.freeze():
            return choice
    return None


def unclosed(redundancy: Redundancy, done: Trajectory) -> System:
    """The reduced system that a piece ran, before inputs were put in."""
    present = _present(redundancy, done.system)
    return redundancy.model(redundancy.first if present is None else present).freeze()
