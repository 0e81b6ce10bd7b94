"""What kind of system 0 = F(t, x', x, z, u, p) is: explicit or implicit, an ODE or a DAE, linear or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.counted_entries import counted
from daedalus.algebra.rank_decision import FULL_ARRAY, ROUNDING, RankDecision, rank_of
from daedalus.analysis.structure.dependence.null_space_probe import NullSpaceProbe
from daedalus.analysis.structure.jets.consistent_jet import Jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.signature import Signature
from daedalus.model.expressions import COMPARISONS, LOGICAL, STAIRS, contains, elements, symbol_key

# What may jump where its slope is zero. A system with such operations is called linear when F is affine along so many
# random chords, besides having constant slopes.
STEPS, CHORDS = COMPARISONS.keys() | LOGICAL.keys() | STAIRS.keys() | {ca.OP_SIGN, ca.OP_COPYSIGN}, 3


@dataclass(frozen=True, eq=False)
class Classification:
    """The kind of a system; `differential` and `algebraic` are positions in y = (x, z), found, not only declared."""

    kind: str
    is_linear: bool
    is_dae: bool
    directly_solvable: bool
    differential: np.ndarray
    algebraic: np.ndarray
    ranks: tuple[RankDecision, ...]


def classify(array: DerivativeArray, jet: Jet, size: np.ndarray, proved: Signature | None = None) -> Classification:
    """The kind of a system, with ranks taken at a jet.

    With offsets `proved` right there by a regular system Jacobian J no rank is needed. All c = 0: J is [∂F/∂x' ∂F/∂z],
    and it is ∂F/∂x' if all d = 1 besides. Else already the pattern of these matrices is singular, for a full assignment
    in it would be an optimal one with c = 0.
    """
    residual = array.level(0)
    pattern = ca.jacobian_sparsity(residual, array.y[1])
    differential = np.unique(np.array(pattern.get_triplet()[1], dtype=int))
    algebraic = np.setdiff1d(np.arange(array.size), differential)
    ranks: tuple[RankDecision, ...] = ()
    if proved is not None:
        is_dae, direct = proved.index != 0, not np.any(proved.c)
    else:
        from scipy.sparse import hstack

        y0, y1 = slopes_at(array, jet, size)
        rank = _rank(y1[:, differential], "dF/dx'")
        joint = _rank(hstack([y1[:, differential], y0[:, algebraic]], "csc"), "[dF/dx' dF/dz]")
        is_dae = rank.rank < array.size or array.count != array.size
        direct = joint.rank == array.size == array.count
        ranks = (rank, joint)
    linear, _ = linearity(array, jet)
    return Classification(
        kind=form_of(array, pattern, is_dae),
        is_linear=linear,
        is_dae=is_dae,
        directly_solvable=direct,
        differential=differential,
        algebraic=algebraic,
        ranks=ranks,
    )


def _rank(matrix: Any, name: str) -> RankDecision:
    """The rank of a full matrix, or of a large sparse one through its null space."""
    if matrix.shape[0] <= FULL_ARRAY:
        return rank_of(matrix.toarray(), name)
    found = NullSpaceProbe(matrix).decision(None, name)
    rank = matrix.shape[1] - found.rank
    return RankDecision(name, matrix.shape, rank, found.smallest_kept, found.largest_dropped, found.gap)


def slopes_at(array: DerivativeArray, jet: Jet, size: np.ndarray) -> tuple[Any, Any]:
    """∂F/∂y and ∂F/∂y' at a jet, columns in sizes of the unknowns, rows divided by their largest entry of both."""
    from scipy.sparse import diags

    *given, y = jet.arguments(1)
    sizes = np.maximum(np.tile(size, 2), np.abs(y))
    matrix = counted(lambda own: array.function(0)(*given, own)[1].sparse(), y, sizes) @ diags(np.tile(size, 2))
    largest = abs(matrix).max(axis=1).toarray().ravel()
    matrix = (diags(1 / np.where(largest > 0, largest, 1.0)) @ matrix).tocsc()
    return matrix[:, : array.size], matrix[:, array.size :]


def form_of(array: DerivativeArray, pattern: ca.Sparsity, is_dae: bool) -> str:
    """One derivative an equation, with a coefficient free of unknowns and inputs, makes a system (semi-)explicit."""
    rows, columns = (np.array(k, dtype=int) for k in pattern.get_triplet())
    single = len(set(rows.tolist())) == len(rows) == len(set(columns.tolist()))
    if single:
        slope = ca.jtimes(array.level(0), array.y[1], ca.SX.ones(array.size))
        moving = ca.vertcat(array.time, array.y[0], array.y[1], array.u[0])
        single = not ca.depends_on(slope, moving)
    if not is_dae:
        return "explicit ODE" if single else "implicit ODE"
    # An ODE by its form that is none at this point is fully implicit there.
    return "semi-explicit DAE" if single and len(columns) < array.size else "fully implicit DAE"


def linearity(array: DerivativeArray, jet: Jet) -> tuple[bool, bool]:
    """Whether F is linear in (x', x, z, u), and whether its coefficients are constant in time besides."""
    residual = array.level(0)
    unknowns = ca.vertcat(array.y[0], array.y[1], array.u[0])
    slopes = ca.jacobian(residual, unknowns)
    if ca.depends_on(slopes, unknowns):
        return False, False
    present = {symbol_key(s) for s in ca.symvar(slopes)}
    is_constant = symbol_key(elements(array.time)[0]) not in present
    terms = ca.mtimes(ca.fabs(slopes), ca.fabs(unknowns))
    function = ca.Function("F", [array.time, array.parameters, unknowns], [residual, terms])
    if not contains(function, STEPS):
        return True, is_constant
    # Steps have the slope zero and show on chords only, in units of the unknowns and above the rounding of the terms.
    draw, units = np.random.default_rng(4), 10.0 * np.concatenate([array.sizes, array.sizes, array.system.nominal["u"]])
    for _ in range(CHORDS):
        a, b = (units * draw.standard_normal(len(units)) for _ in range(2))
        ends = [[part.full().ravel() for part in function(jet.t, jet.p, v)] for v in (a, b, 0.3 * a + 0.7 * b)]
        one, other, between = (value for value, _ in ends)
        whole = np.abs(ends).max(axis=(0, 1), initial=0.0)
        if np.any(np.abs(between - 0.3 * one - 0.7 * other) > ROUNDING * whole):
            return False, False
    return True, is_constant
