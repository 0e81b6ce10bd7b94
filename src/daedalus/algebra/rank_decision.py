"""What is singular, which rank a matrix has, and up to which size matrices are full: decided here, for all rooms.

A rank is a number of singular values against a tolerance, with the gap on record. It must not depend on units: before
it is decided, rows and columns are multiplied by powers of two, which change no rank: all entries come near one as far
as they can, then those of the largest product, one of each row and column, become the largest of their columns (I. S.
Duff, J. Koster, On algorithms for permuting large entries to the diagonal of a sparse matrix, SIAM J. Matrix Anal.
Appl. 22, 2001). A conductance of 1e-12 S beside others of 1 S counts then, unless it is nothing but rounding
(`counted`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from daedalus import _core

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

EPSILON = float(np.finfo(float).eps)

# Below it numbers lose digits.
SMALLEST_NORMAL = float(np.finfo(float).tiny)

# The least size that anything is divided by: numbers that large after it still have an inverse.
NOT_ZERO = 1e-300

# -- tolerances ------------------------------------------------------------------------------------------------

# A sum that is smaller than this share of its terms is rounding: some hundred roundings of double precision.
ROUNDING = 1e-13
# Values of unknowns that were solved for are taken to be known to this share of their size.
KNOWN = 1e-10
# Entries that come from differences of values, or from a run, are known to this share: about half the digits.
KNOWN_BY_DIFFERENCES = 1e-6
# Steps of differences in sizes of the values: rounding and curvature are equal at the root of the first for one-sided
# ones and at its cube root for central ones (P. E. Gill, W. Murray, M. H. Wright, Practical Optimization, 1981, 8.6).
ONE_SIDED, CENTRAL = float(np.sqrt(EPSILON)), float(np.cbrt(EPSILON))
# Two formulas are one where they differ by less than this share at random values: some million roundings, far below
# what a term makes that only one of them has.
SAME_FORMULA = 1e-9
# A value that moved by a smaller share of its size stayed: ten times what values are known to.
STAYED = 10 * KNOWN
# Singular values of a balanced matrix below this share of the largest count as zero: as well as its entries are known.
SINGULAR = KNOWN
# Rows of which a smaller share is left beside others follow from them: ten times what their entries are known to.
REDUNDANT = 10 * KNOWN
# The same of constraints at a place of a motion, which lies on them to what values are known to: rows that follow from
# others only there are off by that times how much they bend.
REDUNDANT_ON_A_MOTION = 1000 * KNOWN
# Matrices whose condition is estimated below this, from sparse factors, are regular; the estimate may be ten times off.
SAFELY_REGULAR = 0.1 / SINGULAR
# Null vectors of length 1 with less than this in a component do not move it; ten decades from one are half way.
STILL = 1e-6
# Rows and columns take part in a singular vector with this part of the largest share.
TAKES_PART = 0.1
# Singular values that differ by less than this factor across a decision leave the rank in doubt.
CLEAR_GAP = 1e3
# What rounding can make of a singular value at most, relative to the size of the problem.
LARGEST_ROUNDING = 1e-4
POWER_STEPS = 8

# Sweeps and rounds of balancing, and powers of two that are still numbers when two of them are multiplied.
SWEEPS, MOST_ROUNDS, LARGEST_POWER = 8, 200, 450

# Values that may be true as well, at which a matrix is looked at.
WITNESSES = 2

# -- full or sparse --------------------------------------------------------------------------------------------
# Full matrices are factored by LAPACK, sooner than sparse ones where they are small, and have singular values. Their
# cost grows with the cube of the size. Measured on one core of a Xeon: LU of 200 unknowns 0.9 ms, singular values of
# 400 24 ms, a null space of 600 0.18 s, singular values of an array of 1200 rows 0.85 s, a shortest step of 60 0.7 ms.

# Solves by formulas: with n unknowns they have about n³ operations, so that numbers are cheaper beyond.
SYMBOLIC_SOLVE = 24
# Solves and shortest steps in a loop that is run through often.
FULL_IN_LOOPS = 60
# Linear solves and judgements of one matrix.
FULL_MATRIX = 200
# All singular values, units of a pencil, a mass matrix as a norm.
FULL_RANK = 400
# Null spaces: the nearest consistent point, what a start leaves free.
FULL_NULL_SPACE = 600
# Ranks of a derivative array; larger ones are judged by samples of their null spaces.
FULL_ARRAY = 1200


@dataclass(frozen=True)
class RankDecision:
    """One decision: which matrix, its shape and rank, and the singular values on both sides of the cut.

    `gap` is the smallest singular value kept over the largest one dropped. Where all are kept, the rounding level
    stands for the dropped one; where none is kept, the size of the whole problem stands for the kept one.
    """

    matrix: str
    shape: tuple[int, int]
    rank: int
    smallest_kept: float
    largest_dropped: float
    gap: float

    def __str__(self) -> str:
        rows, columns = self.shape
        return f"{self.matrix} ({rows} × {columns}) has rank {self.rank}, gap {self.gap:.1e}"


def decide_rank(
    singular_values: np.ndarray,
    shape: tuple[int, int],
    scale: float,
    tolerance: float,
    matrix: str,
    amplification: float = 1.0,
    noise: float = 0.0,
) -> RankDecision:
    """How many singular values are more than rounding, where scale is the size of the whole problem.

    Those above tolerance · amplification · scale count, those below tolerance · scale do not. Between the two, the cut
    is at the widest gap: after a step that kept a singular value σ, the spaces that the next step works with are known
    to tolerance / σ only, which `amplified` passes on. noise: values below it are as good as this one.

    Example
    -------
    >>> import numpy as np
    >>> decision = decide_rank(np.array([2.0, 1.0, 1e-16]), (3, 3), 2.0, 1e-12, "E")
    >>> decision.rank, decision.smallest_kept, decision.largest_dropped
    (2, 1.0, 1e-16)
    >>> decide_rank(np.array([2.0, 1.0, 1e-11]), (3, 3), 2.0, 1e-12, "E", amplification=100.0).rank
    2
    """
    count = len(singular_values)
    low = tolerance * scale
    high = max(low, min(low * amplification, LARGEST_ROUNDING * scale))
    rounding = max(scale * EPSILON * max(*shape, 1), SMALLEST_NORMAL, noise)
    kept = np.concatenate([[scale], singular_values])  # smallest kept, for ranks 0, 1, ...
    dropped = np.concatenate([singular_values, [0.0]])
    gaps = kept / np.maximum(dropped, rounding)
    first, last = int(np.count_nonzero(singular_values > high)), int(np.count_nonzero(singular_values > low))
    rank = first + int(np.argmax(gaps[first : last + 1]))
    gap = float(gaps[rank]) if count and scale > 0 else float("inf")
    return RankDecision(matrix, shape, rank, float(kept[rank]), float(dropped[rank]), gap)


def amplified(amplification: float, decision: RankDecision, scale: float) -> float:
    """The amplification of rounding after a decision: the largest ratio of scale to kept singular value so far."""
    return max(amplification, scale / decision.smallest_kept) if decision.rank else amplification


def singular_values(matrix: np.ndarray) -> np.ndarray:
    """The singular values of a matrix, largest first; none for an empty one."""
    return np.linalg.svd(matrix, compute_uv=False) if matrix.size else np.zeros(0)


def largest_singular_value(matrix: np.ndarray) -> float:
    """The largest singular value to a few per cent, by the power method from the longest row: a size, cheaply.

    Example
    -------
    >>> import numpy as np
    >>> round(largest_singular_value(np.diag([3.0, -7.0])), 6)
    7.0
    """
    if not np.any(matrix):
        return 0.0
    vector = matrix[np.argmax(np.linalg.norm(matrix, axis=1))]
    for _ in range(POWER_STEPS):
        vector = matrix.T @ (matrix @ (vector / np.linalg.norm(vector)))
    return float(np.sqrt(np.linalg.norm(vector)))


def balance(shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray, entries: np.ndarray) -> Balance:
    """Powers of two for the rows and columns of a matrix, given by its entries.

    Example
    -------
    >>> import numpy as np
    >>> scales = balance((2, 2), np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1.0, 1e-9, 1e-9]))
    >>> scales.pairs, np.log10(scales.rows[1] * scales.columns[1]).round().item()
    (2, 9.0)
    """
    size = np.abs(entries)
    largest_row, largest_column = np.zeros(shape[0]), np.zeros(shape[1])
    np.maximum.at(largest_row, rows, size)
    np.maximum.at(largest_column, columns, size)
    # What is rounding beside others both of its row and of its column must not set a unit.
    kept = size > EPSILON * np.minimum(largest_row[rows], largest_column[columns])
    rows, columns, logs = rows[kept], columns[kept], np.log2(size[kept])
    row_logs, column_logs = _near_one(shape, rows, columns, logs)
    logs = logs + row_logs[rows] + column_logs[columns]
    partner = _core.cheapest_matching(*shape, rows, columns, np.round(-16 * logs).astype(np.int64)).columns
    own = columns == partner[rows]
    on_pairs = np.zeros(shape[0])
    on_pairs[rows[own]] = logs[own]
    # Rows rise until in every column the entry of its pair is the largest: no more than they must.
    risen, paired = np.zeros(shape[0]), partner >= 0
    for _ in range(MOST_ROUNDS):
        top = np.full(shape[1], -np.inf)
        np.maximum.at(top, columns, logs + risen[rows])
        higher = np.where(paired, top[partner] - on_pairs, risen)
        if np.all(higher <= risen + 0.5):
            break
        risen = higher
    row_logs, column_logs = row_logs + risen, column_logs - np.where(np.isfinite(top), top, 0.0)
    of_rows, of_columns = (
        np.exp2(np.clip(np.round(own), -LARGEST_POWER, LARGEST_POWER)) for own in (row_logs, column_logs)
    )
    return Balance(of_rows, of_columns, int(np.count_nonzero(paired)))


def _near_one(
    shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray, logs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of factors that bring all entries near one in the sense of least squares, rows and columns in turn."""
    row_logs, column_logs = np.zeros(shape[0]), np.zeros(shape[1])
    per_row, per_column = (np.maximum(np.bincount(k, minlength=n), 1) for k, n in zip((rows, columns), shape))
    for _ in range(SWEEPS):
        row_logs = -np.bincount(rows, logs + column_logs[columns], shape[0]) / per_row
        column_logs = -np.bincount(columns, logs + row_logs[rows], shape[1]) / per_column
    return row_logs, column_logs


