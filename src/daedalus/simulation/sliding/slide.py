"""Rules of a run: where both branches of a condition lead back to it the run slides along, and leaves where it ends."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import InputError
from daedalus.integrators.methods import is_implicit
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.switches import switches_of
from daedalus.simulation.plant.plants import find_plant
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.records_of_methods import choice_of
from daedalus.simulation.result.records_on_the_way import SlidesAlong
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.method_choice import implicit_choice
from daedalus.simulation.run.pieces import Next, Piece
from daedalus.simulation.run.road import Road
from daedalus.simulation.run.settings import settings_for
from daedalus.simulation.sliding.sliding_system import (
    MOST_SURFACES,
    Sliding,
    resting_system,
    sliding_system,
    vanishes,
)
from daedalus.simulation.sliding.solved_slopes import Undetermined, slopes_of, solved
from daedalus.simulation.sliding.surface import Surface

# A share may be out of 0 … 1 by this. Fields are looked at this far beside a surface, in nominal values; the jump on
# the surface is at least this share of them, else the equations are continuous there.
BEYOND, BESIDE, JUMPS = 1e-7, 1e-6, 1e-3
# So much nearer to the surface a rate falls by as much where the equations are smooth, and by a tenth of that at most
# where their slopes are infinite.
NEARER, STEEP = 1e-4, 10.0
# Not nearer than so many spacings of the state; and a surface that is this many tolerances away is met.
RESOLVED, WITHIN = 64.0, 10.0
# Pieces of fewer steps than this lead nowhere.
FEWEST_STEPS = 3
# Where a run has been on a surface it goes on this far beside it. So many events end a stay on one.
LEAVES, LEAVING = 1e-12, 3


def slide_along(road: Road, first: Piece, done: Trajectory) -> Next:
    """The rest of a run that met a condition whose branches both lead back to it."""
    run = done._source
    if done.status is not Ending.CHATTERING or not hasattr(run, "last_turned") or run.last_turned < 0:
        return None
    system, which, t = done.system, int(run.last_turned), float(run.stop_time)
    surface = once(system, Surface, which)
    if not surface.is_of_states or _moves_by_table(done, surface):
        return None
    below = system.part(Sliding)
    if below is not None and (below.depth >= MOST_SURFACES or below.rests):
        return _too_many(t, surface.condition)
    u, p = done._drive.at_time(t), done._parameters
    near = _known(system, done) if surface.of_unknowns else None
    try:
        x = surface.nearest(t, np.array(run.end)[done._plant.row_parts["x"]], u, p, near)
    except Undetermined:
        return None
    beside = [_rate_beside(surface, away, t, x, u, p, near) for away in (BESIDE, -BESIDE)]
    pull, y = _started(once(system, sliding_system, which), t, x, u, p, near)
    if pull < -JUMPS * max(abs(rate) for rate in beside):
        return _piece(road, done, once(system, sliding_system, which), t, x, y)
    if _leads_to_rest(surface, t, x, u, p, near):
        rest = once(system, resting_system, which)
        return None if rest is None else _piece(road, done, rest, t, x, None)
    # Nothing jumps here: the run crosses the surface, or comes near to it smoothly.
    crosses = beside[0] * beside[1] > 0 or done.work.steps >= FEWEST_STEPS
    return _gone_on(road, done, t) if crosses else None


def come_to_rest(road: Road, first: Piece, done: Trajectory) -> Next:
    """The rest of a run that could not be solved where, to its tolerance, both sides lead to an infinite slope.

    Explicit steps cross the condition to and fro there; in implicit ones the matrix of the step is infinite.
    """
    system, found = done.system, switches_of(done.system)
    unsolved = done.status.is_unsolved or done.status is Ending.NOT_FINITE
    if found is None or not unsolved or system.part(Sliding) is not None:
        return None
    t, end = float(done.end.time), np.array(done._source.end)[done._plant.row_parts["x"]]
    u, p = done._drive.at_time(t), done._parameters
    atol = np.broadcast_to(first.settings.call["atol"], done._plant.row_width)[done._plant.row_parts["x"]]
    within = WITHIN * (road.request.rtol * np.abs(end) + atol)
    for which in range(found.count):
        surface = once(system, Surface, which)
        if not surface.is_of_states or surface.of_unknowns or _moves_by_table(done, surface):
            continue
        x = surface.nearest(t, end, u, p)
        rest = once(system, resting_system, which) if np.all(np.abs(x - end) <= within) else None
        if rest is not None and _leads_to_rest(surface, t, x, u, p, None):
            return _piece(road, done, rest, t, x, None)
    return None


def _leads_to_rest(
    surface: Surface, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, near: np.ndarray | None
) -> bool:
    """Whether a surface is led to from both sides with slopes that are infinite on it."""
    nearer = max(
        NEARER, RESOLVED * float(np.max(np.spacing(np.abs(x)) / surface.system.nominal["x"], initial=0.0)) / BESIDE
    )
    above, below = (_rate_beside(surface, away, t, x, u, p, near) for away in (BESIDE, -BESIDE))
    closer = [abs(_rate_beside(surface, nearer * away, t, x, u, p, near)) for away in (BESIDE, -BESIDE)]
    return above < 0 < below and closer[0] > STEEP * nearer * abs(above) and closer[1] > STEEP * nearer * abs(below)


def leave_surface(road: Road, first: Piece, done: Trajectory) -> Next:
    """The rest of a run that has come to the end of a surface."""
    sliding, events = done.system.part(Sliding), done.outcome.events
    if sliding is None or done.status is not Ending.EVENT or not events:
        return None
    if done.system.events[events[-1][0]].purpose is not EventPurpose.LEAVES_SURFACE:
        return None
    t, x = float(done.end.time), np.array(done._source.end)[done._plant.row_parts["x"]]
    face, which = divmod(events[-1][0] - len(done.system.events) + LEAVING * sliding.depth, LEAVING)
    if face == sliding.depth - 1:
        return _piece(road, done, sliding.outside, t, _beside(done, sliding, which, t, x), None)
    # It stays on the surface that it came to last, and leaves the one below it.
    below = sliding.outside.part(Sliding)
    assert below is not None
    kept = once(below.outside, sliding_system, _condition_outside(sliding, below))
    return _piece(road, done, kept, t, _beside(done, below, which, t, x), None)


def _condition_outside(sliding: Sliding, below: Sliding) -> int:
    """The number that the condition of a surface has among those outside the surface below it."""
    guard, outside = once(sliding.outside, Surface, sliding.which).guard, below.outside
    found = switches_of(outside)
    assert found is not None
    same = [k for k, text in enumerate(found.conditions) if text == sliding.condition]
    return next((k for k in same if vanishes(outside, once(outside, Surface, k).guard - guard)), same[0])


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
    onto: System, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, near: np.ndarray | None
) -> tuple[float, np.ndarray | None]:
    """How much the share lowers the rate of the guard, negative where both sides lead onto the surface; and x', z."""
    slopes, sliding = slopes_of(onto), onto.part(Sliding)
    assert sliding is not None
    guess = np.zeros(slopes.size)
    if near is not None:
        guess[: len(near)] = near
    guess[slopes.size - sliding.depth :] = 0.5
    try:
        y = slopes.at(t, x, u, p, guess)
        _, matrix = slopes.equations(t, y, x, u, p)
        moved = solved(matrix[:-1, :-1], -matrix[:-1, -1])
    except Undetermined:
        return 0.0, None
    inside = np.all(np.abs(y[slopes.size - sliding.depth :] - 0.5) <= 0.5 + BEYOND)
    return float(matrix[-1, :-1] @ moved + matrix[-1, -1]) if inside else 0.0, y


