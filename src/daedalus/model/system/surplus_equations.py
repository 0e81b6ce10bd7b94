"""More equations than unknowns that can all be obeyed: those that follow from the others are found and set apart.

Of F(t, x', x, z, u, p) = 0 with more rows than unknowns as many rows are chosen as determine x' and z, in the order in
which they were written. Of the rows left over

- one without x' and z is a constraint c(t, x, p) = 0 that the others must keep: an invariant;
- one with them must hold by itself where the others do: it says nothing new.

Both are looked at in points drawn at random on the constraints. Where one does not hold, or no choice of rows
determines x' and z, the equations are too many.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import EPSILON, NOT_ZERO, independent_rows
from daedalus.model.system.sampled_points import CANCELLED, SAMPLES, Points, rate_terms, states_near
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS

# Roundings of x' and z, by their largest, that are no contradiction.
ROUNDINGS = 64 * EPSILON


@dataclass(frozen=True)
class Surplus:
    """Equations that follow from the others, by name; what a system keeps of them: `implied` hold by themselves."""

    kept: tuple[str, ...]
    implied: tuple[str, ...]


def surplus_rows(system: System) -> tuple[list[int], list[int]] | None:
    """Of a system with too many rows those that are kept by the others and those that are implied by them.

    None where they cannot all be obeyed, or where that is not decided.
    """
    solved, residual = ca.vertcat(system.symbol("xdot"), system.symbol("z")), system.residual
    moving = sorted(set(ca.jacobian_sparsity(residual, solved).row()))
    kept = [row for row in range(residual.numel()) if row not in set(moving)]
    if any(ca.depends_on(residual[row], system.symbol("u")) for row in kept):
        return None
    chosen = _independent(system, residual, solved, moving)
    if len(chosen) < solved.numel():
        return None
    implied = [row for row in moving if row not in set(chosen)]
    return (kept, implied) if _all_hold(system, chosen, kept, implied) else None


def _independent(system: System, residual: ca.SX, solved: ca.SX, moving: list[int]) -> list[int]:
    """The first rows with independent slopes in x' and z at values drawn at random."""
    draw = np.random.default_rng(2)
    arguments = system.symbols()
    slope = ca.Function("slope", arguments, [ca.densify(ca.jacobian(residual[moving], solved))])
    known = {"x": system.default_start, "p": np.nan_to_num(system.start["p"], nan=1.0)}
    values = [
        known["p"] if letter == "p" else known.get(letter, 0.0) + draw.uniform(-0.5, 0.5, symbol.numel())
        for letter, symbol in zip(ARGUMENTS, arguments)
    ]
    return [moving[k] for k in independent_rows(slope.call(values)[0].full())]


def _all_hold(system: System, chosen: list[int], kept: list[int], implied: list[int]) -> bool:
    """Whether the rows left over hold in points of the others, the constraints with their first derivative."""
    residual = system.residual
    constraints = residual[kept] if kept else ca.SX(0, 1)
    points = Points(system, residual[chosen], constraints)
    terms = rate_terms(system, constraints)
    left = ca.vertcat(ca.sum2(terms), residual[implied] if implied else ca.SX(0, 1))
    sizes = ca.vertcat(ca.sum2(ca.fabs(terms)), *(size_of(residual[row]) for row in implied))
    slopes = ca.sum2(ca.fabs(ca.jacobian(left, ca.vertcat(system.symbol("xdot"), system.symbol("z")))))
    look = ca.Function("left", points.arguments, [left, sizes, ca.densify(slopes)])
    draw, seen = np.random.default_rng(3), 0
    for near in states_near(system.default_start, system.nominal["x"]):
        u, p = draw.uniform(-1.0, 1.0, system.sizes["u"]), np.nan_to_num(system.start["p"], nan=1.0)
        point = points.at(float(draw.uniform()), near, u, p)
        if point is not None:
            seen += 1
            values, allowed, steep = (part.full().ravel() for part in look.call(point))
            # Where all terms are zero, x' and z are so to rounding of the largest of them.
            solved = np.abs(np.concatenate([point[1], point[3]])).max(initial=0.0)
            if not np.all(np.abs(values) <= CANCELLED * allowed + ROUNDINGS * steep * solved + NOT_ZERO):
                return False
    return seen >= SAMPLES // 2


def size_of(row: ca.SX) -> ca.SX:
    """The size of what a row adds up: |a| + |b| of a - b, down to products."""
    if row.is_op(ca.OP_ADD) or row.is_op(ca.OP_SUB):
        return size_of(row.dep(0)) + size_of(row.dep(1))
    if row.is_op(ca.OP_NEG):
        return size_of(row.dep(0))
    return ca.fabs(row)
