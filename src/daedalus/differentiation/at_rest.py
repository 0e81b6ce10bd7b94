"""Runs that come to rest where slopes are infinite, such as a tank that runs empty: ḣ = -√h for h > 0.

With ḣ = -k √h the way to h = 0 takes until τ = 2 √h₀ / k, and h = k² (τ - t)² / 4 there: dh/dθ goes to zero as τ - t
does, while the coefficient -k / (2 √h) of its equation grows without bound. So a part ends a little before the surface,
where states are not told from it any more, and the rest goes on in it: f⁺ is the field at rest and S⁺ = S + (f⁻ - f⁺)
dτ/dθ, as where a run begins to slide. What of the way is left out moves along f⁻ - f⁺, so that S⁺ is right to the size
of what is left out, and lies in the surface.

A run that passes such a place goes on behind it: f⁻ = f⁺.
"""

from __future__ import annotations

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.events.jumping_conditions import Face, JumpingConditions, across_faces
from daedalus.differentiation.events.mode_guards import (
    event_of,
    fixed_modes,
    guard_slopes,
    parallel,
    point_of,
    rate_of_guard,
    time_slopes,
)
from daedalus.differentiation.events.sliding_equations import no_sliding
from daedalus.differentiation.next_part import NextPart
from daedalus.errors import SolverError
from daedalus.model.system.system import System
from daedalus.simulation.result.records_on_the_way import SlidesAlong
from daedalus.simulation.sliding.slide import LEAVES, NEARER, STEEP
from daedalus.simulation.sliding.sliding_system import MOVING

# So many levels beside a surface equations are looked at: a part ends one level before it.
BESIDE = 2.0


def beside_steep(case: Case, which: int, t: float, row: np.ndarray) -> NextPart:
    """What follows where a run has come near a condition with infinite slopes: it rests there, or passes."""
    fixed, n = fixed_modes(case), len(case.x0)
    jumps, modes, face = fixed.conditions, fixed.values, _face(case, which, t, row)
    side = 2 * modes[which] - 1
    if side * jumps.values(point_of(case, t, row), modes)[which] <= 0:  # carried across by the error of a step
        row = _beside(case, which, modes, side, t, row).row0
    same = np.eye(n, n + case.system.sizes["u"] + len(case.p))
    far = _beside(case, which, across_faces(modes, (face,)), -side * BESIDE, t, row)
    if side * rate_of_guard(far, which, t, far.row0) * np.sign(case.t1 - t) < 0:
        return NextPart(far, same, None, jumps.texts[which])
    still = _resting(case, modes, face, t, row)
    if still is None:
        unseen = jumps.system(modes, face)
        following = case.going_on(unseen, t, row[:n], row)
        return NextPart(following, same, None, jumps.texts[which])
    moves = time_slopes(case, event_of(case, which), t, row)
    way = row[-n:] - still.row0[-n:]
    return NextPart(still, same + np.outer(way, moves), SlidesAlong(t, jumps.texts[min(face)], True))


def at_rest_from_start(case: Case) -> Case | None:
    """The case that rests where it begins; None where it does not."""
    fixed, t = fixed_modes(case), case.t0
    values = fixed.conditions.values(point_of(case, t, case.row0), fixed.values)
    for which in fixed.ends:
        if not abs(values[which]) <= fixed.conditions.levels[which]:
            continue
        if fixed.conditions.levels[which] > 0:
            above, below = _sides(case, which, BESIDE)
            rates = [rate_of_guard(side, which, t, side.row0) * np.sign(case.t1 - t) for side in (above, below)]
            if rates[0] < 0 < rates[1]:
                return _resting(case, fixed.values, _face(case, which, t, case.row0), t, case.row0)
    return None


def landed_at_rest(case: Case) -> NextPart:
    """How a run begins that begins at rest, with ∂x⁺/∂(t, x, u, p): along the way that leads to the rest."""
    fixed, t, n = fixed_modes(case), case.t0, len(case.x0)
    jumps, which = fixed.conditions, fixed.rests[0]
    outside = case.going_on(jumps.system(fixed.values), t, case.x0, case.row0)
    near, far = (_sides(outside, which, BESIDE / share) for share in (1.0, NEARER))
    ways = []
    for k in range(2):
        close, wide = (sides[k].row0[-n:] - case.row0[-n:] for sides in (near, far))
        ways.append(np.where(np.abs(close) > STEEP * NEARER * np.abs(wide), close, 0.0))
    if not parallel(*ways):
        raise SolverError(
            f"The derivatives of {case.system.name!r} do not exist at its start.",
            f"it begins at rest where {jumps.texts[which]} changes, and is led there on two ways",
            because="a start beside it would leave other states changed by which side it is on.",
            remedy="a start beside the condition",
        )
    G = guard_slopes(near[0], event_of(near[0], which), t, near[0].row0)
    onto = np.concatenate([np.zeros((n, 1)), np.eye(n, len(G) - 1)], axis=1)
    onto -= np.outer(ways[0], G) / (G[1 : 1 + n] @ ways[0])
    return NextPart(case, onto, SlidesAlong(t, jumps.texts[min(fixed.rests)], True))


