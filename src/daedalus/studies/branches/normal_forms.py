"""Coefficients of normal forms at special points of rest, for equations F(x', x, z) = 0 as they are written.

The motion on the centre manifold is expanded in the amplitude of the critical mode and put into the equations; what
resonates is balanced by the left null vector. For x' = f(x) this gives the formulas of Y. A. Kuznetsov, Elements of
Applied Bifurcation Theory (3rd edition, sections 3.3, 5.4 and 8.7); nothing is divided by E, which may be singular.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.algebra.rank_decision import KNOWN, NOT_ZERO, ROUNDING, SINGULAR
from daedalus.studies.branches.rest_equations import RestEquations

# Matrices of so few rows are decomposed whole. Inverse iteration ends when a vector turns by rounding
# alone, after so many solves at most.
FEW, MOST_SOLVES = 20, 12
# A pitchfork's quadratic term is this small beside the others; a transcritical point's is not.
SYMMETRIC = 1e-6
# Quadratic terms that miss the range of the linear ones by more than this share resonate with another eigenvalue.
RESONANT = 1e-6


def null_vectors(matrix: np.ndarray, scales: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The left and right vectors of the smallest singular value, in the sizes of equations and unknowns.

    Rows and columns are not scaled by their own entries: a row or column of nearly nothing is what is looked for.
    """
    rows, columns = scales
    scaled = matrix / rows[:, None] * columns
    found = smallest_singular_pair(scaled) if len(scaled) > FEW else None
    if found is None:
        left, _, right = np.linalg.svd(scaled)
        found = left[:, -1], right[-1].conj()
    p, q = found[0] / rows, found[1] * columns
    return p / np.linalg.norm(p), q / np.linalg.norm(q)


def smallest_singular_pair(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The left and right vectors of the smallest singular value by inverse iteration; None where it is not apart.

    A solve with the matrix and one with its transpose take a vector towards the smallest singular value, by the square
    of its ratio to the next one (G. H. Golub, C. F. Van Loan, Matrix Computations, 2013, section 8.2).

    Example
    -------
    >>> import numpy as np
    >>> p, q = smallest_singular_pair(np.diag([3.0, 1e-9, 2.0]))
    >>> np.abs(p).round(12).tolist(), np.abs(q).round(12).tolist()
    ([0.0, 1.0, 0.0], [0.0, 1.0, 0.0])
    """
    from scipy.linalg.lapack import get_lapack_funcs

    factor, solve = get_lapack_funcs(("getrf", "getrs"), (matrix,))
    factors, swaps, _ = factor(matrix)
    pivots = factors.diagonal()
    least = ROUNDING * float(np.abs(pivots).max(initial=0.0))
    if not np.all(np.isfinite(pivots)) or least == 0:
        return None
    np.fill_diagonal(factors, np.where(np.abs(pivots) < least, least, pivots))
    q = np.cos(np.arange(len(matrix), dtype=float)).astype(matrix.dtype)
    q /= np.linalg.norm(q)
    for _ in range(MOST_SOLVES):
        p = solve(factors, swaps, q, trans=2)[0]
        p /= np.linalg.norm(p)
        before, q = q, solve(factors, swaps, p)[0]
        q /= np.linalg.norm(q)
        if np.linalg.norm(q - before * np.vdot(before, q)) < ROUNDING:
            return p, q
    return None


def solved_or_nearest(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of a system, or the shortest of those that come nearest where the matrix is nearly singular."""
    from scipy.linalg.lapack import get_lapack_funcs

    factor, solve, condition = get_lapack_funcs(("getrf", "getrs", "gecon"), (matrix, right))
    if matrix.shape[0] == matrix.shape[1]:
        factors, swaps, failed = factor(matrix)
        if not failed and condition(factors, np.abs(matrix).sum(axis=0).max())[0] > SINGULAR:
            return np.asarray(solve(factors, swaps, right)[0])
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=ROUNDING)[0])


def fold_coefficient(rest: RestEquations, y: np.ndarray, a: np.ndarray) -> float:
    """b of w' = … + b w² along the critical mode w of unit length; NaN where the zero eigenvalue is double."""
    slopes = rest.branch(np.append(y, a), *rest.constants)[1]
    slopes = (slopes if isinstance(slopes, np.ndarray) else slopes.toarray())[:, : rest.n]
    p, q = null_vectors(slopes, rest.square_scales(y, a))
    q = _as_motion(rest, q)
    left = rest.all_rows(p)
    moved = _moved(rest, y, a, left, q)
    form = rest.second(y, a, rest.direction(q), rest.direction(q)).real
    return float(-0.5 * (left @ form) / moved)


def _as_motion(rest: RestEquations, q: np.ndarray) -> np.ndarray:
    """A null vector whose states have the length one, in the direction in which the largest entry grows."""
    states = q[: rest.nx] if np.any(q[: rest.nx]) else q
    return q / np.linalg.norm(states) * np.sign(q[np.argmax(np.abs(q))])


def _moved(rest: RestEquations, y: np.ndarray, a: np.ndarray, left: np.ndarray, q: np.ndarray) -> float:
    """How much of the critical mode its own equation has of w'; NaN where none: it is no motion, or a double zero."""
    E, _ = rest.pencil(y, a)
    moved = float(left @ E @ q)
    size = np.linalg.norm(left) * np.linalg.norm(E, axis=1).max(initial=0.0) * np.linalg.norm(q)
    return moved if abs(moved) > KNOWN * size else float("nan")


