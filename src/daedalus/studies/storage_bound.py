"""Whether an energy has a lower bound: how deep searches for its least value get in ever larger boxes of states."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import casadi as ca
import numpy as np

# Half the widths of the boxes that are searched. The energy has no bound if the last one still leads lower.
BOXES = (1e2, 1e4, 1e6)
# Where searches start in a box: as many near the origin as anywhere in it.
STARTS = 4
# A fall by less than this share between the last boxes is the end of a level tail such as −1/(1 + x²).
LEVEL = 0.05
# An energy this much larger than all that searches began at runs into a pole such as −1/r.
POLE = 1e6
# A coordinate that shrinks by so much three times leads into a pole, r or log r, where each fall is as deep as the last
# but this share; what is bounded falls less and less.
SHRINK, AS_DEEP, SEEN = 1e-3, 0.9, 1e-6
# What constraints may be left with at the end of a search, beside the size of the box.
LEFT = 1e-6
STEPS = 200


def has_lower_bound(energy: ca.SX, x: ca.SX, kept: ca.SX | None = None) -> bool | None:
    """Whether an energy is bounded from below over the states x that keep `kept` at zero; None where no search ended.

    The answer rests on local searches from random states, so it can miss a narrow valley.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> has_lower_bound(1 - ca.cos(x[0]) + x[1] ** 2, x), has_lower_bound(9.81 * x[0] + x[1] ** 2, x)
    (True, False)
    >>> has_lower_bound(9.81 * x[0], x, ca.sumsqr(x) - 1)
    True
    """
    if not any(ca.which_depends(energy, x)):
        return True
    value = ca.Function("energy", [x], [energy, ca.gradient(energy, x)])
    kept = ca.SX(0, 1) if kept is None else kept
    conditions = ca.Function("kept", [x], [kept, ca.jacobian(kept, x)])
    draw, least, highest = np.random.default_rng(38), [], 1.0
    for width in BOXES:
        found = []
        for k in range(2 * STARTS):
            begin = draw.uniform(-1.0, 1.0, x.numel()) * (2.0 if k % 2 else width)
            if not kept.numel() and k % 2 and _falls_into_a_pole(value, begin):
                return False
            before = float(value(begin)[0])
            highest = max(highest, abs(before)) if np.isfinite(before) else highest
            end = _descended(value, conditions if kept.numel() else None, begin, width)
            if end is not None:
                found.append(end)
        least.append(min(found, default=np.inf))
    if not np.isfinite(least[-1]) and not np.isneginf(least[-1]):
        return None
    if min(least) < -POLE * highest:
        return False
    return least[-1] >= min(least[:-1]) - LEVEL * max(1.0, abs(min(least[:-1])))


def _falls_into_a_pole(value: ca.Function, begin: np.ndarray) -> bool:
    """Whether the energy falls without end as one coordinate goes to zero, or all together."""
    for chosen in (*np.eye(len(begin), dtype=bool), np.full(len(begin), True)):
        path = [float(value(np.where(chosen, begin * SHRINK**k, begin))[0]) for k in range(4)]
        second, third = (above - below for above, below in pairwise(path[1:]))
        if not np.all(np.isfinite(path)):
            continue
        if third > SEEN * max(1.0, abs(path[0])) and third >= AS_DEEP * second > 0.0:
            return True
    return False


def _descended(value: ca.Function, conditions: ca.Function | None, begin: np.ndarray, width: float) -> float | None:
    """The energy at the end of a search from one state; None where it left the constraints or the numbers."""
    from scipy.optimize import Bounds, minimize

    def judged(x: np.ndarray) -> tuple[float, np.ndarray]:
        energy, slope = value(x)
        return float(energy), slope.full().ravel()

    bounds = Bounds(np.full(len(begin), -width), np.full(len(begin), width))
    if not np.isfinite(judged(begin)[0]):
        return None
    with np.errstate(all="ignore"):
        if conditions is None:
            found = minimize(judged, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
        else:
            kept = _part_of(conditions, 0)
            constraint = {"type": "eq", "fun": lambda x: kept(x).ravel(), "jac": _part_of(conditions, 1)}
            found = minimize(judged, begin, jac=True, method="SLSQP", bounds=bounds, constraints=constraint,
                             options={"maxiter": STEPS})  # fmt: skip
            if not np.abs(kept(found.x)).max(initial=0.0) < LEFT * width:
                return None
    return float(found.fun) if not np.isnan(found.fun) else None


def _part_of(function: ca.Function, k: int) -> Callable[[np.ndarray], np.ndarray]:
    def part(x: np.ndarray) -> np.ndarray:
        return np.asarray(function(x)[k].full())

    return part
