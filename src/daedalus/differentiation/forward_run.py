"""A run differentiated, forward in time: part after part, the derivatives carried from each to the next.

With error control state and sensitivities are one system in one error test. The absolute tolerance of ∂x_i/∂θ_j is
that of x_i divided by the size of θ_j. What happens in a run ends a part of it, and sensitivities are carried across
between two parts; a condition whose moment the motion decides ends its part here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from daedalus import _core
from daedalus.deadline import current_deadline
from daedalus.differentiation.across_changes import first_part, landed, refuse_steps_past
from daedalus.differentiation.case import Case, core_inputs
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.events.grazing import check_event_inputs, event_records, grazing_records, touched_records
from daedalus.differentiation.events.jumping_conditions import unlocated_jumps
from daedalus.differentiation.events.smoothness import NoSecondDerivativesError, refuse_corners
from daedalus.differentiation.instants.foreseen import Instant
from daedalus.differentiation.instants.instant_maps import instant_maps_of
from daedalus.differentiation.next_part import NextPart
from daedalus.differentiation.parts import instant_behind, next_part
from daedalus.differentiation.steps.discrete import run_discrete
from daedalus.differentiation.steps.stepwise import stepwise
from daedalus.differentiation.variational.augmented import AnyAugmented, Augmented, augmented_of
from daedalus.differentiation.variational.finished import DerivativesStoppedError
from daedalus.differentiation.variational.recorded import Recorded, RunPart, at_rest, recorded_run
from daedalus.differentiation.variational.residual_augmented import varied_at
from daedalus.differentiation.variational.tangent_start import TangentStart, tangent_start
from daedalus.integrators.methods import choose_method, is_implicit
from daedalus.model.system.system import System
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_derivatives import EventsTogether
from daedalus.simulation.result.records_of_methods import ImplicitChosen
from daedalus.simulation.run.method_choice import implicit_choice
from daedalus.simulation.run.next_piece import NEXT_METHOD


def run_error_controlled(case: Case, augmented: AnyAugmented, y0: np.ndarray) -> Recorded | None:
    """Integrate y from the start of the case to its end, or to a terminal event; None where the system is stiff."""
    assert isinstance(augmented, Augmented)  # explicit methods run formulas
    settings, system = case.settings, case.system
    sizes = augmented.variational.directions.sizes(system, case.p)
    call = {**settings.call, "atol": augmented.variational.tolerances(settings.call["atol"], sizes)}
    if "projection" in call:
        call["projection"] = (augmented.exact if moves_far(case) else augmented.tangential).core
    u, tables = core_inputs(case)
    if tables:
        call["tables"] = tables
    call.update(samples_call(case), **remaining_time())
    for name in ("guards", "directions", "actions", "occurrences", "resets", "restart", "writes"):
        call.pop(name, None)
    if system.events:
        call.update(event_call(system), guards=augmented.guards.core)
    run = _core.integrate(augmented.rhs.core, settings.core_method, case.t0, case.t1, y0, u, case.p, **call)
    if run.status == Ending.STIFF:
        return None
    return recorded_run(case, run, lambda rows: rows, lambda unknown: unknown, augmented.layout.width)


def samples_call(case: Case) -> dict[str, Any]:
    """What the core keeps of a run that is asked for certain times: no steps, whose rows would hold all columns."""
    if case.save_at is None or case.system.events:
        return {}
    return {"save_at": case.save_at, "keep_between": False}


def remaining_time() -> dict[str, float]:
    """The time limit of a run within a call that has one for all of its runs."""
    deadline = current_deadline()
    return {} if deadline is None or deadline.left == np.inf else {"time_limit": deadline.left}


def moves_far(case: Case) -> bool:
    """Whether a step may be moved onto the invariants by more than a tolerance; then the move is differentiated itself.

    So it is at fixed step, where the variational equations become the derivative of the steps.
    """
    return case.limits.get("step") is not None


def event_call(system: System) -> dict[str, Any]:
    """What the core does at conditions: one that the part ends with ends the run."""
    return {
        "directions": [e.direction for e in system.events],
        "actions": [2 if e.terminal else 1 for e in system.events],
        "occurrences": [1] * len(system.events),
    }


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
    try:
        return _in_parts(case, order, directions, by, corners=by == "discrete")
    except DerivativesStoppedError as stopped:
        other = _by_another_method(case) if stopped.no_step and by == "variational" else None
        if other is not None:
            return differentiate(other, order, directions, by)
        # Coefficients jump at the corner of a diode: Newton's method of a step that meets it may find no way.
        if by == "discrete" or case.foreseen is None or not case.foreseen.stretches:
            raise
        return _in_parts(case, order, directions, by, corners=True)


def _by_another_method(case: Case) -> Case | None:
    """The case by the next method, where the one that was chosen for it found no step; None where there is none.

    Formulas of x' and z may divide by what vanishes on the way, though the equations that they follow from hold there:
    each method comes near it at other times, and one of a single stage mostly gets by.
    """
    last = case.settings.method
    chosen = case.method == "auto" or isinstance(case.settings.reason, ImplicitChosen)
    name = NEXT_METHOD.get(last) if is_implicit(last) else "radau5"
    if not chosen or name is None or case.limits.get("step") is not None:
        return None
    return case.with_method(name, ImplicitChosen(name, f"{last} found no step on the way"))


def _in_parts(case: Case, order: int, directions: Directions, by: str, corners: bool) -> ForwardRun:
    original = case
    case = first_part(case, corners)
    check_event_inputs(case)
    begin = start = tangent_start(case, directions, order)
    run = run_implicit if is_implicit(case.method) and by == "variational" else WAYS[by]
    parts: list[RunPart] = []
    records = [*unlocated_jumps(case.system), *touched_records(original)]
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


# -- variational equations by implicit methods ------------------------------------------------------------------


def run_implicit(case: Case, augmented: AnyAugmented, y0: np.ndarray) -> Recorded:
    """Integrate y with the implicit method of the case."""
    rows, (u, tables) = augmented.core_rows, core_inputs(case)
    call = {name: value for name, value in case.settings.call.items() if name in ("rtol", "max_step", "max_steps")}
    call |= {name: value for name, value in case.limits.items() if value is not None}
    call["atol"] = rows.tolerances(case)
    moved = rows.projection(moves_far(case)) if case.settings.moves_by_formula else None
    if moved is not None:
        call["projection"] = moved.core
    if tables:
        call["tables"] = tables
    chosen = choose_method(case.method, call["rtol"], call.get("step")).core

    if rows.guards is not None:
        call.update(event_call(case.system), guards=rows.guards.core)
    call.update(samples_call(case), **remaining_time())
    run = _core.integrate(rows.model, chosen, case.t0, case.t1, rows.row(case, case.t0, y0), u, case.p, **call)
    return recorded_run(case, run, rows.unpacked, rows.entry, augmented.layout.width)


# -- instants that a derivative goes through --------------------------------------------------------------------

# Rows at which the rate of a guard is looked at.
MOST_ROWS = 50


def refuse_second_order_instants(case: Case) -> None:
    """Raise where something is assigned in a run of second order."""
    if case.foreseen is None:
        return
    maps, instants = instant_maps_of(case), case.foreseen.instants
    acting = [(i, k) for i in instants for each in i.rounds for k in (*each.clocks, *each.events)]
    acting = [(i, k) for i, k in acting if maps.own.events[k].resets]
    if not acting:
        return
    if not maps.own.discrete_count and not any(i.has_clocks for i, _ in acting):
        raise NoSecondDerivativesError(
            "Second derivatives through an event are not supported.",
            f"{', '.join(sorted({maps.own.events[k].name for _, k in acting}))} resets the state within the span",
            because="the second derivative of the time of the event enters, with derivatives of f on both sides.",
            remedy="order=1, or a span that ends before the event",
        )
    first, who = acting[0][0], [acting[0][1]]
    raise NoSecondDerivativesError(
        "Second derivatives through an instant are not supported.",
        f"{instant_maps_of(case).own.events[who[0]].name} acts at t = {first.time:.6g}",
        because="the second derivative of what is assigned, and of its time, enters.",
        remedy="order=1, or a span that ends before it",
    )


def instant_records(part: RunPart, instant: Instant) -> list[Record]:
    """Records of an instant at the end of a part; a SolverError for an event that grazes."""
    case = part.case
    if instant.has_clocks or not instant.events or instant.time == case.first_time:
        return []
    together = instant.first_events
    t, rows = part.recorded.t, part.augmented.layout.rows(part.recorded.y)
    if len(t) < 2:
        return []
    maps = instant_maps_of(case)
    share = maps.rate_share(case, instant, together[0], t, rows, MOST_ROWS)
    records = grazing_records(maps.own.events[together[0]].name, instant.time, share, case.settings.rtol)
    return [*records, EventsTogether()] if maps.meets_time(case, instant, float(t[-1]), rows[-1]) else records
