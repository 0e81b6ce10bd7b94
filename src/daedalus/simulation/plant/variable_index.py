"""The index of every variable: how many derivatives of the equations determine it, which scales an implicit method.

With the offsets c of the equations and d of the unknowns (Pryce 2001) and C the largest c among the equations that an
unknown depends on, the unknown has index C + 1 - d, at least 1: positions of a pendulum 1, velocities 2, the force in
the rod 3. The errors of a variable of index k count h^(k-1) times, and equations are multiplied by h^(C - c)
(E. Hairer, C. Lubich, M. Roche, The Numerical Solution of Differential-Algebraic Systems by Runge-Kutta Methods, 1989).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.analysis.structure.signature import Signature, signature
from daedalus.errors import SingularModelError
from daedalus.initialisation.start_equations import repaired_signature
from daedalus.model.system.once import once
from daedalus.model.system.system import System


@dataclass(frozen=True, eq=False)
class VariableIndex:
    """The index of each unknown (x, z), and the power of h that each equation is multiplied by."""

    index: np.ndarray
    level: np.ndarray

    @property
    def largest(self) -> int:
        """The index of the system as its variables show it; 1 for an ODE."""
        return int(self.index.max(initial=1))


def variable_index(system: System) -> VariableIndex:
    """The indices of a system by structure; a SingularModelError where the structure is singular.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("held mass")
    >>> y = m.state("y", start=0.0); v = m.state("v", start=0.0); force = m.algebraic("force")
    >>> m.equation(m.der(y), v); m.equation(m.der(v), force - 9.81); m.equation(y, 0.0)
    >>> variable_index(m.freeze()).index.tolist()
    [1, 2, 3]
    """
    return once(system, _found)


def _found(system: System) -> VariableIndex:
    x, z, xdot = (system.symbol(letter) for letter in ("x", "z", "xdot"))
    rates = ca.vertcat(xdot, ca.SX.sym("no rate", z.numel()))
    found = signature(system.residual, [ca.vertcat(x, z), rates])
    if not found.regular:
        labels = [*system.labels["x"], *system.labels["z"]]
        loose = [labels[k] for k in sorted(set(range(len(labels))) - set(found.partner.tolist()))]
        raise SingularModelError(
            "The equations do not determine all variables.",
            f"no equation is left for {', '.join(loose[:6])}",
            because="some equations contain the same few variables, or say the same.",
            remedy="dd.analyse(m), which names the parts that have too many and too few equations",
        )
    # Sums of equations may hide how often one of them has to be differentiated.
    repaired = repaired_signature(system) if found.c.any() else None
    return indices_by_structure(found if repaired is None else repaired)


def indices_by_structure(found: Signature) -> VariableIndex:
    """The same from a regular signature."""
    if not found.c.any():
        return VariableIndex(np.ones(found.size, dtype=int), np.zeros(found.size, dtype=int))
    depth = _depth(found)
    return VariableIndex(np.maximum(depth + 1 - found.d, 1), depth[found.partner] - found.c)


def _depth(found: Signature) -> np.ndarray:
    """For each unknown the largest c among the equations that it depends on, directly or through other unknowns."""
    depth = np.zeros(found.size, dtype=int)
    depth[found.partner] = found.c
    equation_of = np.empty(found.size, dtype=int)
    equation_of[found.partner] = np.arange(found.size)
    user = found.partner[found.rows]
    while True:
        deeper = depth.copy()
        np.maximum.at(deeper, user, depth[found.columns])
        if np.array_equal(deeper, depth):
            return depth
        depth = deeper
