"""The equations and those of their time derivatives that are needed to determine x' and z at a given x.

In a DAE of index above 1 some x' and z follow only from differentiated equations. With the offsets c and d of the
signature method the values follow in stages k = -max c, ..., 0: the equations F_i differentiated c_i + k times are
solved for the derivatives of order d_j + k (J. D. Pryce, A simple structural analysis method for DAEs, BIT 41, 2001).
Inputs count as constant in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from daedalus.algebra.damped_newton import damped_newton
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.jets.staged_jet import StagedEquations
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.model.system.once import once
from daedalus.model.system.system import System


def is_determined(system: System) -> bool:
    """Whether the structure of F lets x' and z be solved for as it stands."""
    return not np.any(structure_of(system).signature.c)


def solve_differentiated(
    system: System, vectors: Mapping[str, np.ndarray], unknowns: Sequence[tuple[str, int]]
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Values of unknowns among x' and z, the positions of those left undetermined, and the most differentiations.

    None where the stages do not converge, or where nothing has to be differentiated.
    """
    if is_determined(system):
        return None
    n, staged = system.sizes["x"], once(system, _staged)
    entries = list(zip(staged.position.tolist(), staged.order.tolist()))
    known = [np.concatenate([vectors["x"], vectors["z"]]), vectors["xdot"]]
    # x is given; x' and z are sought, or held as they are; higher derivatives are free.
    least = np.where(staged.position < n, 1, 0)
    jet = np.array([known[k][j] if k <= least[e] else 0.0 for e, (j, k) in enumerate(entries)])
    sought = [(k, 1) if letter == "xdot" else (n + k, 0) for letter, k in unknowns]
    free = (staged.order > least) | np.array([entry in set(sought) for entry in entries], dtype=bool)
    sizes = np.concatenate([system.nominal["x"], system.nominal["z"]])[staged.position]
    evaluation = staged.at(float(vectors["t"][0]), vectors["p"], vectors["u"])
    row_level, level = staged.levels
    undetermined: set[int] = set()
    for stage in range(int(row_level.min(initial=0)), 1):
        rows, columns = row_level == stage, (level == stage) & free
        root = damped_newton(evaluation.selected(rows, columns, jet, sizes), jet[columns], sizes[columns])
        if not root.converged:
            return None
        jet[columns] = root.values
        undetermined |= set(np.flatnonzero(columns)[root.loose()].tolist())
    place = {entry: k for k, entry in enumerate(entries)}
    at = [place.get(entry, -1) for entry in sought]
    values = np.array([jet[k] if k >= 0 else vectors["xdot"][entry[1]] for k, entry in zip(at, unknowns)])
    loose = np.array([k for k, own in enumerate(at) if own in undetermined], dtype=int)
    return values, loose, int(structure_of(system).signature.c.max(initial=0))


def _staged(system: System) -> StagedEquations:
    """The stack of all the equations, kept with the system."""
    return StagedEquations(DerivativeArray(system), structure_of(system).signature)
