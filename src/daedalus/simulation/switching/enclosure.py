"""Enclosure of an expression over many stretches of time at once, by interval arithmetic.

Every operation turns bounds of its operands into bounds of its result, a little widened for rounding (R. E. Moore,
R. B. Kearfott, M. J. Cloud, Introduction to Interval Analysis, 2009, chapters 2 and 5). Where an operation has no value
the bounds are -inf and inf: that is never wrong, only wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.model.system.instruction_list import Instructions

# Rounding errors of one operation, by what bounds are widened.
WIDENED, SMALLEST = 8 * np.finfo(float).eps, 1e-300


class Enclosure(NamedTuple):
    """The least and the largest value over each of several stretches."""

    low: np.ndarray
    high: np.ndarray


def bounds_of(rows: Instructions, inputs: Sequence[Sequence[Enclosure]]) -> list[Enclosure]:
    """Enclosure of the entries of the first output, where those of every input are given.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> from daedalus.model.system.instruction_list import read_instructions
    >>> t = ca.SX.sym("t")
    >>> rows = read_instructions(ca.Function("f", [t], [ca.sin(t) - 0.5]))
    >>> (found,) = bounds_of(rows, [[Enclosure(np.array([0.0, 3.2]), np.array([2.0, 6.0]))]])
    >>> found.low.round(6).tolist(), found.high.round(6).tolist()
    ([-0.5, -1.5], [0.5, -0.558374])
    """
    size = rows.size_out[0]
    values: dict[int, Enclosure] = {}
    result = [_constant(0.0)] * size
    with np.errstate(all="ignore"):
        for row in range(len(rows)):
            operation, first, second = rows.operation[row], rows.first[row], rows.second[row]
            if operation == ca.OP_OUTPUT:
                result[rows.slot[row]] = values[first]
            elif operation == ca.OP_INPUT:
                values[row] = inputs[first][second]
            elif operation == ca.OP_CONST:
                values[row] = _constant(rows.constants[first])
            else:
                values[row] = _applied(operation, values[first], values[second] if second >= 0 else None)
    return result


def are_bounded(rows: Instructions) -> bool:
    """Whether there are bounds for every operation."""
    known = {ca.OP_INPUT, ca.OP_CONST, ca.OP_OUTPUT, *UNARY, *BINARY}
    return known.issuperset(rows.operation)


def _constant(value: float) -> Enclosure:
    return Enclosure(np.array([value]), np.array([value]))


def _applied(operation: int, a: Enclosure, b: Enclosure | None) -> Enclosure:
    rule = (UNARY if b is None else BINARY).get(operation)
    if rule is None:
        shape = np.broadcast_shapes(a.low.shape, (1,) if b is None else b.low.shape)
        return Enclosure(np.full(shape, -np.inf), np.full(shape, np.inf))
    low, high = rule(a) if b is None else rule(a, b)
    # What has no value somewhere has no bounds either.
    unknown = ~(low <= high)
    slack = WIDENED * np.maximum(np.abs(low), np.abs(high))
    slack = np.where(np.isfinite(slack), slack, 0.0) + SMALLEST
    exact = operation in EXACT
    low, high = (low, high) if exact else (low - slack, high + slack)
    return Enclosure(np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high))


# -- operations --------------------------------------------------------------------------------------------------------


def _rising(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[Enclosure], tuple[np.ndarray, np.ndarray]]:
    return lambda a: (function(a.low), function(a.high))


def _falling(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[Enclosure], tuple[np.ndarray, np.ndarray]]:
    return lambda a: (function(a.high), function(a.low))


def _hull(*values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    stacked = np.stack(np.broadcast_arrays(*values))
    return stacked.min(axis=0), stacked.max(axis=0)


def _product(a: Enclosure, b: Enclosure) -> tuple[np.ndarray, np.ndarray]:
    parts = [np.nan_to_num(x * y, nan=0.0, posinf=np.inf, neginf=-np.inf) for x in a for y in b]
    return _hull(*parts)


def _inverse(a: Enclosure) -> tuple[np.ndarray, np.ndarray]:
    across = (a.low <= 0) & (a.high >= 0)
    return np.where(across, -np.inf, 1 / a.high), np.where(across, np.inf, 1 / a.low)


def _quotient(a: Enclosure, b: Enclosure) -> tuple[np.ndarray, np.ndarray]:
    return _product(a, Enclosure(*_inverse(b)))


def _square(a: Enclosure) -> tuple[np.ndarray, np.ndarray]:
    least, most = _hull(a.low * a.low, a.high * a.high)
    return np.where((a.low <= 0) & (a.high >= 0), 0.0, least), most


def _size(a: Enclosure) -> tuple[np.ndarray, np.ndarray]:
    least, most = _hull(np.abs(a.low), np.abs(a.high))
    return np.where((a.low <= 0) & (a.high >= 0), 0.0, least), most


def _power(a: Enclosure, b: Enclosure) -> tuple[np.ndarray, np.ndarray]:
    # Of a positive number, or a whole power without a turn inside the bounds: the corners are the extremes.
    low, high = _hull(*(x**y for x in a for y in b))
    whole = (b.low == b.high) & (b.low == np.floor(b.low))
    across = (a.low <= 0) & (a.high >= 0)
    low = np.where(whole & across & (b.low >= 0) & (np.mod(b.low, 2) == 0), np.minimum(low, 0.0), low)
    usable = (a.low > 0) | (whole & (~across | (b.low >= 0)))
    return np.where(usable, low, np.nan), np.where(usable, high, np.nan)


def _wave(
    shift: float, function: Callable[[np.ndarray], np.ndarray]
) -> Callable[[Enclosure], tuple[np.ndarray, np.ndarray]]:
    """Enclosure of a sine whose first crest is at `shift`."""

    def rule(a: Enclosure) -> tuple[np.ndarray, np.ndarray]:
        low, high = _hull(function(a.low), function(a.high))
        # Arguments beyond 1e12 are known to less than a turn.
        far = np.maximum(np.abs(a.low), np.abs(a.high)) > 1e12
        for offset, value in ((shift, 1.0), (shift + np.pi, -1.0)):
            inside = np.floor((a.high - offset) / (2 * np.pi) + 1e-12) >= np.ceil(
                (a.low - offset) / (2 * np.pi) - 1e-12
            )
            low = np.where(inside | far, np.minimum(low, value), low)
            high = np.where(inside | far, np.maximum(high, value), high)
        return low, high

    return rule


def _tangent(a: Enclosure) -> tuple[np.ndarray, np.ndarray]:
    poles = np.floor(a.high / np.pi - 0.5 + 1e-12) >= np.ceil(a.low / np.pi - 0.5 - 1e-12)
    return np.where(poles, -np.inf, np.tan(a.low)), np.where(poles, np.inf, np.tan(a.high))


def _cosh(a: Enclosure) -> tuple[np.ndarray, np.ndarray]:
    least, most = _hull(np.cosh(a.low), np.cosh(a.high))
    return np.where((a.low <= 0) & (a.high >= 0), 1.0, least), most


def _less(strict: bool) -> Callable[[Enclosure, Enclosure], tuple[np.ndarray, np.ndarray]]:
    def rule(a: Enclosure, b: Enclosure) -> tuple[np.ndarray, np.ndarray]:
        always = a.high < b.low if strict else a.high <= b.low
        never = a.low >= b.high if strict else a.low > b.high
        return np.where(always, 1.0, 0.0), np.where(never, 0.0, 1.0)

    return rule


def _where(a: Enclosure, b: Enclosure) -> tuple[np.ndarray, np.ndarray]:
    off = (a.low == 0) & (a.high == 0)
    on = (a.low > 0) | (a.high < 0)
    low = np.where(off, 0.0, np.where(on, b.low, np.minimum(b.low, 0.0)))
    return low, np.where(off, 0.0, np.where(on, b.high, np.maximum(b.high, 0.0)))


def _arctangent(y: Enclosure, x: Enclosure) -> tuple[np.ndarray, np.ndarray]:
    low, high = _hull(*(np.arctan2(p, q) for p in y for q in x))
    right = x.low > 0
    return np.where(right, low, -np.pi), np.where(right, high, np.pi)


Rule = Callable[..., tuple[np.ndarray, np.ndarray]]
UNARY: dict[int, Rule] = {
    ca.OP_NEG: lambda a: (-a.high, -a.low),
    ca.OP_TWICE: lambda a: (2 * a.low, 2 * a.high),
    ca.OP_SQ: _square,
    ca.OP_INV: _inverse,
    ca.OP_SQRT: lambda a: (np.sqrt(np.maximum(a.low, 0.0)), np.sqrt(a.high)),
    ca.OP_EXP: _rising(np.exp),
    ca.OP_EXPM1: _rising(np.expm1),
    ca.OP_LOG: lambda a: (np.log(np.maximum(a.low, 0.0)), np.log(a.high)),
    ca.OP_LOG1P: lambda a: (np.log1p(np.maximum(a.low, -1.0)), np.log1p(a.high)),
    ca.OP_SIN: _wave(0.5 * np.pi, np.sin),
    ca.OP_COS: _wave(0.0, np.cos),
    ca.OP_TAN: _tangent,
    ca.OP_ASIN: _rising(np.arcsin),
    ca.OP_ACOS: _falling(np.arccos),
    ca.OP_ATAN: _rising(np.arctan),
    ca.OP_SINH: _rising(np.sinh),
    ca.OP_COSH: _cosh,
    ca.OP_TANH: _rising(np.tanh),
    ca.OP_ASINH: _rising(np.arcsinh),
    ca.OP_FABS: _size,
    ca.OP_SIGN: _rising(np.sign),
    ca.OP_FLOOR: _rising(np.floor),
    ca.OP_CEIL: _rising(np.ceil),
    ca.OP_NOT: lambda a: (
        np.where((a.low == 0) & (a.high == 0), 1.0, 0.0),
        np.where((a.low > 0) | (a.high < 0), 0.0, 1.0),
    ),
}
BINARY: dict[int, Rule] = {
    ca.OP_ADD: lambda a, b: (a.low + b.low, a.high + b.high),
    ca.OP_SUB: lambda a, b: (a.low - b.high, a.high - b.low),
    ca.OP_MUL: _product,
    ca.OP_DIV: _quotient,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_FMIN: lambda a, b: (np.minimum(a.low, b.low), np.minimum(a.high, b.high)),
    ca.OP_FMAX: lambda a, b: (np.maximum(a.low, b.low), np.maximum(a.high, b.high)),
    ca.OP_LT: _less(True),
    ca.OP_LE: _less(False),
    ca.OP_IF_ELSE_ZERO: _where,
    ca.OP_ATAN2: _arctangent,
}
# Whole numbers and zeros stay what they are.
EXACT = frozenset(
    (ca.OP_NEG, ca.OP_SIGN, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_LT, ca.OP_LE, ca.OP_NOT, ca.OP_FMIN, ca.OP_FMAX)
)