def _rate_beside(
    surface: Surface, away: float, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, near: np.ndarray | None
) -> float:
    """ġ at a place that is moved across the surface by a part of its nominal values."""
    try:
        moved = surface.moved(away, t, x, u, p, near)
        y = slopes_of(surface.system).at(t, moved, u, p, near)
    except Undetermined:
        return 0.0
    return surface.rate(t, y, moved, u, p)


def _piece(road: Road, done: Trajectory, system: System, t: float, x: np.ndarray, y: np.ndarray | None) -> Piece:
    """A piece that runs another system from a state on, by the method of the run where that fits."""
    request = road.request
    method, why = (done.method if done._plant.is_implicit else request.method), choice_of(done.records)
    if not is_implicit(method) and isinstance(find_plant(system), NoForm):
        method, why = implicit_choice(system, "shares of several surfaces are not linear", request.rtol)
    try:
        settings = settings_for(request, system, method)
    except InputError:  # the rate of the surface stands before derivatives, and not every method takes that
        method, why = implicit_choice(system, "the surface moves with derivatives", request.rtol)
        settings = settings_for(request, system, method)
    sliding = system.part(Sliding)
    if sliding is not None and system is not done.system:
        settings = replace(settings, notes=(*settings.notes, SlidesAlong(t, sliding.condition, sliding.rests)))
    row = x
    if settings.plant.is_implicit:
        if y is None:
            y = slopes_of(system).at(t, x, done._drive.at_time(t), done._parameters, _known(system, done))
        n = system.sizes["x"]
        row = np.concatenate([x, y[n:], y[:n]])
    return Piece(settings, done._drive, done._parameters, t, row, why)


def _gone_on(road: Road, done: Trajectory, t: float) -> Piece:
    """A piece that goes on with the same system from the row where it was stopped."""
    method = done.method if done._plant.is_implicit else road.request.method
    settings = settings_for(road.request, done.system, method)
    row = np.array(done._source.end)[: done._plant.row_width]
    return Piece(settings, done._drive, done._parameters, t, row, choice_of(done.records))


def _known(system: System, done: Trajectory) -> np.ndarray:
    """x' and z of a piece at its end, for a system with the same names."""
    end = done.end
    names = [*system.labels["xdot"], *system.labels["z"]]
    return np.array([float(end[name]) if name in end else 0.0 for name in names])


def _too_many(t: float, condition: str) -> Stop:
    return Stop(
        Ending.CHATTERING,
        t,
        f"more than {MOST_SURFACES} conditions switch to and fro together at {time_text(t)}, {condition} among them",
        ("how the fields of more surfaces are blended is not determined",),
        "m.friction for what sticks, or a smooth law in the place of one of them",
        condition=condition,
        obstacle=Obstacle.SLIDING,
    )