@dataclass(frozen=True, eq=False)
class HopfForm:
    """frequency ω of the critical pair, its vector q, and the first Lyapunov coefficient Re c₁/ω with |q| = 1."""

    frequency: float
    mode: np.ndarray
    coefficient: float


def hopf_form(rest: RestEquations, y: np.ndarray, a: np.ndarray, frequency: float) -> HopfForm:
    """z' = iω z + c₁ z |z|² of the critical pair; l₁ = Re c₁/ω, negative where a stable orbit is born.

    It is NaN where 0 or 2iω is an eigenvalue too and resonates with the pair.
    """
    E, A = rest.pencil(y, a)
    rows = len(rest.system.equation_labels)
    E, J = E[:rows], -A[:rows]
    p, q = null_vectors(J + 1j * frequency * E, rest.scales(y, a))
    q = q / np.linalg.norm(q[: rest.nx])
    p = p.conj()
    Q = rest.direction(q, 1j * frequency)
    even = -rest.second(y, a, Q, Q.conj())[:rows]
    double = -rest.second(y, a, Q, Q)[:rows]
    answers = []
    for matrix, right in ((J.astype(complex), even), (J + 2j * frequency * E, double)):
        answers.append(solved_or_nearest(matrix, right))
        left = np.abs(matrix @ answers[-1] - right).max(initial=0.0)
        if left > RESONANT * np.abs(right).max(initial=0.0):
            return HopfForm(frequency, q, float("nan"))
    h11, h20 = answers
    H11, H20 = rest.direction(h11), rest.direction(h20, 2j * frequency)
    cubic = rest.third(y, a, [Q, Q, Q.conj()])[:rows] / 2
    cubic = cubic + rest.second(y, a, Q, H11)[:rows] + rest.second(y, a, Q.conj(), H20)[:rows] / 2
    c1 = -(p @ cubic) / (p @ (E @ q))
    return HopfForm(frequency, q, float(c1.real / frequency))


@dataclass(frozen=True, eq=False)
class CrossingForm:
    """The two directions (y, a) of branches that cross, and what kind of crossing it is."""

    kind: str
    directions: tuple[np.ndarray, np.ndarray]
    coefficient: float


def crossing_form(rest: RestEquations, Y: np.ndarray, tangent: np.ndarray) -> CrossingForm:
    """The algebraic bifurcation equation α² c₁₁ + 2 α β c₁₂ + β² c₂₂ = 0 of the two-dimensional kernel of [G_y G_a]."""
    _, matrix = rest.branch(Y, *rest.constants)
    matrix = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    n = rest.n
    y, a = Y[:n], Y[n:]
    size = np.append(np.maximum(rest.nominal, np.abs(y)), np.maximum(np.abs(a), 1e-3))
    rows = rest.square_scales(y, a)[0]
    left, _, right = np.linalg.svd(matrix * size / rows[:, None])
    psi = left[:, -1] / rows
    kernel = right[-2:] * size
    # One direction is that of the branch we came along; the other one is found in the plane.
    known = kernel @ (tangent / size**2)
    known = known / np.linalg.norm(known)
    first, second = known @ kernel, np.array([-known[1], known[0]]) @ kernel
    weight = rest.all_rows(psi)

    def form(one: np.ndarray, two: np.ndarray) -> float:
        d, e = rest.direction(one[:n], 0.0, one[n:]), rest.direction(two[:n], 0.0, two[n:])
        return float(weight @ rest.second(y, a, d, e).real)

    c11, c12, c22 = form(first, first), form(first, second), form(second, second)
    largest = max(abs(c11), abs(c12), abs(c22), NOT_ZERO)
    # α = 1 is a root: c₁₁ = 0 up to rounding. The other: α 2 c₁₂ + β c₂₂ = 0.
    other = -c22 * first + 2 * c12 * second
    if np.linalg.norm(other / size) == 0:
        other = second
    q = _as_motion(rest, null_vectors(matrix[:, :n], rest.square_scales(y, a))[1])
    quadratic = form(np.append(q, np.zeros(len(a))), np.append(q, np.zeros(len(a))))
    pitchfork = abs(quadratic) <= SYMMETRIC * largest * max(1.0, float(np.linalg.norm(q / size[:n])) ** 2)
    coefficient = _pitchfork(rest, y, a, q, weight) if pitchfork else -0.5 * quadratic / _moved(rest, y, a, weight, q)
    return CrossingForm("pitchfork" if pitchfork else "transcritical", (first, other), float(coefficient))


def _pitchfork(rest: RestEquations, y: np.ndarray, a: np.ndarray, q: np.ndarray, weight: np.ndarray) -> float:
    """c of w' = … + c w³: negative where the new branches are stable (supercritical)."""
    Q = rest.direction(q)
    _, A = rest.pencil(y, a)
    h = np.linalg.lstsq(-A, -rest.second(y, a, Q, Q).real, rcond=SINGULAR)[0]
    cubic = rest.third(y, a, [Q, Q, Q]).real / 6 + rest.second(y, a, Q, rest.direction(h)).real / 2
    return float(-(weight @ cubic) / _moved(rest, y, a, weight, q))
