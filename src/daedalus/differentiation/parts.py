"""Runs whose equations change on the way: other redundant constraints, conditions across which they jump, instants.

Each part is a case of its own, with the same states, inputs and parameters. Other independent constraints describe the
same motion, so x and its derivatives go on as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from daedalus.differentiation.across_changes import behind_change, new_surfaces, onto_surface, part_of, stretch_of
from daedalus.differentiation.case import Case
from daedalus.differentiation.events.part_guards import own_events
from daedalus.differentiation.events.saltation import carried, in_turn
from daedalus.differentiation.instants.foreseen import Instant
from daedalus.differentiation.instants.instant_maps import instant_maps_of
from daedalus.differentiation.next_part import NextPart
from daedalus.errors import SolverError
from daedalus.model.event_purpose import EventPurpose
from daedalus.simulation.result.ending import Ending, Stop
from daedalus.simulation.result.records_on_the_way import ConstraintsRechosen
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.rechosen_constraints import Halt, Rechosen, rechosen_at
from daedalus.simulation.sliding.sliding_system import Sliding

# A change of the equations is passed where a part ends without it this near to its time, in parts of the run.
NEAR = 1e-3


class End(NamedTuple):
    """Why a part ended: how its run did, and at which event or instant."""

    status: Ending
    event: int | None = None
    instant: Instant | None = None


def goes_on(case: Case, event: int) -> bool:
    """Whether an event is one at which another part begins."""
    return case.system.events[event].purpose.watches_constraints or event >= own_events(case)


def end_of_part(case: Case, status: Ending, events: Sequence[int], t: float) -> End | None:
    """What ended a part at t that another follows; None where it was the last one. events: those on the way."""
    following = case.next_instant
    if following is not None and (t == case.t1 or status is Ending.EVENT):
        if abs(t - following.time) > NEAR * abs(case.last_time - case.first_time):
            raise _not_met(case, following, t)
        return End(status, None, following)
    if status.may_be_bad_constraints:
        return End(status)
    return End(status, events[-1]) if status is Ending.EVENT and goes_on(case, events[-1]) else None


def _not_met(case: Case, instant: Instant, t: float) -> SolverError:
    return SolverError(
        f"The run of {case.system.name!r} with its derivatives is another than that without them.",
        f"its equations change at t = {instant.time:.6g}, and with derivatives at t = {t:.6g}",
        because="the smallest change decides when that happens, so there is no derivative.",
        remedy="a smaller rtol, or a span that ends before it",
    )


def next_part(case: Case, end: End, t: float, row: np.ndarray) -> NextPart:
    """What follows the end of a part, at the row (x, or (x, z, x')) that it ended with."""
    if end.instant is None:
        return _with_other_constraints(case, end, t, row)
    whole = case.row_at(t, row[: len(case.x0)]) if case.has_formulas else row
    if end.instant.change is not None:
        return behind_change(case, end.instant.change, t, whole)
    return _behind_instant(case, end.instant, t, whole)


def _behind_instant(case: Case, instant: Instant, t: float, row: np.ndarray) -> NextPart:
    """Behind an instant equations have the modes that hold there, and a run slides along what it is on."""
    n = len(case.x0)
    behind, reset, time = instant_maps_of(case).jump(case, instant, t, row)
    following = case.behind_instant(t, behind)
    assert case.foreseen is not None
    if not case.foreseen.stretches:
        return NextPart(following, carried(reset, row[-n:], following.row0[-n:], time))
    following = part_of(following, t, behind[:n], behind)
    if stretch_of(following).system.part(Sliding) is not None:
        reset = in_turn(onto_surface(following), reset)
    slopes = carried(reset, row[-n:], following.row0[-n:], time)
    return NextPart(following, slopes, new_surfaces(stretch_of(case), following))


def _with_other_constraints(case: Case, end: End, t: float, row: np.ndarray) -> NextPart:
    n = len(case.x0)
    event = EventPurpose.MODEL if end.event is None else case.system.events[end.event].purpose
    moment = Samples(case.plant, case.drive, case.p, np.array([t]), row[None], scalar=True)
    halt = Halt(case.system, moment, end.status, event)
    found = None if case.redundancy is None else rechosen_at(case.redundancy, halt)
    if found is None and end.event is None:
        raise SolverError(
            f"The run of {case.system.name!r} with its derivatives stopped early.",
            f"at t = {t:.6g}: {end.status.replace('_', ' ')}, and no other choice of its redundant constraints helps",
            remedy=end.status.remedy,
        )
    if not isinstance(found, Rechosen) or isinstance(found.start, dict):
        told = f"its redundant constraints have to be chosen anew at t = {t:.6g}, and no choice goes on"
        raise SolverError(
            f"The derivatives of {case.system.name!r} do not go on from here.",
            found.sentence if isinstance(found, Stop) else told,
            because="where constraints begin or cease to follow from each other the motion is not smooth.",
            remedy="a model without redundant constraints (dd.analyse(m).redundant names them), or a shorter span",
        )
    system, drive = case.with_inputs(found.reduced.freeze(), t)
    following = replace(case.going_on(system, t, row[:n]), drive=drive)
    sizes = n + case.system.sizes["u"] + len(case.p)
    return NextPart(following, np.eye(n, sizes), (ConstraintsRechosen(t),))
