"""Rules of a run: where both branches of a condition lead back to it the run slides along, and leaves where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import BESIDE
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.analysis.structure.written_structure import variable_index
from daedalus.errors import DaedalusError, InputError
from daedalus.integrators.methods import is_implicit
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.switches import switches_of
from daedalus.simulation.plant.plants import find_plant
from daedalus.simulation.plant.solvable import of_index_1
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.records_on_the_way import SlidesAlong
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.method_choice import implicit_choice
from daedalus.simulation.run.pieces import Next
from daedalus.simulation.run.road import Piece
from daedalus.simulation.run.settings import settings_for
from daedalus.simulation.sliding.bend import bend_of
from daedalus.simulation.sliding.rest import LEAVES, WITHIN, leads_to_rest, rate_beside, resting_places
from daedalus.simulation.sliding.sliding_system import (
    OFF_SURFACE,
    Sliding,
    Stay,
    levels_of,
    resting_system,
    sliding_along,
    sliding_system,
    staying,
)
from daedalus.simulation.sliding.solved_slopes import Undetermined, slopes_of
from daedalus.simulation.sliding.surface import (
    Surface,
    condition_like,
    conditions_at_zero,
    conditions_within,
    moved_onto,
)
from daedalus.simulation.sliding.surfaces_together import SLIDES, NotDecided, PlaceOnSurfaces, met_together

# The jump on a surface is at least this share of the fields beside it, else the equations are continuous there.
JUMPS = 1e-3
# Pieces of fewer steps than this lead nowhere.
FEWEST_STEPS = 3
# So many events end a stay on a surface: it goes below, above, or is carried off.
LEAVING, CARRIED_OFF = 3, 2


def slide_along(first: Piece, done: Trajectory) -> Next:
    """The rest of a run that met a condition whose branches both lead back to it."""
    run = done._source
    if done.status is not Ending.CHATTERING or not hasattr(run, "last_turned") or run.last_turned < 0:
        return None
    system, which, t = done.system, int(run.last_turned), float(run.stop_time)
    if done._plant.is_implicit and variable_index(system).largest > 1:
        return _with_index_reduced(first, done, t)
    if (stays := _stays(first, done, t)) is not None:
        return stays
    surface = once(system, Surface, which)
    if not surface.is_of_states or _moves_by_table(done, surface):
        return None
    below = system.part(Sliding)
    if below is not None and below.rests:
        return _rests_too(first, done, t, which) or _too_many(t, surface.condition)
    base = system if below is None else below.base
    try:
        met = _met_at(done, base, t, [surface])
        if len(met) > 1:
            rest = _rests_on_several(first, done, t, met) if below is None else None
            return rest or _together(first, done, base, t, met, {})
    except (NotDecided, Undetermined):
        return _too_many(t, surface.condition) if below is not None else None
    # Of the conditions that change there, as those of a sign do, the first one names it, as at a start.
    return _alone(first, done, t, min(met) if below is None else which)


def _with_index_reduced(first: Piece, done: Trajectory, t: float) -> Piece | None:
    """The rest of a run of higher index with the index reduced: shares of sides are found where x' and z follow from x.

    None where the reduction has other states or parameters.
    """
    try:
        reduced = of_index_1(done.system)
        same = reduced.labels["p"] == done.system.labels["p"] and reduced.labels["u"] == done.system.labels["u"]
        if not same or not set(reduced.labels["x"]) <= {*done.system.labels["x"], *done.system.labels["xdot"]}:
            return None
        return _piece(first, done, reduced, t, np.array([float(done.end[name]) for name in reduced.labels["x"]]), None)
    except (DaedalusError, Undetermined):
        return None


def _met_at(done: Trajectory, base: System, t: float, also: Sequence[Surface]) -> set[int]:
    """The surfaces that a run is on, by the first of their conditions among those of the system without sliding."""
    held = [condition_like(base, level.guard) for level in (*levels_of(done.system), *also)]
    x = np.array(done._source.end)[done._plant.row_parts["x"]]
    near = conditions_at_zero(base, t, x, done._drive.at_time(t), done._parameters)
    return {*held, *(k for k in near if once(base, Surface, k).is_of_states)}


def _together(first: Piece, done: Trajectory, base: System, t: float, met: set[int], leaves: dict[int, float]) -> Piece:
    """The rest of a run that is on several surfaces; leaves: the sides that it is on its way to, for some of them."""
    u, p, surfaces = done._drive.at_time(t), done._parameters, tuple(sorted(met))
    levels = levels_of(sliding_along(base, surfaces))
    nears = [_known(level.system, done) if level.of_unknowns else None for level in levels]
    x = np.array(done._source.end)[done._plant.row_parts["x"]]
    x = moved_onto(levels, np.zeros(len(levels)), t, x, u, p, nears)
    guess = [leaves.get(k, SLIDES) for k in surfaces]
    found = met_together(base, surfaces, PlaceOnSurfaces(t, x, u, p, _known(base, done)), guess)
    sides = np.array([0.0 if mode == SLIDES else LEAVES * (2 * mode - 1) for mode in found.modes])
    kept = tuple(k for k, mode in zip(surfaces, found.modes) if mode == SLIDES)
    if sides.any():
        x = moved_onto(levels, sides, t, x, u, p, nears)
    return _piece(first, done, sliding_along(base, kept, _off(first)), t, x, found.y if kept == surfaces else None)


def _rests_too(first: Piece, done: Trajectory, t: float, which: int) -> Piece | None:
    """The rest of a run that rests on one surface and comes to rest on another one, as tanks run empty one by one."""
    surface, u, p = once(done.system, Surface, which), done._drive.at_time(t), done._parameters
    if surface.of_unknowns:
        return None
    try:
        x = surface.nearest(t, np.array(done._source.end)[done._plant.row_parts["x"]], u, p)
        rest = (
            once(done.system, resting_system, which, _off(first)) if leads_to_rest(surface, t, x, u, p, None) else None
        )
    except Undetermined:
        return None
    return None if rest is None else _piece(first, done, rest, t, x, None)


def _rests_on_several(first: Piece, done: Trajectory, t: float, met: set[int]) -> Piece | None:
    """The rest of a run that comes to rest on some of the surfaces that it has met at once."""
    u, p, system = done._drive.at_time(t), done._parameters, done.system
    x = np.array(done._source.end)[done._plant.row_parts["x"]]
    for k in sorted(met):
        surface = once(done.system, Surface, k)
        if surface.of_unknowns:
            continue
        on = surface.nearest(t, x, u, p)
        if not leads_to_rest(surface, t, on, u, p, None):
            continue
        rest = once(system, resting_system, condition_like(system, surface.guard), _off(first))
        if rest is not None:
            system, x = rest, on
    return None if system is done.system else _piece(first, done, system, t, x, None)


def _alone(first: Piece, done: Trajectory, t: float, which: int) -> Next:
    """The rest of a run that met one surface."""
    system, surface = done.system, once(done.system, Surface, which)
    u, p = done._drive.at_time(t), done._parameters
    near = _known(system, done) if surface.of_unknowns else None
    try:
        x = surface.nearest(t, np.array(done._source.end)[done._plant.row_parts["x"]], u, p, near)
    except Undetermined:
        return None
    beside = [rate_beside(surface, away, t, x, u, p, near) for away in (BESIDE, -BESIDE)]
    pull, y = _started(system, which, t, x, u, p, _known(system, done))
    if pull < -JUMPS * max(abs(rate) for rate in beside):
        return _piece(first, done, once(system, sliding_system, which, _off(first)), t, x, y)
    if leads_to_rest(surface, t, x, u, p, near):
        rest = once(system, resting_system, which, _off(first))
        return None if rest is None else _piece(first, done, rest, t, x, None)
    # Nothing jumps here: the run crosses the surface, or comes near to it smoothly.
    crosses = beside[0] * beside[1] > 0 or done.work.steps >= FEWEST_STEPS
    return _gone_on(first, done, t) if crosses else None


def _stays(first: Piece, done: Trajectory, t: float) -> Piece | None:
    """The rest of a run whose turns on a surface have become endlessly short: the guard and its rate stay zero."""
    system, found = done.system, switches_of(done.system)
    if found is None or system.part(Sliding) is not None:
        return None
    end, u, p = np.array(done._source.end)[done._plant.row_parts["x"]], done._drive.at_time(t), done._parameters
    within = WITHIN * sizes_at(first, end)
    for which in conditions_within(system, t, end, u, p, within):
        bend = once(system, bend_of, which)
        if bend is None or _moves_by_table(done, bend.surface):
            continue
        if bend.has_settled(t, end, u, p, within):
            x = bend.nearest(t, end, u, p, within)
            return _piece(first, done, staying(system, which, Stay.SECOND_ORDER, _off(first)), t, x, None)
    return None


def _off(first: Piece) -> float:
    """How far a run may be off its surface: by errors of its steps, along surfaces that move."""
    return max(OFF_SURFACE, WITHIN * first.road.request.rtol)


def sizes_at(first: Piece, x: np.ndarray) -> np.ndarray:
    """The tolerances of a run at a state."""
    atol = np.atleast_1d(first.settings.call["atol"])[: len(x)]  # states come first in the rows of every method
    return np.asarray(first.road.request.rtol * np.abs(x) + atol)


def come_to_rest(first: Piece, done: Trajectory) -> Next:
    """The rest of a run that could not be solved where, to its tolerance, both sides lead to an infinite slope.

    Explicit steps cross the condition to and fro there; in implicit ones the matrix of the step is infinite.
    """
    system, found = done.system, switches_of(done.system)
    unsolved = done.status.is_unsolved or done.status is Ending.NOT_FINITE
    below = system.part(Sliding)
    if found is None or not unsolved or (below is not None and not below.rests):
        return None
    t, end = float(done.end.time), np.array(done._source.end)[done._plant.row_parts["x"]]
    if (stays := _stays(first, done, t)) is not None:
        return stays
    u, p = done._drive.at_time(t), done._parameters
    within = WITHIN * sizes_at(first, end)
    for which in range(found.count):
        surface = once(system, Surface, which)
        if not surface.is_of_states or surface.of_unknowns or _moves_by_table(done, surface):
            continue
        x = surface.nearest(t, end, u, p)
        rest = once(system, resting_system, which, _off(first)) if np.all(np.abs(x - end) <= within) else None
        if rest is not None and leads_to_rest(surface, t, x, u, p, None):
            return _piece(first, done, rest, t, x, None)
    return None


def leave_surface(first: Piece, done: Trajectory) -> Next:
    """The rest of a run that has come to the end of a surface."""
    sliding, events = done.system.part(Sliding), done.outcome.events
    if sliding is None or done.status is not Ending.EVENT or not events:
        return None
    if done.system.events[events[-1][0]].purpose is not EventPurpose.LEAVES_SURFACE:
        return None
    t, x = float(done.end.time), np.array(done._source.end)[done._plant.row_parts["x"]]
    if sliding.stay is Stay.SECOND_ORDER:
        return _no_longer_stays(first, done, sliding, t, x)
    face, which = divmod(events[-1][0] - len(done.system.events) + LEAVING * sliding.depth, LEAVING)
    base, level = sliding.base, levels_of(done.system)[face]
    try:
        if sliding.rests and sliding.depth > 1:
            return _resting_on_others(first, done, base, t, x, face)
        met, left = (_met_at(done, base, t, []), condition_like(base, level.guard)) if not sliding.rests else ({0}, 0)
        if len(met) == 1:
            return _piece(first, done, sliding.outside, t, _beside(done, sliding, which, t, x), None)
        if which == CARRIED_OFF:
            return _together(first, done, base, t, met - {left}, {})
        ordered = tuple(sorted(met))
        own = levels_of(sliding_along(base, ordered))[ordered.index(left)]
        side = float(1 - which if own.opposes(level) else which)
        return _together(first, done, base, t, met, {left: side})
    except (NotDecided, Undetermined):
        return _too_many(t, level.condition)


def _no_longer_stays(first: Piece, done: Trajectory, sliding: Sliding, t: float, x: np.ndarray) -> Piece | Stop:
    """The rest of a run whose guard and its rate have stayed zero until their bend leads to one side."""
    behind_own = done.outcome.events[-1][0] - len(sliding.outside.events)
    side = {0: -1.0, 1: 1.0}.get(behind_own)
    bend = once(sliding.outside, bend_of, sliding.which)
    assert bend is not None
    if side is not None:
        beside = bend.beside(side, t, x, done._drive.at_time(t), done._parameters, sizes_at(first, x))
        if beside is None:
            return _leaves_along_roots(t, sliding.condition)
        x = beside
    return _piece(first, done, sliding.outside, t, x, None)


def _resting_on_others(first: Piece, done: Trajectory, base: System, t: float, x: np.ndarray, face: int) -> Piece:
    """The rest of a run that leaves one of the surfaces that it rests on."""
    levels, u, p = levels_of(done.system), done._drive.at_time(t), done._parameters
    side = float(np.sign(levels[face].rate(t, slopes_of(done.system).at(t, x, u, p), x, u, p)))
    system = base
    for k, level in enumerate(levels):
        if k != face:
            rest = once(system, resting_system, condition_like(system, level.guard), _off(first))
            if rest is None:
                raise Undetermined
            system = rest
    x = levels[face].moved(side * LEAVES, t, x, u, p, None) if side else x
    return _piece(first, done, system, t, x, None)


def _beside(done: Trajectory, sliding: Sliding, which: int, t: float, x: np.ndarray) -> np.ndarray:
    """A state just beside the surface, to the side that a run leaves to: on it rounding decides or slopes are infinite.

    which: of the events that end a stay on a surface.
    """
    surface = once(sliding.outside, Surface, sliding.which)
    u, p = done._drive.at_time(t), done._parameters
    if sliding.rests:
        side = float(np.sign(surface.rate(t, slopes_of(done.system).at(t, x, u, p), x, u, p)))
    else:
        side = (-1.0, 1.0, 0.0)[which]
    if not side:
        return x
    near = _known(sliding.outside, done) if surface.of_unknowns else None
    if not sliding.rests:
        x = surface.nearest(t, x, u, p, near)
    return surface.moved(side * LEAVES, t, x, u, p, near)


def _moves_by_table(done: Trajectory, surface: Surface) -> bool:
    """Whether an input moves the surface by a table with slopes or a Python function, which no equation knows."""
    u, drive = done.system.symbol("u"), done._drive
    read = surface.guard
    if surface.of_unknowns:
        read = ca.vertcat(read, done.system.residual[structure_of(done.system).rows_without("xdot")])
    moving = [slot for table, slots in drive.tables if table.kind != "hold" for slot in slots]
    moving += [slot for _, slots in drive.callbacks for slot in slots]
    return any(ca.depends_on(read, u[int(k)]) for k in moving)


def _started(
    system: System, which: int, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, near: np.ndarray
) -> tuple[float, np.ndarray | None]:
    """How much the share lowers the rate of the guard, negative where both sides lead onto the surface; and x', z."""
    try:
        met = met_together(system, (which,), PlaceOnSurfaces(t, x, u, p, near), (SLIDES,))
    except (NotDecided, Undetermined):
        return 0.0, None
    return (float(met.response[0, 0]), met.y) if met.modes == (SLIDES,) else (0.0, None)


