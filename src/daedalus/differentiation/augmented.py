"""The machine code of the variational equations of one system: right-hand side, invariants, guards and resets."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation import kept_invariants, saltation
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.variational import Variational
from daedalus.simulation.plant import ExplicitPlant


class Augmented:
    """Compiled functions of (t, y, u with the weights of the grid, p); made once for a system and its directions."""

    def __init__(self, plant: ExplicitPlant, directions: Directions, order: int) -> None:
        self.plant = plant
        system = plant.system
        full = bool(system.invariants) or bool(system.events)
        self.variational = Variational(system, plant.form, directions, order, full)
        self.layout = self.variational.layout

    def _compiled(self, name: str, expression: ca.SX) -> Compiled:
        return compile_function(ca.Function(name, self.variational.arguments, [ca.densify(expression)]))

    @cached_property
    def rhs(self) -> Compiled:
        """y'."""
        return self._compiled("variational_rhs", self.variational.rhs)

    @cached_property
    def tangential(self) -> Compiled:
        """y moved onto the invariants with its sensitivities made tangent."""
        return self._compiled("tangential", kept_invariants.tangential(self.variational))

    @cached_property
    def exact(self) -> Compiled:
        """y moved onto the invariants with the derivatives of the move."""
        return self._compiled("exact", kept_invariants.exact(self.variational))

    @cached_property
    def guards(self) -> Compiled:
        """The guards of the events."""
        v = self.variational
        return self._compiled("guards", v.on_state(v.form.applied(v.system, v.system.guards)))

    @cached_property
    def resets(self) -> Compiled:
        """y behind each event."""
        return self._compiled("saltation", saltation.resets(self.variational))

    @cached_property
    def event_times(self) -> ca.Function:
        """dτ/dθ of every event, (events, m)."""
        v = self.variational
        return ca.Function("event_times", v.arguments, [ca.densify(v.on_state(saltation.event_times(v)))])

    @cached_property
    def guard_rates(self) -> ca.Function:
        """The values of the guards and their rates along the solution, of (t, x, u, p)."""
        v = self.variational
        values = ca.densify(v.form.applied(v.system, v.system.guards))
        return ca.Function("guard_rates", [v.t, v.x, v.u, v.p], [values, saltation.guard_rates(v)])

    def tolerances(self, atol: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Absolute tolerances of y: those of x, divided by the sizes of what is varied."""
        j, k = self.variational.pairs
        m, n = len(sizes), len(atol)
        first = atol[:, None] / sizes[None, :]
        second = atol[:, None] / (sizes[j] * sizes[k])[None, :] if len(j) else np.zeros((n, 0))
        return self.layout.packed(atol, first.reshape(n, m), second)


def augmented_of(plant: ExplicitPlant, directions: Directions, order: int) -> Augmented:
    """The augmented system, kept with the system it belongs to."""
    system = plant.system
    with system.lock:
        kept: dict[Any, Augmented] = system.prepared.setdefault("variational", {})
        key = (directions, order)
        if key not in kept:
            kept[key] = Augmented(plant, directions, order)
    return kept[key]
