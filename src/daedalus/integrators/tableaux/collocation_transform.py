"""The numbers with which the core runs Radau IIA: the inverse of A made block-diagonal, and the error estimate.

With T⁻¹ A⁻¹ T = diag(γ, (α −β; β α), …) the stages are solved in one real and some complex systems of the size
of the model (J. C. Butcher, BIT 16, 1976; T. A. Bickart, SIAM J. Numer. Anal. 14, 1977). The estimate compares with a
quadrature of order s over the nodes 0, c_1, …, c_s in which x'(t_n) has the weight γ₀ (E. Hairer, G. Wanner, Solving
Ordinary Differential Equations II, IV.8); with an even number of stages no eigenvalue is real, γ₀ is |μ|⁻¹ of the first
complex pair then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class CollocationTransform:
    """Everything the core needs to know about a collocation method that ends at its last stage."""

    c: np.ndarray
    inverse: np.ndarray
    from_: np.ndarray
    to: np.ndarray
    gamma: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    powers: np.ndarray
    slope: np.ndarray
    better: np.ndarray
    weight: float
    error: np.ndarray


def collocation_transform(stages: int) -> CollocationTransform:
    """The transformation and the error estimate of Radau IIA with a number of stages.

    Example
    -------
    >>> from daedalus.integrators.tableaux.collocation_transform import collocation_transform
    >>> print(collocation_transform(3).gamma.round(6), collocation_transform(3).alpha.round(6))
    [3.637834] [2.681083]
    """
    from daedalus.integrators.tableaux.collocation import radau_iia

    tableau = radau_iia(stages)
    A, b, c = (np.asarray(part, dtype=float) for part in (tableau.A, tableau.b, tableau.c))
    inverse = np.linalg.inv(A)
    inverse += inverse @ (np.eye(stages) - A @ inverse)
    values, vectors = np.linalg.eig(inverse)
    order = sorted((k for k in range(stages) if values[k].imag > 1e-9), key=lambda k: float(values[k].imag))
    real = [k for k in range(stages) if abs(values[k].imag) <= 1e-9]
    columns = [vectors[:, k].real / vectors[-1, k].real for k in real]
    for k in order:
        vector = vectors[:, k] / vectors[-1, k]
        # A⁻¹ v = μ v with v = a + i b gives A⁻¹ (a, −b) = (a, −b) (α −β; β α).
        columns += [vector.real, -vector.imag]
    from_ = np.column_stack(columns)
    to = np.linalg.inv(from_)
    gamma, alpha, beta = values[real].real, values[order].real, values[order].imag
    powers = np.linalg.inv(np.vander(c, stages + 1, increasing=True)[:, 1:])
    # u' through the slopes at 0 and at the stages, integrated: coefficient j + 1 of u is coefficient j of u' / (j + 1).
    through = np.linalg.inv(np.vander(np.concatenate([[0.0], c]), stages + 1, increasing=True))
    through /= np.arange(1, stages + 2)[:, None]
    slope, better = through[:, 0], through[:, 1:] @ inverse
    weight = 1 / gamma[0] if real else 1 / abs(values[order[0]])
    quadrature = np.vander(c, stages, increasing=True).T
    moments = 1 / np.arange(1, stages + 1)
    moments[0] -= weight
    error = (np.linalg.solve(quadrature, moments) - b) @ inverse
    return CollocationTransform(c, inverse, from_, to, gamma, alpha, beta, powers, slope, better, float(weight), error)


@cache
def core_collocation(stages: int) -> Any:
    """The coefficients of Radau IIA as the core's own object."""
    from daedalus._core import Collocation

    t = collocation_transform(stages)
    return Collocation(
        t.c, t.inverse, t.from_, t.to, t.gamma, t.alpha, t.beta, t.powers, t.slope, t.better, t.weight, t.error
    )
