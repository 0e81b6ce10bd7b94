"""What kind of system 0 = F(t, x', x, z, u, p) is: explicit or implicit, an ODE or a DAE, linear or not."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.analysis.rank_decision import RankDecision
from daedalus.analysis.structure.consistent_jet import Jet
from daedalus.analysis.structure.derivative_array import DerivativeArray
from daedalus.analysis.structure.numeric_index import EMPTY, null_space
from daedalus.model.expressions import elements, symbol_key

# A system is called linear when F is affine along this many random chords, besides having constant slopes.
CHORDS = 3


@dataclass(frozen=True, eq=False)
class Classification:
    """The kind of a system; `differential` and `algebraic` are positions in y = (x, z), found, not only declared."""

    kind: str
    is_linear: bool
    constant_coefficients: bool
    is_dae: bool
    directly_solvable: bool
    differential: np.ndarray
    algebraic: np.ndarray
    ranks: tuple[RankDecision, ...]


def classify(array: DerivativeArray, jet: Jet, size: np.ndarray, ode: bool = False) -> Classification:
    """The kind of a system, with ranks taken at a jet; an `ode` is known to be one."""
    residual = array.level(0)
    pattern = ca.jacobian_sparsity(residual, array.y[1])
    differential = np.unique(np.array(pattern.get_triplet()[1], dtype=int))
    algebraic = np.setdiff1d(np.arange(array.size), differential)
    y0, y1 = slopes_at(array, jet, size)
    rank = null_space(y1[:, differential], "dF/dx'")[1]
    joint = null_space(np.hstack([y1[:, differential], y0[:, algebraic]]), "[dF/dx' dF/dz]")[1]
    is_dae = not ode and (rank.rank < array.size or array.count != array.size)
    linear, constant = linearity(array, jet)
    return Classification(
        kind=form_of(array, pattern, is_dae),
        is_linear=linear,
        constant_coefficients=constant,
        is_dae=is_dae,
        directly_solvable=ode or joint.rank == array.size == array.count,
        differential=differential,
        algebraic=algebraic,
        ranks=(rank, joint),
    )


def slopes_at(array: DerivativeArray, jet: Jet, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """∂F/∂y and ∂F/∂y' at a jet, columns in sizes of the unknowns, rows divided by their largest entry of both."""
    _, slopes = array.function(0)(*jet.arguments(1))
    matrix = slopes.full() * np.tile(size, 2)
    largest = np.abs(matrix).max(axis=1, initial=0.0, keepdims=True)
    matrix = matrix / np.where(largest > EMPTY, largest, 1.0)
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
    # Steps such as sign(x) have the slope zero and show on chords only.
    function = ca.Function("F", [array.time, array.parameters, unknowns], [residual])
    draw = np.random.default_rng(4)
    for _ in range(CHORDS):
        a, b = (10.0 * draw.standard_normal(unknowns.numel()) for _ in range(2))
        ends = [function(jet.t, jet.p, v).full().ravel() for v in (a, b, 0.3 * a + 0.7 * b)]
        if not np.allclose(ends[2], 0.3 * ends[0] + 0.7 * ends[1], rtol=1e-9, atol=1e-9):
            return False, False
    present = {symbol_key(s) for s in ca.symvar(slopes)}
    return True, symbol_key(elements(array.time)[0]) not in present
