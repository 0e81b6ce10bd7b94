"""Where a planar field rests, and what the motion near each such point looks like.

Newton's method from a grid of starts finds the points; the eigenvalues of the Jacobian tell nodes, foci, saddles and
centres apart. A pair ±iω leaves a centre and a weak focus possible: the first Lyapunov coefficient decides (Kuznetsov,
Elements of Applied Bifurcation Theory, 3rd ed., (5.39)).
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from daedalus.algebra.newton_steps import full_newton
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.display.planar_field import PlanarField
from daedalus.model.frozen_mapping import FrozenMapping

STARTS = 31
ITERATIONS = 80
# Lengths below are parts of half the box.
LONGEST_STEP, CONVERGED, SAME = 0.5, 1e-9, 1e-5
# A resting point moves slower than this part of the usual speed.
AT_REST = 1e-9
# An eigenvalue is zero, or two are equal, below this part of the larger one; double roots are known to half the digits.
ZERO, EQUAL = 1e-7, 1e-7
# A real part below this part of the frequency counts as zero.
UNDAMPED = 1e-9
# More degenerate points than this are a curve of equilibria.
CURVE = 8


@dataclass(frozen=True, eq=False)
class PlanarEquilibrium:
    """A point at rest: its two values by name, the kind of motion around it, and whether it is stable.

    Parameters
    ----------
    values: the two states by name.
    kind: "stable node", "unstable node", "stable focus", "unstable focus", "saddle", "centre", "weak stable focus",
        "weak unstable focus" (undamped to first order), or "degenerate" (an eigenvalue is zero).
    stable: whether motions that begin nearby stay nearby; None where the derivatives do not tell.
    eigenvalues: of the Jacobian, in 1/time.
    jacobian: ∂(x', y')/∂(x, y), (2, 2).
    """

    values: Mapping[str, float]
    kind: str
    stable: bool | None
    eigenvalues: tuple[complex, complex]
    jacobian: np.ndarray

    @property
    def point(self) -> tuple[float, float]:
        """The two coordinates."""
        x, y = self.values.values()
        return x, y

    def __repr__(self) -> str:
        where = ", ".join(f"{name} = {value:.6g}" for name, value in self.values.items())
        mark = {True: "stable", False: "unstable", None: "stability undecided"}[self.stable]
        kind = self.kind if mark in self.kind else f"{self.kind}, {mark}"
        return f"{where}: {kind} (eigenvalues {_pair_text(self.eigenvalues)})"


def _pair_text(eigenvalues: tuple[complex, complex]) -> str:
    first, second = eigenvalues
    if first.imag == 0:
        return f"{first.real:.4g} and {second.real:.4g}"
    return f"{f'{first.real:.4g} ' if first.real else ''}± {abs(first.imag):.4g}i"


def find_equilibria(field: PlanarField) -> tuple[tuple[PlanarEquilibrium, ...], np.ndarray]:
    """The isolated equilibria in the box from left to right, and points (k, 2) of a curve of them, if there is one.

    Newton's method finds a point when one of its 31 × 31 starts leads there: it can miss points that lie very close
    together.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> from daedalus.display.planar_equilibria import find_equilibria
    >>> from daedalus.display.planar_field import planar_field
    >>> m = dd.Model("double well")
    >>> x = m.state("x", start=0.0); v = m.state("v", start=0.0)
    >>> m.equation(m.der(x), v); m.equation(m.der(v), x - x**3 - v)
    >>> for e in find_equilibria(planar_field(m, ("x", "v"), np.array([[-2, 2], [-1, 1]]), None, None, None, 0.0))[0]:
    ...     print(e)
    x = -1, v = 0: stable focus (eigenvalues -0.5 ± 1.323i)
    x = 0, v = 0: saddle, unstable (eigenvalues 0.618 and -1.618)
    x = 1, v = 0: stable focus (eigenvalues -0.5 ± 1.323i)
    """
    points = _resting_points(field)
    if not len(points):
        return (), points
    usual = _usual_speed(field)
    jacobians = field.jacobian(points)
    found = []
    for point, jacobian in zip(points, jacobians):
        values = FrozenMapping(dict(zip(field.names, point.tolist())))
        found.append(PlanarEquilibrium(values, *_classified(field, point, jacobian, usual), jacobian))
    degenerate = [e.point for e in found if e.kind == "degenerate"]
    curve = np.array(degenerate) if len(degenerate) > CURVE else np.zeros((0, 2))
    isolated = [e for e in found if e.kind != "degenerate" or not len(curve)]
    return tuple(sorted(isolated, key=lambda e: e.point)), curve


def _resting_points(field: PlanarField) -> np.ndarray:
    """All roots of the field in the box that Newton's method finds, each once."""
    at = np.stack(np.meshgrid(*field.grid(STARTS)), axis=-1).reshape(-1, 2)

    # Hundreds of starts go side by side. Those that have left the neighbourhood of the box do not come back in a useful
    # way: they are no longer numbers.
    def correction(points: np.ndarray) -> np.ndarray:
        near = np.all(np.abs(points - field.centre) < 4 * field.reach, axis=1)
        step = np.full_like(points, np.nan)
        step[near] = _newton_step(field, points[near]) * field.reach
        return step

    def length(step: np.ndarray, points: np.ndarray) -> float:
        return float(np.nanmax(np.abs(step / field.reach), initial=0.0))

    done = full_newton(correction, at, length, most=ITERATIONS, tolerance=1e-15)
    kept = np.all(np.isfinite(done.values), axis=1)
    at, step = done.values[kept], done.step[kept] / field.reach
    speed = np.abs(field(at) / field.reach)
    inside = np.all(np.abs(at - field.centre) <= (1 + 1e-9) * field.reach, axis=1)
    # Double roots are approached slowly, and known to half the digits: rest is what counts for them.
    settled = np.max(np.abs(step), axis=1, initial=0.0) < math.sqrt(CONVERGED)
    rests = np.all(speed <= AT_REST * _usual_speed(field), axis=1)
    at, speed = at[inside & settled & rests], speed[inside & settled & rests]
    return _each_once(field, at[np.argsort(speed.sum(axis=1), kind="stable")])


