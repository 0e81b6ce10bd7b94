"""Rule of a run: where it stopped at a dead centre it goes on along the way over it, and behind that as it began."""

from __future__ import annotations

from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.simulation.plant.solved_plant import solved_plant
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.pieces import Next, Piece
from daedalus.simulation.run.road import Road
from daedalus.simulation.singular.leading_over import behind, way_over
from daedalus.simulation.singular.solved_piece import solved_piece, written_row
from daedalus.simulation.singular.stopped_places import dead_centre_end


def cross_dead_centre(road: Road, first: Piece, done: Trajectory) -> Next:
    """The way over a dead centre that a piece stopped at, and then the piece behind it."""
    if not may_be_led(road, first, done):
        return None
    if done.status is Ending.PASSED:
        row = behind(done, step_tolerance(first))
        t = float(done.dense_spans[1][-1])
        own = None if row is None else written_row(first.settings.plant, first.drive, first.parameters, t, row)
        return None if own is None else first._replace(begin=t, row=own, fired=None)
    stop = dead_centre_end(done)
    return None if stop is None else way_of(done, stop.time, road.request.t1, step_tolerance(first))


def way_of(piece: Trajectory, place: float, t1: float, rtol: float) -> Trajectory | None:
    """The way over a dead centre of a piece by whatever method, by its states."""
    solved = solved_piece(piece)
    return None if solved is None else way_over(solved, place, t1, rtol)


def may_be_led(road: Road, first: Piece, done: Trajectory) -> bool:
    """Whether a piece can be gone on with as the run began: clocks, delays and fixed steps go no other way.

    Redundant constraints have a rule of their own.
    """
    own = first.settings.plant
    solved = solved_plant(own)
    if solved is None or done.system not in (own.system, solved.system) or road.request.step is not None:
        return False
    return not (own.system.discrete_count or own.system.delayed or road.solved.part(Redundancy) is not None)


def step_tolerance(first: Piece) -> float:
    """The relative tolerance of a step."""
    return float(first.settings.call["rtol"])
