"""The steps of a multistep method on an interval without jumps: past values in, the next one out.

Explicit methods take x' = f(t, x, u, p). Implicit ones take 0 = F(t, x', x, z, u, p) as it is written: with
x = known + h b_0 x' Newton's method solves F = 0 for (x', z), whatever the method is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daedalus.algebra.newton_steps import full_newton
from daedalus.integrators.multistep.multistep import Multistep
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant

# Newton's method ends where its step is this small against the values, and gives up after so many.
SMALL, MOST_ITERATIONS = 1e-12, 30
# An old factor is kept while every iteration shrinks the step by this factor.
SHRINKS = 0.3


@dataclass
class StepCounts:
    """What the steps cost."""

    rhs: int = 0
    jacobians: int = 0
    newton: int = 0


class NotSolved(Exception):
    """The equations of a step were not solved, or a value is not finite."""


def inputs_at(drive: Drive, t: float, middle: float) -> np.ndarray:
    """u at a time of an interval around `middle`, inside of which no table jumps."""
    if not drive.tables and not drive.callbacks:
        return drive.constants
    values = drive.at_time(t)
    for table, slots in drive.tables:
        if table.order == 0:
            values[list(slots)] = table.flat(np.array([middle]))[0]
    return values


@dataclass
class ExplicitStepper:
    """x_{n+1} from past values and slopes; rows are x."""

    method: Multistep
    plant: Plant
    p: np.ndarray
    counts: StepCounts = field(default_factory=StepCounts)
    slopes: list[np.ndarray] = field(default_factory=list)

    def slope(self, t: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """f at a row; the slopes of past rows are kept."""
        self.counts.rhs += 1
        return np.array(self.plant.rhs.core(np.array([t]), x, u, self.p)[0])[: len(x)]

    def next_row(self, t: float, u: np.ndarray, rows: np.ndarray, h: float) -> np.ndarray:
        """As the protocol says; `slopes` holds those of the rows, oldest first."""
        m = self.method.steps
        x: np.ndarray = -sum(float(a) * rows[-j] for j, a in enumerate(self.method.a, 1) if a)
        x = x + h * sum(float(b) * self.slopes[-j] for j, b in enumerate(self.method.b) if b)
        if self.plant.projection is not None and self.plant.system.has_invariants:
            x = np.array(self.plant.projection.core(np.array([t]), x, u, self.p)[0])
        self.slopes = [*self.slopes[-(m - 1) :], self.slope(t, x, u)] if m > 1 else [self.slope(t, x, u)]
        if not np.all(np.isfinite(self.slopes[-1])):
            raise NotSolved
        return x


@dataclass
class ImplicitStepper:
    """x_{n+1}, z_{n+1} and x'_{n+1} from past rows (x, z, x')."""

    method: Multistep
    plant: ImplicitPlant
    p: np.ndarray
    counts: StepCounts = field(default_factory=StepCounts)
    _factor: Any = None

    def next_row(self, t: float, u: np.ndarray, rows: np.ndarray, h: float) -> np.ndarray:
        """As the protocol says."""
        parts, method = self.plant.row_parts, self.method
        x, xdot, z = rows[:, parts["x"]], rows[:, parts["xdot"]], rows[-1, parts["z"]]
        known = -sum(float(a) * x[-j] for j, a in enumerate(method.a, 1) if a)
        known = known + h * sum(float(b) * xdot[-j] for j, b in enumerate(method.b) if j and b)
        gamma = h * float(method.b[0])
        # The slope of the polynomial through past slopes begins the search.
        guess = 2 * xdot[-1] - xdot[-2] if len(xdot) > 1 else xdot[-1]
        slope, z = self._solved(t, u, known, gamma, guess, np.array(z))
        row = np.empty(rows.shape[1])
        row[parts["x"]], row[parts["z"]], row[parts["xdot"]] = known + gamma * slope, z, slope
        return row

    def _solved(
        self, t: float, u: np.ndarray, known: np.ndarray, gamma: float, slope: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        n, residual, sizes = len(known), self.plant.functions[0].core, [np.inf]
        usual = self.plant.system.nominal

        def correction(row: np.ndarray) -> np.ndarray | None:
            slope, z = row[:n], row[n:]
            x = known + gamma * slope
            self.counts.rhs += 1
            self.counts.newton += 1
            defect = np.array(residual(np.array([t]), slope, x, z, u, self.p)[0])
            # One matrix serves many steps, until corrections no longer shrink.
            if self._factor is None or (len(sizes) > 2 and sizes[-1] > SHRINKS * sizes[-2]):
                self._factor = self._factored(t, slope, x, z, u, gamma)
            step = self._factor(defect)
            # In the size of x: slopes of fast parts are large.
            sizes.append(max(_ratio(gamma * step[:n], x, usual["x"]), _ratio(step[n:], z, usual["z"])))
            return -step if np.isfinite(sizes[-1]) else None

        def length(step: np.ndarray, row: np.ndarray) -> float:
            return sizes[-1]

        done = full_newton(correction, np.concatenate([slope, z]), length, most=MOST_ITERATIONS, tolerance=SMALL)
        if not done.converged:
            raise NotSolved
        return done.values[:n], done.values[n:]

    def _factored(self, t: float, slope: np.ndarray, x: np.ndarray, z: np.ndarray, u: np.ndarray, gamma: float) -> Any:
        from scipy.sparse import csc_matrix, hstack
        from scipy.sparse.linalg import splu

        self.counts.jacobians += 1
        n = len(x)
        values = self.plant.functions[1].core(np.array([t]), slope, x, z, u, self.p)
        patterns = self.plant.patterns
        dot, whole = (
            csc_matrix((np.array(v), np.array(s.row(), dtype=int), np.array(s.colind(), dtype=int)), shape=s.shape)
            for v, s in zip(values, patterns)
        )
        matrix = csc_matrix(hstack([dot + gamma * whole[:, :n], whole[:, n:]]))
        try:
            return splu(matrix).solve
        except RuntimeError:  # exactly singular
            raise NotSolved from None


def _ratio(step: np.ndarray, value: np.ndarray, usual: np.ndarray) -> float:
    return float(np.max(np.abs(step) / (usual + np.abs(value)), initial=0.0))
