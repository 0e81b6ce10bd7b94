"""Runs whose equations change on the way: other redundant constraints, conditions across which they jump, instants.

Each part is a case of its own, with the same states, inputs and parameters. Other independent constraints describe the
same motion, so x and its derivatives go on as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from daedalus.differentiation.across_conditions import (
    behind_condition,
    in_first_mode,
    kept_surfaces,
    landing,
)
from daedalus.differentiation.case import Case
from daedalus.differentiation.events.jumping_conditions import FixedModes, jumping_conditions
from daedalus.differentiation.events.mode_guards import own_events
from daedalus.differentiation.events.sliding_equations import no_sliding
from daedalus.differentiation.instants.foreseen import Instant
from daedalus.differentiation.instants.instant_maps import instant_maps_of
from daedalus.differentiation.next_part import NextPart
from daedalus.errors import SolverError
from daedalus.model.event_purpose import EventPurpose
from daedalus.simulation.result.ending import Ending, Stop
from daedalus.simulation.result.records_on_the_way import ConstraintsRechosen
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.rechosen_constraints import Halt, Rechosen, rechosen_at

# A run is given up where this many parts fall into so small a share of the span.
IN_A_ROW, SHARE = 16, 1e-6


class RestsOnCorner(Exception):
    """Parts that end at a corner follow each other without progress: steps have to pass over it."""


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
    if case.next_instant is not None and t == case.t1:
        return End(status, None, case.next_instant)
    if status.may_be_bad_constraints:
        return End(status)
    return End(status, events[-1]) if status is Ending.EVENT and goes_on(case, events[-1]) else None


def next_part(case: Case, end: End, t: float, row: np.ndarray) -> NextPart:
    """What follows the end of a part, at the row (x, or (x, z, x')) that it ended with."""
    event = end.event
    if end.instant is not None:
        return _behind_instant(case, end.instant, t, row)
    if event is None or case.system.events[event].purpose.watches_constraints:
        return _with_other_constraints(case, end, t, row)
    return behind_condition(case, event, t, row)


def _behind_instant(case: Case, instant: Instant, t: float, row: np.ndarray) -> NextPart:
    """Behind an instant equations have the modes that hold there, and a run slides along what it is on."""
    n = len(case.x0)
    whole = case.row_at(t, row[:n]) if case.has_formulas else row
    behind, slopes, moves = instant_maps_of(case).jump(case, instant, t, whole)
    following, fixed = case.behind_instant(t, behind), case.system.part(FixedModes)
    if fixed is None:
        return NextPart(following, slopes - np.outer(following.row0[-n:], moves), None)
    original = fixed.conditions.original
    following = following.going_on(original, t, behind[:n], behind)
    following = in_first_mode(following, fixed.conditions is jumping_conditions(original, True))
    onto = landing(following, kept_surfaces(case, t, whole, following))
    if onto is None:
        return NextPart(following, slopes - np.outer(following.row0[-n:], moves), None)
    given = np.eye(len(moves))[n:]
    slopes = onto.slopes[:, 1 : 1 + n] @ slopes + onto.slopes[:, 1 + n :] @ given + np.outer(onto.slopes[:, 0], moves)
    return NextPart(onto.case, slopes - np.outer(onto.case.row0[-n:], moves), onto.record)


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
    return NextPart(following, np.eye(n, sizes), ConstraintsRechosen(t))


def check_progress(case: Case, times: list[float], span: float) -> None:
    """Raise where parts follow each other without end."""
    if len(times) < IN_A_ROW or abs(times[-1] - times[-IN_A_ROW]) > SHARE * abs(span):
        return
    found = case.system.part(FixedModes)
    if found is not None and any(found.conditions.corners):
        raise RestsOnCorner
    text = found.conditions.texts[0] if found else "its redundant constraints"
    raise no_sliding(case.system, text, f"{IN_A_ROW} parts of the run end at t = {times[-1]:.6g}")