@dataclass(frozen=True, eq=False)
class Balance:
    """Factors of rows and columns, and how many rows have a column of their own."""

    rows: np.ndarray
    columns: np.ndarray
    pairs: int


def balanced(matrix: np.ndarray) -> tuple[np.ndarray, Balance]:
    """A full matrix in units in which its entries are about one."""
    rows, columns = np.nonzero(matrix)
    scales = balance(matrix.shape, rows, columns, matrix[rows, columns])
    return scales.rows[:, None] * matrix * scales.columns, scales


def balanced_sparse(matrix: Any) -> tuple[csc_matrix, Balance]:
    """A sparse matrix in units in which its entries are about one: balanced, then rows and columns by their largest."""
    from scipy.sparse import csc_matrix

    entries = matrix.tocoo()
    there = entries.data != 0
    rows, columns, values = entries.row[there], entries.col[there], entries.data[there]
    scales = balance(matrix.shape, rows, columns, values)
    values = values * scales.rows[rows] * scales.columns[columns]
    for place, count in ((rows, matrix.shape[0]), (columns, matrix.shape[1])):
        largest = np.zeros(count)
        np.maximum.at(largest, place, np.abs(values))
        values = values / largest[place]
    return csc_matrix((values, (rows, columns)), shape=matrix.shape), scales


