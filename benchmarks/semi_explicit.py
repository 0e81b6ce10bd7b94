"""A DAE with any constant mass matrix as w' = f(t, w, z), 0 = g(t, w, z), for tools that take nothing else.

M = L R with R of full row rank in reduced echelon form; w = R x, and z are the columns without a pivot. The rows of f
along L give w', those along the left null space of M are the constraints.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.problem import Problem, Rhs, trace

# A pivot below this share of the largest entry is zero: entries of mass matrices are typed, not computed.
NEGLIGIBLE = 1e-10
COMPLEX_STEP = 1e-30


@dataclass(frozen=True)
class SemiExplicit:
    """The problem in w and z (in this order, w first), and x for a given (w, z)."""

    problem: Problem
    differential: int
    back: np.ndarray


def echelon(matrix: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The nonzero rows of the reduced echelon form, and the columns of their pivots."""
    rows, pivots = np.array(matrix, dtype=float), []
    smallest = NEGLIGIBLE * np.abs(rows).max()
    for column in range(rows.shape[1]):
        k = len(pivots)
        if k == len(rows):
            break
        best = k + int(np.argmax(np.abs(rows[k:, column])))
        if abs(rows[best, column]) <= smallest:
            continue
        rows[[k, best]] = rows[[best, k]]
        rows[k] /= rows[k, column]
        for i in range(len(rows)):
            if i != k:
                rows[i] -= rows[i, column] * rows[k]
        pivots.append(column)
    return rows[: len(pivots)], pivots


def left_null(matrix: np.ndarray) -> np.ndarray:
    """Rows n with n M = 0, with ones and zeros where M has rows of zeros or rows that cancel."""
    found, pivots = echelon(np.asarray(matrix).T)
    free = [j for j in range(len(matrix)) if j not in pivots]
    null = np.zeros((len(free), len(matrix)))
    for k, j in enumerate(free):
        null[k, j] = 1.0
        null[k, pivots] = -found[:, j]
    return null


def semi_explicit(problem: Problem) -> SemiExplicit:
    """The same DAE with the mass matrix diag(1, …, 1, 0, …, 0)."""
    mass = np.array(problem.mass)
    right, pivots = echelon(mass)
    left = mass[:, pivots]
    others = [j for j in range(problem.size) if j not in pivots]
    selection = np.eye(problem.size)[others]
    forward = np.vstack([right, selection])
    back = np.linalg.inv(forward)
    combined = np.vstack([np.linalg.pinv(left), left_null(mass)])
    start = forward @ np.array(problem.start)
    diagonal = np.diag([1.0] * len(pivots) + [0.0] * len(others))
    changed = replace(
        problem,
        equations=written_in(problem, back, combined),
        start=tuple(start.tolist()),
        mass=tuple(map(tuple, diagonal.tolist())),
        judged=(),
    )
    return SemiExplicit(changed, len(pivots), back)


def written_in(problem: Problem, back: np.ndarray, combined: np.ndarray) -> Callable[[Any], Rhs]:
    """The equations `combined` f(t, back y), without products by zero."""
    size = problem.size
    of_state, of_rows = ([[(j, a) for j, a in enumerate(row) if a != 0] for row in matrix] for matrix in
                         (np.round(back, 14).tolist(), combined.tolist()))  # fmt: skip

    def total(terms: list[tuple[int, float]], values: Any) -> Any:
        parts = [values[j] if a == 1.0 else a * values[j] for j, a in terms]
        return sum(parts[1:], parts[0])

    def equations(m: Any) -> Rhs:
        plain = problem.equations(m)

        def rhs(t: Any, y: Any, u: Any, p: Any, out: Any) -> None:
            values: list[Any] = [0.0] * size
            plain(t, [total(terms, y) for terms in of_state], u, p, values)
            for i, terms in enumerate(of_rows):
                out[i] = total(terms, values)

        return rhs

    return equations


def start_rates(problem: Problem) -> np.ndarray:
    """x' at the start: M x' = f, and the constraints N f = 0 differentiated once; of least size where that leaves some.

    Derivatives by complex steps, which are exact to rounding.
    """

    def f(t: complex, x: np.ndarray) -> np.ndarray:
        return np.array(trace(problem, np, t, x, problem.inputs, problem.parameters), dtype=complex)

    mass, start = np.array(problem.mass), np.array(problem.start, dtype=complex)
    null = left_null(mass)
    shifts = 1j * COMPLEX_STEP * np.eye(problem.size)
    jacobian = np.array([f(0.0, start + shift).imag / COMPLEX_STEP for shift in shifts]).T
    slope = f(1j * COMPLEX_STEP, start).imag / COMPLEX_STEP
    matrix = np.vstack([mass, null @ jacobian])
    wanted = np.concatenate([f(0.0, start).real, -null @ slope])
    # Rows of very different size count alike; rows of zeros are constraints, which stand in the second part.
    sizes = np.abs(matrix).max(axis=1)
    kept = sizes > 0
    rates: np.ndarray = np.linalg.lstsq(matrix[kept] / sizes[kept, None], wanted[kept] / sizes[kept], rcond=1e-12)[0]
    return rates
