"""x' and z of a system of index 1 at a state, by Newton's method on its equations."""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import newton_over_corners, sizes_of_equations
from daedalus.algebra.newton_steps import newton_of_many
from daedalus.compilation import compile_function
from daedalus.model.system.once import once
from daedalus.model.system.system import System

# Corrections of x' and z, which most often are linear; how small the last one is where many places are looked at.
MOST_CORRECTIONS, SOLVED_ROUGHLY = 30, 1e-9
# A matrix is singular where its condition is worse than this.
WORST_CONDITION = 1e13


class Undetermined(Exception):
    """x' and z do not follow from the equations."""


class SolvedSlopes:
    """F(t, x', x, z, u, p) = 0 solved for y = (x', z)."""

    def __init__(self, system: System) -> None:
        arguments = system.symbols()
        residual, unknowns = ca.densify(system.residual), ca.vertcat(arguments[1], arguments[3])
        matrix = ca.densify(ca.jacobian(residual, unknowns))
        self.states, self.size = system.sizes["x"], int(unknowns.numel())
        self.nominal = np.concatenate([system.nominal["x"], system.nominal["z"]])  # of y, in units of time
        self._is_linear = bool(ca.is_linear(residual, unknowns))
        self._function = compile_function(ca.Function("F", arguments, [residual, matrix])).core

    def equations(
        self, t: float, y: np.ndarray, x: np.ndarray, u: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """F and ∂F/∂y."""
        n = self.states
        residual, matrix = self._function(np.array([t]), y[:n], x, y[n:], u, p)
        return residual, matrix.reshape(self.size, -1).T

    def at(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
        """y at a state; Undetermined where there is none, or more than one."""
        y = np.zeros(self.size) if guess is None else guess.copy()
        if self._is_linear:
            residual, matrix = self.equations(t, y, x, u, p)
            slopes: np.ndarray = y - solved(matrix, residual)
            return slopes

        def equations(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            residual, matrix = self.equations(t, v, x, u, p)
            return residual, matrix, sizes_of_equations(matrix, v, self.nominal)

        root = newton_over_corners(equations, y, self.nominal, MOST_CORRECTIONS)
        if not root.solved or root.null.shape[1]:
            raise Undetermined
        return root.values

    def at_many(self, t: np.ndarray, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """y at many states at once, one row each; NaN where it is not found."""
        n = self.states

        def equations(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            y = shares * self.nominal
            residual, matrix = self._function.evaluate_many(t[:, None], y[:, :n], x, y[:, n:], u, p)
            return residual, matrix.reshape(len(t), self.size, self.size).transpose(0, 2, 1) * self.nominal

        begin, most = np.zeros((len(t), self.size)), 1 if self._is_linear else MOST_CORRECTIONS
        y, sizes = newton_of_many(equations, begin, most=most, tolerance=SOLVED_ROUGHLY)
        return np.where((sizes <= SOLVED_ROUGHLY)[:, None] | self._is_linear, y * self.nominal, np.nan)


def slopes_of(system: System) -> SolvedSlopes:
    """The slopes of a system, made once."""
    return once(system, SolvedSlopes)


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """matrix⁻¹ right with equilibrated rows and columns; Undetermined where the matrix is singular."""
    from scipy.linalg import lapack

    if not len(matrix):
        return np.asarray(right, dtype=float)
    sizes = np.abs(matrix)
    rows = sizes.max(axis=1)
    if not 0 < rows.min() <= rows.max() < np.inf:  # also where one is nan
        raise Undetermined
    columns = (sizes / rows[:, None]).max(axis=0)
    if not columns.min() > 0:
        raise Undetermined
    scaled = matrix / rows[:, None] / columns
    size = lapack.dlange("1", scaled)
    factors, pivots, failed = lapack.dgetrf(scaled)
    if failed or not lapack.dgecon(factors, size)[0] >= 1 / WORST_CONDITION:
        raise Undetermined
    # One by one: several right sides at once are shared among threads, which takes milliseconds to begin.
    found = [lapack.dgetrs(factors, pivots, one / rows)[0] / columns for one in right.reshape(len(matrix), -1).T]
    return np.asarray(np.array(found).T.reshape(right.shape))