def _piece(first: Piece, done: Trajectory, system: System, t: float, x: np.ndarray, y: np.ndarray | None) -> Piece:
    """A piece that runs another system from a state on, by the method of the run where that fits."""
    request = first.road.request
    method, why = (done.method if done._plant.is_implicit else request.method), None
    if not is_implicit(method) and isinstance(find_plant(system), NoForm):
        method, why = implicit_choice(system, "shares of several surfaces are not linear", request.rtol)
    try:
        settings = settings_for(request, system, method)
    except InputError:  # the rate of the surface stands before derivatives, and not every method takes that
        method, why = implicit_choice(system, "the surface moves with derivatives", request.rtol)
        settings = settings_for(request, system, method)
    sliding, before = system.part(Sliding), {level.condition for level in levels_of(done.system)}
    if sliding is not None and system is not done.system:
        new = [level.condition for level in levels_of(system) if level.condition not in before]
        told = [SlidesAlong(t, condition, sliding.rests, sliding.stay is Stay.SECOND_ORDER) for condition in new]
        settings = replace(settings, notes=(*settings.notes, *told))
    row = x
    if settings.plant.is_implicit:
        if y is None:
            y = slopes_of(system).at(t, x, done._drive.at_time(t), done._parameters, _known(system, done))
        n = system.sizes["x"]
        row = np.concatenate([x, y[n:], y[:n]])
    return first.behind(done, settings, t, row, why)


