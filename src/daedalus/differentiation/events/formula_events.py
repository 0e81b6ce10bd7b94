"""Events of models with formulas: how the state behind one follows from that before it.

Numbers at one point (saltation.py), since the reset with all that follows is not a formula where states depend on each
other.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.events.residual_events import Jump
from daedalus.differentiation.events.restarted_state import restarted_state
from daedalus.differentiation.events.saltation import carried
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.once import remembered
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.start.restart import restarts


class FormulaEvents:
    """Guards and resets of a plant with their derivatives at points."""

    def __init__(self, plant: ExplicitPlant) -> None:
        self.plant, self.system = plant, plant.system
        self._arguments = [self.system.symbol(letter) for letter in ("t", "x", "u", "p")]

    def _with_slopes(self, name: str, expression: ca.SX) -> ca.Function:
        """An expression and its derivatives by (t, x, u, p)."""
        flat = ca.densify(self.plant.form.applied(self.system, expression))
        return ca.Function(name, self._arguments, [flat, ca.densify(ca.jacobian(flat, ca.vertcat(*self._arguments)))])

    @cached_property
    def _guards(self) -> ca.Function:
        return self._with_slopes("guards", self.system.guards)

    @cached_property
    def _resets(self) -> list[ca.Function]:
        return [self._with_slopes("reset", self.system.resets[k, :].T) for k in range(len(self.system.events))]

    def guard_slopes(self, guard: int, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """∂g/∂(t, x, u, p) of an event."""
        return self._guards(t, x, u, p)[1].full()[guard]

    def moves(self, guard: int, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """∂τ/∂(x, u, p) of an event."""
        slope = self.guard_slopes(guard, t, x, u, p)
        return -slope[1:] / (slope[0] + slope[1 : 1 + len(x)] @ self.plant.rhs.core(np.array([t]), x, u, p)[0])

    def jump(self, case: Case, guard: int, t: float, x: np.ndarray, u: np.ndarray) -> Jump:
        """What an event that resets something makes of a state."""
        p, plant = case.p, self.plant
        before = plant.rhs.core(np.array([t]), x, u, p)[0]
        time = self.moves(guard, t, x, u, p)
        value, slopes = (part.full() for part in self._resets[guard](t, x, u, p))
        new = value.ravel()
        if restarts(self.system):
            behind, slopes = restarted_state(case, guard, t, x, u, slopes)
            new = behind.vector("x")
        return Jump(new, carried(slopes, before, plant.rhs.core(np.array([t]), new, u, p)[0], time), time)


@remembered
def formula_events_of(plant: ExplicitPlant) -> FormulaEvents:
    """The events of a plant, made once."""
    return FormulaEvents(plant)
