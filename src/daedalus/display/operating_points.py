"""Where a motor and its load agree: J ω' = T(ω) - T_L(ω) rests at the crossings of the two curves.

A crossing is stable where T - T_L falls through zero: a motor that runs faster is then braked, one that runs slower
is driven. With k = ∂T/∂ω - ∂T_L/∂ω that is k < 0; where k = 0 the signs on both sides decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import CENTRAL, ROUNDING
from daedalus.errors import InputError
from daedalus.model.expressions import symbol_key

# Parts of the range of speeds, and of the usual torques.
SPEED_TOLERANCE, TORQUE_TOLERANCE = 1e-13, 1e-9
# What is left of |T - T_L| at a sign change, as part of its size nearby: above the first a jump, above the last a pole.
JUMP, POLE = 1e-6, 10.0
# Where slopes vanish the signs beside a crossing decide, looked for from the first to the last part of the range; below
# the share ROUNDING of the torques a difference is none.
NEAREST, FARTHEST = 1e-7, 1e-3
# How far beside a crossing on the grid the next one is looked for, in intervals of the grid.
NEXT = 1e-6


@dataclass(frozen=True)
class TorqueSpeedPoint:
    """A speed at which motor and load agree.

    Parameters
    ----------
    speed, torque: where.
    stable: whether the drive returns to it after a small disturbance from either side.
    slope_difference: k = ∂T/∂ω - ∂T_L/∂ω there, negative where stable; infinite where a curve jumps.
    """

    speed: float
    torque: float
    stable: bool
    slope_difference: float

    @property
    def power(self) -> float:
        """What the motor delivers to the load, P = T ω."""
        return self.torque * self.speed

    @property
    def quadrant(self) -> int:
        """1 driving forwards, 2 braking backwards, 3 driving backwards, 4 braking forwards; 0 on an axis."""
        if self.power == 0:
            return 0
        return (1 if self.speed > 0 else 2) if self.torque > 0 else (3 if self.speed < 0 else 4)

    def __repr__(self) -> str:
        mark = "stable" if self.stable else "unstable"
        return f"speed {self.speed:.6g}, torque {self.torque:.6g}: {mark} (k = {self.slope_difference:.3g})"


@dataclass(frozen=True)
class Curve:
    """A torque over the speed: values for an array of speeds; of expressions the exact slope and the symbol, too."""

    values: Callable[[np.ndarray], np.ndarray]
    exact_slope: Callable[[float], float] | None = None
    symbol: Any = None

    def at(self, speed: float) -> float:
        """The torque at one speed."""
        return float(self.values(np.array([speed]))[0])

    def slope(self, speed: float, low: float, high: float) -> float:
        """The derivative at a speed; by differences inside [low, high] where it is not known exactly."""
        if self.exact_slope is not None:
            return self.exact_slope(speed)
        h = CENTRAL * (high - low)
        before, after = max(low, speed - h), min(high, speed + h)
        return (self.at(after) - self.at(before)) / (after - before)


def read_curve(curve: Any, what: str, speeds: np.ndarray) -> Curve:
    """A number, a function of the speed or an expression of one symbol as a Curve.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> from daedalus.display.operating_points import read_curve
    >>> w = ca.SX.sym("w")
    >>> fan = read_curve(0.5 * w**2, "load", np.array([0.0, 1.0]))
    >>> fan.at(2.0), fan.slope(2.0, 0.0, 4.0)
    (2.0, 2.0)
    """
    if isinstance(curve, ca.SX):
        return _from_expression(curve, what)
    if callable(curve):
        return _from_function(curve, what, speeds)
    try:
        constant = math.nan if isinstance(curve, str) else float(curve)
    except (TypeError, ValueError):
        constant = math.nan
    if not math.isfinite(constant):
        raise InputError(
            f"The {what} cannot be used as a curve.",
            f"got {curve!r}",
            because="a curve is a function of the speed, an expression of it, or a number.",
            remedy=f"{what}=lambda w: 2.0 - 0.1 * w",
        )
    return Curve(lambda w: np.full(len(w), constant), lambda w: 0.0)


def _from_expression(curve: ca.SX, what: str) -> Curve:
    symbols = ca.symvar(curve)
    if not curve.is_scalar() or len(symbols) > 1:
        names = ", ".join(symbol.name() for symbol in symbols[:8]) or "none"
        raise InputError(
            f"The {what} is not a curve over the speed.",
            f"the expression has shape {curve.shape} and the symbols {names}",
            because="a torque at a speed is one number, and the speed the only unknown.",
            remedy="ca.substitute(torque, parameter, value) for everything but the speed",
        )
    w = symbols[0] if symbols else ca.SX.sym("w")
    value = ca.Function("torque", [w], [ca.densify(curve)])
    slope = ca.Function("slope", [w], [ca.densify(ca.jacobian(curve, w))])
    return Curve(
        lambda speeds: np.array(value(speeds[None, :])).ravel(),
        lambda speed: float(slope(speed)),
        symbol_key(w) if symbols else None,
    )


def _from_function(curve: Callable[[Any], Any], what: str, speeds: np.ndarray) -> Curve:
    """A function that takes arrays, or else one that is called for each speed."""

    def one_by_one(w: np.ndarray) -> np.ndarray:
        return np.array([_one_value(curve, float(speed)) for speed in w])

    with np.errstate(all="ignore"):
        try:
            at_once = np.asarray(curve(speeds), dtype=float)
            takes_arrays = at_once.shape == speeds.shape
        except (TypeError, ValueError):
            takes_arrays = False
        try:
            if not takes_arrays:
                one_by_one(speeds[:1])
        except TypeError as error:
            raise InputError(
                f"The {what} cannot be evaluated.",
                f"at speed {speeds[0]:g}: {type(error).__name__}: {error}",
                because="a curve is a function of the speed alone that gives a number.",
                remedy=f"{what}=lambda w: 2.0 - 0.1 * w",
            ) from error

    def values(w: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(curve(w), dtype=float) if takes_arrays else one_by_one(w)

    return Curve(values)


def _one_value(curve: Callable[[Any], Any], speed: float) -> float:
    """A value, or NaN outside the domain of the curve."""
    try:
        return float(curve(speed))
    except (ValueError, ArithmeticError):
        return math.nan


def find_operating_points(
    motor: Curve, load: Curve, speeds: np.ndarray
) -> tuple[tuple[TorqueSpeedPoint, ...], tuple[str, ...]]:
    """All crossings on a rising grid of speeds, in order, and remarks on what is not a crossing.

    Sign changes between neighbours are bracketed and solved by Brent's method; between neighbours of the same sign the
    smallest distance is looked for, so that curves that touch or cross twice are found too.

    Example
    -------
    >>> import numpy as np
    >>> from daedalus.display.operating_points import find_operating_points, read_curve
    >>> speeds = np.linspace(0.0, 4.0, 101)
    >>> motor, load = (read_curve(f, "curve", speeds) for f in (lambda w: w * (3 - w), 2.0))
    >>> find_operating_points(motor, load, speeds)[0]
    (speed 1, torque 2: unstable (k = 1), speed 2, torque 2: stable (k = -1))
    """
    from scipy.optimize import brentq, minimize_scalar

    low, high = float(speeds[0]), float(speeds[-1])
    gap = motor.values(speeds) - load.values(speeds)
    if not np.any(np.isfinite(gap)):
        raise InputError(
            "The curves have no value in the range.",
            f"motor or load is not finite at any of {len(speeds)} speeds from {low:g} to {high:g}",
            because="a division by zero, or a root or logarithm of a negative number, is everywhere in it.",
            remedy="another range of speeds",
        )
    size = float(np.max(np.abs(gap[np.isfinite(gap)])))
    if size == 0.0:
        return (), (f"the curves are the same from {low:g} to {high:g}: every speed is an operating point",)

    def distance(w: float) -> float:
        return motor.at(w) - load.at(w)

    roots: list[float] = []
    notes = _coincidences(speeds, gap, size)
    for a, b, at_a, at_b in zip(speeds[:-1], speeds[1:], gap[:-1], gap[1:]):
        if (at_a == 0) != (at_b == 0):
            a, b = _beside_crossing(a, b, at_a == 0)
            at_a, at_b = distance(a), distance(b)
        if at_a * at_b < 0:
            root = float(brentq(distance, a, b, xtol=SPEED_TOLERANCE * (high - low), rtol=1e-15))
            if abs(distance(root)) > POLE * max(abs(at_a), abs(at_b)):
                notes.append(f"the torques grow without bound near speed {root:g}")
            else:
                roots.append(root)
    for k in _nearest_approaches(gap):
        a, b = float(speeds[max(k - 1, 0)]), float(speeds[min(k + 1, len(speeds) - 1)])
        side = math.copysign(1.0, gap[k])
        found = minimize_scalar(
            lambda w, side=side: side * distance(w),
            bounds=(a, b),
            method="bounded",
            options={"xatol": SPEED_TOLERANCE * (high - low)},
        )
        if found.fun < 0:
            roots += [float(brentq(distance, *sorted((end, found.x)), rtol=1e-15)) for end in (a, b) if end != found.x]
        elif found.fun <= TORQUE_TOLERANCE * size:
            roots.append(float(found.x))
    roots += speeds[_single_zeros(gap)].tolist()
    points = [_judged(motor, load, root, low, high) for root in _each_once(roots, high - low)]
    return tuple(points), tuple(notes)


def _beside_crossing(a: float, b: float, at_first: bool) -> tuple[float, float]:
    """An interval without the end that is a crossing itself: another one may lie right beside it."""
    inside = NEXT * (b - a)
    return (a + inside, b) if at_first else (a, b - inside)


def _coincidences(speeds: np.ndarray, gap: np.ndarray, size: float) -> list[str]:
    """Stretches of the grid on which the curves are the same."""
    same = np.concatenate([[False], np.abs(gap) <= 1e-12 * size, [False]])
    begins, ends = np.flatnonzero(~same[:-1] & same[1:]), np.flatnonzero(same[:-1] & ~same[1:]) - 1
    return [
        f"the curves are the same from {speeds[a]:g} to {speeds[b]:g}: every speed there is an operating point"
        for a, b in zip(begins, ends)
        if b > a + 1
    ]


def _single_zeros(gap: np.ndarray) -> np.ndarray:
    """Grid points that are roots themselves, stretches of them left out."""
    zero = np.concatenate([[False], gap == 0, [False]])
    return np.flatnonzero(zero[1:-1] & ~zero[:-2] & ~zero[2:])


def _nearest_approaches(gap: np.ndarray) -> list[int]:
    """Inner points of the grid that are nearer to zero than their neighbours, all on the same side."""
    distance, sign = np.abs(gap), np.sign(gap)
    middle = (distance[1:-1] <= distance[:-2]) & (distance[1:-1] <= distance[2:]) & (sign[1:-1] != 0)
    alike = (sign[1:-1] == sign[:-2]) & (sign[1:-1] == sign[2:])
    return (np.flatnonzero(middle & alike) + 1).tolist()


def _each_once(roots: list[float], span: float) -> list[float]:
    kept: list[float] = []
    for root in sorted(roots):
        if not kept or root - kept[-1] > 1e-9 * span:
            kept.append(0.0 if abs(root) < 1e-13 * span else root)
    return kept


def _beside(
    motor: Curve, load: Curve, speed: float, low: float, high: float
) -> tuple[float, float, tuple[float, float]]:
    """Speeds on both sides of a crossing and T - T_L there: as near as the difference stands out of rounding."""
    side = NEAREST * (high - low)
    while True:
        before, after = max(low, speed - side), min(high, speed + side)
        gaps = motor.at(before) - load.at(before), motor.at(after) - load.at(after)
        size = max(abs(curve.at(w)) for curve in (motor, load) for w in (before, after))
        if min(map(abs, gaps)) > ROUNDING * size or side >= FARTHEST * (high - low):
            return before, after, gaps
        side *= 4.0


def _judged(motor: Curve, load: Curve, speed: float, low: float, high: float) -> TorqueSpeedPoint:
    """Torque, slope difference and stability of a crossing; a curve that jumps across the other counts as one."""
    before, after, gaps = _beside(motor, load, speed, low, high)
    steps = [abs(curve.at(after) - curve.at(before)) for curve in (motor, load)]
    jumps = gaps[0] * gaps[1] < 0 and abs(motor.at(speed) - load.at(speed)) > JUMP * max(map(abs, gaps))
    torque = (load if jumps and steps[0] > steps[1] else motor).at(speed)
    if jumps:
        k = math.copysign(math.inf, gaps[1] - gaps[0])
    else:
        k = motor.slope(speed, low, high) - load.slope(speed, low, high)
    # At an end of the range one side is missing, and the slope speaks for it.
    falls = [gaps[0] > 0 if before < speed else k < 0, gaps[1] < 0 if after > speed else k < 0]
    return TorqueSpeedPoint(float(speed), float(torque), all(falls), float(k))
