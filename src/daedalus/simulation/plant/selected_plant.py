"""The machine code of a system with a choice of states: x' is what the equations say, not what a method estimates.

The derivative of a dependent state stands in no equation of a run, and the slope of its polynomial is less accurate
than the value w that the reduced equations have for it.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.analysis.structure.written_structure import VariableIndex
from daedalus.compilation import Compiled
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System
from daedalus.reduction.selection.selected_states import SelectedStates, selected_states
from daedalus.simulation.plant.implicit_plant import ImplicitPlant


class SelectedPlant(ImplicitPlant):
    """An implicit plant whose rows are read with x' as a function of the rest."""

    def __init__(self, system: System, index: VariableIndex | None = None) -> None:
        super().__init__(system, index)
        self.selection: SelectedStates = selected_states(system)
        self._slots = self.row_parts.pop("xdot")

    def in_rows(self, expression: ca.SX) -> ca.SX:
        """An expression of (t, x', x, z, u, p) in terms of (t, y, u, p)."""
        xdot = self.system.symbol("xdot")
        valued = ca.substitute([expression], [xdot], [self.selection.rates])[0]
        parts = [self._y[self.row_parts["x"]], self._y[self.row_parts["z"]], self._y[self._slots]]
        return ca.substitute([valued], [*self.system.symbols(("x", "z")), xdot], parts)[0]

    @cached_property
    def derivatives(self) -> Compiled:
        """x' from a row."""
        return self._compiled("derivatives", self.system.symbol("xdot"))

    @cached_property
    def rhs(self) -> Any:
        """x' from a row, as samples ask for it."""
        return SimpleNamespace(core=self.derivatives.core)

    def completed(self, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """A row with its x' written out."""
        found = np.array(row, dtype=float)
        found[self._slots] = self.derivatives.core(np.array([t]), found, u, p)[0]
        return found

    def model_of(self, p: np.ndarray, core_plant: ImplicitPlant, with_drift: bool) -> Any:
        """What the core integrates for the choice in p, with the functions of `core_plant`."""
        residual, jacobian = core_plant.functions
        drift = core_plant.drift.core if with_drift else None
        dependent, held = self.selection.places(p)
        return core_plant.core_model(residual.core, jacobian.core, drift, dependent, held)
