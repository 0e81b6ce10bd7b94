"""The part of a change of the state that lies along what a model keeps: positions first, then the rest, as at a start.

P = I − B J with J = ∂c/∂x of what is kept, and B of one stage after the other, W Jᵀ (J W Jᵀ)⁻¹ with W⁻¹ the mass matrix
or nominal values. Noise in the velocities of a body on a rod pushes it along its circle: what the rod takes up moves no
position, and velocities share a push by their masses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.algebra.agreement import HALF_OF_DIGITS, agree
from daedalus.algebra.rank_decision import SYMBOLIC_SOLVE
from daedalus.compilation import compile_function
from daedalus.differentiation.case import Case
from daedalus.differentiation.directions import read_directions
from daedalus.differentiation.variational.tangent_start import StartMoves
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate
from daedalus.simulation.plant.projection import normal_inverse


def kept_projector(case: Case) -> Any:
    """P by rows as a function of (t, x, u, p) in the core, the `sens.projector` of a start; None if nothing is kept.

    It is compiled where its formula, tried at the start, gives what `dd.sensitivities` finds by numbers; else it is
    found by numbers at each point.
    """
    if not case.system.invariants:
        return None
    formula, by_numbers = _tried(case)
    if formula is not None:
        return compile_function(formula).core
    n = len(case.x0)
    wrapped = _core.Function("projector", [1, n, len(case.u0), len(case.p)], [n * n], 4, 1, 0, 0)
    wrapped.set_python(by_numbers)
    return wrapped


def kept_formula(case: Case) -> ca.Function | None:
    """P by rows in symbols (t, x, u, p), where `kept_projector` uses a formula; else None."""
    return _tried(case)[0] if case.system.invariants else None


def _tried(case: Case) -> tuple[ca.Function | None, Callable[..., np.ndarray]]:
    """The formula, if it is right at the start, and P by numbers."""
    moves, directions = (
        StartMoves(case.model, case.system, case.form, case.given),
        read_directions(case.system, "start", 0),
    )

    def by_numbers(t: Any, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        return moves.at((float(np.ravel(t)[0]), x, u, p), directions).projector.ravel()

    point = (np.array([case.t0]), case.x0, case.u0, case.p)
    formula = _formula(case, moves)
    if formula is None:
        return None, by_numbers
    found = compile_function(formula).core(*point)[0]
    return formula if agree(found, by_numbers(*point), HALF_OF_DIGITS) else None, by_numbers


def _formula(case: Case, moves: StartMoves) -> ca.Function | None:
    """P in symbols, or None where it is too long."""
    system, x = case.system, case.system.symbol("x")
    kept = case.form.applied(system, concatenate(system.invariants.values()))
    J, B = ca.jacobian(kept, x), ca.SX(len(case.x0), kept.numel())
    weights = _weights(case, moves)
    if weights is None:
        return None
    try:
        for rows, columns in ((rows.tolist(), columns.tolist()) for rows, columns in moves.stages):
            if rows and columns:
                own, W = J[rows, columns], weights[columns, columns]
                inverse = ca.mtimes([W, own.T, normal_inverse(own, W)])
                B[columns, :] += ca.mtimes(inverse, ca.SX.eye(kept.numel())[rows, :] - ca.mtimes(J[rows, :], B))
    except SolverError:
        return None
    P = ca.densify(ca.SX.eye(len(case.x0)) - ca.mtimes(B, J))
    return ca.Function("projector", system.symbols(("t", "x", "u", "p")), [ca.vec(P.T)])


def _weights(case: Case, moves: StartMoves) -> ca.SX | None:
    """W in symbols: masses of positions and velocities, squares of nominal values else."""
    system, motion = case.system, moves.motion
    sizes = system.nominal["x"]
    weights = ca.SX(ca.diag(ca.DM(sizes**2)))
    if motion is None:
        return weights
    labels = list(system.labels["x"])
    q, v, other = ([labels.index(n) for n in own] for own in (motion.positions, motion.velocities, motion.other_labels))
    if max(len(q), len(v)) > SYMBOLIC_SOLVE:
        return None
    x, u = system.symbol("x"), system.symbol("u")
    driven = u if motion.M.size1_in(3) == u.numel() else ca.SX.zeros(motion.M.size1_in(3))
    arguments = (system.symbol("t"), x[q], x[v], driven, system.symbol("p"), x[other])
    mass, rates = motion.M(*arguments), motion.N(*arguments)
    back = ca.mtimes(normal_inverse(rates.T, ca.SX.eye(len(q))), rates.T)
    beside = ca.SX.eye(len(q)) - ca.mtimes(rates, back)
    of_positions = ca.mtimes([back.T, mass, back]) + ca.trace(mass) / len(v) * beside
    for places, metric in ((q, of_positions), (v, mass)):
        usual = ca.dot(ca.diag(metric), ca.DM(sizes[places] ** 2)) / len(places)
        # (J W Jᵀ)⁻¹ with J and W the identity and the metric is the inverse of the metric.
        weights[places, places] = usual * normal_inverse(ca.SX.eye(len(places)), ca.densify(metric))
    return weights
