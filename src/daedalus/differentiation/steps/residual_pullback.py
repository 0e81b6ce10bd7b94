"""The transposed derivatives of 0 = F(t, x', x, z, u, p) and of the projection, and solves with its Jacobians."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_IN_LOOPS
from daedalus.algebra.sparse_factors import Iterated, SparseFactors
from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation.case import Case
from daedalus.errors import SolverError
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.forms.explicit_form import ExplicitForm
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.projection import projection
from daedalus.simulation.run.linear_way import MAY_ITERATE, cells_of

Solve = Callable[[np.ndarray, bool], np.ndarray]
# Rows, columns and values of a sparse matrix; entries at one place add up.
Entries = tuple[np.ndarray, np.ndarray, np.ndarray]


class ResidualPullback:
    """Functions of one plant, compiled once."""

    def __init__(self, plant: ImplicitPlant, projected: bool) -> None:
        self.plant, self.system = plant, plant.system
        self.residual, self._jacobian = (function.core for function in plant.functions)
        patterns = [pattern.get_triplet() for pattern in plant.patterns]
        self._places = [(np.array(rows, int), np.array(columns, int)) for rows, columns in patterns]
        self.symbols = {letter: self.system.symbol(letter) for letter in ARGUMENTS}
        self.arguments = [self.symbols[letter] for letter in ARGUMENTS]
        self.weights = ca.SX.sym("weights", self.system.residual.numel())
        scalar = ca.dot(self.weights, self.system.residual)
        # weightsᵀ F by x', x, z, u and p.
        self.pull = self.gradients("residual_pullback", scalar, [self.weights]).core
        self.moved = None
        form = ExplicitForm(self.symbols["xdot"], self.symbols["z"])
        expression = projection(self.system, form) if projected else None
        if expression is not None:
            along = ca.SX.sym("along", self.symbols["x"].numel())
            self.moved = self.gradients("moved_pullback", ca.dot(along, expression), [along]).core

    def gradients(self, name: str, scalar: ca.SX, more: list[ca.SX]) -> Compiled:
        """The gradients of a scalar by x', x, z, u and p, as a function of (t, x', x, z, u, p) and `more`."""
        parts = [ca.densify(ca.gradient(scalar, s)) if s.numel() else ca.SX(0, 1) for s in self.arguments[1:]]
        return compile_function(ca.Function(name, [*self.arguments, *more], parts))

    def jacobians(
        self, t: float, rate: np.ndarray, w: np.ndarray, u: np.ndarray, p: np.ndarray
    ) -> tuple[Entries, Entries]:
        """F_x' and F_w at a point, w = (x, z)."""
        n = len(rate)
        by_rate, by_state = self._jacobian(np.array([t]), rate, w[:n], w[n:], u, p)
        return (*self._places[0], by_rate), (*self._places[1], by_state)


def is_large(system: System) -> bool:
    """Whether runs may iterate for it: its steps are differentiated as the run solved them, and not taken again."""
    return system.sizes["x"] + system.sizes["z"] >= MAY_ITERATE


def iterated_as_runs(system: System, accuracy: float) -> Iterated | None:
    """Iterations for systems of the size at which runs may choose them."""
    return Iterated(cells_of(system), accuracy) if is_large(system) else None


class StepFactors:
    """Factors of square matrices of one pattern, of one step after the other; the pattern is ordered once."""

    def __init__(self, size: int, iterated: Iterated | None = None) -> None:
        self.size, self._iterated = size, iterated
        self._sparse: SparseFactors | None = None

    def of(self, parts: list[Entries], t: float) -> Solve:
        """Solves of the sum of the parts, and of its transpose, until the next matrix is factorised."""
        from scipy.linalg.lapack import dgetrf, dgetrs

        rows, columns, values = (np.concatenate([part[k] for part in parts]) for k in range(3))
        if self.size <= FULL_IN_LOOPS:
            matrix = np.zeros((self.size, self.size))
            np.add.at(matrix, (rows, columns), values)
            lu, pivots, failed = dgetrf(matrix)
            if failed:
                raise singular_step(t)
            return lambda right, transposed: dgetrs(lu, pivots, right, trans=int(transposed))[0]
        if self._sparse is None:
            self._sparse = SparseFactors(self.size, rows, columns, iterated=self._iterated)
        if not self._sparse.factor(values):
            raise singular_step(t)
        return self._sparse.solve


def singular_step(t: float) -> SolverError:
    """That the matrix of a step cannot be solved with."""
    return SolverError(
        "The stages of a step cannot be solved again.",
        f"the matrix of the step at t = {t:.6g} is singular",
        because="the equations do not determine all unknowns there.",
        remedy='dd.analyse(m) at this point, or by="variational" for sensitivities',
    )


def stage_inputs(case: Case, times: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inputs at the stages of each step, (steps, stages, nu), and their slopes, (steps, nu).

    No step crosses a time of a table, so that within one they are constant or a straight line, known from inside it.
    """
    lengths, middle = np.diff(times), 0.5 * (times[1:] + times[:-1])
    nu = case.system.sizes["u"]
    if not case.drive.tables or not nu:
        constant = np.tile(case.drive.constants, (len(middle), len(c), 1))
        return constant.reshape(len(middle), len(c), nu), np.zeros((len(middle), nu))
    before, after = case.drive.at(middle - lengths / 4), case.drive.at(middle + lengths / 4)
    change = (after - before) * 2
    at_stages = case.drive.at(middle)[:, None, :] + change[:, None, :] * (c[None, :, None] - 0.5)
    return np.ascontiguousarray(at_stages), change / lengths[:, None]
