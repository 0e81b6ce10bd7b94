"""States of a model at random that obey its constraints, and the derivatives that its equations give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.dense_values import DenseValues
from daedalus.algebra.manifold import Manifold
from daedalus.analysis.points.complete_point import complete_point
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate
from daedalus.model.mechanics.motion_functions import MotionFunctions
from daedalus.model.model import Model


class MovingModel:
    """A model as a function from states to their derivatives, mechanical or not, with or without constraints.

    whole: whether its mechanics must say everything about it. Without, other states may stand beside a mechanism, and
    what is asked for is where its constraints hold.
    """

    def __init__(self, model: Model, whole: bool = True) -> None:
        self.model, self.system = model, model.freeze()
        self.parameters = self.system.start["p"]
        self.mechanics = _whole_mechanics(model) if whole else _constrained_mechanics(model)
        if self.mechanics is not None:
            position = {label: k for k, label in enumerate(self.system.labels["x"])}
            self.positions = [position[label] for label in self.mechanics.positions]
            self.velocities = [position[label] for label in self.mechanics.velocities]
            self._constraints = self._constraint_functions(self.mechanics)

    def start(self) -> np.ndarray:
        """The written start, guesses where nothing was written."""
        return np.array(self.system.default_start)

    def sample(self, random: np.random.Generator, spread: float, t: float, u: np.ndarray) -> np.ndarray:
        """A state near the start that obeys the constraints and invariants."""
        x = self.start()
        x = x + spread * self.system.nominal["x"] * random.standard_normal(len(x))
        return x if self.mechanics is None else self._projected(x, t, u)

    def derivative(self, t: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """x' at a state, from the equations of motion or from the equations as they stand."""
        if self.mechanics is None:
            nothing = {letter: np.full(self.system.sizes[letter], np.nan) for letter in ("xdot", "z")}
            known = {"t": np.array([t]), "x": x, "u": u, "p": self.parameters}
            return np.array(complete_point(self.system, {**nothing, **known})[0].vectors["xdot"])
        arguments = [np.array([t]), x[self.positions], x[self.velocities], u, self.parameters, np.zeros(0)]
        rates = np.empty(len(x))
        rates[self.velocities] = self.mechanics.solve(arguments).rates
        rates[self.positions] = self.mechanics.q_dot(*arguments).full().ravel()
        return rates

    def violation(self, t: float, x: np.ndarray, u: np.ndarray) -> float:
        """The largest violation of a constraint or invariant, of positions and of velocities."""
        if self.mechanics is None:
            return 0.0
        place, _, speed, _ = self._constraints(t, x, u, self.parameters)
        return float(np.max(np.abs(ca.vertcat(place, speed).full()), initial=0.0))

    def _constraint_functions(self, mechanics: MotionFunctions) -> ca.Function:
        """c and the invariants, their slope in the positions, c' and its slope in the velocities."""
        t, x, u, p = self.system.symbols(("t", "x", "u", "p"))
        arguments = [t, x[self.positions], x[self.velocities], u, p, ca.SX.zeros(len(mechanics.other_labels))]
        place = ca.densify(concatenate([mechanics.c.call(arguments)[0], *self.system.invariants.values()]))
        speed = ca.densify(mechanics.c_dot.call(arguments)[0])
        slopes = [ca.densify(ca.jacobian(e, x)[:, k]) for e, k in ((place, self.positions), (speed, self.velocities))]
        return ca.Function("constraints", [t, x, u, p], [place, slopes[0], speed, slopes[1]])

    def onto(
        self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, rows: Sequence[int] | None = None
    ) -> np.ndarray | None:
        """The nearest positions, then velocities, that obey constraints, all or some, and invariants; None if none."""
        assert self.mechanics is not None
        count, found = len(self.mechanics.multipliers), np.array(x, dtype=float)
        own = list(range(count) if rows is None else rows)
        constraints = DenseValues(self._constraints)
        for entries, part in ((self.positions, 0), (self.velocities, 2)):

            def kept(values: np.ndarray, entries: list[int] = entries, part: int = part) -> Any:
                there = found.copy()
                there[entries] = values
                left, slope = constraints(t, there, u, p)[part : part + 2]
                held = [*own, *range(count, len(left))]
                return left[held, 0], slope[held]

            corrected = Manifold(kept, self.system.nominal["x"][entries]).nearest(found[entries])
            if not corrected.solved:
                return None
            found[entries] = corrected.values
        return found

    def _projected(self, x: np.ndarray, t: float, u: np.ndarray) -> np.ndarray:
        found = self.onto(t, x, u, self.parameters)
        if found is None:
            raise SolverError(
                f"No consistent state of {self.system.name!r} was found near its start.",
                f"constraints are violated by {self.violation(t, x, u):.3g} there, and the search did not reach them",
                because="the start is far from the constraints, or they contradict each other.",
                remedy="start values that obey the constraints, or a smaller spread=",
            )
        return found


def _whole_mechanics(model: Model) -> MotionFunctions | None:
    """The motion functions where they say everything about the model, else None."""
    if not model.written.mechanics.positions:
        return None
    functions = model.mechanics()
    known = len(functions.positions) + len(functions.velocities)
    return functions if known == model.freeze().sizes["x"] and not functions.other_labels else None


def _constrained_mechanics(model: Model) -> MotionFunctions | None:
    """The motion functions where the constraints are of positions, velocities, inputs and parameters alone."""
    if not model.written.mechanics.positions:
        return None
    functions = model.mechanics()
    if not {*functions.positions, *functions.velocities} <= set(model.freeze().labels["x"]):
        return None
    other = functions.c.sx_in(5)
    arguments = [functions.c.sx_in(k) for k in range(5)]
    parts = [part.call([*arguments, other])[0] for part in (functions.c, functions.c_dot, functions.G)]
    return None if any(ca.depends_on(part, other) for part in parts) else functions
