"""Whether two expressions are the same: compared at values drawn at random, where both are defined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import HALF_OF_DIGITS
from daedalus.algebra.dense_values import DenseValues
from daedalus.derivations.usual_values import drawn_near
from daedalus.model.expressions import elements

# How many points are drawn, and how many of them are enough.
DRAWN, ENOUGH = 24, 5
# Expressions that differ by less are the same: half the digits, above what rounding leaves of long formulas.
SAME = HALF_OF_DIGITS


def largest_difference(
    one: ca.SX, two: ca.SX, units: Iterable[ca.SX] = (), usual: Mapping[int, float] = MappingProxyType({})
) -> float:
    """The largest difference of two expressions at random points, relative to the sizes of their parts there.

    Values between 0.2 and 1.7 of either sign, and positive ones where expressions are undefined otherwise. NaN where
    no point was found at which both are finite. units: columns of symbols whose squares add up to one. usual: values
    near which points are drawn where there are no others.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> largest_difference(ca.sin(x) ** 2, 1 - ca.cos(x) ** 2) < 1e-14
    True
    >>> largest_difference(ca.sqrt(x**2), x) > 1
    True
    """
    one, two = ca.densify(ca.vec(one)), ca.densify(ca.vec(two))
    if not one.numel():
        return 0.0
    symbols = ca.symvar(ca.vertcat(one, two))
    both = DenseValues(ca.Function("both", [ca.vertcat(*symbols)], [one, two]))
    place = {s.element_hash(): k for k, s in enumerate(symbols)}
    spheres = [[place[s.element_hash()] for s in elements(unit) if s.element_hash() in place] for unit in units]
    draw = np.random.default_rng(1788)
    worst, count = 0.0, 0
    for k in range(2 * DRAWN if usual else DRAWN):
        if k >= DRAWN and count:
            break
        values = draw.uniform(0.2, 1.7, len(symbols)) if k < DRAWN else drawn_near(draw, symbols, usual)
        if k < DRAWN // 2:
            values *= draw.choice([-1.0, 1.0], len(symbols))
        for sphere in spheres:
            values[sphere] /= np.linalg.norm(values[sphere]) if sphere else 1.0
        left, right = (part.ravel() for part in both(values))
        if not (np.all(np.isfinite(left)) and np.all(np.isfinite(right))):
            continue
        count += 1
        worst = max(worst, float(np.max(np.abs(left - right) / np.maximum(1.0, np.maximum(abs(left), abs(right))))))
        if count >= ENOUGH and k >= DRAWN // 2 + 2:
            break
    return worst if count else float("nan")
