"""Runs across conditions of their equations: they cross them, slide along them, and leave them.

Across a jump of the equations S⁺ = S + (f⁻ - f⁺) dτ/dθ, with τ the moment at which the condition changes. Where both
sides lead back to its surface f⁺ is the field along it: S is projected onto the surface along the difference of the two
fields, from whichever side it comes, and stays in it. Where the run leaves the surface f⁻ = f⁺ and S goes on as it is
(L. Dieci, L. Lopez, Fundamental matrix solutions of piecewise smooth differential systems, Mathematics and Computers in
Simulation 81, 2011; R. I. Leine, H. Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems, 2004).

Where slopes are infinite at a condition and both sides lead back to it, as √|h| at h = 0, a run rests there
(at_rest.py). Where steps are differentiated a corner, such as |v| at v = 0, ends a part too: a step across it would be
differentiated with some stages on one side and some on the other. There f⁻ = f⁺.
"""

from __future__ import annotations

from collections.abc import Collection

import casadi as ca
import numpy as np

from daedalus.differentiation.at_rest import (
    at_rest_from_start,
    beside_steep,
    landed_at_rest,
    no_leaving,
    resting_beside,
)
from daedalus.differentiation.case import Case
from daedalus.differentiation.events.jumping_conditions import (
    ZERO,
    Face,
    FixedModes,
    JumpingConditions,
    across_faces,
    jumping_conditions,
)
from daedalus.differentiation.events.mode_guards import (
    event_of,
    fixed_modes,
    guard_slopes,
    own_events,
    parallel,
    point_of,
    rate_of_guard,
    time_slopes,
)
from daedalus.differentiation.events.sliding_equations import no_sliding
from daedalus.differentiation.next_part import NextPart
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import find_plant
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_derivatives import EquationsJump
from daedalus.simulation.result.records_on_the_way import SlidesAlong
from daedalus.simulation.sliding.slide import BEYOND, LEAVES

# -- which equations hold ----------------------------------------------------------------------------------------


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
    modes = jumps.modes_at(point_of(case, case.t0, case.row0), None, case.t1 - case.t0)
    first = case.going_on(jumps.system(modes), case.t0, case.x0)
    behind = _on_surfaces(first, ())[0]
    first = first if behind == modes else case.going_on(jumps.system(behind), case.t0, case.x0)
    return at_rest_from_start(first) or first


def is_corner(case: Case, event: int) -> bool:
    """Whether the equations only bend at an event, or end a stay on a surface: no share in first derivatives."""
    found, number = case.system.part(FixedModes), event - own_events(case)
    if found is None or number < 0:
        return False
    return number >= len(found.ends) or found.conditions.corners[found.ends[number]]


def _settled(
    case: Case, jumps: JumpingConditions, modes: tuple[int, ...], faces: tuple[Face, ...], t: float, row: np.ndarray
) -> Case:
    """The case behind t along some surfaces, without those that it is led off from at once."""
    n, rests = len(case.x0), fixed_modes(case).rests
    while True:
        system = jumps.sliding(modes, faces, point_of(case, t, row))
        if rests:
            system = resting_beside(jumps, modes, faces, rests)
        if case.has_formulas and not isinstance(find_plant(system), ExplicitPlant):
            raise no_sliding(system, jumps.texts[faces[-1][0]], "the rates along it have no formulas")
        following = case.going_on(system, t, row[:n], row)
        if not faces:
            return following
        shares = once(system, _shares, len(faces))(*point_of(following, t, following.row0)).full().ravel()
        beyond = np.maximum(-shares, shares - 1)
        worst = int(np.argmax(beyond))
        if beyond[worst] <= BEYOND:
            return following
        if shares[worst] > 1:
            modes = across_faces(modes, (faces[worst],))
        faces = faces[:worst] + faces[worst + 1 :]


def _shares(system: System, faces: int) -> ca.Function:
    """The shares of the far sides, of (t, x', x, z, u, p)."""
    arguments = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    first = int(system.guards.numel()) - 2 * faces
    return ca.Function("shares", arguments, [system.guards[first::2]])


# -- the end of a part -------------------------------------------------------------------------------------------


