"""Algebraic unknowns that the equations leave open while nothing else feels them: their smallest values are taken.

F(t, x', x, z, u, p) = 0 does not change along z + N a where ∂F/∂z N = 0. With the columns of ∂F/∂z that take part in N
split into independent ones B₁ and others B₂ = B₁ W, the smallest z with the same F, counted in nominal values d, obeys

    z₂ / d₂² = Wᵀ (z₁ / d₁²),

one equation for each direction that is open. W is looked at in points that obey the equations: it may be a number,
depend on parameters, or change along the motion. An unknown that no equation contains is forgotten, not open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import CLEAR_GAP, NOT_ZERO, STILL, null_space
from daedalus.model.system.equation_row import Role
from daedalus.model.system.sampled_points import PointsNearStart
from daedalus.model.system.system import System

# Entries of W at two points that differ by less are equal; they are taken for fractions with these denominators.
EQUAL, DENOMINATORS = 1e-8, 12


@dataclass(frozen=True, eq=False)
class OpenAlgebraics:
    """Positions in z of what is open, and for the last of each direction the equation that takes the smallest."""

    positions: tuple[int, ...]
    chosen: tuple[int, ...]
    equations: ca.SX


def open_algebraics(system: System) -> OpenAlgebraics | None:
    """What a system leaves open in z alone; None where there is nothing, or where that is not decided."""
    slopes = ca.jacobian(system.residual, system.symbol("z"))
    inside = sorted(set(slopes.sparsity().get_triplet()[1]))
    if not inside:
        return None
    look = _AlgebraicSlopes(system, slopes[:, inside])
    points = PointsNearStart(system).draw()
    nulls = [_null_space(look.at(point)) for point in points]
    if any(null is None for null in nulls) or not nulls:
        return None
    count = min(null.shape[1] for null in nulls if null is not None)
    if not count:
        return None
    moved = np.max([np.abs(null).max(axis=1) for null in nulls if null is not None], axis=0) > STILL
    positions = [inside[k] for k in np.flatnonzero(moved)]
    look = _AlgebraicSlopes(system, slopes[:, positions])
    first, others = _split([look.at(point) for point in points], len(positions) - count)
    shares = _shares(look, points, first, others)
    if shares is None:
        return None
    z, size = system.symbol("z"), system.nominal["z"]
    rows = []
    for j, k in enumerate(others):
        own = positions[k]
        total = sum(
            (shares[i, j] * (z[positions[n]] * (size[own] / size[positions[n]]) ** 2) for i, n in enumerate(first)),
            ca.SX(0),
        )
        rows.append(z[own] - total)
    return OpenAlgebraics(tuple(positions), tuple(positions[k] for k in others), ca.densify(ca.vertcat(*rows)))


def smallest_taken(system: System) -> tuple[str, ...]:
    """The unknowns of which the smallest values are taken because the equations leave them open, by name."""
    rows = system.rows.places(Role.SMALLEST)
    if not rows:
        return ()
    # Shares of algebraic unknowns may depend on states.
    for letter in ("z", "x"):
        columns = ca.jacobian_sparsity(system.residual[rows], system.symbol(letter)).get_triplet()[1]
        if columns:
            return tuple(system.labels[letter][k] for k in sorted(set(columns)))
    return ()


def as_written(system: System) -> System:
    """The system without the equations that take the smallest values of what is left open."""
    taken = set(system.rows.places(Role.SMALLEST))
    if not taken:
        return system
    kept = [k for k in range(len(system.rows)) if k not in taken]
    return system.changed(residual=system.residual[kept], rows=[system.rows[k] for k in kept])


class _AlgebraicSlopes:
    """Columns of ∂F/∂z as expressions and as numbers."""

    def __init__(self, system: System, slopes: ca.SX) -> None:
        self.symbols = system.symbols()
        self.slopes = slopes
        self._function = ca.Function("slopes", self.symbols, [ca.densify(slopes)])

    def at(self, point: Sequence[np.ndarray]) -> np.ndarray:
        """The columns at a point."""
        columns: np.ndarray = self._function.call(list(point))[0].full()
        return columns


def _null_space(matrix: np.ndarray) -> np.ndarray | None:
    """A basis of the directions that no row feels; None where numbers do not decide that."""
    if not np.isfinite(matrix).all():
        return None
    basis, decision = null_space(matrix, "∂F/∂z")
    return None if decision.gap < CLEAR_GAP else basis


def _split(matrices: list[np.ndarray], rank: int) -> tuple[list[int], list[int]]:
    """Independent columns, and those that follow from them; of columns that serve as well the first are taken."""
    stacked = np.vstack(matrices)
    rest = stacked / np.maximum(np.linalg.norm(stacked, axis=0), NOT_ZERO)
    first: list[int] = []
    for _ in range(rank):
        left = np.linalg.norm(rest, axis=0)
        own = int(np.flatnonzero(left >= 0.5 * left.max())[0])
        first.append(own)
        unit = rest[:, own] / left[own]
        rest = rest - np.outer(unit, unit @ rest)
    return sorted(first), [k for k in range(stacked.shape[1]) if k not in set(first)]


# -- what follows from what --------------------------------------------------------------------------------------------


def _shares(
    look: _AlgebraicSlopes, points: list[list[np.ndarray]], first: list[int], others: list[int]
) -> ca.SX | None:
    """W of B₂ = B₁ W: numbers where they are the same everywhere, else expressions, of parameters alone if possible."""
    found = _solved([look.at(point) for point in points], first, others)
    if found is None:
        return None
    if not first:
        return ca.SX(0, len(others))
    same = _equal(found)
    elsewhere = _solved([look.at([*point[:-1], _other(point[-1])]) for point in points], first, others)
    if same and elsewhere is not None and _equal([*found, *elsewhere]):
        return ca.SX(as_fractions(found[0]))
    slopes = look.slopes
    if same:
        # Nothing but parameters counts: everything else may stand at the first point.
        slopes = ca.substitute([slopes], look.symbols[:-1], [ca.SX(part) for part in points[0][:-1]])[0]
    # All rows together: any one of them may vanish on the way.
    own, rest = slopes[:, first], slopes[:, others]
    return ca.densify(ca.solve(ca.densify(own.T @ own), ca.densify(own.T @ rest)))


def _solved(matrices: list[np.ndarray], first: list[int], others: list[int]) -> list[np.ndarray] | None:
    """W at each point; None where the other columns do not follow from the first at one of them."""
    found = []
    for matrix in matrices:
        own, rest = matrix[:, first], matrix[:, others]
        if not np.isfinite(matrix).all():
            return None
        shares = np.linalg.lstsq(own, rest, rcond=None)[0]
        if np.abs(own @ shares - rest).max(initial=0.0) > EQUAL * np.abs(rest).max(initial=0.0):
            return None
        found.append(shares)
    return found


def _equal(found: list[np.ndarray]) -> bool:
    """Whether numbers are the same at all points."""
    size = np.abs(found[0]).max(initial=1.0)
    return all(np.allclose(one, found[0], rtol=EQUAL, atol=EQUAL * size) for one in found)


def _other(p: np.ndarray) -> np.ndarray:
    """Other values of the parameters, each changed in its own way."""
    changed: np.ndarray = p * (1.0 + 0.1 * np.sqrt(2.0 + np.arange(len(p)))) + 0.01
    return changed


def as_fractions(numbers: np.ndarray) -> np.ndarray:
    """Numbers that are simple fractions, exactly those; others as they are."""
    below = np.arange(1, DENOMINATORS + 1)
    near = np.round(numbers[..., None] * below) / below
    fits = np.abs(near - numbers[..., None]) <= EQUAL * np.maximum(np.abs(numbers[..., None]), EQUAL)
    own = np.take_along_axis(near, fits.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    exact: np.ndarray = np.where(fits.any(axis=-1), own, numbers)
    return exact
