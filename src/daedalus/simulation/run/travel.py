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
from daedalus.simulation.run.beginnings import keep_beginning, known_beginning
from daedalus.simulation.run.judge import judged
from daedalus.simulation.run.next_piece import next_piece
from daedalus.simulation.run.pieces import cut_short, go_on, run_piece
from daedalus.simulation.run.repeated_equations_hold import repeated_equations_hold
from daedalus.simulation.run.road import Piece, Road
from daedalus.simulation.run.stiff_start import begun_anew, stiffness_at_start


def travel(road: Road, progress: Any = None, cancel: Any = None) -> Trajectory:
    """The run of a road from the start of its request: a consistent row, piece after piece, the end judged."""
    request, known = road.request, known_beginning(road)
    first = begin(road, request.t0, request.start) if known is None else known
    begun = run_piece(first, request.t1, request.save_at, progress, cancel)
    if known is None:
        keep_beginning(road, first)
    return travel_begun(first, begun, progress, cancel)


def travel_begun(first: Piece, begun: Trajectory, progress: Any = None, cancel: Any = None) -> Trajectory:
    """The run whose first piece is there: begun anew where that was stiff from its start on, or gone on with.

    `dd.simulate` and prepared runs both come here behind their first piece.
    """
    try:
        found = stiffness_at_start(first, begun)
        if found is None:
            return travelled(first, begun, progress, cancel)
        anew = begun_anew(first, found)
    except OutOfTime as reason:
        return cut_short(begun, reason)
    keep_beginning(first.road, anew, tried=True)
    return travel_from(anew, progress, cancel)


def travel_from(first: Piece, progress: Any = None, cancel: Any = None) -> Trajectory:
    """The run from its first piece."""
    request = first.road.request
    return travelled(first, run_piece(first, request.t1, request.save_at, progress, cancel), progress, cancel)


def travelled(first: Piece, whole: Trajectory, progress: Any = None, cancel: Any = None) -> Trajectory:
    """The run whose first piece is there."""
    request = first.road.request
    if not whole.status.final:
        whole = go_on(whole, partial(next_piece, first), request.t1, request.save_at, progress, cancel)
    try:
        if type(whole) is Trajectory and whole.status.success and not first.settings.has_branches:
            return repeated_equations_hold(whole, request.save_at is None)  # there is nothing else to judge
        return judged(whole, first, progress, cancel)
    except (OutOfTime, KeyboardInterrupt) as reason:
        return cut_short(whole, reason)
