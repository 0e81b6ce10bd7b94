"""Events of models with formulas whose resets are followed by a search: how the state behind one follows.

    dτ = -(g_v dv) / g',    dx⁺ = X_v dv + (X_t + X_x f⁻ - f⁺) dτ      v = (x, u, p), X the reset with all that follows

as in saltation.py, by numbers at one point, since X is no formula where states depend on each other.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.events.residual_events import Jump
from daedalus.differentiation.events.restarted_state import restarted_state
from daedalus.model.system.once import remembered
from daedalus.simulation.plant.explicit_plant import ExplicitPlant


class FormulaEvents:
    """Guards and resets of a plant with their derivatives at points."""

    def __init__(self, plant: ExplicitPlant) -> None:
        self.plant, self.system = plant, plant.system
        arguments = [self.system.symbol(letter) for letter in ("t", "x", "u", "p")]
        v = ca.vertcat(*arguments)
        guards = plant.form.applied(self.system, self.system.guards)
        after = plant.form.applied(self.system, self.system.resets)
        self._guards = ca.Function("guards", arguments, [ca.densify(ca.jacobian(guards, v))])
        self._resets = [
            ca.Function("reset", arguments, [ca.densify(ca.jacobian(after[k, :].T, v))])
            for k in range(len(self.system.events))
        ]

    def jump(self, case: Case, guard: int, t: float, x: np.ndarray, u: np.ndarray) -> Jump:
        """What an event that resets something makes of a state."""
        n, p, plant = self.system.sizes["x"], case.p, self.plant
        before = plant.rhs.core(np.array([t]), x, u, p)[0]
        slope = self._guards(t, x, u, p).full()[guard]
        time = -slope[1:] / (slope[0] + slope[1 : 1 + n] @ before)
        behind, slopes = restarted_state(case, guard, t, x, u, self._resets[guard](t, x, u, p).full())
        new = behind.vector("x")
        along = slopes[:, 0] + slopes[:, 1 : 1 + n] @ before - plant.rhs.core(np.array([t]), new, u, p)[0]
        return Jump(new, slopes[:, 1:] + np.outer(along, time), time)


@remembered
def formula_events_of(plant: ExplicitPlant) -> FormulaEvents:
    """The events of a plant, made once."""
    return FormulaEvents(plant)