def _newton_step(field: PlanarField, at: np.ndarray) -> np.ndarray:
    """The step to the root of the linearised field, in half boxes, shortened where it is long."""
    value = field(at) / field.reach
    slope = field.jacobian(at) * field.reach / field.reach[:, None]
    usable = np.all(np.isfinite(value), axis=1) & np.all(np.isfinite(slope), axis=(1, 2))
    step = np.full_like(at, np.nan)
    step[usable] = -np.einsum("nij,nj->ni", np.linalg.pinv(slope[usable]), value[usable])
    length = np.max(np.abs(step), axis=1, keepdims=True)
    return step * np.minimum(1.0, LONGEST_STEP / np.maximum(length, NOT_ZERO))


def _usual_speed(field: PlanarField) -> np.ndarray:
    """The median of |g| over the box for each component, in half boxes per time; never zero."""
    points = np.stack(np.meshgrid(*field.grid(STARTS)), axis=-1).reshape(-1, 2)
    speed = np.abs(field(points) / field.reach)
    speed = speed[np.all(np.isfinite(speed), axis=1)]
    if not len(speed):
        return np.ones(2)
    return np.maximum(np.median(speed, axis=0), np.maximum(1e-3 * np.max(speed, axis=0), NOT_ZERO))


def _each_once(field: PlanarField, points: np.ndarray) -> np.ndarray:
    """Points without repetition, the slowest of each group, with rounding dust at zero swept away."""
    kept: list[np.ndarray] = []
    _, first = np.unique(np.round((points - field.centre) / (0.1 * SAME * field.reach)), axis=0, return_index=True)
    for point in points[np.sort(first)]:
        if all(np.max(np.abs(point - other) / field.reach) > SAME for other in kept):
            kept.append(point)
    found = np.array(kept).reshape(-1, 2)
    return np.where(np.abs(found) < 1e-11 * field.reach, 0.0, found)


def _classified(
    field: PlanarField, point: np.ndarray, jacobian: np.ndarray, usual: np.ndarray
) -> tuple[str, bool | None, tuple[complex, complex]]:
    """Kind, stability and eigenvalues from trace and determinant."""
    half, determinant = 0.5 * float(np.trace(jacobian)), float(np.linalg.det(jacobian))
    root = cmath.sqrt(half * half - determinant)
    if abs(root) <= EQUAL * abs(half):
        root = 0j
    first, second = half + root, half - root
    smallest = ZERO * max(abs(first), abs(second), float(usual.max()))
    if root.imag == 0 and min(abs(first), abs(second)) <= smallest:
        first, second = (0j if abs(value) <= smallest else value for value in (first, second))
        # One positive eigenvalue settles the question, a zero beside a negative one does not.
        return "degenerate", False if first.real > 0 else None, (first, second)
    if root.imag == 0:
        if determinant < 0:
            return "saddle", False, (first, second)
        return ("stable node", True, (first, second)) if half < 0 else ("unstable node", False, (first, second))
    if abs(half) > UNDAMPED * abs(root):
        return ("stable focus", True, (first, second)) if half < 0 else ("unstable focus", False, (first, second))
    return *_centre_or_focus(field, point, jacobian, abs(root)), (1j * abs(root), -1j * abs(root))


def _centre_or_focus(field: PlanarField, point: np.ndarray, A: np.ndarray, frequency: float) -> tuple[str, bool]:
    """A pair ±iω: the sign of the first Lyapunov coefficient l₁ tells a weak focus, l₁ = 0 counts as a centre.

    With A q = iω q, Aᵀ p = -iω p, p̄ᵀq = 1 and the bilinear and trilinear forms B and C of the field,
    2ω l₁ = Re[p̄ᵀC(q, q, q̄) - 2 p̄ᵀB(q, A⁻¹B(q, q̄)) + p̄ᵀB(q̄, (2iω - A)⁻¹B(q, q))].
    """
    A = A - 0.5 * np.trace(A) * np.eye(2)
    q = np.array([A[0, 1], 1j * frequency - A[0, 0]]) if A[0, 1] else np.array([1j * frequency - A[1, 1], A[1, 0]])
    p = np.array([A[1, 0], -1j * frequency - A[0, 0]]) if A[1, 0] else np.array([-1j * frequency - A[1, 1], A[0, 1]])
    p = p / np.conj(np.vdot(p, q))
    second, third = field.tensors(point)

    def B(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.einsum("ijk,j,k->i", second, a, b)

    terms = [
        np.vdot(p, np.einsum("ijkl,j,k,l->i", third, q, q, np.conj(q))),
        -2 * np.vdot(p, B(q, np.linalg.solve(A, B(q, np.conj(q))))),
        np.vdot(p, B(np.conj(q), np.linalg.solve(2j * frequency * np.eye(2) - A, B(q, q)))),
    ]
    coefficient, size = sum(term.real for term in terms), sum(abs(term) for term in terms)
    if abs(coefficient) <= UNDAMPED * size or size == 0:
        return "centre", True
    return ("weak stable focus", True) if coefficient < 0 else ("weak unstable focus", False)
