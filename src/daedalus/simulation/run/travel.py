"""The run of a road: its first piece, what follows it piece after piece, and the end judged.

`dd.simulate`, prepared runs, cases of an ensemble and `dd.solve_ivp` all end here; they differ in how their first piece
begins.

How runs began is kept with the system: the same run again begins at once. A first piece follows from the system, the
request and the numbers of a run alone, and so does a trial of its first steps (`daedalus.simulation.run.stiff_start`):
a run is the same, bit for bit, whether or not another went before it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from daedalus.deadline import OutOfTime
from daedalus.initialisation.start import Start
from daedalus.model.system.once import KeptByKey, once
from daedalus.model.system.system import System
from daedalus.model.values import parameter_values, plain_start
from daedalus.simulation.result.beside_jumps import NEAR
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.judge import judged
from daedalus.simulation.run.next_piece import next_piece
from daedalus.simulation.run.onlooker import Onlooker
from daedalus.simulation.run.pieces import cut_short, go_on, run_piece
from daedalus.simulation.run.repeated_equations_hold import repeated_equations_hold
from daedalus.simulation.run.request import Request
from daedalus.simulation.run.road import Piece, Road
from daedalus.simulation.run.stiff_start import begun_anew, stiffness_at_start

Key = tuple[object, ...]

# Runs with switches and fewer unknowns keep their steps: these take little memory, and to go on where a run slides or
# branches at a switch it would have to be made twice.
MANY_UNKNOWNS = 500


def travel(road: Road, progress: Any = None, cancel: Any = None) -> Trajectory:
    """The run of a road from the start of its request: a consistent row, piece after piece, the end judged."""
    request, known = road.request, known_beginning(road)
    first = begin(road, request.t0, request.start) if known is None else known
    begun = _first_run(first, progress, cancel)
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
    return travelled(first, _first_run(first, progress, cancel), progress, cancel)


def _first_run(first: Piece, progress: Any, cancel: Any) -> Trajectory:
    """The run of the first piece; of an implicit one no more than its rows is kept, where nobody reads more.

    Polynomials of the steps take several times the memory of a large model. Whatever happens on the way may read them:
    a run that is not over with its first piece is made once more with them.
    """
    request, settings = first.road.request, first.settings
    plant = settings.plant
    looks_on = isinstance(progress, Onlooker) or settings.has_branches or settings.contacts is not None
    switches = settings.switches is not None and len(first.row) < MANY_UNKNOWNS
    jumps = plant.system.events or first.road.drive.tables or switches
    if request.rows_only and plant.is_implicit and not (looks_on or jumps or plant.has_constraints):
        begun = run_piece(first, request.t1, request.save_at, progress, cancel, keep_between=False)
        begun.keeps_steps = False
        if begun.status.final and not _has_row_at_switch(first, begun):
            return begun
    return run_piece(first, request.t1, request.save_at, progress, cancel)


def _has_row_at_switch(first: Piece, run: Trajectory) -> bool:
    """Whether a row stands where a condition changes: what it has beside its states is read next to it, on its side."""
    settings, times, begin = first.settings, run.run_data.times, first.begin
    changes = [] if (modes := run.run_data.held_modes) is None else [modes.held.times]
    if len(times) and (in_time := settings.values_in_time(first.parameters, (begin, times[-1]), times[-1])) is not None:
        changes.append(in_time[0])
    jumps = np.concatenate([[], *changes])
    jumps = jumps[jumps != begin]
    if not len(jumps) or not len(times):
        return False
    ordered = np.sort(times)
    place = np.searchsorted(ordered, jumps)
    after, before = ordered[np.minimum(place, len(ordered) - 1)], ordered[np.maximum(place - 1, 0)]
    nearest = np.minimum(np.abs(after - jumps), np.abs(before - jumps))
    return bool(nearest.min() <= NEAR * abs(first.road.request.t1 - begin))


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


# -- how runs began ------------------------------------------------------------------------------------------


def known_beginning(road: Road) -> Piece | None:
    """How a run with the same numbers began before; None where none did."""
    kept = once(road.request.system, _kept)
    if not kept:
        return None
    key = _key(road)
    known = None if key is None else kept.get(key)
    return None if known is None else known._replace(road=known.road._replace(request=road.request))


def keep_beginning(road: Road, first: Piece, tried: bool = False) -> None:
    """Keep how the run of a road began, where that took more than writing numbers down.

    tried: whether a trial of another method went before it.
    """
    if not tried and (road.settings.begins_anywhere or first.settings is not road.settings):
        return
    key = _key(road)
    if key is None:
        return
    request = road.request._replace(save_at=None)
    once(request.system, _kept)[key] = first._replace(road=first.road._replace(request=request))


def _kept(system: System) -> KeptByKey[Piece]:
    """The beginnings by all that they follow from."""
    return KeptByKey()


def _key(road: Road) -> Key | None:
    """What the beginning of a run follows from, where that is numbers alone."""
    request, drive, system = road.request, road.drive, road.system
    if drive.tables or drive.callbacks or system is not road.solved or system.delayed or system.discrete_count:
        return None
    start = _start_key(system, request)
    if start is None or len(drive.constants) != request.system.sizes["u"]:  # others are put into the equations
        return None
    p = parameter_values(system, request.parameters)
    key = (request.options, request.t0, request.t1, start, drive.constants.tobytes(), p.tobytes())
    try:
        hash(key)
    except TypeError:  # atol by name cannot be looked up
        return None
    return key


def _start_key(system: System, request: Request) -> Key | None:
    """What a start is made from: names with their numbers, or what `dd.initialise` found."""
    start = request.start
    if isinstance(start, Start):
        return (start.row.tobytes(), start.time) if start.system is request.system else None
    if start is not None and type(start) is not dict:
        return None
    x = plain_start(system, start)
    return None if x is None else (x.tobytes(), *(start or ()))