def rank_of(matrix: np.ndarray, name: str, known: float = SINGULAR) -> RankDecision:
    """The rank of a full matrix, whatever the units of its rows and columns are; known: to what share its entries are.

    Example
    -------
    >>> import numpy as np
    >>> rank_of(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]]), "A").rank, rank_of(np.diag([1.0, 1e-15]), "A").rank
    (1, 2)
    """
    if not np.any(matrix):
        return decide_rank(np.zeros(min(matrix.shape)), matrix.shape, 1.0, known, name)
    values = np.linalg.svd(balanced(matrix)[0], compute_uv=False)
    return decide_rank(values, matrix.shape, float(values[0]), known, name)


def independent_rows(matrix: np.ndarray, redundant: float = REDUNDANT) -> list[int]:
    """The first rows that do not follow from rows before them, each judged by its own length.

    Example
    -------
    >>> import numpy as np
    >>> independent_rows(np.array([[1.0, 0.0], [2.0, 1e-12], [0.0, 1e-12]]))
    [0, 2]
    """
    basis, chosen = np.zeros((0, matrix.shape[1])), []
    for k, row in enumerate(matrix):
        length, rest = float(np.linalg.norm(row)), row
        for _ in range(2):  # once more for rounding
            rest = rest - basis.T @ (basis @ rest)
        if np.isfinite(length) and np.linalg.norm(rest) > redundant * length:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            chosen.append(k)
    return chosen


