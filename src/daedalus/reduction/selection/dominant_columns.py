"""Which columns of a wide matrix to solve for: those beside which no other column counts much.

For A with k rows and m > k columns and a square part A_D, the entries of X = A_D⁻¹ A_S say how fast the dependent
unknowns change with the others. |X_ij| is the factor by which |det A_D| grows when column j takes the place of the i-th
of D; where no entry exceeds one the part is dominant, which every matrix of full rank has (D. E. Knuth, Semi-optimal
bases for linear dependencies, Linear and Multilinear Algebra 17, 1985). It is found by QR with column pivoting and
exchanges from there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, REDUNDANT
from daedalus.deadline import poll

# Entries of X above this call for other columns; below it the earlier ones stay.
BOUND = 2.0
# Exchanges that gain less are not worth making.
GAIN = 1.0 + 1e-6


def worst_rate(matrix: np.ndarray, columns: Sequence[int]) -> float:
    """The largest entry of A_D⁻¹ A_S; infinite where A_D is singular.

    Example
    -------
    >>> import numpy as np
    >>> worst_rate(np.array([[3.0, 4.0]]), [0])
    1.3333333333333333
    """
    rates = _rates(matrix, list(columns))
    return float("inf") if rates is None else float(np.abs(rates).max(initial=0.0))


def dominant_columns(matrix: np.ndarray, before: Sequence[int] | None = None) -> list[int] | None:
    """As many columns as rows, in order, with no entry of X above one; None where the rows have no full rank.

    Exchanges begin at the columns taken before, so that as few as possible change.

    Example
    -------
    >>> import numpy as np
    >>> dominant_columns(np.array([[3.0, 4.0, 0.0], [0.0, 1.0, 1.0]]))
    [1, 2]
    """
    count, size = matrix.shape
    if not np.all(np.isfinite(matrix)):
        return None
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if np.any(lengths == 0):
        return None
    scaled = matrix / lengths
    from scipy.linalg import qr

    _, upper, order = qr(scaled, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(upper))
    if len(pivots) < count or pivots[-1] < REDUNDANT * pivots[0]:
        return None
    chosen = list(before) if before is not None else order[:count].tolist()
    rates = _rates(scaled, chosen)
    if rates is None or np.abs(rates).max(initial=0.0) > 1 / np.sqrt(REDUNDANT):
        chosen = order[:count].tolist()
        rates = _rates(scaled, chosen)
    # Every exchange enlarges the determinant: no set of columns comes twice.
    for _ in range(10 * count * size):
        poll("reducing the index")
        if rates is None or not rates.size:
            break
        rates[:, chosen] = 0.0
        i, j = np.unravel_index(int(np.abs(rates).argmax()), rates.shape)
        if abs(rates[i, j]) <= GAIN:
            break
        chosen[int(i)] = int(j)
        rates = _rates(scaled, chosen)
    return sorted(chosen)


def partners(matrix: np.ndarray, columns: Sequence[int], allowed: np.ndarray) -> list[int]:
    """For each row the column that is solved for by it, among the entries allowed; the largest entries are taken."""
    from scipy.optimize import linear_sum_assignment

    part = np.abs(matrix[:, list(columns)])
    fits = allowed[:, list(columns)]
    cost = np.where(fits, -np.log(np.maximum(part / part.max(initial=NOT_ZERO), 1e-150)), 1e6)
    _, places = linear_sum_assignment(cost)
    return [int(columns[place]) for place in places]


def _rates(matrix: np.ndarray, columns: list[int]) -> np.ndarray | None:
    """A_D⁻¹ A with zeros in the columns of D; None where A_D is singular."""
    try:
        found = np.linalg.solve(matrix[:, columns], matrix)
    except np.linalg.LinAlgError:
        return None
    if not np.all(np.isfinite(found)):
        return None
    found[:, columns] = 0.0
    return found
