"""Sensitivities on the invariants: when a step is moved onto c(t, x, u, p) = 0, its derivatives move along.

Tangential: at the moved state x the sensitivities are corrected until ∂c/∂x S + c_θ = 0 holds, and for second order
∂c/∂x W_jk + c''[V_j, V_k] = 0; it changes S by no more than the error of the step. Exact: the correction x → π(x) is
differentiated itself, S → π' V and W_jk → π_x W_jk + π''[V_j, V_k]: part of the derivative of the discrete map.
"""

from __future__ import annotations

import casadi as ca

from daedalus.differentiation.variational.variational import Variational
from daedalus.model.expressions import concatenate
from daedalus.simulation.plant.projection import CORRECTIONS, correction, normal_inverse, projection


def tangential(variational: Variational) -> ca.SX:
    """The moved y with sensitivities tangent to the invariants, as an expression of the arguments."""
    v, system = variational, variational.system
    n, weights = v.x.numel(), system.nominal["x"] ** 2
    kept = v.form.applied(system, concatenate(system.invariants.values()))
    slopes = ca.jacobian(kept, v.v)
    S = v.S - correction(kept, v.x, weights, ca.mtimes(slopes, v.seeds(v.S)))
    W = v.W
    if v.order == 2:
        hessians = [ca.hessian(kept[i], v.v)[0] for i in range(kept.numel())]
        W = W - correction(kept, v.x, weights, ca.mtimes(slopes[:, :n], W) + v.bend(hessians, v.seeds(S)))
    moved = projection(system, v.form)
    assert moved is not None
    return ca.substitute(v.layout.packed_symbols(v.x, S, W), v.x, v.on_state(moved))


def exact(variational: Variational) -> ca.SX:
    """The moved y with the derivatives of the move itself, as an expression of the arguments."""
    v = variational
    moved = projection(v.system, v.form)
    assert moved is not None
    if v.order == 2:
        return v.on_state(v.layout.packed_symbols(moved, *differentiated(v, moved)))
    once = _correction_with_slopes(v)
    x, S = v.x, ca.densify(v.S)
    for _ in range(CORRECTIONS):
        x, S = once(v.t, x, v.u, v.p, v.weights, S)
    return v.on_state(v.layout.packed_symbols(x, S, v.W))


def _correction_with_slopes(v: Variational) -> ca.Function:
    """One correction x - W Jᵀ λ with (J W Jᵀ) λ = c, and its derivative: the same matrix serves for dλ, too.

    (J W Jᵀ) dλ = dc - dJ (W Jᵀ λ) - J W (dJᵀ λ), with dJ in the direction of each column.
    """
    system, S = v.system, ca.SX.sym("S", v.x.numel(), v.directions.count)
    weights = ca.diag(ca.SX(ca.DM(system.nominal["x"] ** 2)))
    kept = v.form.applied(system, concatenate(system.invariants.values()))
    J, seeds = ca.jacobian(kept, v.x), ca.densify(v.seeds(S))
    inverse = normal_inverse(J, weights)
    multipliers = ca.densify(ca.mtimes(inverse, kept))
    step = ca.densify(ca.mtimes(weights, ca.mtimes(J.T, multipliers)))
    held, moved = ca.SX.sym("held", kept.numel()), ca.SX.sym("moved", v.x.numel())
    by_rows = ca.jtimes(ca.densify(ca.mtimes(J.T, held)), v.v, seeds)
    by_columns = ca.jtimes(ca.densify(ca.mtimes(J, moved)), v.v, seeds)
    by_rows, by_columns = ca.substitute([by_rows, by_columns], [held, moved], [multipliers, step])
    weighted = ca.mtimes(weights, by_rows)
    change = ca.mtimes(ca.jacobian(kept, v.v), seeds) - by_columns - ca.mtimes(J, weighted)
    slopes = S - weighted - ca.mtimes(weights, ca.mtimes(J.T, ca.mtimes(inverse, change)))
    return ca.Function("correct", [v.t, v.x, v.u, v.p, v.weights, S], [v.x - step, ca.densify(slopes)])


def differentiated(v: Variational, moved: ca.SX) -> tuple[ca.SX, ca.SX]:
    """S and W behind a map x → moved(t, x, u, p)."""
    n, m = v.x.numel(), v.directions.count
    seeds = ca.densify(v.seeds(v.S))
    S = ca.jtimes(moved, v.v, seeds)
    W = v.W
    if v.order == 2:
        free = ca.SX.sym("V", v.v.numel(), m)
        once = ca.vec(ca.jtimes(moved, v.v, free))
        rows, columns = [], v.pairs
        twice = [ca.reshape(ca.jtimes(once, v.v, free[:, k]), n, m) for k in range(m)]
        rows = [twice[int(k)][:, int(j)] for j, k in zip(*columns)]
        bend = ca.substitute(ca.horzcat(*rows), free, seeds)
        W = ca.mtimes(ca.jacobian(moved, v.x), W) + bend
    return S, W