def leading_rows(matrix: np.ndarray, name: str, redundant: float = REDUNDANT) -> tuple[list[int], RankDecision]:
    """Rows that others follow from, those of the largest volume first, each divided by its length; and the decision.

    The order is that of QR with column pivoting (P. Businger, G. H. Golub, Numer. Math. 7, 1965).

    Example
    -------
    >>> import numpy as np
    >>> rows, decision = leading_rows(np.array([[1.0, 1.0], [1e-6, 0.0], [2.0, 2.0]]), "rows")
    >>> sorted(rows), decision.rank
    ([0, 1], 2)
    """
    from scipy.linalg import qr

    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    scaled = matrix / np.where(lengths > 0, lengths, 1.0)
    if not scaled.size:
        return [], decide_rank(np.zeros(0), matrix.shape, 1.0, redundant, name)
    _, triangle, order = qr(scaled.T, mode="economic", pivoting=True)
    decision = decide_rank(np.abs(np.diag(triangle)), matrix.shape, 1.0, redundant, name)
    return order[: decision.rank].tolist(), decision


def null_space(matrix: np.ndarray, name: str, known: float = SINGULAR) -> tuple[np.ndarray, RankDecision]:
    """An orthonormal basis of the null space of a full matrix, and the rank decision behind it.

    Example
    -------
    >>> import numpy as np
    >>> np.abs(null_space(np.array([[1e-6, 0.0, 0.0], [0.0, 1e6, 0.0]]), "A")[0]).round(12).ravel().tolist()
    [0.0, 0.0, 1.0]
    """
    if not np.any(matrix):
        return np.eye(matrix.shape[1]), decide_rank(np.zeros(min(matrix.shape)), matrix.shape, 1.0, known, name)
    scaled, scales = balanced(matrix)
    _, values, right = np.linalg.svd(scaled, full_matrices=True)
    decision = decide_rank(values, matrix.shape, float(values[0]), known, name)
    basis = scales.columns[:, None] * right[decision.rank :].T
    return np.linalg.qr(basis / np.linalg.norm(basis, axis=0))[0], decision


def range_of_projector(projector: np.ndarray, known: float = KNOWN_BY_DIFFERENCES) -> np.ndarray:
    """An orthonormal basis of the range of a projector, as columns: none of its singular values lies in (0, 1).

    Example
    -------
    >>> import numpy as np
    >>> np.abs(range_of_projector(np.array([[0.0, 0.0], [2.0, 1.0]]))).ravel().tolist()
    [0.0, 1.0]
    """
    left, values, _ = np.linalg.svd(projector)
    return left[:, : decide_rank(values, projector.shape, 1.0, known, "projector").rank]


class Weakest(NamedTuple):
    """What is smallest in some matrices: singular values, and how much each row and column takes part in them.

    values: (n,), not a number where a matrix is not finite. rows: (n, rows), columns: (n, columns), the sizes of the
    entries of the singular vectors. usual: what the values are shares of.
    """

    values: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    usual: float


def weakest(matrices: np.ndarray, usual: np.ndarray | None = None) -> Weakest:
    """The smallest singular value of each of some matrices (n, rows, columns), with its vectors.

    With a `usual` matrix they are balanced as that one is, and the values are shares of its smallest singular value.

    Example
    -------
    >>> import numpy as np
    >>> found = weakest(np.array([[[1e6, 0.0], [0.0, 1e-3]]]), usual=np.diag([1e6, 1.0]))
    >>> found.values.round(4).tolist(), found.rows.tolist()
    ([0.001], [[0.0, 1.0]])
    """
    base = 1.0
    if usual is not None:
        scaled, scales = balanced(np.where(np.isfinite(usual), usual, 0.0))
        matrices = scales.rows[:, None] * matrices * scales.columns
        smallest = weakest(scaled[None]).values[0] if np.isfinite(usual).all() else np.nan
        base = float(np.maximum(smallest, NOT_ZERO))
    finite = np.isfinite(matrices).all(axis=(1, 2))
    count = min(matrices.shape[1:])
    left, values, right = np.linalg.svd(np.where(finite[:, None, None], matrices, 0.0), full_matrices=False)
    shares = np.where(finite, values[:, count - 1], np.nan)
    return Weakest(shares / base, np.abs(left[:, :, count - 1]), np.abs(right[:, count - 1]), base)


