"""Rule of a run: where stability holds an explicit method back, an implicit one goes on."""

from __future__ import annotations

from daedalus.reduction.redundancy.independent_constraints import Redundancy
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.records_of_methods import Stiffness
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.method_choice import implicit_choice, runs_smoothly
from daedalus.simulation.run.pieces import Piece
from daedalus.simulation.run.rechosen_constraints import unclosed
from daedalus.simulation.run.road import Road, road_through


def go_on_implicitly(road: Road, first: Piece, done: Trajectory) -> Piece | None:
    """The rest of a run by an implicit method, after stability held back an explicit one."""
    if done.status is not Ending.STIFF:
        return None
    request, run, end = road.request, done._source, done.end
    found = Stiffness(done.method, abs(run.last_step), run.stop_time, run.steps)
    system, left = request.system, request.inputs or {}
    redundancy = road.solved.part(Redundancy)
    if redundancy is not None:
        # Redundant constraints as written would make every matrix singular.
        system, left = unclosed(redundancy, done), road.inputs
    smooth = runs_smoothly(system, request.inputs)
    name, why = implicit_choice(system, found, request.rtol, smooth, request.atol)
    return begin(road_through(request, system, left, name, why, float(end.time)), float(end.time), end)