def _gone_on(first: Piece, done: Trajectory, t: float) -> Piece:
    """A piece that goes on with the same system from the row where it was stopped."""
    method = done.method if done._plant.is_implicit else first.road.request.method
    settings = settings_for(first.road.request, done.system, method)
    row = np.array(done._source.end)[: done._plant.row_width]
    return first.behind(done, settings, t, row)


def _known(system: System, done: Trajectory) -> np.ndarray:
    """x' and z of a piece at its end, for a system with the same names."""
    end = done.end
    names = [*system.labels["xdot"], *system.labels["z"]]
    return np.array([float(end[name]) if name in end else 0.0 for name in names])


def _too_many(t: float, condition: str) -> Stop:
    what = f"several conditions switch to and fro together at {time_text(t)}, {condition} among them"
    fact = "how it goes on from there is not determined by their branches"
    return _no_way_on(
        t, condition, what, fact, "m.friction for what sticks, or a smooth law in the place of one of them"
    )


def _leaves_along_roots(t: float, condition: str) -> Stop:
    what = f"it no longer stays where {condition} changes from {time_text(t)} on"
    remedy = "more gain, or a root with finite slopes such as h / sqrt(abs(h) + 1e-9) for sqrt(abs(h)) * sign(h)"
    return _no_way_on(t, condition, what, "slopes are infinite there, and no step leads off it", remedy)


