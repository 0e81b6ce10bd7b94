"""A run differentiated, forward in time: part after part, the derivatives carried from each to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from daedalus.differentiation.across_changes import first_part, landed, refuse_steps_past
from daedalus.differentiation.case import Case
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.events.grazing import check_event_inputs, event_records
from daedalus.differentiation.events.jumping_conditions import unlocated_jumps
from daedalus.differentiation.events.smoothness import refuse_corners
from daedalus.differentiation.instants.instant_records import instant_records, refuse_second_order_instants
from daedalus.differentiation.next_part import NextPart
from daedalus.differentiation.parts import instant_behind, next_part
from daedalus.differentiation.steps.discrete import run_discrete
from daedalus.differentiation.steps.stepwise import stepwise
from daedalus.differentiation.variational.augmented import augmented_of
from daedalus.differentiation.variational.error_controlled import run_error_controlled
from daedalus.differentiation.variational.implicit_variational import run_implicit
from daedalus.differentiation.variational.recorded import RunPart, at_rest
from daedalus.differentiation.variational.residual_augmented import varied_at
from daedalus.differentiation.variational.tangent_start import TangentStart, tangent_start
from daedalus.integrators.methods import is_implicit
from daedalus.simulation.result.records import Record
from daedalus.simulation.run.method_choice import implicit_choice

WAYS = {"variational": run_error_controlled, "discrete": run_discrete}


class ForwardRun(NamedTuple):
    """What was run, where its derivatives began, how they were taken, and what there is to say about it."""

    parts: list[RunPart]
    start: TangentStart
    how: str
    records: Sequence[Record]


def differentiate(case: Case, order: int, directions: Directions, by: str) -> ForwardRun:
    """A case run with its variational equations, part by part where its equations change on the way."""
    if by == "discrete":
        case = stepwise(case, 'by="discrete"')
    if order == 2:
        refuse_corners(case.system)
        refuse_second_order_instants(case)
    return _in_parts(case, order, directions, by)


def _in_parts(case: Case, order: int, directions: Directions, by: str) -> ForwardRun:
    original = case
    case = first_part(case, by == "discrete")
    check_event_inputs(case)
    begin = start = tangent_start(case, directions, order)
    run = run_implicit if is_implicit(case.method) and by == "variational" else WAYS[by]
    parts: list[RunPart] = []
    records = list(unlocated_jumps(case.system))
    landing = landed(case)
    while True:
        augmented = augmented_of(case.plant, directions, order)
        y0 = augmented.begin(case, start)
        stands = landing is not None or (case.t0 == case.t1 and case.foreseen)
        recorded = at_rest(case.t0, y0) if stands else run(case, augmented, y0)
        if recorded is None:
            name, why = implicit_choice(case.system, "the system is stiff", case.settings.rtol)
            return differentiate(original.with_method(name, why), order, directions, by)
        parts.append(RunPart(case, augmented, recorded))
        records += event_records(parts[-1])
        following = landing or _following(parts[-1], records)
        if following is None:
            return ForwardRun(parts, begin, by, records)
        landing = None
        if by == "discrete":
            refuse_steps_past(following, float(recorded.t[-1]))
        S, W = _carried(parts[-1], following)
        parts[-1] = replace(parts[-1], joint=following.slopes)
        start = replace(start, S=S, W=W)
        case = following.case
        records += following.records


def _following(part: RunPart, records: list[Record]) -> NextPart | None:
    """What follows a part, None behind the last one; what is told of it goes to the records."""
    case, recorded, t = part.case, part.recorded, float(part.recorded.t[-1])
    instant = instant_behind(case, recorded.status, t)
    if instant is None:
        return None
    records += instant_records(part, instant)
    return next_part(case, instant, t, recorded.y[-1, : part.augmented.layout.width])


def _carried(part: RunPart, following: NextPart) -> tuple[np.ndarray, np.ndarray]:
    """S and W at the beginning of the next part."""
    layout, t = part.augmented.layout, float(part.recorded.t[-1])
    varied = varied_at(part.case, part.augmented.variational, t, part.recorded.y[-1])
    W = layout.curvatures(part.recorded.y[-1:])[0][: layout.n]
    return following.slopes @ varied, W[:, layout.pairs[0], layout.pairs[1]]
