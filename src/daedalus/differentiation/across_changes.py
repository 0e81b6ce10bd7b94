"""Derivatives across the changes of a recorded run: conditions that it crosses, slides along, rests on and leaves.

Across a jump of the equations S⁺ = S + (f⁻ - f⁺) dτ/dθ, with τ the moment at which the condition changes. Where a run
begins to slide S is projected onto the surface along the difference of the two fields, from whichever side it comes,
and stays in it: S⁺ = (I - D (G D)⁻¹ G) S, with G the slopes of the surfaces and D = ∂x'/∂s by the shares of their far
sides. Where it leaves the surface f⁻ = f⁺ and S goes on as it is (L. Dieci, L. Lopez, Fundamental matrix solutions of
piecewise smooth differential systems, Mathematics and Computers in Simulation 81, 2011; R. I. Leine, H. Nijmeijer,
Dynamics and Bifurcations of Non-Smooth Mechanical Systems, 2004).

Where slopes are infinite, as in a tank that runs empty, ḣ = -k √h, a run rests: h = k² (τ - t)² / 4 before it, and
dh/dθ goes to zero as τ - t does, while the coefficient -k / (2 √h) of its equation grows without bound. So a part ends
a little before the surface, where states are not told from it any more, and what of the way is left out moves along
f⁻ - f⁺, so that S⁺ is right to the size of what is left out. A run that passes such a place goes on behind it: f⁻ = f⁺.

Where steps are differentiated a corner, such as |v| at v = 0, ends a part too: a step across it would be differentiated
with some stages on one side and some on the other. There f⁻ = f⁺.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daedalus.algebra.agreement import SAME, agree
from daedalus.differentiation.case import Case
from daedalus.differentiation.events.causes import cause_of, passage, passage_of, slope_sizes
from daedalus.differentiation.events.jumping_conditions import EndsBy, JumpingConditions, conditions_of, no_sliding
from daedalus.differentiation.events.part_guards import (
    event_of,
    expression_slopes,
    point_of,
)
from daedalus.differentiation.events.saltation import carried, unchanged
from daedalus.differentiation.instants.any_order import SAME_SLOPES, behind_each_other, orders_of
from daedalus.differentiation.instants.foreseen import Change, Foreseen, Stretch, depth_of
from daedalus.differentiation.next_part import NextPart
from daedalus.errors import SolverError
from daedalus.model.system.once import once
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import find_plant
from daedalus.simulation.result.event_records import TransitionKind
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_derivatives import EquationsJump
from daedalus.simulation.result.records_on_the_way import SlidesAlong
from daedalus.simulation.sliding.rest import ways_to_rest
from daedalus.simulation.sliding.sliding_system import (
    Sliding,
    Stay,
    levels_of,
    rests_on_surface,
    surfaces_of,
)
from daedalus.simulation.sliding.solved_slopes import slopes_of, solved
from daedalus.simulation.sliding.surface import Surface, condition_like, moved_onto

# So many levels beside a surface equations are looked at: a part ends one level before it.
BESIDE = 2.0
# A run is given up where this many changes fall into so small a share of the span; at corners steps pass over them.
IN_A_ROW, NO_PROGRESS = 16, 1e-6


# -- the equations of a part -------------------------------------------------------------------------------------


def first_part(case: Case, corners: bool = False) -> Case:
    """The case with the equations that hold at its start; corners: whether parts end where equations bend, too."""
    known = case.foreseen
    if known is None or not known.stretches:
        return case
    known = known.with_corners(corners)
    if corners and _crowd(known) is not None:
        known = known.with_corners(False)
    crowd = _crowd(known)
    if crowd is not None:
        texts = conditions_of(known.stretches[0].system).texts
        raise no_sliding(case.system, texts[0], f"{IN_A_ROW} parts of the run end at t = {crowd:.6g}")
    case = replace(case, foreseen=known, passed=0, t1=known.until(0))
    return part_of(case, case.t0, case.x0, case.row0)


def _crowd(known: Foreseen) -> float | None:
    """When changes follow each other without progress; None where they do not."""
    times = [instant.time for instant in known.instants if instant.change is not None]
    close = NO_PROGRESS * abs(known.asked - known.begin)
    return next((b for a, b in zip(times, times[IN_A_ROW - 1 :]) if abs(b - a) <= close), None)


def part_of(case: Case, t: float, x: np.ndarray, row: np.ndarray) -> Case:
    """The case with the equations that hold behind the instants that it has passed, from a state on.

    row: (x, z, x') near it.
    """
    known, stretch = case.foreseen, stretch_of(case)
    assert known is not None
    conditions = conditions_of(stretch.system)
    corners = known.corners if stretch.modes is not None else None
    modes = stretch.modes or (0,) * conditions.count
    near = stretch.row if len(stretch.row) == len(row) else row
    near = np.concatenate([x, near[len(x) :]])
    system = conditions.fixed(modes, corners, _ends_by(case), point_of(case, t, near))
    if case.has_formulas and not isinstance(find_plant(system), ExplicitPlant):
        text = levels_of(stretch.system)[-1].condition if depth_of(stretch.system) else system.name
        raise no_sliding(system, text, "the rates along it have no formulas")
    return case.going_on(system, t, x, near)


def stretch_of(case: Case) -> Stretch:
    """What holds behind the instants that a case has passed."""
    assert case.foreseen is not None
    return case.foreseen.stretches[case.passed]


def _ends_by(case: Case) -> EndsBy:
    """What ends the part; nothing but its time where that is known."""
    instant = case.next_instant
    change = None if instant is None else instant.change
    if change is None or change.has_known_time:
        return (), None
    return change.conditions, change.leaves


def _which(change: Change, conditions: JumpingConditions) -> int | None:
    """The condition that made a change: of those that jump the first, as the run ordered them."""
    jumps = [k for k in change.conditions if not conditions.corners[k]]
    return next(iter([*jumps, *change.conditions]), None)


# -- the end of a part -------------------------------------------------------------------------------------------


def behind_change(case: Case, change: Change, t: float, row: np.ndarray) -> NextPart:
    """What follows a change of the equations, at a row (x, z, x') there."""
    n, before = len(case.x0), stretch_of(case)
    same = np.eye(n, n + case.system.sizes["u"] + len(case.p))
    after = case.behind_change()
    conditions, which = conditions_of(before.system), None
    if change.conditions:
        which = _which(change, conditions)
    if change.kind is TransitionKind.LEAVES:
        if depth_of(before.system) == 0:
            raise _no_leaving(case, before, t)
        shift = 0.0 if change.shift is None else change.shift
        following = part_of(after, t, row[:n] + shift, row)
        slides = depth_of(stretch_of(following).system) > 0
        return NextPart(following, onto_surface(following)[:, 1:] if slides else same, new_surfaces(before, following))
    if change.kind is TransitionKind.SLIDES:
        following = part_of(after, t, _on_surfaces(after, t, row), row)
        return NextPart(following, onto_surface(following)[:, 1:], new_surfaces(before, following))
    following = part_of(after, t, row[:n], row)
    if change.kind is TransitionKind.RESTS and which is not None:
        return _come_to_rest(case, following, which, t, row)
    if change.kind is not TransitionKind.SWITCH or which is None:
        return NextPart(following, same, change.records)
    if conditions.levels[which] > 0:
        far = _moved(case, which, -BESIDE, t, row)
        return NextPart(part_of(after, t, far, row), same, (), conditions.texts[which])
    changed = [k for k in change.conditions if not conditions.corners[k]]
    if not changed:
        return NextPart(following, same)
    assert before.modes is not None
    cause = cause_of(case, conditions, before, change, t, row)
    if cause.apart and set(cause.led) == set(changed):
        smooth = _turned_in_any_order(case, following, cause.led, t, row)
        if smooth is not None:
            return NextPart(following, smooth, tuple(EquationsJump(t, conditions.texts[k]) for k in cause.led))
    told = cause.condition if cause.condition in changed else changed[0]
    record = EquationsJump(t, conditions.texts[told], tuple(conditions.texts[k] for k in cause.apart))
    slopes = carried(unchanged(n, len(cause.moves)), row[-n:], following.row0[-n:], cause.moves)
    return NextPart(following, slopes, (record,))


def _turned_in_any_order(
    case: Case, following: Case, turned: tuple[int, ...], t: float, row: np.ndarray
) -> np.ndarray | None:
    """∂x/∂(x, u, p) behind conditions that turn one by one beside the run, the same in any order; None where it is not.

    A condition that no longer heads for zero once another one has turned does not turn at all beside the run.
    """
    known, sizes = None, slope_sizes(case)
    for order in orders_of(turned):
        slopes = _turned_in_order(case, following, order, t, row)
        if slopes is None or (known is not None and not agree(known, slopes, SAME_SLOPES, sizes)):
            return None
        known = slopes if known is None else known
    return known


def _turned_in_order(
    case: Case, following: Case, order: tuple[int, ...], t: float, row: np.ndarray
) -> np.ndarray | None:
    """The same for one order; None where one does not come."""
    stretch, n, total = stretch_of(case), len(case.x0), None
    conditions, modes = conditions_of(stretch.system), stretch.modes
    corners = None if case.foreseen is None else case.foreseen.corners
    assert modes is not None
    present, rates, forward = case, row, np.sign(case.last_time - case.first_time)
    for k in order:
        guard = passage_of(present, conditions.guard(k, modes), t, rates)
        if not forward * guard.rate * (1 - 2 * modes[k]) > 0:
            return None
        modes = (*modes[:k], 1 - modes[k], *modes[k + 1 :])
        if k == order[-1]:
            later = following
        else:
            system = conditions.fixed(modes, corners, ((), None), point_of(case, t, row))
            later = case.going_on(system, t, row[:n], row)
        slopes = carried(unchanged(n, len(guard.moves)), rates[-n:], later.row0[-n:], guard.moves)
        total = behind_each_other(total, slopes)
        present, rates = later, later.row0
    return total


def _moved(case: Case, which: int, levels: float, t: float, row: np.ndarray) -> np.ndarray:
    """The state so many levels on this side of a surface at which slopes are infinite, or beyond it."""
    n, nominal, modes = len(case.x0), case.system.nominal["x"], stretch_of(case).modes
    conditions = conditions_of(stretch_of(case).system)
    assert modes is not None
    away = (2 * modes[which] - 1) * levels * conditions.levels[which]
    value, slope = expression_slopes(case, conditions.guard(which, modes), t, row)
    scaled = slope[1 : 1 + n] * nominal
    return np.asarray(row[:n] + nominal * scaled * ((away - value) / (scaled @ scaled)))


def _come_to_rest(case: Case, still: Case, which: int, t: float, row: np.ndarray) -> NextPart:
    """From a part to the rest that it leads to, moved onto the surface the way that leads there."""
    n, event = len(case.x0), event_of(case, which)
    conditions, modes = conditions_of(stretch_of(case).system), stretch_of(case).modes
    assert modes is not None
    value, _ = expression_slopes(case, conditions.guard(which, modes), t, row)
    if value * (2 * modes[which] - 1) <= 0:  # carried across by the error of a step
        x = _moved(case, which, 1.0, t, row)
        row = case.going_on(case.system, t, x, np.concatenate([x, row[n:]])).row0
        value, _ = expression_slopes(case, conditions.guard(which, modes), t, row)
    _, slope = expression_slopes(case, case.system.guards[event], t, row)
    moves = passage(0.0, slope, row, n).moves
    way = row[-n:] - still.row0[-n:]
    rate = slope[1 : 1 + n] @ way
    x = row[:n] - way * (value / rate) if rate else row[:n]
    slopes = carried(unchanged(n, len(moves)), row[-n:], still.row0[-n:], moves)
    record = SlidesAlong(t, conditions.texts[which], True)
    return NextPart(still.going_on(still.system, t, x, np.concatenate([x, row[n:]])), slopes, (record,))


# -- onto surfaces -----------------------------------------------------------------------------------------------


def landed(case: Case) -> NextPart | None:
    """How a run begins that begins on a surface which both sides lead back to; None where it does not."""
    if case.foreseen is None or not case.foreseen.stretches:
        return None
    sliding = stretch_of(case).system.part(Sliding)
    if sliding is None:
        return None
    return NextPart(case, onto_surface(case)[:, 1:], new_surfaces(None, case))


def new_surfaces(before: Stretch | None, case: Case) -> tuple[Record, ...]:
    """Records of the conditions that a case begins to slide along, or to rest on."""
    system = stretch_of(case).system
    held, rests = () if before is None else surfaces_of(before.system), rests_on_surface(system)
    return tuple(SlidesAlong(case.t0, text, rests) for text in surfaces_of(system) if text not in held)


def onto_surface(case: Case) -> np.ndarray:
    """∂x⁺/∂(t, x, u, p) where a run lands on the surfaces that a case slides along or rests on."""
    stretch, t, n, row = stretch_of(case), case.t0, len(case.x0), case.row0
    sliding = stretch.system.part(Sliding)
    assert sliding is not None
    if sliding.rests:
        return _onto_rest(case, sliding, row)
    if sliding.stay is Stay.SECOND_ORDER:
        raise _endless_turns(case, sliding.condition, t)
    levels = _surfaces(stretch)
    slopes, u, p = slopes_of(stretch.system), case.u_at(t), case.p
    known = np.concatenate([row[-n:], row[n:-n], np.full(len(levels), 0.5)])
    y = slopes.at(t, case.x0, u, p, known)
    matrix, first = slopes.equations(t, y, case.x0, u, p)[1], len(y) - len(levels)
    D = solved(matrix[:first, :first], -matrix[:first, first:])[:n]
    G = np.array([expression_slopes(case, level.guard, t, row)[1] for level in levels])
    return np.asarray(unchanged(n, G.shape[1] - 1) - D @ np.linalg.solve(G[:, 1 : 1 + n] @ D, G))


def _surfaces(stretch: Stretch) -> list[Surface]:
    """The surfaces that a stretch slides along, as those of the system without sliding."""
    sliding = stretch.system.part(Sliding)
    assert sliding is not None
    return [once(sliding.base, Surface, condition_like(sliding.base, l.guard)) for l in levels_of(stretch.system)]


def _on_surfaces(case: Case, t: float, row: np.ndarray) -> np.ndarray:
    """A state moved onto the surfaces that it goes on along: by rounding, where it has just met them."""
    levels, n = _surfaces(stretch_of(case)), len(case.x0)
    near = np.concatenate([row[-n:], row[n:-n]])
    nears = [near if level.of_unknowns else None for level in levels]
    return moved_onto(levels, np.zeros(len(levels)), t, row[:n], case.u_at(t), case.p, nears)


def _onto_rest(case: Case, sliding: Sliding, row: np.ndarray) -> np.ndarray:
    """The same where it lands at rest: along the way that leads there, which slopes that are infinite decide."""
    t, n = case.t0, len(case.x0)
    surface = once(sliding.outside, Surface, sliding.which)
    ways = ways_to_rest(surface, row[-n:], t, case.x0, case.u_at(t), case.p)
    if not _parallel(*ways):
        raise SolverError(
            f"The derivatives of {case.system.name!r} do not exist at its start.",
            f"it begins at rest where {surface.condition} changes, and both branches lead back to it",
            because="starts on the two sides of it lead to different states.",
            remedy="a start slightly off the condition",
        )
    G = expression_slopes(case, surface.guard, t, row)[1]
    return np.asarray(unchanged(n, len(G) - 1) - np.outer(ways[0], G) / (G[1 : 1 + n] @ ways[0]))


def _parallel(one: np.ndarray, other: np.ndarray) -> bool:
    sizes = np.linalg.norm(one), np.linalg.norm(other)
    if not all(sizes) or not np.all(np.isfinite(sizes)):
        return False
    sign = float(np.sign(one @ other))
    return bool(np.linalg.norm(one / sizes[0] - sign * other / sizes[1]) <= SAME)


# -- what is refused ---------------------------------------------------------------------------------------------


def _no_leaving(case: Case, before: Stretch, t: float) -> SolverError:
    """Refuse derivatives behind a rest, in words."""
    return SolverError(
        f"The derivatives of {case.system.name!r} cannot be continued: it leaves its state of rest.",
        f"at t = {t:.6g} it begins to move from where {levels_of(before.system)[-1].condition} changes",
        because="slopes are infinite there: derivatives at rest do not determine how it leaves.",
        remedy="a span that ends before it, or a law with finite slopes such as h / sqrt(h + 1e-6) for sqrt(h)",
    )


def _endless_turns(case: Case, condition: str, t: float) -> SolverError:
    """Refuse derivatives behind endlessly many turns, in words."""
    return SolverError(
        f"The derivatives of {case.system.name!r} cannot be continued: its turns become endlessly short.",
        f"from t = {t:.6g} on it stays where {condition} changes",
        because="each turn changes the derivatives, and they come endlessly often before it.",
        remedy="a span that ends before it, or a smooth law such as tanh(s / 1e-3) for sign(s)",
    )


def refuse_steps_past(part: NextPart, t: float) -> None:
    """Raise where steps that are to be differentiated one by one pass infinite slopes.

    ∂f/∂x grows like |t - τ|^-½ towards them. Its integral is finite, and steps with error control of the derivatives
    follow it; steps that were taken for x alone leap over it, or hit it anywhere.
    """
    if part.steep:
        raise SolverError(
            f"The steps of {part.case.system.name!r} have no derivatives that can be trusted.",
            f"at t = {t:.6g} they pass where {part.steep} changes, with infinite slopes",
            because="their sizes were chosen for the states, which are smooth there, but not for the derivatives.",
            remedy='dd.sensitivities with by="variational", or a law with finite slopes such as p / sqrt(|p| + 1e-6)',
        )
