"""Multipliers of redundant constraints at a start: the smallest that give the same forces, as a run shows them.

With every row of G divided by its length, λ̂ counted in these lengths has a part in the null space of Ĝᵀ that gives no
force. It is taken off (J. García de Jalón, M. D. Gutiérrez-López, Multibody System Dynamics 30, 2013).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from daedalus.analysis.structure.jets.jet_search import Search
from daedalus.model.system.system import System
from daedalus.reduction.findings import SmallestMultipliers
from daedalus.reduction.redundancy.constraint_place import MotionPlace, jacobian_at
from daedalus.reduction.redundancy.independent_constraints import redundancy_at_start
from daedalus.reduction.redundancy.redundant_rows import rank_of_rows, scaled


def with_smallest_multipliers(
    search: Search, given: np.ndarray, vectors: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, str | None]:
    """z with the smallest multipliers, and a note; z as it is where none are redundant, or one was given or guessed.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> m = dd.Model("rod twice"); q = m.coordinate("q", 2, start=[1, 0], rate=[0, 2])
    >>> m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    >>> _ = m.constraint("rod", q[0]**2 + q[1]**2 - 1); _ = m.constraint("again", 2 * (q[0]**2 + q[1]**2 - 1))
    >>> s = dd.initialise(m)
    >>> round(float(s["rod"]), 6), round(float(s["again"]), 6)
    (-1.0, -0.5)
    """
    equations = search.equations
    system: System = equations.system
    redundancy = redundancy_at_start(system)
    if redundancy is None:
        return vectors["z"], None
    own = redundancy.first.involved
    places = np.array([system.labels["z"].index(redundancy.names[k]) for k in own])
    entries = np.asarray(equations.places["z"])[places]
    if np.any(given[entries]) or np.any(search.guess[entries]):
        return vectors["z"], None
    place = MotionPlace(search.time, vectors["x"], vectors["u"], vectors["p"])
    jacobian = jacobian_at(redundancy.moving, place)[own]
    lengths = np.linalg.norm(jacobian, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    matrix, rank = scaled(jacobian), len(own) - len(redundancy.first.dependent)
    if rank_of_rows(matrix) != rank:  # other rows depend on each other here than at the model's own start
        return vectors["z"], None
    acting = np.linalg.svd(matrix)[0][:, :rank]
    z = np.array(vectors["z"], dtype=float)
    z[places] = acting @ (acting.T @ (lengths * z[places])) / lengths
    return z, str(SmallestMultipliers(tuple(redundancy.rows[k] for k in own)))
