"""Redundant constraints chosen anew where a run can no longer go on with those it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from daedalus.algebra.rank_decision import weakest
from daedalus.initialisation.start_in_form import states_in
from daedalus.integrators.methods import is_implicit
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.system.closed_loop import opened
from daedalus.model.system.system import System
from daedalus.model.values import parameter_values
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.redundancy.constraint_place import MotionPlace, constraints_at, moved_onto
from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.reduction.redundancy.redundant_rows import IndependentRows, chosen_rows, rank_of_rows
from daedalus.reduction.rewriting import ReducedModel
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import find_plant
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.records_of_methods import choice_of
from daedalus.simulation.result.records_on_the_way import ConstraintsRechosen
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.dead_centre_crossing import by_states_alone, step_tolerance
from daedalus.simulation.run.pieces import Next
from daedalus.simulation.run.road import Piece, Road, road_through
from daedalus.simulation.singular.leading_over import way_over
from daedalus.simulation.singular.stopped_places import lost_rank

Over = Callable[[], Trajectory | None]
# Near a state that obeys all constraints: as far as this, in nominal values.
NEAR = 1e-3
# The smallest singular value of the best rows, divided by their lengths, at a singular configuration.
NEARLY_SINGULAR = 3e-3
# Implicit steps may fail before that, their stages beyond the place; below this it is looked for a way over it.
CLOSE_TO_SINGULAR = 3e-2
# The prolonged motion misses the constraints by no more than this, in nominal values.
PROLONGED = 1e-5
# Another choice helps where its smallest singular value by usual lengths is so many times that of the present one.
BETTER = 3.0


@dataclass(frozen=True)
class Rechosen:
    """The model to go on with, and where from: the state that was reached, or one moved onto all constraints."""

    reduced: ReducedModel
    start: Samples | dict[str, float]


def with_other_constraints(first: Piece, done: Trajectory) -> Next:
    """The rest of a run whose redundant constraints had to be chosen anew, by the method it had."""
    by_formulas = _by_formulas(done._plant)
    if by_formulas is None:
        return _rest(first.road, done, None)
    solved, t = by_states_alone(done, by_formulas), float(done.end.time)
    over = partial(way_over, solved, t, first.road.request.t1, step_tolerance(first))
    return _rest(first.road, done, over)


def choose_constraints(first: Piece, done: Trajectory) -> Next:
    """The same of a run that ends where its constraints lose a rank."""
    return _rest(first.road, done, None)


def _rest(road: Road, done: Trajectory, over: Over | None) -> Next:
    request, t = road.request, float(done.end.time)
    redundancy = road.solved.part(Redundancy)
    found = None if redundancy is None else rechosen(redundancy, done, over)
    if not isinstance(found, Rechosen):
        return found
    method = done.method if is_implicit(done.method) else request.method
    way = road_through(request, found.reduced.freeze(), road.inputs, method, choice_of(done.records), t)
    if way.system.labels["u"] == done.system.labels["u"] and not way.system.delayed:
        way = way._replace(drive=done._drive)  # inputs may be others than those asked for, where a run is varied
    piece = begin(way, t, _named_anew(way, t, found.start))
    if done.status is Ending.PASSED:  # with the constraints that it came with
        return piece
    notes = (*piece.settings.notes, ConstraintsRechosen(t))
    return piece.with_settings(replace(piece.settings, notes=notes))


def _by_formulas(plant: Plant) -> Plant | None:
    """The plant that gives accelerations and multipliers of the reduced equations; None where there is none."""
    found = find_plant(plant.system) if isinstance(plant, ImplicitPlant) else plant
    return None if isinstance(found, NoForm) else found


def _named_anew(way: Road, t: float, start: Samples | dict[str, float]) -> Samples | dict[str, float]:
    """The start of an implicit piece by its states alone: multipliers of the chosen rows belong to the choice."""
    plant = way.settings.plant
    by_formulas = _by_formulas(plant)
    if not isinstance(plant, ImplicitPlant) or by_formulas is None:
        return start
    system, p = plant.system, parameter_values(way.system, way.request.parameters)
    states = start if isinstance(start, dict) else states_in(system, start)
    x = np.array([[float(states[label]) for label in system.labels["x"]]])
    return Samples(by_formulas, way.drive, p, np.array([t]), x)


def rechosen(redundancy: Redundancy, done: Trajectory, over: Over | None) -> Rechosen | Trajectory | Stop | None:
    """How a run goes on that stopped for its choice of constraints; None where it stopped for something else.

    over: leads it over a singular configuration at which its constraints lose a rank; without it the run ends there.
    """
    purpose, ending = _last_purpose(done), done.status
    asked = ending is Ending.EVENT and purpose.watches_constraints
    present = _present(redundancy, done.system)
    if present is None or not (asked or ending is Ending.PASSED or ending.may_be_bad_constraints):
        return None
    place = _place(redundancy, done.end)
    if ending is Ending.PASSED:
        return _behind(redundancy, place, present)
    rank, sized = len(present.independent), redundancy.sized(place)
    choices = (list(present.independent), chosen_rows(sized, rank)[0])
    best = float(weakest(redundancy.directions(place)[None, choices[1]]).values[0])
    own, other = (float(weakest(sized[None, rows]).values[0]) for rows in choices)
    if best < NEARLY_SINGULAR:
        led = None if over is None else over()
        return led or lost_rank(redundancy, place, present)
    if asked and purpose is EventPurpose.NO_LONGER_REDUNDANT:
        return _with_more(redundancy, place, present)
    if not asked and other < BETTER * own:
        return None if over is None or best > CLOSE_TO_SINGULAR else over()
    choice = redundancy.choose(place, rank)
    if choice is None or choice.independent == present.independent:
        return lost_rank(redundancy, place, present)
    return Rechosen(redundancy.model(choice), done.end)


def _last_purpose(done: Trajectory) -> EventPurpose:
    """What the event is for that ended a piece."""
    events = done.outcome.events
    return done.system.events[events[-1][0]].purpose if done.status is Ending.EVENT else EventPurpose.MODEL


def _with_more(redundancy: Redundancy, place: MotionPlace, present: IndependentRows) -> Rechosen | Stop:
    """After a dropped constraint was violated: all of them at a state nearby, if there is one."""
    moving, names = redundancy.moving, redundancy.names
    off = constraints_at(moving, place)[0]
    worst = max(present.dependent, key=lambda k: abs(off[k]))
    others = redundancy.listed([k for k in present.independent if k in present.involved])
    head = f"{names[worst]} no longer follows from {others} at {time_text(place.t)} (violated by {abs(off[worst]):.2g})"
    onto = moved_onto(moving, place, list(range(len(names))))
    size = np.maximum(np.abs(place.x), moving.system.nominal["x"])
    if onto is None or np.any(np.abs(onto.x - place.x) > NEAR * size):
        return Stop(
            Ending.STUCK, place.t, f"{head}, and no state nearby obeys both",
            remedy="constraints that allow the motion, or an event that ends one of them",
            equations=(names[worst],), obstacle=Obstacle.CONFLICT,
        )  # fmt: skip
    rank = rank_of_rows(redundancy.directions(onto))
    choice = redundancy.choose(onto, rank)
    if choice is None or choice.independent == present.independent:
        counts = f"{rank} of {len(names)} constraints are independent there, {len(present.independent)} were before"
        return Stop(
            Ending.STUCK, place.t, f"{head}: {counts}",
            remedy="a run that begins there with the constraints that count from then on",
            equations=(names[worst],), obstacle=Obstacle.OTHER_RANK,
        )  # fmt: skip
    start = dict(zip(moving.system.labels["x"], onto.x.tolist()))
    return Rechosen(redundancy.model(choice), start)


def _behind(redundancy: Redundancy, place: MotionPlace, present: IndependentRows) -> Rechosen | Stop:
    """Behind a singular configuration: on all constraints again, which are near."""
    onto = moved_onto(redundancy.moving, place, list(range(len(redundancy.names))))
    size = np.maximum(np.abs(place.x), redundancy.moving.system.nominal["x"])
    if onto is None or np.any(np.abs(onto.x - place.x) > PROLONGED * size):
        return lost_rank(redundancy, place, present)
    return Rechosen(redundancy.model(present), dict(zip(redundancy.moving.system.labels["x"], onto.x.tolist())))


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