def taking_part(shares: np.ndarray) -> np.ndarray:
    """Which rows or columns take part, by their shares in a singular vector; none where all are zero."""
    return np.asarray((shares > 0) & (shares >= TAKES_PART * shares.max(axis=-1, keepdims=True)))


def singular_share(matrix: csc_matrix | np.ndarray) -> float:
    """The smallest singular value of a square matrix over the largest, balanced; 1 where it is not finite.

    In large sparse matrices its bound n / (‖A‖₁ ‖A⁻¹‖₁) is taken from LU factors and an estimate of ‖A⁻¹‖₁.

    Example
    -------
    >>> import numpy as np
    >>> singular_share(np.array([[1.0, 2.0], [2.0, 4.0]])) < 1e-15, singular_share(np.diag([1e-20, 1e20])) > 0.4
    (True, True)
    """
    if not isinstance(matrix, np.ndarray) and matrix.shape[0] > FULL_MATRIX:
        return _sparse_share(matrix)
    full = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    if not full.size or not np.all(np.isfinite(full)):
        return 1.0
    scaled, scales = balanced(full)
    if scales.pairs < len(full):
        return 0.0
    values = np.linalg.svd(scaled, compute_uv=False)
    return float(values[-1] / values[0])


def _sparse_share(matrix: csc_matrix) -> float:
    if not np.all(np.isfinite(matrix.data)):
        return 1.0
    scaled, scales = balanced_sparse(matrix)
    condition = sparse_factors(scaled)[1] if scales.pairs == matrix.shape[0] else np.inf
    return min(1.0, matrix.shape[0] / condition) if np.isfinite(condition) else 0.0


def is_singular(matrix: csc_matrix | np.ndarray, known: float = SINGULAR) -> bool:
    """Whether a square matrix is singular, whatever its units; False if it is not finite.

    known: to what share its entries are.
    """
    return singular_share(matrix) < known


def sparse_factors(matrix: Any) -> tuple[Any, float]:
    """LU factors of a square sparse matrix, and an estimate of its condition ‖A‖₁ ‖A⁻¹‖₁; (None, ∞) if singular.

    Example
    -------
    >>> from scipy.sparse import csc_matrix
    >>> sparse_factors(csc_matrix([[2.0, 0.0], [0.0, 1.0]]))[1], sparse_factors(csc_matrix([[1.0, 1.0], [1.0, 1.0]]))
    (2.0, (None, inf))
    """
    from scipy.sparse.linalg import splu

    try:
        factors = splu(matrix)
    except RuntimeError:  # exactly singular
        return None, float("inf")
    columns = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    largest = float(np.bincount(columns, np.abs(matrix.data), matrix.shape[1]).max(initial=0.0))
    return factors, largest * _inverse_norm(factors, matrix.shape[0])


def _inverse_norm(factors: Any, n: int) -> float:
    """An estimate of ‖A⁻¹‖₁ from below by a few solves, mostly within a factor of three.

    W. W. Hager, SIAM J. Sci. Stat. Comput. 5 (1984), with the last guess of N. J. Higham, ACM TOMS 14 (1988).
    """
    x, best = np.full(n, 1.0 / max(n, 1)), 0.0
    for _ in range(5):
        y = factors.solve(x)
        found = float(np.abs(y).sum())
        if not found > best:
            break
        best = found
        z = factors.solve(np.where(y < 0, -1.0, 1.0), "T")
        place = int(np.argmax(np.abs(z)))
        if not np.abs(z[place]) > z @ x:
            break
        x = np.zeros(n)
        x[place] = 1.0
    steps = np.arange(n)
    alternating = np.where(steps % 2, -1.0, 1.0) * (1 + steps / max(n - 1, 1))
    last = 2 * float(np.abs(factors.solve(alternating)).sum()) / (3 * max(n, 1))
    return max(best, last) if np.isfinite(best) and np.isfinite(last) else float("inf")


def default_tolerance(*sizes: int) -> float:
    """The relative tolerance of rank decisions: a little above the rounding errors of orthogonal transformations."""
    return 64.0 * EPSILON * max(*sizes, 1)
