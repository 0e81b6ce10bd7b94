"""The run of a road: its first piece, what follows it piece after piece, and the end judged.

`dd.simulate`, prepared runs, cases of an ensemble and `dd.solve_ivp` all end here; they differ in how their first piece
begins.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from daedalus.deadline import OutOfTime
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.beginnings import Beginning, keep_beginning, known_beginning
from daedalus.simulation.run.judge import judged
from daedalus.simulation.run.next_piece import next_piece
from daedalus.simulation.run.pieces import Piece, cut_short, go_on, run_piece
from daedalus.simulation.run.repeated_equations_hold import repeated_equations_hold
from daedalus.simulation.run.road import Road
from daedalus.simulation.run.stiff_start import begun_anew, stiffness_at_start


def travel(road: Road, progress: Any = None, cancel: Any = None) -> Trajectory:
    """The run of a road from the start of its request: a consistent row, piece after piece, the end judged."""
    request, known = road.request, known_beginning(road)
    if known is not None and known.tried:
        return travel_from(known.road, known.first, progress, cancel)
    first = begin(road, request.t0, request.start) if known is None else known.first
    begun = run_piece(first, request.t1, request.save_at, progress, cancel)
    if known is None:
        keep_beginning(road, Beginning(road, first))
    return travel_begun(road, first, begun, progress, cancel)


def travel_begun(road: Road, first: Piece, begun: Trajectory, progress: Any = None, cancel: Any = None) -> Trajectory:
    """The run of a road whose first piece is there: begun anew where that was stiff from its start on, or gone on with.

    `dd.simulate` and prepared runs both come here behind their first piece.
    """
    try:
        found = stiffness_at_start(road, first, begun)
        if found is None:
            return travelled(road, first, begun, progress, cancel)
        anew = begun_anew(road, first, found)
    except OutOfTime as reason:
        return cut_short(begun, reason)
    keep_beginning(road, anew)
    return travel_from(anew.road, anew.first, progress, cancel)


def travel_from(road: Road, first: Piece, progress: Any = None, cancel: Any = None) -> Trajectory:
    """The run of a road from its first piece."""
    begun = run_piece(first, road.request.t1, road.request.save_at, progress, cancel)
    return travelled(road, first, begun, progress, cancel)


def travelled(road: Road, first: Piece, whole: Trajectory, progress: Any = None, cancel: Any = None) -> Trajectory:
    """The run of a road whose first piece is there."""
    request = road.request
    if not whole.status.final:
        rules = partial(next_piece, road, first)
        whole = go_on(whole, rules, request.t1, request.save_at, progress, cancel)
    try:
        if type(whole) is Trajectory and whole.status.success and not first.settings.has_branches:
            return repeated_equations_hold(whole, request.save_at is None)  # there is nothing else to judge
        return judged(whole, road, first, progress, cancel)
    except (OutOfTime, KeyboardInterrupt) as reason:
        return cut_short(whole, reason)
