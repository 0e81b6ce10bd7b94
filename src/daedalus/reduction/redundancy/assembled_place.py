"""A state that obeys the constraints of a mechanism, with every joint assembled the way it is meant.

Half a turn away from there the equations of a joint hold too, and there some follow from others that do not where the
mechanism moves: sin θ n of a fixed relative orientation vanishes for every axis n at θ = π.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.analysis.points.motion_samples import MovingModel
from daedalus.errors import SolverError
from daedalus.model.mechanics.joint_sides import joint_sides
from daedalus.reduction.redundancy.constraint_place import MotionPlace, constraints_at

# How far from the start consistent states are looked for, in nominal values, one after the other.
SPREADS = (0.0, 0.1, 0.3, 1.0, 1.0, 1.0)
# Bodies are turned until every cosine is at least so much, towards a little more.
TURNED, TOWARDS = 0.9, 0.95
# By steps of no more than this, in nominal values, and so many.
STEP, STEPS = 0.3, 60
# Of joints that turn the same bodies, or half a turn away, where no turn raises a cosine, this share says nothing.
NEARLY_LEVEL = 1e-3


def assembled_place(moving: MovingModel) -> MotionPlace:
    """A state near the start that obeys the constraints; angles that nobody gave may have to be far from zero."""
    u, draw = np.zeros(moving.system.sizes["u"]), np.random.default_rng(2013)
    for spread in SPREADS:
        try:
            place = MotionPlace(0.0, moving.sample(draw, spread, 0.0, u), u, moving.parameters)
        except SolverError:
            continue
        if _is_assembled(moving, place):
            return place
        away = moving.start() + max(spread, SPREADS[1]) * moving.system.nominal["x"] * draw.standard_normal(
            len(place.x)
        )
        turned = moving.onto(0.0, _turned(moving, MotionPlace(0.0, away, u, moving.parameters)), u, moving.parameters)
        if turned is not None and _is_assembled(moving, place := MotionPlace(0.0, turned, u, moving.parameters)):
            return place
    raise SolverError(
        f"No assembled state of {moving.system.name!r} was found near its start.",
        because="the start is far from the constraints, or they contradict each other.",
        remedy="start values that obey the constraints",
    )


def _is_assembled(moving: MovingModel, place: MotionPlace) -> bool:
    """Whether no joint is half a turn away from how it is meant."""
    sides = joint_sides(moving.system)
    return sides is None or not np.any(sides.function(place.t, place.x, place.u, place.p).full() < 0)


def _turned(moving: MovingModel, place: MotionPlace) -> np.ndarray:
    """The positions with bodies turned towards where the joints are meant to be, wherever that leaves the others."""
    sides = joint_sides(moving.system)
    assert sides is not None
    assert moving.mechanics is not None
    arguments = moving.system.symbols(("t", "x", "u", "p"))
    values = sides.function.call(arguments)[0]
    function = ca.Function("turned", arguments, [values, ca.densify(ca.jacobian(values, arguments[1]))])
    x, nominal, constraints = place.x.copy(), moving.system.nominal["x"], len(moving.mechanics.multipliers)
    own = np.array(moving.positions)
    for _ in range(STEPS):
        now, slope = (part.full() for part in function(place.t, x, place.u, place.p))
        low = now[:, 0] < TURNED
        if not low.any():
            break
        kept, kept_slope = constraints_at(moving, MotionPlace(place.t, x, place.u, place.p))
        left = np.concatenate((TOWARDS - now[low, 0], -kept[constraints:]))
        rows = np.vstack((slope[low][:, own], kept_slope[constraints:])) * nominal[own]
        way = np.linalg.lstsq(rows, left, rcond=NEARLY_LEVEL)[0]
        x[own] += nominal[own] * way * min(1.0, STEP / max(np.abs(way).max(), STEP))
    return x
