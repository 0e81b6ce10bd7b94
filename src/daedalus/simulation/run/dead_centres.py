"""A run led over the dead centres that it stopped at or did not pass on its branch by itself, one after the other."""

from __future__ import annotations

from functools import partial
from typing import Any

from daedalus.model.deadline import poll
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.dead_centre_crossing import may_be_led, step_tolerance
from daedalus.simulation.run.next_piece import next_piece
from daedalus.simulation.run.pieces import Piece, go_on, sampled_piece
from daedalus.simulation.run.road import Road
from daedalus.simulation.singular.leading_over import next_place, until, way_over

MOST_PLACES = 1000


def over_dead_centres(
    road: Road, first: Piece, whole: Trajectory, progress: Any, cancel: Any
) -> tuple[Trajectory, int]:
    """The run with ways over dead centres in it, and how many of its pieces lie behind the last of them.

    It is as it was where no dead centre needs a way, or has one.
    """
    request, known = road.request, 0
    save_at, t1 = request.save_at, request.t1
    for _ in range(MOST_PLACES):
        poll("singular places")
        place = next_place(whole, request.rtol, save_at is None, known)
        if place is None or not may_be_led(road, first, whole.pieces[place.piece]):
            break
        over = way_over(whole.pieces[place.piece], place.time, t1, step_tolerance(first))
        if over is None:
            break
        cut = until(whole.pieces[place.piece], float(over.dense_spans[0][0]), save_at is None)
        done, left = [*whole.pieces[: place.piece], cut], None
        if save_at is not None:
            left = save_at[sum(len(piece._times) for piece in done) :]
            over = sampled_piece(over, left, project=False)
        if over.status is not Ending.FINISHED:
            over = go_on(over, partial(next_piece, road, first), t1, left, progress, cancel)
        whole, known = joined([*done, *over.pieces]), place.piece + 2
    return whole, known
