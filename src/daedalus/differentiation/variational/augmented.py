"""The machine code of the variational equations of one system: right-hand side, invariants and guards."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation.case import Case
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.variational import kept_invariants
from daedalus.differentiation.variational.formula_rows import FormulaRows
from daedalus.differentiation.variational.residual_augmented import ResidualAugmented
from daedalus.differentiation.variational.tangent_start import TangentStart
from daedalus.differentiation.variational.variational import Variational
from daedalus.model.lazy_values import cached_property
from daedalus.model.switching.held_states import HeldStates
from daedalus.model.system.once import remembered
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plant import Plant


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
    def core_rows(self) -> FormulaRows:
        """How the core integrates y with an implicit method."""
        return FormulaRows(self.plant, self.variational, lambda: self.rhs)

    # -- at points ---------------------------------------------------------------------------------------------

    def begin(self, case: Case, start: TangentStart) -> np.ndarray:
        """y at the start."""
        return self.layout.packed(case.x0, start.S, start.W)


AnyAugmented = Augmented | ResidualAugmented


@remembered
def augmented_of(plant: Plant, directions: Directions, order: int) -> AnyAugmented:
    """The augmented system of formulas or of equations without them, kept with the system it belongs to."""
    kind: Any = Augmented if isinstance(plant, ExplicitPlant) else ResidualAugmented
    return kind(plant, directions, order)
