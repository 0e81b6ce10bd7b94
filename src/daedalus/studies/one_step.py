"""One step of a Runge–Kutta method on show: the stages K, the algebraic variables z, and Newton's iterates.

A step of size h from x solves, for i = 1 … s,

    0 = F(t + c_i h, K_i, x + h Σ a_ij K_j, z_i, u, p),        and takes x to x + h Σ b_i K_i.

Explicit and diagonally implicit methods solve one stage after the other, all others every stage at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError, SolverError
from daedalus.initialisation.initialise import initialise
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.model.values import parameter_values
from daedalus.studies.newton import NewtonHistory, newton


@dataclass(frozen=True, eq=False)
class OneStep:
    """The result of `dd.step`: one Runge–Kutta step.

    x: the states after it, in the order of declaration. stages: K, one row per stage (s, n). z: algebraic variables at
    the stages (s, nz). points: the states at the stages (s, n). times: when these are. iterates: Newton's history of
    each system that was solved: one for all stages, or one per stage. labels: the names of the states.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> s = dd.step(m, "midpoint", [1.0], 0.1)
    >>> s.stages.tolist(), s.x.round(6).tolist()
    ([[-1.0], [-0.95]], [0.905])
    """

    x: np.ndarray
    stages: np.ndarray
    z: np.ndarray
    points: np.ndarray
    times: np.ndarray
    iterates: tuple[NewtonHistory, ...]
    labels: tuple[str, ...]
    method: str

    def __str__(self) -> str:
        lines = [f"one step of {self.method}"]
        for i, (time, stage) in enumerate(zip(self.times, self.stages), start=1):
            values = ", ".join(f"{label}' = {value:.6g}" for label, value in zip(self.labels, stage))
            lines.append(f"  stage {i} at t = {time:g}: {values}")
        counts = ", ".join(str(len(history.damping)) for history in self.iterates)
        lines.append(f"  Newton iterations: {counts}")
        lines.append("  result: " + ", ".join(f"{label} = {v:.6g}" for label, v in zip(self.labels, self.x)))
        return "\n".join(lines)

    __repr__ = __str__


def step(
    model: Model | System,
    method: str | Tableau,
    x: object,
    h: float,
    t: float = 0.0,
    u: object = None,
    p: Mapping[str, object] | None = None,
    tolerance: float = 1e-12,
) -> OneStep:
    """Make one step of a Runge–Kutta method and return everything that it computes.

    Implicit equations and DAEs are used as written: the stages K and the algebraic variables z at the stages are the
    unknowns of one system.

    Parameters
    ----------
    method: a name that `dd.tableau` knows ("rk4", "radau5", "gauss2", "implicit_euler", …) or a `dd.Tableau`.
    x: the states before the step in the order of declaration (`m.freeze().labels["x"]`), or values by name; None for
        the consistent start of the model, as `dd.initialise` computes it.
    h: the step size; it may be negative.
    t: the time before the step. u: inputs, a vector or by name, constant over the step; zero by default.
    p: parameters by name over those of the model. tolerance: of Newton's method.

    Raises an InputError for a method without a tableau, and a SolverError if Newton's method does not converge. With an
    explicit method on a DAE, the system for K and z is singular.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> round(float(dd.step(m, "implicit_euler", {"x": 1.0}, 0.5).x[0]), 6)
    0.666667
    """
    system = as_system(model)
    refuse_touching(system, "dd.step")
    table = method if isinstance(method, Tableau) else tableau(method)
    if not np.isfinite(h) or h == 0:
        raise InputError("The step is not a number other than zero.", f"h = {h!r}", remedy="h=0.1")
    inputs = _inputs(system, u)
    values = np.array(parameter_values(system, dict(p or {})))
    before = _own_start(system, t, inputs, p) if x is None else _states(system, x)
    n, s = system.sizes["x"], table.stages
    residual = _functions(system)
    guess = np.concatenate([np.zeros(n), np.nan_to_num(system.start["z"])])
    stages, algebraic = np.zeros((s, n)), np.tile(guess[n:], (s, 1))
    histories = []
    times = t + np.asarray(table.c) * h
    groups = [[i] for i in range(s)] if _one_by_one(table) else [list(range(s))]
    equations = _StageEquations(table, residual, (before, inputs, values), h, times, stages, algebraic)
    for group in groups:
        value, slopes = partial(equations.value, group), partial(equations.slopes, group)
        begin = np.concatenate([np.concatenate([stages[max(i - 1, 0)], algebraic[max(i - 1, 0)]]) for i in group])
        history = newton(value, begin, slopes, tolerance=tolerance * max(1.0, float(np.linalg.norm(value(begin)))))
        histories.append(history)
        if not history.converged:
            raise SolverError(
                f"The stages of {table.name or 'the method'} could not be solved for.",
                history.sentence,
                because="K and z follow from the stage equations only where their matrix is regular: an explicit method"
                " does not determine z of a model whose index is above one.",
                remedy="an implicit method such as 'radau5', a shorter step, or dd.step(dd.reduce(m), ...)",
            )
        equations.put(group, history.x)
    points = before + h * (np.asarray(table.A) @ stages)
    after = before + h * (np.asarray(table.b) @ stages)
    labels = tuple(system.labels["x"])
    return OneStep(after, stages, algebraic, points, times, tuple(histories), labels, table.name or "a tableau")


@dataclass
class _StageEquations:
    """The equations of the stages of one step: 0 = F(tᵢ, Kᵢ, x + h Σ aᵢⱼ Kⱼ, zᵢ, u, p) for those of a group."""

    table: Tableau
    residual: ca.Function
    given: tuple[np.ndarray, np.ndarray, np.ndarray]  # x before the step, u, p
    h: float
    times: np.ndarray
    rates: np.ndarray  # K, (stages, n)
    algebraic: np.ndarray  # z, (stages, nz)

    def value(self, group: list[int], w: np.ndarray) -> np.ndarray:
        """What the equations of a group leave at its unknowns (K, z), stage by stage."""
        self.put(group, w)
        return np.concatenate([self._at(i)[0].full().ravel() for i in group])

    def slopes(self, group: list[int], w: np.ndarray) -> np.ndarray:
        """Their derivatives by these."""
        self.put(group, w)
        n, size = self.rates.shape[1], self.rates.shape[1] + self.algebraic.shape[1]
        whole = np.zeros((len(group) * size, len(group) * size))
        for a, i in enumerate(group):
            _, by_rate, by_state, by_z = (part.full() for part in self._at(i))
            rows = slice(a * size, (a + 1) * size)
            for b, j in enumerate(group):
                first = b * size
                whole[rows, first : first + n] += self.h * self.table.A[i, j] * by_state
                if i == j:
                    whole[rows, first : first + n] += by_rate
                    whole[rows, first + n : first + size] = by_z
        return whole

    def put(self, group: list[int], w: np.ndarray) -> None:
        """Take over the unknowns of a group."""
        for i, own in zip(group, w.reshape(len(group), -1)):
            self.rates[i], self.algebraic[i] = np.split(own, [self.rates.shape[1]])

    def _at(self, i: int) -> Any:
        before, u, p = self.given
        point = before + self.h * (self.table.A[i] @ self.rates)
        return self.residual(self.times[i], self.rates[i], point, self.algebraic[i], u, p)


def _one_by_one(table: Tableau) -> bool:
    return table.is_explicit or table.is_diagonally_implicit


def _functions(system: System) -> ca.Function:
    arguments = system.symbols()
    residual = ca.densify(system.residual)
    slopes = [ca.densify(ca.jacobian(residual, system.symbol(letter))) for letter in ("xdot", "x", "z")]
    return ca.Function("stage", arguments, [residual, *slopes])


def _states(system: System, x: object) -> np.ndarray:
    """The states as a vector."""
    if isinstance(x, Mapping):
        values = np.array(system.default_start, dtype=float)
        for name in x:
            place = system.place(name)
            if place.letters[0] == "x":
                values[np.asarray(place.positions)] = np.ravel(np.asarray(x[name], dtype=float), "F")
        return values
    values = np.ravel(np.asarray(x, dtype=float))
    if values.size != system.sizes["x"]:
        raise InputError(
            "The states do not fit the model.",
            f"{values.size} values, {system.sizes['x']} states: {', '.join(system.labels['x'][:8])}",
            because="x holds the states in the order of declaration.",
            remedy="as many values, or values by name",
        )
    return values


def _own_start(system: System, t: float, inputs: np.ndarray, p: Mapping[str, object] | None) -> np.ndarray:
    """The states at the consistent start of the model."""
    given = dict(zip(system.labels["u"], inputs.tolist()))
    start = initialise(system, time=t, inputs=given or None, parameters=p)
    return np.array([float(start[label]) for label in system.labels["x"]])


def _inputs(system: System, u: object) -> np.ndarray:
    values = np.zeros(system.sizes["u"])
    if isinstance(u, Mapping):
        for name in u:
            place = system.place(name)
            values[np.asarray(place.positions)] = np.ravel(np.asarray(u[name], dtype=float), "F")
        return values
    if u is None:
        return values
    given = np.ravel(np.asarray(u, dtype=float))
    if given.size != values.size:
        raise InputError(
            "The inputs do not fit the model.",
            f"{given.size} values, {values.size} inputs: {', '.join(system.labels['u'][:8])}",
            because="u holds the inputs in the order of declaration.",
            remedy="as many values, or values by name",
        )
    return given
