"""Runs that stability holds back: an implicit method goes on from there, or runs them whole.

An explicit method tells stiffness after some steps (core/run/stepper.hpp). Where those are few and little of the span
is behind them, they were a trial: the run begins anew by the implicit method, as one piece.
"""

from __future__ import annotations

import numpy as np

from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.records_of_methods import Stiffness
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.method_choice import implicit_choice, runs_smoothly
from daedalus.simulation.run.rechosen_constraints import unclosed
from daedalus.simulation.run.road import Piece, Road, road_through, stiff_road
from daedalus.simulation.switching.agenda import has_agenda

# A trial takes at most so many steps, accepted or not: an implicit method takes as much for the whole run (30 to 300
# steps, each for about three explicit ones), so that nothing worth keeping is thrown away ...
FEW_STEPS = 100
# ... and covers at most this part of the span, which the implicit method has to cover again. What stability limits from
# the first step on is seen after 15 steps beyond the edge, of a hundred at loose tolerances.
FEW_PARTS = 0.25


def stiffness_at_start(first: Piece, done: Trajectory) -> Stiffness | None:
    """The stiffness that ended a first piece early enough to begin anew; None where the run goes on from there."""
    if done.status is not Ending.STIFF or not _may_begin_anew(first.road):
        return None
    run, request = done._source, first.road.request
    covered = abs(run.stop_time - request.t0) / abs(request.t1 - request.t0)
    if run.steps + run.rejected > FEW_STEPS or covered > FEW_PARTS:
        return None
    return _stiffness(done)


def begun_anew(first: Piece, found: Stiffness) -> Piece:
    """The first piece of a stiff run on its implicit road, from the row that the trial began with."""
    start = Samples(first.settings.plant, first.drive, first.parameters, np.array([first.begin]), first.row[None, :])
    return begin(stiff_road(first.road.request, found), first.begin, start)


def go_on_implicitly(first: Piece, done: Trajectory) -> Piece | None:
    """Rule of a run: where stability holds an explicit method back, an implicit one runs the rest."""
    if done.status is not Ending.STIFF:
        return None
    road, request, end = first.road, first.road.request, done.end
    system, left = request.system, request.inputs or {}
    redundancy = road.solved.part(Redundancy)
    if redundancy is not None:
        # Redundant constraints as written would make every matrix singular.
        system, left = unclosed(redundancy, done), road.inputs
    smooth = runs_smoothly(system, request.inputs)
    name, why = implicit_choice(system, _stiffness(done), request.rtol, smooth, request.atol)
    return begin(road_through(request, system, left, name, why, float(end.time)), float(end.time), end)


def _stiffness(done: Trajectory) -> Stiffness:
    run = done._source
    return Stiffness(done.method, abs(run.last_step), run.stop_time, run.steps)


def _may_begin_anew(road: Road) -> bool:
    """Whether a run can be made twice: nothing was called or assigned in it, no constraints were chosen for it."""
    return not (has_agenda(road.system) or road.drive.callbacks or road.solved.part(Redundancy) is not None)
