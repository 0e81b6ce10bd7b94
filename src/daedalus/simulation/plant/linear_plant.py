"""A system run by solves: x' and z from a sparse linear system at each evaluation, everything else after it."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation import Compiled
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System
from daedalus.simulation.plant.linear_model import linear_model
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.sparse_projection import check_states_only, projection_by_solves
from daedalus.simulation.result.records_of_models import SolvedEachTime


class AfterSolve:
    """A function of (t, x, u, p, x', z) that is called with (t, x, u, p): the solve comes first."""

    def __init__(self, model: _core.LinearModel, function: Compiled) -> None:
        self._model = model
        self._function = function

    @property
    def core(self) -> AfterSolve:
        """What answers for many points, as a compiled function does."""
        return self

    def evaluate_many(self, t: np.ndarray, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
        """The values at rows of t, x and u."""
        solution = np.hstack(self._model.evaluate_many(t, x, u, p))
        return self._function.core.evaluate_many(t, x, u, p, solution)

    def __call__(self, t: np.ndarray, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
        """The values at one point."""
        found = self.evaluate_many(np.reshape(t, (1, 1)), np.reshape(x, (1, -1)), np.reshape(u, (1, -1)), p)
        return tuple(values[0] for values in found)


class LinearPlant(Plant):
    """A system A(t, x, u, p) (x'; z) = b(t, x, u, p), solved with a sparse factorisation at each evaluation."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.model = linear_model(system)
        self.notes += (SolvedEachTime(self.model.unknowns),)

    def _called(self, name: str, expression: ca.SX) -> Compiled:
        """A function of (t, x, u, p), or of (t, x, u, p, (x'; z)) where it needs the solution."""
        w = ca.vertcat(self.system.symbol("xdot"), self.system.symbol("z"))
        return self._compiled(name, expression, *([w] if ca.depends_on(ca.densify(expression), w) else []))

    def _read(self, name: str, expression: ca.SX) -> Compiled | AfterSolve:
        function = self._called(name, expression)
        return AfterSolve(self.model, function) if function.function.n_in() == 5 else function

    @cached_property
    def rhs(self) -> Any:
        """The linear model itself: the core solves it."""
        return SimpleNamespace(core=self.model)

    def _onto_invariants(self) -> Any:
        """By solves with the matrix of the accelerations where there are such constraints."""
        kept = concatenate(self.system.invariants.values())
        check_states_only(self.system, kept)
        with suppress(SolverError):  # positions whose rates are coupled
            if (found := projection_by_solves(self.system)) is not None:
                return found
        return self._shortest_way("projection", kept)
