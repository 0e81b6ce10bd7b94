"""Derivatives through x'(t, x, u, p) and z(t, x, u, p) that have no formulas, by the implicit function theorem.

With w = (x', z) the equations F(t, w, x, u, p) = 0 give F_w w_v = -F_v, and for an expression e(t, w, x, u, p)

    de/dv = e_v + e_w w_v                       v = (t, x, u, p)

by numbers at one point. The matrix F_w is that of a consistent start; where it is singular the index is above 1.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import SolverError
from daedalus.model.system.system import System
from daedalus.simulation.plant.implicit_plant import ImplicitPlant


class ImplicitSlopes:
    """An expression of (t, x', x, z, u, p), none by default, with its total derivatives at points on F = 0."""

    def __init__(self, system: System, expression: ca.SX | None = None) -> None:
        self.system = system
        structure, groups = structure_of(system), (("xdot", "z"), ("t", "x", "u", "p"))
        own = ca.SX(0, 1) if expression is None else ca.densify(ca.vec(expression))
        parts = [structure.slopes(*by) for by in groups] + [ca.jacobian(own, structure.symbols(*by)) for by in groups]
        self._function = ca.Function("slopes", system.symbols(), [own, *parts])

    def at(self, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The value, de/d(t, x, u, p) and dw/d(t, x, u, p) at a row (x, z, x')."""
        value, by_w, by_given, e_w, e_given = self._parts(t, row, u, p)
        moves = -self._through(by_w, by_given.full(), t)
        return value.full().ravel(), e_given.full() + e_w.full() @ moves, moves

    def pulled_back(self, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray) -> tuple[float, np.ndarray]:
        """The value of a scalar e and de/d(x, u, p), by one transposed solve: F_wᵀ λ = e_wᵀ, de/dv = e_v - λᵀ F_v."""
        value, by_w, by_given, e_w, e_given = self._parts(t, row, u, p)
        multipliers = self._through(by_w.T, e_w.full().ravel(), t)
        slope = e_given.full().ravel() - by_given.sparse().T @ multipliers
        return float(value), slope[1:]

    def solve(self, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray, right: np.ndarray) -> np.ndarray:
        """F_w⁻¹ times a matrix of right sides."""
        return self._through(self._parts(t, row, u, p)[1], right, t)

    def _parts(self, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray) -> list[ca.DM]:
        n, nz = self.system.sizes["x"], self.system.sizes["z"]
        x, z, xdot = row[:n], row[n : n + nz], row[n + nz :]
        return self._function.call([ca.DM(part) for part in (t, xdot, x, z, u, p)])

    def _through(self, matrix: ca.DM, right: np.ndarray, t: float) -> np.ndarray:
        from scipy.sparse.linalg import splu

        try:
            found = splu(matrix.sparse().tocsc()).solve(np.ascontiguousarray(right))
        except (RuntimeError, ValueError):  # singular, or not finite
            raise self._singular(t) from None
        if not np.all(np.isfinite(found)):
            raise self._singular(t)
        return found

    def _singular(self, t: float) -> SolverError:
        return SolverError(
            f"The derivatives of {self.system.name!r} do not exist at t = {t:.6g}.",
            "the equations do not determine x' and z there",
            because="their Jacobian by x' and z is singular, or a value is not finite.",
            remedy="dd.analyse(m) at this point, or dd.sensitivities(dd.reduce(m), ...)",
        )


def consistent_row(
    plant: ImplicitPlant, t: float, guess: np.ndarray, u: np.ndarray, p: np.ndarray
) -> np.ndarray | None:
    """The row with z and x' solved for, to rounding; None where that does not arrive."""
    nominal = plant.system.nominal
    scale = np.concatenate([nominal["x"], nominal["z"], np.ones(len(nominal["x"]))])
    for rtol in (1e-13, 1e-11, 1e-9):  # rounding errors of large values keep Newton's method from the first
        row: np.ndarray | None = plant.model.consistent(t, guess, u, p, rtol, 0.1 * rtol * scale)
        if row is not None:
            return row
    return None
