"""One step of the Lobatto IIIA–IIIB pair for constrained mechanics, as residual and Jacobian for the core.

For d/dt π(t, q, v) = f(t, q, v) + Gᵀ λ, q' = v, c(t, q) = 0 a step of length h with s stages solves

    π(Q_i, V_i) = π_n + Σ_j â_ij (h f(Q_j, V_j) + G(Q_j)ᵀ Λ_j),    Q_i = q_n + h Σ_j a_ij V_j,    c(Q_i) = 0  (i ≥ 2)

for the stage velocities V_1 … V_s and the impulses Λ_1 … Λ_{s−1}; a is Lobatto IIIA, â = IIIB with â_is = 0. Its end is
q_{n+1} = Q_s, and π_{n+1} = π_n + Σ_j b_j (h f_j + G_jᵀ Λ_j) with Λ_s such that c' = 0 there. Two stages are RATTLE
(H. C. Andersen, J. Comput. Phys. 52, 1983); the order is 2s − 2, the map symplectic, symmetric, and on the constraints
(L. O. Jay, SIAM J. Numer. Anal. 33, 1996; E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, VII.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation import Compiled, compile_function
from daedalus.model.mechanics.momentum_form import MomentumForm, momentum_form
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System


@dataclass(frozen=True, eq=False)
class LobattoPair:
    """The coefficients: a, â, b and c."""

    a: np.ndarray
    hat: np.ndarray
    b: np.ndarray
    c: np.ndarray


@cache
def lobatto_pair(stages: int) -> LobattoPair:
    """Lobatto IIIA and its partner IIIB, b_i â_ij + b_j a_ji = b_i b_j.

    Example
    -------
    >>> lobatto_pair(2).hat.tolist()
    [[0.5, 0.0], [0.5, 0.0]]
    """
    from daedalus.integrators.tableaux.collocation import lobatto_iiia

    tableau = lobatto_iiia(stages)
    a, b, c = (np.array(part, dtype=float) for part in (tableau.A, tableau.b, tableau.c))
    a[-1] = b
    return LobattoPair(a, b * (1 - a.T / b[:, None]), b, c)


@remembered
def lobatto_step(system: System, stages: int) -> Any:
    """The step map of a system as the core takes it, made once for each number of stages."""
    form, pair = momentum_form(system), lobatto_pair(stages)
    residual, jacobian, landing = _stage_functions(system, form, pair)
    masses, motion = _row_functions(system, form)
    matrix, saddle = (function.function.sparsity_out(0) for function in (jacobian, masses))
    return _core.LobattoStep(
        residual.core,
        jacobian.core,
        landing.core,
        masses.core,
        motion.core,
        nodes=pair.c.tolist(),
        half_way=pair.hat.sum(axis=1).tolist(),
        positions=form.positions,
        velocities=form.velocities,
        multipliers=form.multipliers,
        stage_colind=matrix.colind(),
        stage_rows=matrix.row(),
        saddle_colind=saddle.colind(),
        saddle_rows=saddle.row(),
    )


def _stage_functions(system: System, form: MomentumForm, pair: LobattoPair) -> tuple[Compiled, Compiled, Compiled]:
    """Residual, Jacobian and the end of a step as functions of (t, h, row, w, inputs at the stages, p)."""
    s, n, m = len(pair.c), len(form.positions), len(form.multipliers)
    sizes = system.sizes
    t, h, row = ca.SX.sym("t"), ca.SX.sym("h"), ca.SX.sym("row", 2 * sizes["x"] + sizes["z"])
    w, U, p = ca.SX.sym("w", s * n + (s - 1) * m), ca.SX.sym("U", sizes["u"], s), ca.SX.sym("p", sizes["p"])
    q, v = row[list(form.positions)], row[list(form.velocities)]
    V = [w[i * n : (i + 1) * n] for i in range(s)]
    impulse = [w[s * n + j * m : s * n + (j + 1) * m] for j in range(s - 1)]
    Q = [q + h * sum((pair.a[i, j] * V[j] for j in range(s)), ca.SX.zeros(n)) if i else q for i in range(s)]
    at = [(t + pair.c[i] * h, Q[i], V[i], U[:, i], p) for i in range(s)]

    push = [h * form.force(*at[j]) for j in range(s)]
    for j in range(s - 1):
        push[j] += ca.mtimes(form.jacobian(*at[j]).T, impulse[j])
    begin = form.momentum(t, q, v, U[:, 0], p)
    parts = [
        form.momentum(*at[i]) - begin - sum((pair.hat[i, j] * push[j] for j in range(s - 1)), ca.SX.zeros(n))
        for i in range(s)
    ]
    parts += [form.constraint(*at[i]) / h for i in range(1, s)]
    residual = ca.densify(ca.vertcat(*parts))
    landed = begin + sum((pair.b[j] * push[j] for j in range(s)), ca.SX.zeros(n))
    arguments = [t, h, row, w, ca.vec(U), p]
    functions = (
        ca.Function("step_residual", arguments, [residual]),
        ca.Function("step_jacobian", arguments, [ca.jacobian(residual, w)]),
        ca.Function("step_landing", arguments, [ca.densify(Q[-1]), ca.densify(landed)]),
    )
    first, second, third = (compile_function(function) for function in functions)
    return first, second, third


def _row_functions(system: System, form: MomentumForm) -> tuple[Compiled, Compiled]:
    """Functions of (t, row, u, p): the matrix (M −Gᵀ; G 0) with π, −c' and −c, and the right-hand side of (v', λ)."""
    sizes = system.sizes
    t, row = ca.SX.sym("t"), ca.SX.sym("row", 2 * sizes["x"] + sizes["z"])
    u, p = ca.SX.sym("u", sizes["u"]), ca.SX.sym("p", sizes["p"])
    at = (t, row[list(form.positions)], row[list(form.velocities)], u, p)
    mass, jacobian, m = form.mass(*at), form.jacobian(*at), len(form.multipliers)
    saddle = ca.blockcat([[mass, -jacobian.T], [jacobian, ca.SX(m, m)]])
    outputs = [
        saddle,
        ca.densify(form.momentum(*at)),
        ca.densify(-form.constraint_rate(*at)),
        ca.densify(-form.constraint(*at)),
    ]
    masses = ca.Function("masses", [t, row, u, p], outputs)
    motion = ca.Function("accelerations", [t, row, u, p], [ca.densify(form.right(*at))])
    return compile_function(masses), compile_function(motion)
