"""Rigorous bounds of an expression over a box: interval arithmetic over CasADi's instructions, rounded outwards.

Every operation is widened by the rounding of its own computation, so that the true range lies inside
(R. E. Moore, R. B. Kearfott, M. J. Cloud, Introduction to Interval Analysis, 2009). Many boxes are done at once: an
interval is a pair of arrays. Operations outside their domain count only the part inside it; where a bound is lost it
is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.errors import SolverError
from daedalus.model.expressions import COMPARISONS
from daedalus.model.system.instruction_list import OPERATION_NAMES, Instructions, read_instructions

Interval = tuple[np.ndarray, np.ndarray]

# Library functions are accurate to a few units in the last place; four cover glibc, musl and the vectorised ones.
LIBRARY_ULPS = 4


def outward(low: np.ndarray, high: np.ndarray, ulps: int = 1) -> Interval:
    """Both bounds moved outwards; a bound that was lost (NaN) becomes infinite."""
    if np.isnan(low).any() or np.isnan(high).any():
        low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    for _ in range(ulps):
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return low, high


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a b with 0 · ∞ = 0: zero is the exact bound of a factor, infinity only stands for large numbers."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def _add(a: Interval, b: Interval) -> Interval:
    return outward(a[0] + b[0], a[1] + b[1])


def _negative(a: Interval) -> Interval:
    return -a[1], -a[0]


def _subtract(a: Interval, b: Interval) -> Interval:
    return _add(a, _negative(b))


def _multiply(a: Interval, b: Interval) -> Interval:
    corners = np.array([a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]])
    if np.isnan(corners).any():
        corners = np.array([_product(x, y) for x in a for y in b])
    return outward(corners.min(axis=0), corners.max(axis=0))


def _inverse(a: Interval) -> Interval:
    crosses = (a[0] <= 0) & (a[1] >= 0)
    low, high = outward(1 / a[1], 1 / a[0])
    # With zero at an end one bound survives.
    low = np.where(crosses, np.where((a[0] == 0) & (a[1] > 0), low, -np.inf), low)
    high = np.where(crosses, np.where((a[1] == 0) & (a[0] < 0), high, np.inf), high)
    return low, high


def _divide(a: Interval, b: Interval) -> Interval:
    return _multiply(a, _inverse(b))


def _absolute(a: Interval) -> Interval:
    inside = (a[0] <= 0) & (a[1] >= 0)
    ends = np.abs(np.array(a))
    return np.where(inside, 0.0, ends.min(axis=0)), ends.max(axis=0)


def _square(a: Interval) -> Interval:
    low, high = _absolute(a)
    low, high = outward(low * low, high * high)
    return np.maximum(low, 0.0), high


def _monotone(
    function: Callable[[np.ndarray], np.ndarray], low: float = -np.inf, high: float = np.inf
) -> Callable[[Interval], Interval]:
    """A rising function on a domain, as an operation on intervals."""

    def apply(a: Interval) -> Interval:
        return outward(function(np.clip(a[0], low, high)), function(np.clip(a[1], low, high)), LIBRARY_ULPS)

    return apply


def _periodic(function: Callable[[np.ndarray], np.ndarray], highest_at: float) -> Callable[[Interval], Interval]:
    """sin and cos: the ends, and 1 or -1 where a summit or valley lies between them."""

    def apply(a: Interval) -> Interval:
        turn = 2 * math.pi
        slack = 1e-14 * (1 + np.maximum(np.abs(a[0]), np.abs(a[1])))
        ends = np.array([function(a[0]), function(a[1])])
        low, high = outward(ends.min(axis=0), ends.max(axis=0), LIBRARY_ULPS)

        def contains(place: float) -> np.ndarray:
            first = np.ceil((a[0] - slack - place) / turn)
            return first * turn + place <= a[1] + slack

        wide = ~np.isfinite(a[0]) | ~np.isfinite(a[1])
        high = np.where(wide | contains(highest_at), 1.0, np.minimum(high, 1.0))
        low = np.where(wide | contains(highest_at + math.pi), -1.0, np.maximum(low, -1.0))
        return low, high

    return apply


def _tangent(a: Interval) -> Interval:
    slack = 1e-14 * (1 + np.maximum(np.abs(a[0]), np.abs(a[1])))
    pole = np.ceil((a[0] - slack - math.pi / 2) / math.pi) * math.pi + math.pi / 2
    lost = ~np.isfinite(a[0]) | ~np.isfinite(a[1]) | (pole <= a[1] + slack)
    low, high = outward(np.tan(a[0]), np.tan(a[1]), LIBRARY_ULPS)
    return np.where(lost, -np.inf, low), np.where(lost, np.inf, high)


def _hyperbolic_cosine(a: Interval) -> Interval:
    low, high = _absolute(a)
    low, high = outward(np.cosh(low), np.cosh(high), LIBRARY_ULPS)
    return np.maximum(low, 1.0), high


def _power(a: Interval, b: Interval) -> Interval:
    exponent = float(b[0].flat[0])
    if np.all(b[0] == b[1]) and np.all(b[0] == exponent) and exponent == int(exponent) and abs(exponent) < 1e6:
        base = a if exponent > 0 else _inverse(a)
        count = abs(int(exponent))
        if count == 0:
            return np.ones_like(a[0]), np.ones_like(a[1])
        base = _absolute(base) if count % 2 == 0 else base
        with np.errstate(over="ignore"):
            low, high = outward(base[0] ** count, base[1] ** count, LIBRARY_ULPS)
        return (np.maximum(low, 0.0), high) if count % 2 == 0 else (low, high)
    exponential, logarithm = _OPERATIONS[ca.OP_EXP], _OPERATIONS[ca.OP_LOG]
    low, high = exponential(_multiply(b, logarithm((np.maximum(a[0], 0.0), np.maximum(a[1], 0.0)))))
    return np.maximum(low, 0.0), high


def _arc_tangent_of_two(y: Interval, x: Interval) -> Interval:
    corners = np.array([np.arctan2(one, two) for one in y for two in x])
    low, high = outward(corners.min(axis=0), corners.max(axis=0), LIBRARY_ULPS)
    # Across the cut on the negative axis, and around the origin, every angle is possible.
    lost = (x[0] <= 0) & (y[0] <= 0) & (y[1] >= 0)
    return np.where(lost, -math.pi - 1e-15, low), np.where(lost, math.pi + 1e-15, high)


def _truth(surely: np.ndarray, never: np.ndarray) -> Interval:
    return np.where(surely, 1.0, 0.0), np.where(never, 0.0, 1.0)


def _switched(condition: Interval, a: Interval) -> Interval:
    on, off = (condition[0] > 0) | (condition[1] < 0), (condition[0] == 0) & (condition[1] == 0)
    low = np.where(on, a[0], np.where(off, 0.0, np.minimum(a[0], 0.0)))
    high = np.where(on, a[1], np.where(off, 0.0, np.maximum(a[1], 0.0)))
    return low, high


_OPERATIONS: dict[int, Callable[..., Interval]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_ADD: _add,
    ca.OP_SUB: _subtract,
    ca.OP_MUL: _multiply,
    ca.OP_DIV: _divide,
    ca.OP_NEG: _negative,
    ca.OP_INV: _inverse,
    ca.OP_SQ: _square,
    ca.OP_TWICE: lambda a: (2 * a[0], 2 * a[1]),
    ca.OP_FABS: _absolute,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_SQRT: _monotone(np.sqrt, low=0.0),
    ca.OP_EXP: _monotone(np.exp),
    ca.OP_EXPM1: _monotone(np.expm1),
    ca.OP_LOG: _monotone(np.log, low=0.0),
    ca.OP_LOG1P: _monotone(np.log1p, low=-1.0),
    ca.OP_ASIN: _monotone(np.arcsin, -1.0, 1.0),
    ca.OP_ACOS: lambda a: _negative(_monotone(lambda v: -np.arccos(v), -1.0, 1.0)(a)),
    ca.OP_ATAN: _monotone(np.arctan),
    ca.OP_SINH: _monotone(np.sinh),
    ca.OP_TANH: _monotone(np.tanh),
    ca.OP_ASINH: _monotone(np.arcsinh),
    ca.OP_ACOSH: _monotone(np.arccosh, low=1.0),
    ca.OP_ATANH: _monotone(np.arctanh, -1.0, 1.0),
    ca.OP_ERF: _monotone(np.vectorize(math.erf, otypes=[float])),
    ca.OP_COSH: _hyperbolic_cosine,
    ca.OP_SIN: _periodic(np.sin, math.pi / 2),
    ca.OP_COS: _periodic(np.cos, 0.0),
    ca.OP_TAN: _tangent,
    ca.OP_ATAN2: _arc_tangent_of_two,
    ca.OP_HYPOT: lambda a, b: _OPERATIONS[ca.OP_SQRT](_add(_square(a), _square(b))),
    ca.OP_FMIN: lambda a, b: (np.minimum(a[0], b[0]), np.minimum(a[1], b[1])),
    ca.OP_FMAX: lambda a, b: (np.maximum(a[0], b[0]), np.maximum(a[1], b[1])),
    ca.OP_SIGN: lambda a: (np.sign(a[0]), np.sign(a[1])),
    ca.OP_FLOOR: lambda a: (np.floor(a[0]), np.floor(a[1])),
    ca.OP_CEIL: lambda a: (np.ceil(a[0]), np.ceil(a[1])),
    ca.OP_LT: lambda a, b: _truth(a[1] < b[0], a[0] >= b[1]),
    ca.OP_LE: lambda a, b: _truth(a[1] <= b[0], a[0] > b[1]),
    ca.OP_EQ: lambda a, b: _truth((a[0] == a[1]) & (b[0] == b[1]) & (a[0] == b[0]), (a[1] < b[0]) | (a[0] > b[1])),
    ca.OP_NE: lambda a, b: _truth((a[1] < b[0]) | (a[0] > b[1]), (a[0] == a[1]) & (b[0] == b[1]) & (a[0] == b[0])),
    ca.OP_NOT: lambda a: _truth((a[0] == 0) & (a[1] == 0), (a[0] > 0) | (a[1] < 0)),
    ca.OP_AND: lambda a, b: (np.minimum(a[0], b[0]), np.minimum(a[1], b[1])),
    ca.OP_OR: lambda a, b: (np.maximum(a[0], b[0]), np.maximum(a[1], b[1])),
    ca.OP_IF_ELSE_ZERO: _switched,
}
# Operations that jump: a value between their two sides means that the jump lies inside the box.
_STEPS = frozenset({ca.OP_SIGN, ca.OP_FLOOR, ca.OP_CEIL, *COMPARISONS})


@dataclass(frozen=True, eq=False)
class Range:
    """Bounds of the nonzeros of each output, (boxes, nonzeros), and whether a jump lies inside a box."""

    low: list[np.ndarray]
    high: list[np.ndarray]
    jumps: np.ndarray


def are_bounded(rows: Instructions) -> bool:
    """Whether there are bounds for every operation."""
    return not _unknown(rows)


def _unknown(rows: Instructions) -> set[int]:
    return set(rows.operation) - {ca.OP_INPUT, ca.OP_CONST, ca.OP_OUTPUT, *_OPERATIONS}


def range_over(function: ca.Function | Instructions, low: Sequence[np.ndarray], high: Sequence[np.ndarray]) -> Range:
    """Bounds of a CasADi function (of SX) over boxes; `low[i]` and `high[i]` are (boxes, size of input i).

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> x = ca.SX.sym("x")
    >>> bounds = range_over(ca.Function("f", [x], [x * x - x]), [np.array([[0.0]])], [np.array([[1.0]])])
    >>> bool(bounds.low[0][0, 0] <= -0.25), bool(bounds.high[0][0, 0] >= 0.0)
    (True, True)
    """
    rows = function if isinstance(function, Instructions) else read_instructions(function)
    if unknown := _unknown(rows):
        raise SolverError(
            "The range of this expression cannot be bounded.",
            f"it contains the operation {OPERATION_NAMES.get(min(unknown), min(unknown))}",
            because="no interval rule is known for it.",
            remedy="write it with other functions",
        )
    boxes = len(low[0])
    outputs_low, outputs_high = ([np.zeros((boxes, size)) for size in rows.size_out] for _ in range(2))
    jumps = np.zeros(boxes, dtype=bool)
    work: dict[int, Interval] = {}
    with np.errstate(all="ignore"):
        for operation, first, second, slot in zip(rows.operation, rows.first, rows.second, rows.slot):
            if operation == ca.OP_CONST:
                value = np.full(boxes, rows.constants[first])
                work[slot] = (value, value)
            elif operation == ca.OP_INPUT:
                work[slot] = (low[first][:, second], high[first][:, second])
            elif operation == ca.OP_OUTPUT:
                outputs_low[second][:, slot], outputs_high[second][:, slot] = work[rows.slot[first]]
            else:
                operands = (first,) if second < 0 else (first, second)
                result = _OPERATIONS[operation](*(work[rows.slot[row]] for row in operands))
                if operation in _STEPS:
                    jumps |= result[0] != result[1]
                work[slot] = result
    return Range(outputs_low, outputs_high, jumps)
