"""Polynomials between the ends of a step from what its stages computed: the dense output of implicit tableaux.

x(t + θh) = x + h Σ b_j(θ) K_j with Σ_j b_j(θ) c_j^(k-1) = θ^k / k for k = 1, …, m and b_j(1) = b_j. With s different
nodes and a method of order s or more, m = s makes it the collocation polynomial (E. Hairer, S. P. Nørsett, G. Wanner,
Solving Ordinary Differential Equations I, II.7); with fewer conditions the smallest weights are taken. z runs through
its values at both ends and at the stages.

Stages of order 1 are not points of the solution, so that more conditions count, Σ b_i(θ) a_ij c_j = θ³ / 6 for x and
b(θ) A⁻¹ c² = θ² for z = g(x). Where the stages have such weights, x has order 3 inside the step and z + h Σ b_j(θ) K_j,
with the slopes K = A⁻¹ (Z - z) / h that belong to its values, order 2.
"""

from __future__ import annotations

import numpy as np

from daedalus.algebra.rank_decision import ROUNDING
from daedalus.integrators.tableaux.tableau import Tableau

# Powers of θ lose a digit with every degree or so: beyond this one the polynomial would be less exact than a lower one.
HIGHEST_DEGREE = 9
# Values of z at stages nearer to each other than this add nothing but rounding.
NEAREST_NODES = 0.02


def state_weights(tableau: Tableau) -> np.ndarray:
    """The coefficients of b_1(θ), …, b_s(θ): row k - 1 belongs to θ^k, (degree, s).

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.integrators.tableaux.stage_interpolation import state_weights
    >>> state_weights(dd.tableau("trapezoidal"))
    array([[ 1. ,  0. ],
           [-0.5,  0.5]])
    """
    if (weights := _weights_of_trees(tableau)) is not None:
        return weights
    c = np.asarray(tableau.c, dtype=float)
    different = len(np.unique(c.round(9)))
    for degree in range(max(1, min(tableau.order, different, HIGHEST_DEGREE)), 1, -1):
        weights, missed = _smallest_weights(c, tableau.b, degree)
        if missed < 1e-9:
            return weights
    return np.array(tableau.b, dtype=float)[None, :]


def _smallest_weights(c: np.ndarray, b: np.ndarray, degree: int) -> tuple[np.ndarray, float]:
    """Weights of least norm that satisfy the conditions up to the degree, and by how much those are missed."""
    stages = len(c)
    # Legendre polynomials in c instead of powers: well scaled, the same conditions.
    basis = np.polynomial.legendre.legvander(2 * c - 1, degree - 1)
    conditions, targets = [], []
    for power in range(1, degree + 1):
        for k in range(degree):
            row = np.zeros((degree, stages))
            row[power - 1] = basis[:, k]
            conditions.append(row.ravel())
            in_powers = np.polynomial.Legendre.basis(k, domain=[0, 1]).convert(kind=np.polynomial.Polynomial)
            coefficients = np.zeros(degree)
            coefficients[: k + 1] = in_powers.coef
            targets.append(coefficients[power - 1] / power)
    for j in range(stages):
        row = np.zeros((degree, stages))
        row[:, j] = 1
        conditions.append(row.ravel())
        targets.append(b[j])
    matrix, right = np.array(conditions), np.array(targets)
    found = np.linalg.lstsq(matrix, right, rcond=ROUNDING)[0]
    found += np.linalg.lstsq(matrix, right - matrix @ found, rcond=ROUNDING)[0]
    weights = found.reshape(degree, stages)
    weights[np.abs(weights) < 1e-15 * np.abs(weights).max()] = 0
    return weights, float(np.abs(matrix @ found - right).max() / np.abs(right).max())


def _weights_of_trees(tableau: Tableau) -> np.ndarray | None:
    """Cubic weights with the conditions for stages of order 1, which end in b; None where none exist or are needed."""
    A, c, b = (np.asarray(part, dtype=float) for part in (tableau.A, tableau.c, tableau.b))
    diagonal = np.diag(A).all() and not np.triu(A, 1).any()
    if tableau.order < 3 or tableau.stage_order > 1 or not (diagonal and tableau.is_stiffly_accurate):
        return None
    rows = np.array([np.ones_like(c), c, c**2, A @ c, np.linalg.solve(A, c**2)])
    targets = np.array([[1, 0, 0], [0, 1 / 2, 0], [0, 0, 1 / 3], [0, 0, 1 / 6], [0, 1, 0]])
    weights = np.linalg.lstsq(rows, targets, rcond=ROUNDING)[0]
    weights += np.linalg.lstsq(rows, targets - rows @ weights, rcond=ROUNDING)[0]
    weights[np.abs(weights) < 1e-14 * np.abs(weights).max()] = 0
    fits = np.abs(rows @ weights - targets).max() < 1e-9 and np.abs(weights.sum(axis=1) - b).max() < 1e-9
    return weights.T if fits else None


def value_weights(tableau: Tableau) -> np.ndarray:
    """The coefficients of z(θ) - z(0) = Σ_k θ^k (Σ_j w_kj (Z_j - z(0)) + w_k,s+1 (z(1) - z(0))), (degree, s + 1).

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.integrators.tableaux.stage_interpolation import value_weights
    >>> value_weights(dd.gauss_legendre(1))
    array([[ 4., -1.],
           [-4.,  2.]])
    """
    if (of_states := _weights_of_trees(tableau)) is not None:
        of_stages = np.linalg.solve(np.asarray(tableau.A, dtype=float).T, of_states.T).T
        # The last stage is the end.
        return np.insert(of_stages, -1, 0, axis=1)
    places = np.append(np.asarray(tableau.c, dtype=float), 1.0)
    chosen = _chosen_nodes(places)
    nodes = places[chosen]
    weights = np.zeros((len(nodes), len(places)))
    matrix = np.vander(nodes, len(nodes) + 1, increasing=True)[:, 1:]
    inverse = np.linalg.inv(matrix)
    weights[:, chosen] = inverse + inverse @ (np.eye(len(nodes)) - matrix @ inverse)
    return weights


def _chosen_nodes(places: np.ndarray) -> list[int]:
    """Positions of the end and of stages inside the step, well apart; few enough, near the extrema of Chebyshev."""
    chosen = [len(places) - 1]
    for j in range(len(places) - 2, -1, -1):
        inside = NEAREST_NODES <= places[j] <= 1
        if inside and all(abs(places[j] - places[k]) >= NEAREST_NODES for k in chosen):
            chosen.append(j)
    if len(chosen) > HIGHEST_DEGREE:
        wanted = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, HIGHEST_DEGREE) / HIGHEST_DEGREE)
        inner = chosen[1:]
        nearest = {inner[int(np.argmin(np.abs(places[inner] - node)))] for node in wanted}
        chosen = [chosen[0], *nearest]
    return sorted(chosen)