def _no_way_on(t: float, condition: str, what: str, fact: str, remedy: str) -> Stop:
    return Stop(Ending.CHATTERING, t, what, (fact,), remedy, condition=condition, obstacle=Obstacle.SLIDING)


def begun_on_surfaces(first: Piece) -> Piece:
    """The first piece of a run, staying where it begins on conditions that it is led back to.

    Infinite slopes lead to a rest, fields that jump to a motion along the surface, and endlessly short turns to a stay
    of second order. Nothing changes there, so that no event of the run tells of it.
    """
    settings, t, p, x = first.settings, first.begin, first.parameters, first.row
    system = settings.plant.system
    if settings.switches is None or settings.plant.is_implicit:
        return first
    u, places = first.drive.at_time(t), resting_places(system)
    zero = conditions_at_zero(system, t, x, u, p)
    for which in zero:
        surface = once(system, Surface, which)
        rests = which in places and surface.is_of_states and not surface.of_unknowns
        stays = None
        if rests and leads_to_rest(surface, t, x, u, p, None):
            stays = once(system, resting_system, which, _off(first))
        if stays is None and begins_with_second_order(system, which, t, x, u, p):
            stays = staying(system, which, Stay.SECOND_ORDER, _off(first))
        if stays is not None and not isinstance(find_plant(stays), NoForm):
            return first.with_settings(settings_for(first.road.request, stays, settings.method))
    slides = sliding_along(system, _slid_along(system, zero, t, x, u, p), _off(first))
    if slides is system or isinstance(find_plant(slides), NoForm):
        return first
    return first.with_settings(settings_for(first.road.request, slides, settings.method))


def _slid_along(
    system: System, zero: Sequence[int], t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray
) -> tuple[int, ...]:
    """Of conditions that are zero at a state those along which a run slides on; none unless all are clear."""
    near = np.zeros(len(x) + system.sizes["z"])
    place, jumping = PlaceOnSurfaces(t, x, u, p, near), list[int]()
    for which in zero:
        surface = once(system, Surface, which)
        if not surface.is_of_states or surface.of_unknowns:
            return ()
        if _started(system, which, t, x, u, p, near)[0] < 0:
            jumping.append(which)
    try:
        met = met_together(system, tuple(jumping), place, [SLIDES] * len(jumping)) if jumping else None
    except (NotDecided, Undetermined):
        return ()
    return tuple(jumping) if met is not None and set(met.modes) == {SLIDES} else ()


def begins_with_second_order(system: System, which: int, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> bool:
    """Whether a guard and its rate are zero at a state, to rounding, and bend back from both sides."""
    bend = once(system, bend_of, which) if system.part(Sliding) is None else None
    return bend is not None and bend.is_zero(t, x, u, p) and bend.pull(t, x, u, p) > 0
