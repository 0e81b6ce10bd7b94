"""The operating point of a circuit: where it comes to rest with its sources as they are at the start.

Implicit Euler steps of growing length from zero follow the circuit to its rest (pseudo-transient continuation: C. T.
Kelley, D. E. Keyes 1998); the last step is so long that it is Newton's method for the rest itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import SolverError
from daedalus.model.system.system import System

FIRST_STEP, GROWTH, LAST_STEP = 1e-9, 4.0, 1e15
MOST_ITERATIONS = 60


def steady_start(system: System, held: Mapping[str, float]) -> dict[str, float]:
    """The states at rest by name; `held` ones stay at their values, and their rates are what is found instead."""
    x, z = system.symbol("x"), system.symbol("z")
    before, step = ca.SX.sym("before", x.numel()), ca.SX.sym("step")
    rates, places = (x - before) / step, ca.SX(x)
    is_free = np.ones(x.numel() + z.numel(), dtype=bool)
    for k, name in enumerate(system.labels["x"]):
        if name in held:
            rates[k], places[k], is_free[k] = x[k], held[name], False
    (residual,) = ca.substitute([system.residual], [system.symbol("xdot"), x], [rates, places])
    unknowns = ca.vertcat(x, z)
    known = [system.symbol("t"), system.symbol("u"), system.symbol("p"), before, step]
    function = ca.Function("rest", [unknowns, *known], [residual, ca.jacobian(residual, unknowns)])
    p, u = system.start["p"], np.zeros(system.sizes["u"])
    values, length = np.zeros(unknowns.numel()), FIRST_STEP
    while length < LAST_STEP:
        found = _newton(function, values, (0.0, u, p, values[: x.numel()], length), is_free)
        if found is None:
            length /= 8
            if length < 1e-20:
                raise SolverError(
                    f"The operating point of {system.name!r} was not found.",
                    f"steps towards it fell below {length:g} s",
                    because="the circuit has no rest with its sources as they are at the start, or several.",
                    remedy=".ic V(node)=... with .tran ... uic",
                )
            continue
        values, length = found, length * GROWTH
    return {**dict(zip(system.labels["x"], values[: x.numel()].tolist())), **held}


def _newton(function: Any, start: np.ndarray, known: tuple[object, ...], is_free: np.ndarray) -> np.ndarray | None:
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    values = start.copy()
    for _ in range(MOST_ITERATIONS):
        left, slopes = function(values, *known)
        residual = left.full().ravel()
        if not np.all(np.isfinite(residual)):
            return None
        try:
            matrix = csc_matrix((slopes.nonzeros(), slopes.sparsity().row(), slopes.sparsity().colind()), slopes.shape)
            change = splu(matrix).solve(-residual)
        except RuntimeError:
            return None
        # Junctions: no unknown moves by more than a few volts at once.
        change[is_free] = np.clip(change[is_free], -2.0, 2.0)
        values = values + change
        if np.all(np.abs(change) <= 1e-12 + 1e-10 * np.abs(values)):
            return values
    return None
