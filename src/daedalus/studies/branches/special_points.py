"""Locate folds, Hopf points and branch points between two points of a branch by equations of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus.algebra.damped_newton import Root, damped_newton
from daedalus.algebra.rank_decision import SINGULAR
from daedalus.studies.branches.normal_forms import null_vectors
from daedalus.studies.branches.rest_equations import RestEquations


def solved(
    equations: Callable[..., tuple[np.ndarray, Any]], constants: list[np.ndarray], guess: np.ndarray, size: np.ndarray
) -> np.ndarray | None:
    """The root near a guess, or None."""

    def rows(values: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
        residual, matrix = equations(values, *constants)
        slopes = abs(matrix)
        scale = np.asarray((slopes @ size) if not isinstance(matrix, np.ndarray) else np.max(slopes * size, axis=1))
        return residual, matrix, np.where(scale > 0, scale, 1.0)

    root: Root = damped_newton(rows, guess, size, limit=30)
    return root.values if root.converged and root.worst < 1e-8 else None


def locate_fold(rest: RestEquations, Y: np.ndarray) -> np.ndarray | None:
    """Y of the fold near a point of the branch."""
    n = rest.n
    _, q = null_vectors(_full(rest.branch(Y, *rest.constants)[1])[:, :n], rest.square_scales(Y[:n], Y[n:]))
    size = np.maximum(rest.nominal, np.abs(Y[:n]))
    q = q / np.linalg.norm(q / size)
    direction = q / size**2
    guess = np.concatenate([Y[:n], q, Y[n:]])
    sizes = np.concatenate([size, np.maximum(np.abs(q), 1e-3 * size), np.maximum(np.abs(Y[n:]), 1e-3)])
    found = solved(rest.forms.fold, [*rest.constants, direction], guess, sizes)
    return None if found is None else np.concatenate([found[:n], found[2 * n :]])


def locate_hopf(rest: RestEquations, Y: np.ndarray, eigenvalue: complex) -> tuple[np.ndarray, float] | None:
    """Y and the frequency of the Hopf point near a point of the branch with an eigenvalue near the imaginary axis."""
    n = rest.n
    E, A = rest.pencil(Y[:n], Y[n:])
    rows = len(rest.system.equation_labels)
    _, q = null_vectors(-A[:rows] + eigenvalue * E[:rows], rest.scales(Y[:n], Y[n:]))
    size = np.maximum(rest.nominal, np.abs(Y[:n]))
    q = q / np.linalg.norm(q / size)
    d = q / size**2
    omega = abs(eigenvalue.imag)
    guess = np.concatenate([Y[:n], q.real, q.imag, [omega], Y[n:]])
    sizes = np.concatenate([size, size, size, [omega], np.maximum(np.abs(Y[n:]), 1e-3)])
    found = solved(rest.forms.hopf, [*rest.constants, np.concatenate([d.real, d.imag])], guess, sizes)
    if found is None or abs(found[3 * n]) < 1e-6 * omega:
        return None
    return np.concatenate([found[:n], found[3 * n + 1 :]]), abs(float(found[3 * n]))


def locate_crossing(rest: RestEquations, Y: np.ndarray) -> np.ndarray | None:
    """Y of the point near a point of the branch where another branch crosses."""
    n = rest.n
    matrix = _full(rest.branch(Y, *rest.constants)[1])
    psi, _ = null_vectors(matrix[:, :n], rest.square_scales(Y[:n], Y[n:]))
    size = np.append(np.maximum(rest.nominal, np.abs(Y[:n])), np.maximum(np.abs(Y[n:]), 1e-3))
    guess = np.concatenate([Y, psi, [0.0]])
    found = solved(rest.forms.crossing, rest.constants, guess, np.concatenate([size, np.ones(n + 1)]))
    if found is None or abs(found[-1]) > 1e-7:
        return None
    return found[: len(Y)]


def locate_double_zero(rest: RestEquations, Y: np.ndarray) -> np.ndarray | None:
    """Y = (y, a) with two parameters of the Bogdanov-Takens point near a point."""
    n = rest.n
    E, A = rest.pencil(Y[:n], Y[n:])
    rows = len(rest.system.equation_labels)
    _, q = null_vectors(-A[:rows], rest.scales(Y[:n], Y[n:]))
    size = np.maximum(rest.nominal, np.abs(Y[:n]))
    q = q / np.linalg.norm(q / size)
    d = q / size**2
    r = np.linalg.lstsq(np.vstack([-A[:rows], d]), np.append(-E[:rows] @ q, 0.0), rcond=SINGULAR)[0]
    guess = np.concatenate([Y[:n], q, r, Y[n:]])
    sizes = np.concatenate([size, size, np.maximum(size, np.abs(r)), np.maximum(np.abs(Y[n:]), 1e-3)])
    found = solved(rest.forms.double_zero, [*rest.constants, d], guess, sizes)
    return None if found is None else np.concatenate([found[:n], found[3 * n :]])


def _full(matrix: Any) -> np.ndarray:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
