"""Points and coefficients of collocation on one interval: x is a polynomial through its start and the points."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.tableaux.collocation import gauss_legendre, radau_iia

FAMILIES = {"radau": radau_iia, "legendre": gauss_legendre}


@dataclass(frozen=True)
class CollocationPoints:
    """Degree d on the interval [0, 1], with τ_0 = 0 before the points τ_1 … τ_d.

    tau: (d,) points. weights: (d,) of the quadrature. slopes: (d + 1, d), the derivative of each basis polynomial at
    each point. end: (d + 1,), the basis polynomials at 1. ends_on_node: whether τ_d = 1.
    """

    family: str
    tau: np.ndarray
    weights: np.ndarray
    slopes: np.ndarray
    end: np.ndarray

    @property
    def degree(self) -> int:
        """The number of points."""
        return len(self.tau)

    @property
    def ends_on_node(self) -> bool:
        """Whether the last point is the next node."""
        return self.family == "radau"


@functools.cache
def collocation_points(family: str, degree: int) -> CollocationPoints:
    """The points of a family, "radau" or "legendre", of any degree from 1 on.

    Example
    -------
    >>> collocation_points("radau", 2).tau.round(4).tolist()
    [0.3333, 1.0]
    """
    if family not in FAMILIES:
        raise InputError(
            f"points={family!r} are not known.", remedy='points="radau", or points="legendre" for twice the degree'
        )
    if not isinstance(degree, (int, np.integer)) or isinstance(degree, bool) or degree < 1:
        raise InputError("degree must be a whole number of at least 1.", f"got {degree!r}", remedy="degree=3")
    tableau = FAMILIES[family](int(degree))
    tau, weights = np.asarray(tableau.c, dtype=float), np.asarray(tableau.b, dtype=float)
    nodes = np.concatenate([[0.0], tau])
    return CollocationPoints(family, tau, weights, basis_slopes(nodes, tau), basis(nodes, np.ones(1))[:, 0])


def basis(nodes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Lagrange's polynomials through the nodes, (nodes, at)."""
    found = np.ones((len(nodes), len(at)))
    for i, j in permutations(range(len(nodes)), 2):
        found[i] *= (at - nodes[j]) / (nodes[i] - nodes[j])
    return found


def basis_slopes(nodes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The derivatives of Lagrange's polynomials, (nodes, at)."""
    found = np.zeros((len(nodes), len(at)))
    for i, m in permutations(range(len(nodes)), 2):
        term = np.full(len(at), 1.0 / (nodes[i] - nodes[m]))
        for node in np.delete(nodes, (i, m)):
            term *= (at - node) / (nodes[i] - node)
        found[i] += term
    return found