def resting_beside(jumps: JumpingConditions, modes: tuple[int, ...], faces: tuple[Face, ...], rests: Face) -> System:
    """The system that goes on resting where other conditions have changed."""
    found = jumps.resting(modes, rests)
    if faces or found is None:
        raise no_sliding(jumps.original, jumps.texts[rests[0]], "it rests there while it slides along another one")
    return found


def no_leaving(case: Case, t: float) -> SolverError:
    """Refuse derivatives behind a rest, in words."""
    text = fixed_modes(case).conditions.texts[fixed_modes(case).rests[0]]
    return SolverError(
        f"The derivatives of {case.system.name!r} do not go on where it leaves its rest.",
        f"at t = {t:.6g} it begins to move from where {text} changes",
        because="slopes are infinite there: how it leaves is not decided by derivatives at the rest.",
        remedy="a span that ends before it, or a law with finite slopes such as h / sqrt(h + 1e-6) for sqrt(h)",
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
            because="they were chosen for the states alone, which are smooth there, and not for their derivatives.",
            remedy='dd.sensitivities with by="variational", or a law with finite slopes such as p / sqrt(|p| + 1e-6)',
        )


def _face(case: Case, which: int, t: float, row: np.ndarray) -> Face:
    """The conditions of one surface, such as h > 0 and h < 0, the one asked for first."""
    fixed = fixed_modes(case)
    own = guard_slopes(case, event_of(case, which), t, row)
    steep = [k for k in fixed.ends if k != which and fixed.conditions.levels[k] > 0]
    return (which, *(k for k in steep if parallel(own, guard_slopes(case, event_of(case, k), t, row))))


def _sides(case: Case, which: int, levels: float) -> tuple[Case, Case]:
    """The cases that begin beside the surface of a condition instead, above and below."""
    t, row, modes = case.t0, case.row0, fixed_modes(case).values
    face, own = _face(case, which, t, row), guard_slopes(case, event_of(case, which), t, row)
    signs = {k: parallel(own, guard_slopes(case, event_of(case, k), t, row)) for k in face}
    above, below = (
        _beside(case, which, tuple(int(side * signs[k] > 0) if k in face else mode for k, mode in enumerate(modes)),
                side * levels, t, row)
        for side in (1, -1)
    )  # fmt: skip
    return above, below


def _beside(case: Case, which: int, modes: tuple[int, ...], levels: float, t: float, row: np.ndarray) -> Case:
    """The case with other modes, from so many levels above the surface of a condition."""
    jumps, n, nominal = fixed_modes(case).conditions, len(case.x0), case.system.nominal["x"]
    value = jumps.values(point_of(case, t, row), fixed_modes(case).values)[which]
    slope = guard_slopes(case, event_of(case, which), t, row)[1 : 1 + n] * nominal
    x = row[:n] + nominal * slope * ((levels * jumps.levels[which] - value) / (slope @ slope))
    return case.going_on(jumps.system(modes), t, x, np.concatenate([x, row[n:]]))


def _resting(case: Case, modes: tuple[int, ...], face: Face, t: float, row: np.ndarray) -> Case | None:
    """The case that rests on a surface, moved onto it the way that leads there; None where it would move on it."""
    fixed, n = fixed_modes(case), len(case.x0)
    jumps, which = fixed.conditions, face[0]
    system = resting_beside(jumps, modes, fixed.faces, face) if fixed.faces else jumps.resting(modes, face)
    if system is None or fixed.rests:
        raise no_sliding(case.system, jumps.texts[which], "it rests there while it rests on another one")
    still = case.going_on(system, t, row[:n], row)
    slope = guard_slopes(case, event_of(case, which), t, row)
    way = row[-n:] - still.row0[-n:]
    if abs(slope[0] + slope[1 : 1 + n] @ still.row0[-n:]) > MOVING * jumps.levels[which] / LEAVES:
        return None
    rate, value = slope[1 : 1 + n] @ way, jumps.values(point_of(case, t, row), modes)[which]
    return case.going_on(system, t, row[:n] - way * (value / rate) if rate else row[:n], row)
