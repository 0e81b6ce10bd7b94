"""Rules of a run: at a dead centre it goes on along the way over it, and behind that as it began."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus.model.system.system import System
from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.solved_plant import solved_plant
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.pieces import Next
from daedalus.simulation.run.road import Piece
from daedalus.simulation.singular.leading_over import behind, way_over
from daedalus.simulation.singular.singular_places import Passed, led_by_errors, singular_places
from daedalus.simulation.singular.stopped_places import dead_centre_end


def cross_dead_centre(first: Piece, done: Trajectory) -> Next:
    """The way over a dead centre that a piece stopped at, and then the piece behind it."""
    if not may_be_led(first, done):
        return None
    if done.status is Ending.PASSED:
        row = behind(done, step_tolerance(first))
        t = float(done.dense_spans[1][-1])
        own = None if row is None else written_row(first.settings.plant, first.drive, first.parameters, t, row)
        return None if own is None else first._replace(begin=t, row=own, fired=None)
    stop = dead_centre_end(done)
    return None if stop is None else way_of(done, stop.time, first.road.request.t1, step_tolerance(first))


def back_to_dead_centre(first: Piece, done: Trajectory) -> Next:
    """The way over a dead centre inside a piece that stopped behind it: what came behind says nothing."""
    return passage_of(first, done).led


class SingularPassage(NamedTuple):
    """How a piece came over its singular places.

    passed: those that it passed smoothly, in order. led: the way over the next one, if it is to be led over it.
    kink: the next one, if the run has a kink there and no way leads over it.
    """

    passed: list[Passed]
    led: Trajectory | None = None
    kink: Passed | None = None


def passage_of(first: Piece, piece: Trajectory, may_lead: bool = True) -> SingularPassage:
    """How a piece came over its singular places, up to the first that needs a way.

    Where a piece stopped, the reason for that decides; a kink before it does not.
    """
    request = first.road.request
    places = singular_places(piece, request.rtol, request.save_at is None)
    may_lead = may_lead and bool(places) and may_be_led(first, piece)
    for count, place in enumerate(places):
        led = None
        if may_lead and (place.has_kink or led_by_errors(piece)):
            led = way_of(piece, place.time, request.t1, step_tolerance(first))
        if led is not None or (place.has_kink and piece.status.final):
            return SingularPassage(_smooth(places[:count]), led, None if led is not None else place)
    return SingularPassage(_smooth(places))


def _smooth(places: list[Passed]) -> list[Passed]:
    return [place for place in places if not place.has_kink]


def way_of(piece: Trajectory, place: float, t1: float, rtol: float) -> Trajectory | None:
    """The way over a dead centre of a piece by whatever method, by its states."""
    solved = solved_piece(piece)
    return None if solved is None else way_over(solved, place, t1, rtol)


def may_be_led(first: Piece, done: Trajectory) -> bool:
    """Whether a piece can be gone on with as the run began: clocks, delays and fixed steps go no other way.

    Redundant constraints have a rule of their own.
    """
    road, own = first.road, first.settings.plant
    solved = solved_plant(own)
    if solved is None or done.system not in (own.system, solved.system) or road.request.step is not None:
        return False
    return not (own.system.discrete_count or own.system.delayed or road.solved.part(Redundancy) is not None)


def step_tolerance(first: Piece) -> float:
    """The relative tolerance of a step."""
    return float(first.settings.call["rtol"])


# A piece of an implicit run of index 2 or 3 read by its states alone: x' and z follow from the reduced equations.
#
# An implicit step cannot be taken onto a place where constraints lose a rank, and errors below the tolerance decide
# whether one happens to be taken over it. By its states such a piece is led over it as every other run is.


def solved_piece(piece: Trajectory) -> Trajectory | None:
    """The piece with rows of its states alone; None where x' and z do not follow from them by formulas or solves."""
    found = solved_plant(piece._plant)
    return None if found is None else by_states_alone(piece, found)


def by_states_alone(piece: Trajectory, found: Plant) -> Trajectory:
    """The piece with rows of its states alone, by a plant that gives x' and z."""
    plant = piece._plant
    if not isinstance(plant, ImplicitPlant):
        return piece
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
