"""Offsets of a structure in which some equations have no unknown of their own.

Three equations for two unknowns leave no full assignment, though one of them may follow from the others. As many
equations as possible are assigned, with the largest sum of orders; their offsets are those of the signature method,
and each equation left over is differentiated as often as the derivatives d_j of the others allow, min (d_j - σ_ij).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daedalus.analysis.structure.block_form import coarse_parts
from daedalus.analysis.structure.signature import Signature

# More pairs of equations and unknowns left over are not looked at.
MOST_PAIRS = 1_000_000


def completed(s: Signature) -> Signature | None:
    """A square structure with offsets for all its equations and unknowns; None where they are not finite.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.analysis.structure.signature import signature
    >>> y, ydot = ca.SX.sym("y", 3), ca.SX.sym("ydot", 3)
    >>> s = signature(ca.vertcat(ydot[0] - y[1] - y[2], y[0] - 1, 2 * y[0] - 2), [y, ydot])
    >>> s.regular, completed(s).c.tolist(), completed(s).d.tolist()
    (False, [0, 1, 1], [1, 0, 0])
    """
    if s.count != s.size or not len(s.rows):
        return None
    partner = s.partner if s.regular else _assignment(s)
    if partner is None:
        return None
    own = s.columns == partner[s.rows]
    on_diagonal = np.zeros(s.count, dtype=int)
    on_diagonal[s.rows[own]] = s.orders[own]
    left_over = partner < 0
    c = np.zeros(s.count, dtype=int)
    for _ in range(s.size + 1):
        d = np.zeros(s.size, dtype=int)
        np.maximum.at(d, s.columns, s.orders + c[s.rows])
        higher = np.where(left_over, 0, d[partner] - on_diagonal)
        if np.array_equal(higher, c):
            break
        c = higher
    else:
        return None
    return with_rest(replace(s, partner=partner, c=c, d=d))


def with_rest(s: Signature) -> Signature:
    """The equations that are assigned to no unknown differentiated as often as the others' derivatives allow."""
    left_over = s.partner < 0
    if not left_over.any():
        return s
    taken = np.zeros(s.size, dtype=bool)
    taken[s.partner[~left_over]] = True
    most = np.full(s.count, np.iinfo(int).max)
    bound = taken[s.columns]
    np.minimum.at(most, s.rows[bound], s.d[s.columns[bound]] - s.orders[bound])
    c = np.where(left_over & (most < np.iinfo(int).max), most, s.c)
    d = s.d.copy()
    np.maximum.at(d, s.columns, s.orders + c[s.rows])
    return replace(s, c=c, d=d)


def _assignment(s: Signature) -> np.ndarray | None:
    """The unknown of each equation in the largest assignment with the largest sum of orders, -1 for those left over."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    parts = coarse_parts(s)
    many, few = parts.too_many_equations, parts.undetermined_unknowns
    if len(many) * len(few) > MOST_PAIRS:
        return None
    # Pairs that are none cost more than all others together.
    cost = (s.orders.max(initial=0) + 1 - s.orders).astype(float)
    none = np.full(len(many) * len(few), float(cost.sum() + 1))
    rows = np.concatenate([s.rows, np.repeat(many, len(few))])
    columns = np.concatenate([s.columns, np.tile(few, len(many))])
    known = set(zip(s.rows.tolist(), s.columns.tolist()))
    new = np.array(
        [True] * len(s.rows)
        + [pair not in known for pair in zip(rows[len(s.rows) :].tolist(), columns[len(s.rows) :].tolist())]
    )
    weights = np.concatenate([cost, none])
    graph = csr_matrix((weights[new], (rows[new], columns[new])), shape=(s.count, s.size))
    try:
        matched_rows, matched_columns = min_weight_full_bipartite_matching(graph)
    except ValueError:
        return None
    partner = np.full(s.count, -1)
    for i, j in zip(matched_rows.tolist(), matched_columns.tolist()):
        if (i, j) in known:
            partner[i] = j
    return partner
