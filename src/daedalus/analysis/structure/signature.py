"""The signature matrix of a system and its offsets: how often each equation must be differentiated, by structure.

σ_ij is the order of the highest derivative of unknown j in equation i. An optimal assignment of equations to unknowns
maximises the sum of its σ; the smallest offsets with d_j - c_i >= σ_ij, equal on the assignment, tell that equation i
is differentiated c_i times and that unknown j is then determined up to its derivative of order d_j
(J. D. Pryce, A simple structural analysis method for DAEs, BIT 41, 2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.deadline import poll
from daedalus.model.expressions import nonzeros
from daedalus.model.lazy_values import cached_property


@dataclass(frozen=True, eq=False)
class Signature:
    """The entries σ of a system and its offsets; these are zero where the structure is singular.

    rows, columns, orders: one entry each where an unknown occurs, with its highest derivative.
    partner: (m,) the unknown that each equation is assigned to, -1 where the structure leaves none: as many equations
    as possible have one, with the largest sum of orders.
    c: (m,) how often each equation is differentiated. d: (n,) the order up to which each unknown is determined.
    """

    size: int  # unknowns
    count: int  # equations
    rows: np.ndarray
    columns: np.ndarray
    orders: np.ndarray
    partner: np.ndarray
    c: np.ndarray
    d: np.ndarray

    @property
    def regular(self) -> bool:
        """Whether every equation has an unknown of its own and every unknown an equation."""
        return self.count == self.size and bool(np.all(self.partner >= 0))

    @property
    def index(self) -> int | None:
        """The structural index: the largest c, plus one where some d is zero; None for a singular structure."""
        if not self.regular:
            return None
        return int(self.c.max(initial=0)) + int(np.any(self.d == 0))

    @property
    def degrees_of_freedom(self) -> int | None:
        """How many start values the structure leaves free: Σ d - Σ c."""
        return int(self.d.sum() - self.c.sum()) if self.regular else None

    @cached_property
    def tight(self) -> np.ndarray:
        """Which entries count in the system Jacobian: d_j - c_i = σ_ij."""
        return self.d[self.columns] - self.c[self.rows] == self.orders


def signature(residual: ca.SX, jet: Sequence[ca.SX]) -> Signature:
    """The signature of equations in unknowns whose derivatives of order 0, 1, ... are `jet[0]`, `jet[1]`, ...

    Example
    -------
    >>> import casadi as ca
    >>> y, ydot = ca.SX.sym("y", 2), ca.SX.sym("ydot", 2)
    >>> s = signature(ca.vertcat(ydot[0] - y[1], y[0] - 1), [y, ydot])      # x' = z, x = 1
    >>> s.c.tolist(), s.d.tolist(), s.index
    ([0, 1], [1, 0], 2)
    """
    patterns = [ca.jacobian_sparsity(residual, symbols) for symbols in jet]
    return signature_by_patterns(int(residual.numel()), int(jet[0].numel()), patterns)


def signature_by_patterns(count: int, size: int, patterns: Sequence[ca.Sparsity]) -> Signature:
    """The same by the patterns of the unknowns' derivatives of order 0, 1, ..."""
    places, orders = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for order, pattern in enumerate(patterns):
        height, begins = np.array(pattern.row(), np.int64), np.array(pattern.colind(), np.int64)
        own = height * size + np.repeat(np.arange(len(begins) - 1), begins[1:] - begins[:-1])
        # Places that lower orders have, too, keep their place in the list.
        orders[_among(places, own)] = order
        own = own[~_among(own, places)]
        places, orders = np.append(places, own), np.append(orders, np.full(len(own), order))
    return from_entries(count, size, places // max(size, 1), places % max(size, 1), orders)


def _among(numbers: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which numbers are among others; of long lists sorting is faster than np.isin."""
    if not len(others):
        return np.zeros(len(numbers), bool)
    ordered = np.sort(others)
    found: np.ndarray = ordered[np.minimum(np.searchsorted(ordered, numbers), len(ordered) - 1)] == numbers
    return found


def tight_slopes(slopes: Callable[[int, list[int], list[int]], ca.SX], s: Signature) -> ca.SX:
    """The system Jacobian, sparse; slopes: of some equations by some unknowns' derivatives of an order.

    Of equations with one offset c, only slopes by unknowns with the offset d = c + order count: the others, such as
    those of all forces by all positions, are many and are not asked for.
    """
    total = ca.SX(s.size, s.size)
    for order, c in sorted(set(zip(s.orders[s.tight].tolist(), s.c[s.rows[s.tight]].tolist()))):
        chosen = s.tight & (s.orders == order) & (s.c[s.rows] == c)
        rows, row_places = np.unique(s.rows[chosen], return_inverse=True)
        columns, column_places = np.unique(s.columns[chosen], return_inverse=True)
        pattern = ca.Sparsity.triplet(len(rows), len(columns), row_places.tolist(), column_places.tolist())
        found = ca.project(slopes(order, rows.tolist(), columns.tolist()), pattern)
        # Both are column by column, so the entries keep their order.
        whole = ca.Sparsity.triplet(s.size, s.size, s.rows[chosen].tolist(), s.columns[chosen].tolist())
        total += ca.SX(whole, nonzeros(found))
    return total


def from_entries(count: int, size: int, rows: np.ndarray, columns: np.ndarray, orders: np.ndarray) -> Signature:
    """The signature of equations of which it is known which derivatives stand in them."""
    partner = _core.cheapest_matching(count, size, rows, columns, -orders).columns
    c, d = np.zeros(count, dtype=int), np.zeros(size, dtype=int)
    s = Signature(size, count, rows, columns, orders, partner, c, d)
    return raised(s) if s.regular else s


def raised(s: Signature, least: np.ndarray | int = 0, most: float = math.inf) -> Signature:
    """The smallest offsets with d at least `least`: where d_j = max_i (σ_ij + c_i), c_i = d_j(i) - σ_ij(i).

    Equations without an unknown keep theirs. An ArithmeticError where `most` rounds do not lead to a fixed point.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> y, ydot = ca.SX.sym("y", 2), ca.SX.sym("ydot", 2)
    >>> s = raised(signature(ca.vertcat(ydot[0] - y[1], y[0] - 1), [y, ydot]), np.array([1, 1]))
    >>> s.c.tolist(), s.d.tolist()
    ([1, 2], [2, 1])
    """
    own = s.columns == s.partner[s.rows]
    on_diagonal = np.zeros(s.count, dtype=int)
    on_diagonal[s.rows[own]] = s.orders[own]
    c, rounds = s.c, 0
    while rounds <= most:
        poll("the structure of the equations")
        d = np.maximum(s.d, least)
        np.maximum.at(d, s.columns, s.orders + c[s.rows])
        higher = np.where(s.partner >= 0, d[s.partner] - on_diagonal, s.c)
        if np.array_equal(higher, c):
            return replace(s, c=c, d=d)
        c, rounds = higher, rounds + 1
    raise ArithmeticError("the offsets grow without end")
