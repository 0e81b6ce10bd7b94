"""Equations that repeat each other, unknowns that nothing determines, and multipliers that are not unique.

A left null vector of the derivative array's Jacobian in the whole jet is a combination of (differentiated) equations
that says nothing; a null vector in the derivatives moves unknowns that nothing determines. Where only algebraic
unknowns move, the motion is unique and the equations in the combination are redundant; else the motion itself is
undetermined.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from daedalus.algebra.rank_decision import STILL, null_space
from daedalus.analysis.structure.dependence.null_space_probe import NullSpaceProbe
from daedalus.analysis.structure.jets.consistent_jet import Jet, JetStart, consistent_jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.numeric_index import JetJacobian
from daedalus.analysis.structure.system_jacobian import random_arguments

# How far the second jet lies from the first, in sizes of the unknowns.
NEARBY = 0.05
# Smaller slopes vanish: at a multiple root values are known to the root of rounding only.
FLAT = 1e-4


@dataclass(frozen=True, eq=False)
class RepeatedEquations:
    """Positions of equations that repeat others, everywhere or at this point alone."""

    everywhere: np.ndarray
    here: np.ndarray


def repeated_equations(array: DerivativeArray, start: JetStart, jet: Jet, order: int) -> RepeatedEquations:
    """The equations in a combination that says nothing at a jet, and whether that holds nearby too."""
    none = np.zeros(0, dtype=int)
    here, count = _combinations(array, jet, start.size, order)
    if not count:
        return RepeatedEquations(none, none)
    if len(_flat_here_alone(array, start, jet)):
        return RepeatedEquations(none, here)
    draw = np.random.default_rng(1958)
    y = jet.y[:2]
    shaken = y + NEARBY * np.maximum(start.size, np.abs(y)) * draw.standard_normal(y.shape)
    nearby = consistent_jet(array, replace(start, y=shaken, given=np.zeros_like(start.given)), order)
    if nearby.consistent:
        _, count_nearby = _combinations(array, nearby, start.size, order)
        if count_nearby < count:
            return RepeatedEquations(none, here)
    return RepeatedEquations(here, none)


def _flat_here_alone(array: DerivativeArray, start: JetStart, jet: Jet) -> np.ndarray:
    """The equations whose slopes all vanish at a jet but not at values drawn at random."""
    points = (jet.arguments(1), *random_arguments(array, jet, 1))
    matrices = [array.function(0)(*point)[1].sparse() for point in points]
    largest = [abs(m).multiply(np.tile(start.size, 2)).max(axis=1).toarray().ravel() for m in matrices]
    return np.flatnonzero((largest[0] < FLAT) & (np.min(largest[1:], axis=0) > FLAT))


def _combinations(array: DerivativeArray, jet: Jet, size: np.ndarray, order: int) -> tuple[np.ndarray, int]:
    """The equations in left null vectors of the array's Jacobian, and how many such vectors there are."""
    jacobian = JetJacobian(array, jet, size, order)
    equations, unknowns = np.arange(array.count), np.arange(array.size)
    whole = jacobian.part(order, 0, equations, unknowns)
    if not isinstance(whole, np.ndarray):
        probe = NullSpaceProbe(whole.T)
        moved = probe.moved().reshape(order + 1, array.count).any(axis=0)
        return np.flatnonzero(moved), probe.dimension()
    null, _ = null_space(whole.T, "all rows")
    weight = (
        np.linalg.norm(null.reshape(order + 1, array.count, -1), axis=(0, 2)) if null.size else np.zeros(array.count)
    )
    return np.flatnonzero(weight > STILL), null.shape[1]