def behind_condition(case: Case, event: int, t: float, row: np.ndarray) -> NextPart:
    """What follows where a condition changed or a stay on a surface ended, at the row (x, or (x, z, x')) there."""
    n, fixed, number = len(case.x0), fixed_modes(case), event - own_events(case)
    whole = case.row_at(t, row[:n]) if case.has_formulas else row
    if number < len(fixed.ends) and fixed.conditions.levels[fixed.ends[number]] > 0:
        return beside_steep(case, fixed.ends[number], t, whole)
    if number < len(fixed.ends):
        return _turned(case, fixed, fixed.ends[number], t, whole)
    if fixed.rests:
        raise no_leaving(case, t)
    face = fixed.faces[(number - len(fixed.ends)) // 2]
    far = (number - len(fixed.ends)) % 2
    modes = across_faces(fixed.values, (face,)) if far else fixed.values
    left = tuple(other for other in fixed.faces if other != face)
    following = _beside(_settled(case, fixed.conditions, modes, left, t, whole), face[0], modes[face[0]])
    return NextPart(following, np.eye(n, n + case.system.sizes["u"] + len(case.p)), None)


def _beside(case: Case, condition: int, mode: int) -> Case:
    """The case from just beside the surface of a condition, on the side of a mode: on it rounding decides about it."""
    if condition not in fixed_modes(case).ends:
        return case
    t, n, row, nominal = case.t0, len(case.x0), case.row0, case.system.nominal["x"]
    value = fixed_modes(case).conditions.values(point_of(case, t, row), fixed_modes(case).values)[condition]
    slope = guard_slopes(case, event_of(case, condition), t, row)[1 : 1 + n] * nominal
    steep = float(slope @ slope)
    if not steep:
        return case
    wanted = (2 * mode - 1) * LEAVES * float(np.abs(slope).max())
    x = row[:n] + nominal * slope * ((wanted - value) / steep)
    return case.going_on(case.system, t, x, np.concatenate([x, row[n:]]))


def _turned(case: Case, fixed: FixedModes, which: int, t: float, row: np.ndarray) -> NextPart:
    """Across a condition, or along it where both sides lead back."""
    jumps, modes, n = fixed.conditions, fixed.values, len(case.x0)
    held = {k for face in fixed.faces for k in face}
    turned = tuple(1 - mode if k == which else mode for k, mode in enumerate(modes))
    # Conditions on the same quantity, such as v > 0 and v < 0, change together.
    found = jumps.modes_at(point_of(case, t, row), turned, case.t1 - case.t0)
    found = _moved_by_unknowns(case, found, t, row)
    turned = tuple(turned[k] if k == which or k in held else found[k] for k in range(len(turned)))
    following = _settled(case, jumps, turned, fixed.faces, t, row)
    # Where a corner and a jump meet the jump counts.
    changed = [k for k in range(len(modes)) if turned[k] != modes[k] and not jumps.corners[k]]
    which = which if which in changed or not changed else changed[0]
    if jumps.corners[which]:
        return NextPart(following, np.eye(n, n + case.system.sizes["u"] + len(case.p)), None)
    moves = {k: time_slopes(case, event_of(case, k), t, row) for k in changed}
    same = [k for k in changed if np.allclose(moves[which], moves[k], rtol=1e-6)]
    record: Record = EquationsJump(t, jumps.texts[which], tuple(jumps.texts[k] for k in changed if k not in same))
    leaves = rate_of_guard(following, which, t, following.row0) * (2 * turned[which] - 1)
    if leaves * np.sign(case.t1 - t) < 0:
        face = (which, *(k for k in same if k != which))
        near = tuple(modes[k] if k in face else turned[k] for k in range(len(modes)))
        following = _settled(case, jumps, near, (*fixed.faces, face), t, row)
        record = SlidesAlong(t, jumps.texts[which])
    slopes = np.eye(n, len(moves[which])) + np.outer(row[-n:] - following.row0[-n:], moves[which])
    return NextPart(following, slopes, record)


def _moved_by_unknowns(case: Case, modes: tuple[int, ...], t: float, row: np.ndarray) -> tuple[int, ...]:
    """Modes at a point of a run, those anew whose guards are at zero and move with algebraic variables."""
    fixed, found, n = fixed_modes(case), list(modes), len(case.x0)
    jumps = fixed.conditions
    values = jumps.values(point_of(case, t, row), modes)
    for k in fixed.ends:
        if jumps.of_unknowns[k]:
            slope = guard_slopes(case, event_of(case, k), t, row)
            moves = (slope[0] + slope[1 : 1 + n] @ row[-n:]) * (case.t1 - case.t0)
            found[k] = int(moves > 0) if abs(values[k]) <= ZERO * abs(moves) else found[k]
    return tuple(found)


# -- a start on surfaces -----------------------------------------------------------------------------------------


def landed(case: Case) -> NextPart | None:
    """How a run begins that begins on a surface which both sides lead back to; None where it does not."""
    found = landing(case)
    return None if found is None else found._replace(slopes=found.slopes[:, 1:])


def landing(case: Case, known: Collection[int] = ()) -> NextPart | None:
    """The same with ∂x⁺/∂(t, x, u, p), for a start that moves in time.

    known: conditions on whose surfaces it is, whatever rounding says.
    """
    if case.system.part(FixedModes) is None:
        return None
    if fixed_modes(case).rests:
        return landed_at_rest(case)
    jumps, t, n = fixed_modes(case).conditions, case.t0, len(case.x0)
    modes, faces = _on_surfaces(case, known)
    if not faces:
        return None
    near = case.going_on(jumps.system(modes), t, case.x0, case.row0)
    following = _settled(near, jumps, modes, faces, t, near.row0)
    if fixed_modes(following).faces != faces:
        return None
    fields = [near.going_on(jumps.system(across_faces(modes, (face,))), t, case.x0).row0[-n:] for face in faces]
    D = np.array(fields).T - near.row0[-n:, None]
    G = np.array([guard_slopes(near, event_of(near, face[0]), t, near.row0) for face in faces])
    onto = np.eye(n, G.shape[1] - 1)
    onto = np.concatenate([np.zeros((n, 1)), onto], axis=1) - D @ np.linalg.solve(G[:, 1 : 1 + n] @ D, G)
    return NextPart(following, onto, SlidesAlong(t, jumps.texts[faces[-1][0]]))


def kept_surfaces(case: Case, t: float, row: np.ndarray, following: Case) -> tuple[int, ...]:
    """The conditions that a run slid along before an instant, and that nothing has carried it off from."""
    fixed = fixed_modes(case)
    before = fixed.conditions.values(point_of(case, t, row), fixed.values)
    after = fixed.conditions.values(point_of(following, t, following.row0), fixed.values)
    scale = ZERO * np.maximum(1.0, np.abs(before))
    return tuple(k for face in fixed.faces for k in face if abs(after[k] - before[k]) <= scale[k])


def _on_surfaces(case: Case, known: Collection[int]) -> tuple[tuple[int, ...], tuple[Face, ...]]:
    """The modes at the start of a case, and the surfaces that it begins to slide along."""
    fixed, t = fixed_modes(case), case.t0
    jumps, modes, faces = fixed.conditions, fixed.values, list[Face]()
    values = jumps.values(point_of(case, t, case.row0), modes)
    slopes = {k: guard_slopes(case, event_of(case, k), t, case.row0) for k in fixed.ends if not jumps.corners[k]}
    slopes = {k: slope for k, slope in slopes.items() if k in known or _at_zero(case, values[k], slope)}
    while slopes:
        first = next(iter(slopes))
        signs = {k: parallel(slopes[first], slope) for k, slope in slopes.items()}
        face = (first, *(k for k, sign in signs.items() if sign and k != first))
        signs[first] = 1.0
        slopes = {k: slope for k, slope in slopes.items() if k not in face}
        above, below = (
            tuple(int(side * signs[k] > 0) if k in face else mode for k, mode in enumerate(modes)) for side in (1, -1)
        )
        rates = [
            rate_of_guard(other, first, t, other.row0) * np.sign(case.t1 - t)
            for other in (case.going_on(jumps.system(side), t, case.x0) for side in (above, below))
        ]
        if rates[0] < 0 < rates[1]:
            faces.append(face)
            modes = above
        elif rates[0] * rates[1] > 0:
            modes = above if rates[0] > 0 else below
    return modes, tuple(faces)


def _at_zero(case: Case, value: float, slope: np.ndarray) -> bool:
    """Whether a guard is zero beside what it usually is, and what it changes by along the run."""
    n = len(case.x0)
    usual = np.abs(slope[1 : 1 + n]) @ case.system.nominal["x"]
    moves = slope[0] + slope[1 : 1 + n] @ case.row0[-n:]
    return bool(abs(value) <= ZERO * (usual + abs(moves * (case.t1 - case.t0))))
