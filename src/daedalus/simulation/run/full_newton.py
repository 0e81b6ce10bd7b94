"""Rule of a run: a Radau step of fixed length that one matrix for all stages cannot do gets a matrix for each."""

from __future__ import annotations

from dataclasses import replace

from daedalus.integrators.methods import METHODS
from daedalus.integrators.tableaux.collocation import radau_iia
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.records_of_methods import FullNewton, choice_of
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.continued_settings import continued_settings
from daedalus.simulation.run.pieces import Piece
from daedalus.simulation.run.road import Road


def with_full_newton(road: Road, first: Piece, done: Trajectory) -> Piece | None:
    """The rest of a Radau run at fixed step, with a matrix of its own for each stage, where one for all led nowhere.

    A long step cannot be made shorter here, and its stages see equations that differ much. The run goes on with the row
    that it came to, which hidden constraints need not know.
    """
    request = road.request
    step = request.step
    if done.status is not Ending.NEWTON_FAILED or step is None or done.method not in METHODS:
        return None
    if METHODS[done.method].family != "radau" or any(isinstance(record, FullNewton) for record in done.records):
        return None
    begin, full = done._source.stop_time, radau_iia((METHODS[done.method].order + 1) // 2)
    settings = continued_settings(road, first, done.system, full)
    settings = replace(settings, method=done.method, notes=(*settings.notes, FullNewton(begin, step)))
    return Piece(settings, first.drive, first.parameters, begin, done._source.end, choice_of(done.records))
