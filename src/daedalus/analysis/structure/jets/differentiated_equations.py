"""The equations and those of their time derivatives that are needed to determine x' and z at a given x.

In a DAE of index above 1 some x' and z follow only from differentiated equations. With the offsets c and d of the
signature method the values follow in stages k = -max c, ..., 0: the equations F_i differentiated c_i + k times are
solved for the derivatives of order d_j + k (J. D. Pryce, A simple structural analysis method for DAEs, BIT 41, 2001).
Inputs count as constant in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import Root, damped_newton
from daedalus.algebra.rank_decision import FULL_MATRIX
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.compilation import Compiled, compile_function
from daedalus.model.system.once import once
from daedalus.model.system.system import System


@dataclass(frozen=True, eq=False)
class Differentiated:
    """How often each equation and variable is differentiated, and the compiled stack of all the equations.

    rows: (equation, times differentiated) of every row. columns: (variable, order) of every column of the Jacobian;
    variables count x first, then z; the order of x is at least 1.
    """

    equations: np.ndarray
    variables: np.ndarray
    rows: list[tuple[int, int]]
    columns: list[tuple[int, int]]
    function: Compiled
    pattern: ca.Sparsity


def is_determined(system: System) -> bool:
    """Whether the structure of F lets x' and z be solved for as it stands."""
    return not np.any(structure_of(system).signature.c)


def solve_differentiated(
    system: System, vectors: Mapping[str, np.ndarray], unknowns: Sequence[tuple[str, int]]
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Values of unknowns among x' and z, the positions of those left undetermined, and the most differentiations.

    None where the stages do not converge.
    """
    prepared = _prepared(system)
    if prepared is None:
        return None
    n = system.sizes["x"]
    place = {column: k for k, column in enumerate(prepared.columns)}
    jet = np.zeros(len(prepared.columns))
    for k, (j, order) in enumerate(prepared.columns):
        if order == (1 if j < n else 0):
            jet[k] = vectors["xdot"][j] if j < n else vectors["z"][j - n]
    sought = {(k, 1) if letter == "xdot" else (n + k, 0) for letter, k in unknowns}
    loose: set[int] = set()
    most = int(prepared.equations.max(initial=0))
    for stage in range(-most, 1):
        rows = [r for r, (i, times) in enumerate(prepared.rows) if times == prepared.equations[i] + stage]
        columns = [
            k
            for k, (j, order) in enumerate(prepared.columns)
            if order == prepared.variables[j] + stage and (order > (1 if j < n else 0) or (j, order) in sought)
        ]
        root = _solve_stage(system, prepared, vectors, jet, rows, columns)
        if not root.converged:
            return None
        jet[columns] = root.values
        loose |= {columns[k] for k in root.loose()}
    positions = [place.get((k, 1) if letter == "xdot" else (n + k, 0), -1) for letter, k in unknowns]
    values = np.array([jet[k] if k >= 0 else vectors["xdot"][entry[1]] for k, entry in zip(positions, unknowns)])
    return values, np.array([k for k, p in enumerate(positions) if p in loose], dtype=int), most


def _solve_stage(
    system: System,
    prepared: Differentiated,
    vectors: Mapping[str, np.ndarray],
    jet: np.ndarray,
    rows: list[int],
    columns: list[int],
) -> Root:
    """Newton's method on some rows for some columns."""
    from scipy.sparse import csc_matrix

    nominal = np.concatenate([system.nominal["x"], system.nominal["z"]])
    size = np.array([nominal[prepared.columns[k][0]] for k in columns])
    all_sizes = np.array([nominal[j] for j, _ in prepared.columns])
    given = [vectors[letter] for letter in ("t", "x", "u", "p")]

    def evaluate(values: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
        trial = jet.copy()
        trial[columns] = values
        residual, entries = prepared.function(*given, trial)
        pattern = prepared.pattern
        matrix = csc_matrix((entries, pattern.row(), pattern.colind()), shape=pattern.shape).tocsr()[rows]
        scale = abs(matrix).multiply(np.maximum(all_sizes, np.abs(trial))).max(axis=1).toarray().ravel()
        chosen = matrix.tocsc()[:, columns]
        chosen = chosen.toarray() if len(columns) <= FULL_MATRIX else chosen
        return residual[rows], chosen, np.where(scale > 0, scale, 1.0)

    return damped_newton(evaluate, jet[columns], size)


# -- the stack of equations ------------------------------------------------------------------------------------


def _prepared(system: System) -> Differentiated | None:
    """The stack for a system, made once and kept with it; None where the structure asks for no differentiation."""
    return None if is_determined(system) else once(system, _stack)


def _stack(system: System) -> Differentiated:
    c, d = structure_of(system).signature.c, structure_of(system).signature.d
    n, array = system.sizes["x"], DerivativeArray(system)
    pieces, rows = array.stack(system.residual, c)
    columns = [(j, order) for j in range(array.size) for order in range(1 if j < n else 0, int(d[j]) + 1)]
    jet = ca.vertcat(*(array.unknowns(order)[j] for j, order in columns))
    # Inputs are constant in time: their derivatives are zero.
    rates = ca.vertcat(*array.u[1:]) if len(array.u) > 1 else ca.SX(0, 1)
    stack = ca.substitute(ca.densify(ca.vertcat(*pieces)), rates, ca.SX.zeros(rates.shape))
    slopes = ca.jacobian(stack, jet)
    arguments = [*(system.symbol(letter) for letter in ("t", "x", "u", "p")), jet]
    function = compile_function(ca.Function("differentiated", arguments, [stack, slopes]))
    return Differentiated(c, d, rows, columns, function, slopes.sparsity())
