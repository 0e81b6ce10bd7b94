"""Solve the equations of a system for some of its values, within the bounds of the variables.

Newton's method goes first, in circuits with junctions on a balanced matrix. Where it fails, leaks, sources or time are
stepped (`continuation.py`). Where it leaves the bounds or nothing helps, a trust-region method finds the smallest
residual within them, and Newton's method finishes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from daedalus.algebra.agreement import SAME
from daedalus.algebra.damped_newton import Equations, Root
from daedalus.analysis.points.complete_point import Entry, equations_in, scatter, solve_for, usual_sizes
from daedalus.analysis.points.continuation import found_by_continuation, leak_places, regular_root
from daedalus.model.system.system import System

NEWTON, TRUST = "Newton's method", "a trust-region method"
# The most evaluations of the trust-region method.
EVALUATIONS = 500


def search(
    system: System, vectors: Mapping[str, np.ndarray], unknowns: Sequence[Entry]
) -> tuple[Root, np.ndarray, str]:
    """The root near the values in the vectors, the positions of unknowns outside of their bounds, and what found it.

    A root that the damped method leaves with free directions may hang on conductances that it takes for rounding: where
    whole steps, or one after the other of `found_by_continuation`, find a regular root, that counts.
    """
    lower, upper = bounds(system, unknowns)
    size = usual_sizes(system, vectors, unknowns)
    if len(leak_places(system)):
        # Junctions hang on conductances that the damped method takes for rounding: it would creep to its last step.
        regular = regular_root(system, vectors, unknowns)
        if regular is not None and not len(_outside(regular.values, lower, upper, size)):
            return regular, np.zeros(0, dtype=int), NEWTON
    root = solve_for(system, vectors, unknowns)
    outside = _outside(root.values, lower, upper, size)
    if root.solved and not len(outside) and not root.null.shape[1]:
        return root, outside, NEWTON
    if not np.all(np.isfinite(root.residual)):
        return root, outside, NEWTON
    found = found_by_continuation(system, vectors, unknowns)
    if found is not None and not len(_outside(found.root.values, lower, upper, size)):
        return found.root, outside[:0], found.by
    if root.solved and not len(outside):
        return root, outside, NEWTON
    guess = np.array([vectors[letter][k] for letter, k in unknowns])
    equations = equations_in(system, vectors, unknowns)
    nearby = {letter: np.array(values) for letter, values in vectors.items()}
    scatter(nearby, unknowns, _smallest_residual(equations, guess, size, lower, upper))
    second = solve_for(system, nearby, unknowns)
    second = replace(second, iterations=root.iterations + second.iterations)
    outside_again = _outside(second.values, lower, upper, size)
    if second.solved and (not len(outside_again) or not root.solved):
        return second, outside_again, TRUST
    return (root, outside, NEWTON) if root.solved or root.worst < second.worst else (second, outside_again, TRUST)


def bounds(system: System, unknowns: Sequence[Entry]) -> tuple[np.ndarray, np.ndarray]:
    """The written bounds of entries; derivatives have none."""
    known: dict[str, tuple[float, float]] = {}
    for v in system.variables:
        for k in range(v.size):
            known[v.label(k)] = (v.lower[k] if v.lower else -np.inf, v.upper[k] if v.upper else np.inf)
    pairs = [known.get(system.labels[letter][k], (-np.inf, np.inf)) for letter, k in unknowns]
    return np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])


def _outside(values: np.ndarray, lower: np.ndarray, upper: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.flatnonzero((values < lower - SAME * size) | (values > upper + SAME * size))


def _smallest_residual(
    equations: Equations, guess: np.ndarray, size: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Where the equations, scaled by their slopes at the guess, are nearest to zero within the bounds."""
    from scipy.optimize import least_squares

    weight = equations(guess)[2]
    # The method begins strictly inside: half a size from a bound, or halfway to the other one.
    gap = np.minimum(0.5 * size, 0.5 * (upper - lower))
    begin = np.clip(guess, lower + gap, np.maximum(upper - gap, lower + gap))

    def scaled(values: np.ndarray) -> np.ndarray:
        return np.nan_to_num(equations(values)[0] / weight, nan=1e9, posinf=1e9, neginf=-1e9)

    def slopes(values: np.ndarray) -> np.ndarray:
        matrix = equations(values)[1]
        full = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        return np.nan_to_num(full / weight[:, None], nan=0.0, posinf=1e9, neginf=-1e9)

    found = least_squares(
        scaled, begin, slopes, (lower, upper), x_scale=size, ftol=1e-15, xtol=1e-15, gtol=1e-15, max_nfev=EVALUATIONS
    )
    return found.x
