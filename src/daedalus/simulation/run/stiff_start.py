"""Runs that are stiff from their start on: an implicit method runs them whole.

An explicit method tells stiffness after some steps (core/run/stepper.hpp). Where those are few and little of the span
is behind them, they were a trial: the run begins anew by the implicit method, as one piece. What a trial found is kept
with the system. It follows from the system, the request and the numbers of a run alone, so that a run is the same, bit
for bit, whether or not another one went before it.
"""

from __future__ import annotations

import numpy as np

from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.records_of_methods import Stiffness
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.pieces import Piece
from daedalus.simulation.run.road import Road, stiff_road
from daedalus.simulation.switching.agenda import has_agenda

# A trial takes at most so many steps, accepted or not: an implicit method takes as much for the whole run (30 to 300
# steps, each for about three explicit ones), so that nothing worth keeping is thrown away ...
FEW_STEPS = 100
# ... and covers at most this part of the span, which the implicit method has to cover again.
FEW_PARTS = 0.1
# A System keeps this many trials; beyond that it begins anew.
MOST_KEPT = 64

Key = tuple[object, ...]


def known_stiffness(road: Road, first: Piece) -> Stiffness | None:
    """What a trial with the same numbers found before; None where there was none, or nothing was found."""
    if "watch_stiffness" not in first.settings.call:
        return None
    trials = once(road.request.system, _trials)
    if not trials:
        return None
    key = _key(road, first)
    return None if key is None else trials.get(key)


def stiffness_at_start(road: Road, first: Piece, done: Trajectory) -> Stiffness | None:
    """The stiffness that ended a first piece early enough to begin anew; None where the run goes on from there."""
    if done.status is not Ending.STIFF or first.settings is not road.settings or not _may_begin_anew(road):
        return None
    run, request = done._source, road.request
    covered = abs(run.stop_time - request.t0) / abs(request.t1 - request.t0)
    if run.steps + run.rejected > FEW_STEPS or covered > FEW_PARTS:
        return None
    found = Stiffness(done.method, abs(run.last_step), run.stop_time, run.steps)
    key = _key(road, first)
    if key is not None:
        trials = once(road.request.system, _trials)
        if len(trials) >= MOST_KEPT:
            trials.clear()
        trials[key] = found
    return found


def begun_anew(road: Road, first: Piece, found: Stiffness) -> tuple[Road, Piece]:
    """The implicit road of a stiff run and its first piece, from the row that the trial began with."""
    settings, drive, p, t0, row, *_ = first
    anew = stiff_road(road.request, found)
    return anew, begin(anew, t0, Samples(settings.plant, drive, p, np.array([t0]), row[None, :]))


def _may_begin_anew(road: Road) -> bool:
    """Whether a run can be made twice: nothing was called or assigned in it, no constraints were chosen for it."""
    return not (has_agenda(road.system) or road.drive.callbacks or road.solved.part(Redundancy) is not None)


def _trials(system: System) -> dict[Key, Stiffness]:
    """What trials found, by all that they follow from."""
    return {}


def _key(road: Road, first: Piece) -> Key | None:
    """What a trial follows from, where that is numbers alone."""
    if road.drive.tables or road.drive.callbacks or road.system is not road.solved:
        return None
    numbers = tuple(np.asarray(part).tobytes() for part in (first.row, first.drive.constants, first.parameters))
    key = (road.request[7:], road.request.span, numbers)
    try:
        hash(key)
    except TypeError:  # atol by name cannot be looked up
        return None
    return key
