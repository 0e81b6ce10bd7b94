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
from daedalus.analysis.structure.jets.jet_equations import JetEquations, staged_pieces
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
    equations = once(system, _staged)
    # x is given; x' and z are sought, or held as they are; higher derivatives are free.
    jet = equations.along_jet({letter: vectors[letter] for letter in ("xdot", "x", "z")})
    free = ~equations.along_jet({letter: np.ones(len(vectors[letter]), dtype=bool) for letter in ("xdot", "x", "z")})
    sought = np.array([equations.places[letter][k] for letter, k in unknowns], dtype=int)
    free[sought] = True
    free[equations.places["x"]] = False
    evaluation = equations.evaluation(float(vectors["t"][0]), vectors["p"], equations.steady(vectors["u"]))
    undetermined = np.zeros(len(jet), dtype=bool)
    for stage in np.unique(equations.row_stage):
        rows, columns = equations.row_stage == stage, (equations.stage == stage) & free
        sizes = equations.sizes
        root = damped_newton(evaluation.selected(rows, columns, jet, sizes), jet[columns], sizes[columns])
        if not root.converged:
            return None
        jet[columns] = root.values
        undetermined[np.flatnonzero(columns)[root.loose()]] = True
    return jet[sought], np.flatnonzero(undetermined[sought]), int(structure_of(system).signature.c.max(initial=0))


def _staged(system: System) -> JetEquations:
    """The stack of all the equations, kept with the system."""
    array = DerivativeArray(system)
    return JetEquations(array, *staged_pieces(array, array.level(0), structure_of(system).signature))
