"""Runs whose equations change on the way: redundant constraints chosen anew, and conditions across which they jump.

Each part is a case of its own, with the same states, inputs and parameters. Other independent constraints describe the
same motion, so x and its derivatives go on as they are. Across a jump of the equations S⁺ = S + (f⁻ - f⁺) dτ/dθ, with
τ the moment at which the condition changes. Where steps are differentiated a corner, such as |v| at v = 0, ends a part
too: a step across it would be differentiated with some stages on one side and some on the other. There f⁻ = f⁺.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.events.jumping_conditions import FixedModes, JumpingConditions, jumping_conditions
from daedalus.differentiation.events.residual_events import events_of
from daedalus.differentiation.instants.foreseen import Instant
from daedalus.differentiation.instants.instant_maps import instant_maps_of
from daedalus.errors import SolverError
from daedalus.model.event_purpose import EventPurpose
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.ending import Ending, Stop
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_derivatives import EquationsJump
from daedalus.simulation.result.records_on_the_way import ConstraintsRechosen
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.run.rechosen_constraints import Halt, Rechosen, rechosen_at
from daedalus.simulation.run.stop_reason import sliding

# A run is given up where this many parts fall into so small a share of the span.
IN_A_ROW, SHARE = 30, 1e-6


class NextPart(NamedTuple):
    """How a run goes on: the case, ∂x⁺/∂(x, u, p) from before it, and what is told of it."""

    case: Case
    slopes: np.ndarray
    record: Record | None


class RestsOnCorner(Exception):
    """Parts that end at a corner follow each other without progress: steps have to pass over it."""


class End(NamedTuple):
    """Why a part ended: how its run did, and at which event or instant."""

    status: Ending
    event: int | None = None
    instant: Instant | None = None


def in_first_mode(case: Case, corners: bool = False) -> Case:
    """The case with the equations that hold at its start, where conditions make them jump, or bend with `corners`.

    Modes that were put in before are chosen anew: with others that only bend, or at another start.
    """
    found = case.system.part(FixedModes)
    if found is not None:
        case = case.going_on(found.conditions.original, case.t0, case.x0)
    jumps = jumping_conditions(case.system, corners)
    if jumps is None:
        return case
    modes = jumps.modes_at(_point(case, case.t0, case.row0), None, case.t1 - case.t0)
    return case.going_on(jumps.system(modes), case.t0, case.x0)


def goes_on(case: Case, event: int) -> bool:
    """Whether an event is one at which another part begins."""
    return case.system.events[event].purpose.watches_constraints or event >= _own_events(case)


def is_corner(case: Case, event: int) -> bool:
    """Whether the equations only bend at an event: it has no share in first derivatives."""
    found = case.system.part(FixedModes)
    return found is not None and event >= _own_events(case) and found.conditions.corners[event - _own_events(case)]


def _own_events(case: Case) -> int:
    found = case.system.part(FixedModes)
    return len(case.system.events) if found is None else len(found.conditions.original.events)


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
    found = case.system.part(FixedModes)
    assert found is not None
    return _behind_jump(case, found.conditions, found.values, event - _own_events(case), t, row)


def _point(case: Case, t: float, row: np.ndarray) -> tuple[np.ndarray | float, ...]:
    """(t, x', x, z, u, p) at a row (x, z, x')."""
    n = len(case.x0)
    return t, row[-n:], row[:n], row[n:-n], case.u_at(t), case.p


def _behind_jump(
    case: Case, jumps: JumpingConditions, modes: tuple[int, ...], which: int, t: float, row: np.ndarray
) -> NextPart:
    n = len(case.x0)
    whole = case.row_at(t, row[:n]) if case.has_formulas else row
    turned = tuple(1 - mode if k == which else mode for k, mode in enumerate(modes))
    # Conditions on the same quantity, such as v > 0 and v < 0, change together.
    fixed = jumps.modes_at(_point(case, t, whole), turned, case.t1 - case.t0)
    turned = tuple(turned[k] if k == which else fixed[k] for k in range(len(turned)))
    guess = None if case.has_formulas else whole
    following = case.going_on(jumps.system(turned), t, row[:n], guess)
    # Where a corner and a jump meet the jump counts.
    changed = [k for k in range(len(modes)) if turned[k] != modes[k] and not jumps.corners[k]]
    which = which if which in changed or not changed else changed[0]
    if jumps.corners[which]:
        return NextPart(following, np.eye(n, n + case.system.sizes["u"] + len(case.p)), None)
    leaves = jumps.rates(_point(following, t, following.row0), turned)[which] * (2 * turned[which] - 1)
    if leaves * np.sign(case.t1 - t) < 0:
        raise _sliding(case, t, jumps.texts[which])
    moves = time_slopes(case, _own_events(case) + which, t, whole)
    slopes = np.eye(n, len(moves)) + np.outer(whole[-n:] - following.row0[-n:], moves)
    others = (k for k, mode in enumerate(modes) if k != which and mode != turned[k])
    at_once = tuple(
        jumps.texts[k]
        for k in others
        if not np.allclose(moves, time_slopes(case, _own_events(case) + k, t, whole), rtol=1e-6)
    )
    return NextPart(following, slopes, EquationsJump(t, jumps.texts[which], at_once))


def _behind_instant(case: Case, instant: Instant, t: float, row: np.ndarray) -> NextPart:
    """Behind an instant equations have the modes that hold there."""
    n = len(case.x0)
    whole = case.row_at(t, row[:n]) if case.has_formulas else row
    behind, slopes, moves = instant_maps_of(case).jump(case, instant, t, whole)
    following, fixed = case.behind_instant(t, behind), case.system.part(FixedModes)
    if fixed is not None:
        original = fixed.conditions.original
        guess = None if case.has_formulas else behind
        following = following.going_on(original, t, behind[:n], guess)
        following = in_first_mode(following, fixed.conditions is jumping_conditions(original, True))
    return NextPart(following, slopes - np.outer(following.row0[-n:], moves), None)


def time_slopes(case: Case, event: int, t: float, row: np.ndarray) -> np.ndarray:
    """∂τ/∂(x, u, p) of an event at a row (x, z, x')."""
    plant, system, n = case.plant, case.system, len(case.x0)
    if isinstance(plant, ImplicitPlant):
        return events_of(plant).moves(event, t, row, case.u_at(t), case.p)
    arguments = [system.symbol(letter) for letter in ("t", "x", "u", "p")]
    guard = case.form.applied(system, system.guards[event])
    function = ca.Function("guard", arguments, [ca.jacobian(guard, ca.vertcat(*arguments))])
    slope = function(t, row[:n], case.u_at(t), case.p).full().ravel()
    return -slope[1:] / (slope[0] + slope[1 : 1 + n] @ row[-n:])


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
    raise _sliding(case, times[-1], found.conditions.texts[0] if found else "on redundant constraints")


def _sliding(case: Case, t: float, condition: str) -> SolverError:
    return SolverError(
        f"The derivatives of {case.system.name!r} do not go on from here.",
        sliding(t, condition).what,
        because="a run that slides along a condition has other equations there, and its derivative with it.",
        remedy="m.friction for what sticks, or a smooth law such as tanh(v/0.001) for sign(v)",
    )
