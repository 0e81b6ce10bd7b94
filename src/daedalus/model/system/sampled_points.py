"""Points that obey equations: states drawn near a start, moved onto what is kept, with x' and z from the equations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import damped_newton, sizes_of_equations
from daedalus.algebra.dense_values import DenseValues
from daedalus.algebra.manifold import Manifold
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS

# Random places beside a point: an accident at one is none at all of them.
SAMPLES = 4
# A sum counts as cancelled beside the sizes of its terms: far above rounding, far below a term that is left over.
CANCELLED = 1e-7
# How far from a start points are drawn, in sizes of the unknowns.
SPREAD = 0.5

Point = list[np.ndarray]


class Points:
    """Points (t, x', x, z, u, p) of as many equations as determine x' and z, on constraints c(t, x, u, p) = 0."""

    def __init__(self, system: System, residual: ca.SX, kept: ca.SX) -> None:
        symbols = {letter: system.symbol(letter) for letter in ARGUMENTS}
        self.arguments = list(symbols.values())
        self._size = np.maximum(np.abs(system.nominal["x"]), NOT_ZERO)
        self._count, self._others = symbols["x"].numel(), symbols["z"].numel()
        solved = ca.vertcat(symbols["xdot"], symbols["z"])
        x = symbols["x"]
        self._onto = ca.Function("onto", self.arguments, [ca.densify(kept), ca.densify(ca.jacobian(kept, x))])
        slope = ca.densify(ca.jacobian(residual, solved))
        self._equations = ca.Function("equations", self.arguments, [ca.densify(residual), slope])

    def at(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> Point | None:
        """The point at the state next to x on what is kept; None where there is none, or nothing determines it."""
        state = self.moved(t, x, u, p)
        v = None if state is None else self._solved(t, state, u, p)
        if state is None or v is None:
            return None
        return [np.array([t]), v[: self._count], state, v[self._count :], u, p]

    def moved(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray | None:
        """A state near x on what is kept; None where there is none."""
        look = DenseValues(self._onto)

        def kept(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            left, slopes = look(t, np.zeros(self._count), state, np.zeros(self._others), u, p)
            return left.ravel(), slopes

        arrived = Manifold(kept, self._size).near(x)
        return arrived.values if arrived.solved else None

    def _solved(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray | None:
        """(x', z) at a state by Newton's method."""
        look = DenseValues(self._equations)

        def equations(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            left, matrix = look(t, v[: self._count], x, v[self._count :], u, p)
            return left.ravel(), matrix, sizes_of_equations(matrix, v, ones)

        ones = np.ones(self._count + self._others)
        root = damped_newton(equations, 0 * ones, ones)
        return root.values if root.solved and not root.null.shape[1] else None


class PointsNearStart:
    """Points (t, x', x, z, u, p) near the start of a system, with any number of equations, moved onto these."""

    def __init__(self, system: System, rows: Sequence[int] | None = None) -> None:
        symbols = system.symbols()
        residual = system.residual if rows is None else system.residual[list(rows)]
        slope = ca.densify(ca.jacobian(residual, ca.vertcat(*symbols[1:4])))
        self._equations = ca.Function("equations", symbols, [ca.densify(residual), slope])
        self._system = system
        self._cuts = np.cumsum([system.sizes["x"], system.sizes["x"]])
        size = system.nominal
        self._size = np.concatenate([size["x"], size["x"], size["z"]])

    def draw(self, seed: int = 2026) -> list[Point]:
        """Some points; where some can be moved onto the equations, those alone."""
        system, draw = self._system, np.random.default_rng(seed)
        start = np.concatenate([np.zeros(system.sizes["x"]), system.default_start, np.nan_to_num(system.start["z"])])
        p = np.nan_to_num(np.array(system.start["p"], dtype=float), nan=1.0)
        found: list[tuple[Point, bool]] = []
        for _ in range(SAMPLES):
            t, u = draw.uniform(size=1), draw.uniform(-1.0, 1.0, system.sizes["u"])
            away = np.maximum(np.abs(start), self._size) * draw.uniform(-1.0, 1.0, len(start))
            y, obeys = self._onto(t, start + SPREAD * away, u, p)
            found.append(([t, *np.split(y, self._cuts), u, p], obeys))
        return [point for point, obeys in found if obeys] or [point for point, _ in found]

    def _onto(self, t: np.ndarray, y: np.ndarray, u: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, bool]:
        """(x', x, z) near y that obey the equations; y itself where none are found."""
        look = DenseValues(self._equations)

        def kept(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            left, slopes = look(t, *np.split(point, self._cuts), u, p)
            return left.ravel(), slopes

        arrived = Manifold(kept, self._size).near(y)
        return (arrived.values, True) if arrived.solved else (y, False)


def states_near(x: np.ndarray, nominal: np.ndarray) -> Iterator[np.ndarray]:
    """A state and `SAMPLES` others drawn around it."""
    yield x
    draw, size = np.random.default_rng(0), np.maximum(np.abs(x), np.abs(nominal))
    for _ in range(SAMPLES):
        yield x + 0.3 * size * draw.uniform(-1.0, 1.0, x.size)


def rate_terms(system: System, kept: ca.SX) -> ca.SX:
    """The terms of c' = ∂c/∂t + Σ ∂c/∂x_k x_k', a row for each c."""
    slopes = ca.densify(ca.horzcat(ca.jacobian(kept, system.symbol("t")), ca.jacobian(kept, system.symbol("x"))))
    return slopes * ca.repmat(ca.horzcat(1, system.symbol("xdot").T), kept.numel(), 1)
