"""The machine code of the variational equations of one system: right-hand side, invariants, guards and resets."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation.case import Case
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.events import saltation
from daedalus.differentiation.events.formula_events import formula_events_of
from daedalus.differentiation.variational import kept_invariants
from daedalus.differentiation.variational.formula_rows import FormulaRows
from daedalus.differentiation.variational.residual_augmented import (
    ResidualAugmented,
    inputs_with_weights,
    varied_at,
)
from daedalus.differentiation.variational.restart_function import restart_function
from daedalus.differentiation.variational.tangent_start import TangentStart
from daedalus.differentiation.variational.variational import Variational
from daedalus.model.lazy_values import cached_property
from daedalus.model.switching.held_states import HeldStates
from daedalus.model.system.once import remembered
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.start.restart import restarts


class Augmented:
    """Compiled functions of (t, y, u with the weights of the grid, p); made once for a system and its directions."""

    def __init__(self, plant: ExplicitPlant, directions: Directions, order: int) -> None:
        self.plant = plant
        system = plant.system
        full = bool(system.invariants) or bool(system.events) or system.part(HeldStates) is not None
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
        """y behind each event; only what is written into x where a search follows, see `restart`."""
        expression = saltation.written if self.restarts else saltation.resets
        return self._compiled("saltation", expression(self.variational))

    @property
    def restarts(self) -> bool:
        """Whether what lies behind a reset follows from a search."""
        return restarts(self.plant.system)

    def restart(self, case: Case) -> Any:
        """What lies behind an event, for the core."""
        return restart_function(case, self.variational.arguments[2].numel(), self.layout.size, self.behind)

    @cached_property
    def guard_rates(self) -> ca.Function:
        """The values of the guards and their rates along the solution, of (t, x, u, p)."""
        v = self.variational
        values = ca.densify(v.form.applied(v.system, v.system.guards))
        return ca.Function("guard_rates", [v.t, v.x, v.u, v.p], [values, saltation.guard_rates(v)])

    @cached_property
    def core_rows(self) -> FormulaRows:
        """How the core integrates y with an implicit method."""
        return FormulaRows(self.plant, self.variational, lambda: self.rhs)

    # -- at points ---------------------------------------------------------------------------------------------

    def begin(self, case: Case, start: TangentStart) -> np.ndarray:
        """y at the start."""
        return self.layout.packed(case.x0, start.S, start.W)

    def behind(self, case: Case, guard: int, t: float, y: np.ndarray) -> np.ndarray:
        """y behind an event."""
        if self.variational.order == 2 or not self.plant.system.events[guard].resets:
            return y
        if self.restarts:
            jump = formula_events_of(self.plant).jump(case, guard, t, y[: self.layout.n], case.u_at(t))
            S = jump.slopes @ varied_at(case, self.variational, t, y)
            return self.layout.packed(jump.row, S, np.zeros((self.layout.n, 0)))
        u = inputs_with_weights(case, t, case.interval_at(t))
        rows = self.resets.core(np.array([t]), y, u, case.p)[0]
        return rows.reshape(-1, len(y))[guard]

    def event_moves(self, case: Case, guard: int, t: float, y: np.ndarray) -> np.ndarray:
        """dτ/dθ of an event, (m,)."""
        moves = formula_events_of(self.plant).moves(guard, t, y[: self.layout.n], case.u_at(t), case.p)
        return moves @ varied_at(case, self.variational, t, y)

    def guard_values(self, case: Case, t: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and rates of all guards at rows, (times, events) each."""
        u = case.drive.at(t)
        many = self.guard_rates(ca.DM(t).T, ca.DM(rows).T, ca.DM(u).T, ca.repmat(ca.DM(case.p), 1, len(t)))
        values, rates = (part.full().T for part in many)
        return values, rates


AnyAugmented = Augmented | ResidualAugmented


@remembered
def augmented_of(plant: Plant, directions: Directions, order: int) -> AnyAugmented:
    """The augmented system of formulas or of equations without them, kept with the system it belongs to."""
    kind: Any = Augmented if isinstance(plant, ExplicitPlant) else ResidualAugmented
    return kind(plant, directions, order)
