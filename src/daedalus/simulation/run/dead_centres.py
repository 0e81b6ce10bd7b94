"""A run led over the dead centres that it did not pass on its branch by itself, one after the other."""

from __future__ import annotations

from functools import partial
from typing import Any

from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.joined_trajectory import joined
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.next_piece import next_piece
from daedalus.simulation.run.pieces import Piece, go_on, run_piece, sampled_piece
from daedalus.simulation.run.road import Road
from daedalus.simulation.singular.leading_over import behind, led_over, next_place

MOST_PLACES = 1000


def over_dead_centres(
    road: Road, first: Piece, whole: Trajectory, progress: Any, cancel: Any
) -> tuple[Trajectory, int]:
    """The run with ways over dead centres in it, and how many of its pieces lie behind the last of them.

    It is as it was where no dead centre needs a way, or has one.
    """
    request, system = road.request, first.settings.plant.system
    if system.discrete_count or system.delayed or road.solved.part(Redundancy) is not None or request.step is not None:
        return whole, 0
    has_steps, known = request.save_at is None, 0
    for _ in range(MOST_PLACES):
        place = next_place(whole, request.rtol, has_steps, known)
        led = (
            None
            if place is None
            else led_over(whole.pieces[place.piece], place.time, request.t1, request.rtol, has_steps)
        )
        if place is None or led is None:
            return whole, known
        cut, over = led
        done, t = [*whole.pieces[: place.piece], cut], float(over.dense_spans[1][-1])
        forward = 1.0 if request.t1 >= request.t0 else -1.0
        left = None
        if request.save_at is not None:
            over = sampled_piece(over, request.save_at[sum(len(piece._times) for piece in done) :], False)
            left = request.save_at[forward * (request.save_at - t) > 0]
        if over.status is Ending.FINISHED:
            return joined([*done, over]), place.piece + 2
        row = behind(over)
        if row is None:
            return whole, known
        rest = run_piece(first._replace(begin=t, row=row, fired=None), request.t1, left, progress, cancel)
        if not rest.status.final:
            rest = go_on(rest, partial(next_piece, road, first), request.t1, left, progress, cancel)
        whole, known = joined([*done, over, *rest.pieces]), place.piece + 2
    return whole, known
