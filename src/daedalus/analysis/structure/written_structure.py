"""The structure of equations as they are written, where numbers disagree with it, and the index of every variable.

With the offsets c of the equations and d of the unknowns (Pryce 2001) and C the largest c among the equations that an
unknown depends on, the unknown has index C + 1 - d, at least 1: positions of a pendulum 1, velocities 2, the force in
the rod 3. The errors of a variable of index k count h^(k-1) times, and equations are multiplied by h^(C - c)
(E. Hairer, C. Lubich, M. Roche, The Numerical Solution of Differential-Algebraic Systems by Runge-Kutta Methods, 1989).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.analysis.structure.jets.consistent_jet import Jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.signature import Signature
from daedalus.analysis.structure.structural_repair import Structure, repaired_structure
from daedalus.analysis.structure.system_jacobian import SINGULAR, block_shares
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.deadline import poll
from daedalus.errors import SingularModelError
from daedalus.model.system.once import once, remembered
from daedalus.model.system.system import System

# Blocks of the system Jacobian that are larger are taken for regular without a look at numbers.
LARGEST_EXAMINED = 300


def repaired_signature(system: System) -> Signature | None:
    """The offsets with equations combined where numbers disagree with the pattern; None where they agree.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("a sum of equations")
    >>> x, s, v, f = m.state("x"), m.state("s"), m.state("v"), m.algebraic("f")
    >>> m.equation(m.der(x) + m.der(v), f - x); m.equation(m.der(s), v); m.equation(m.der(v), f); m.equation(s, x)
    >>> repaired_signature(m.freeze()).c.tolist()
    [0, 1, 1, 2]
    """
    p = np.nan_to_num(np.array(system.start["p"], dtype=float), nan=1.0)
    if not once(system, WrittenStructure).singular_blocks(p):
        return None
    array = WrittenStructure(system).array
    repaired = repaired_structure(array, replace(anywhere(array), p=p), substitute=False)
    return repaired.signature if repaired.signature.regular and not repaired.singular else None


class WrittenStructure:
    """The structure of the equations as they are written, and where numbers disagree with it."""

    def __init__(self, system: System) -> None:
        self.array = array = DerivativeArray(system)
        found = structure_of(system)
        self.structure = Structure(array, anywhere(array), array.level(0), found.signature)
        examined = found.blocks if found.signature.regular else []
        self._blocks = [b for b in examined if len(b.equations) <= LARGEST_EXAMINED]
        if self._blocks:
            parts = [array.time, array.parameters, array.u[0], *array.y[:2]]
            self._jacobian = ca.Function("J", parts, [found.jacobian])
        draw = np.random.default_rng(2001)
        self._points = [
            [draw.uniform(0.3, 1.3, symbols.numel()) for symbols in (array.time, array.u[0], *array.y[:2])]
            for _ in range(2)
        ]

    def singular_blocks(self, p: np.ndarray) -> tuple[int, ...]:
        """The blocks of the system Jacobian that are singular at values drawn at random, for these parameters."""
        singular = list(range(len(self._blocks)))
        for t, u, *y in self._points if singular else ():
            shares = block_shares(self._jacobian(t, p, u, *y).sparse(), [self._blocks[k] for k in singular])
            singular = [k for k, share in zip(singular, shares) if share < SINGULAR]
        return tuple(singular)


def anywhere(array: DerivativeArray) -> Jet:
    """A jet for decisions that random values make."""
    return Jet(
        0.0,
        np.zeros(array.system.sizes["p"]),
        np.zeros(array.system.sizes["u"]),
        np.zeros((2, array.size)),
        np.zeros(1),
    )


@dataclass(frozen=True, eq=False)
class VariableIndex:
    """The index of each unknown (x, z): how many derivatives of the equations determine it.

    level: the power of h that each equation is multiplied by.
    """

    index: np.ndarray
    level: np.ndarray

    @property
    def largest(self) -> int:
        """The index of the system as its variables show it; 1 for an ODE."""
        return int(self.index.max(initial=1))


@remembered
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
    structure = structure_of(system)
    found, labels = structure.signature, structure.labels
    if not found.regular:
        loose = [labels[k] for k in sorted(set(range(len(labels))) - set(found.partner.tolist()))]
        raise SingularModelError(
            "The equations do not determine all variables.",
            f"no equation is left for {', '.join(loose[:6])}",
            because="some equations contain the same few variables, or are equivalent.",
            remedy="dd.analyse(m), which names the parts that have too many and too few equations",
        )
    # Sums of equations may hide how often one of them has to be differentiated.
    repaired = repaired_signature(system) if found.c.any() else None
    return indices_by_structure(found if repaired is None else repaired)


def indices_by_structure(found: Signature) -> VariableIndex:
    """The indices that a regular signature gives."""
    if not found.c.any():
        return VariableIndex(np.ones(found.size, dtype=int), np.zeros(found.size, dtype=int))
    depth = _depth(found)
    return VariableIndex(np.maximum(depth + 1 - found.d, 1), depth[found.partner] - found.c)


def _depth(found: Signature) -> np.ndarray:
    """For each unknown the largest c among the equations that it depends on, directly or through other unknowns."""
    depth = np.zeros(found.size, dtype=int)
    depth[found.partner] = found.c
    user = found.partner[found.rows]
    while True:
        poll("the structure of the equations")
        deeper = depth.copy()
        np.maximum.at(deeper, user, depth[found.columns])
        if np.array_equal(deeper, depth):
            return depth
        depth = deeper
