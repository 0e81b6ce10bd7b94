"""Behind a reset of states that depend on each other the core asks for a consistent row: the rule is `ResetRule`.

Explicit and implicit runs ask for the same, with rows x and (x, z, x').
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.algebra.rank_decision import ROUNDING
from daedalus.analysis.structure.written_structure import variable_index
from daedalus.errors import SingularModelError
from daedalus.initialisation.behind_reset import Behind, reset_rule
from daedalus.initialisation.input_values import input_jet
from daedalus.initialisation.reset_refusals import RefusedReset
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.start.start_tolerance import start_tolerance
from daedalus.simulation.switching.agenda import order_of


@remembered
def restarts(system: System) -> bool:
    """Whether a reset may move what it does not assign: something is reset, and states depend on each other."""
    if not any(event.resets for event in system.events) and not system.discrete_count:
        return False
    if system.has_invariants or system.watched or system.choices:
        return True
    try:
        return variable_index(system).largest > 1
    except SingularModelError:
        return True


@dataclass(frozen=True, eq=False)
class Restart:
    """What lies behind the events of a run, by their numbers in the core. inputs: what is not a number, by name."""

    plant: Plant
    rtol: float
    inputs: Mapping[str, object] = field(default_factory=dict)

    def driven_by(self, inputs: Mapping[str, object]) -> Restart:
        """The same with inputs, of which those that are numbers do not matter."""
        places = self.plant.system.places
        moving = {name: value for name, value in inputs.items() if name in places and not _is_number(value)}
        return replace(self, inputs=moving)

    def behind(
        self, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray, event: int, known: np.ndarray | None = None
    ) -> Behind:
        """The values behind an event at a row; a RefusedReset where there are none.

        known: the parameters with discrete variables as they are before the event; p has those behind it.
        """
        system = self.plant.system
        jet = _jet_of(system, self.inputs, t, u)
        old = p if known is None else known
        before = self._before(t, row, u, old)
        allowed, number = start_tolerance(self.rtol), None if event < 0 else order_of(system).all[event]
        return reset_rule(system).behind(number, t, before, jet, (old, p), allowed)

    def rows(
        self, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray, event: int, known: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The row behind an event (not a number where it is refused), and that before it as it obeys the equations.

        Of event -1 nothing is known but the discrete variables that hold behind it.
        """
        if not self.plant.is_implicit and not self._assigned(event):
            return row, row
        written = self._written(t, row, u, (known, p), event)
        if written is not None:
            return written, row
        try:
            found = self.behind(t, row, u, p, event, known)
        except RefusedReset:
            return np.full(len(row), np.nan), row
        return (found.row, found.row_before) if self.plant.is_implicit else (found.vector("x"), row)

    def _assigned(self, event: int) -> list[int]:
        """The states that an event assigns."""
        system = self.plant.system
        return [] if event < 0 else reset_rule(system).assigned[order_of(system).all[event]]

    def _written(
        self, t: float, row: np.ndarray, u: np.ndarray, p: tuple[np.ndarray, np.ndarray], event: int
    ) -> np.ndarray | None:
        """What a reset writes where that obeys all constraints already, so that nothing moves; else None.

        p: parameters before and behind it.
        """
        plant = self.plant
        if not isinstance(plant, ExplicitPlant) or not plant.system.constrains_start:
            return None
        width = len(row) + plant.system.discrete_count
        new = plant.resets.core(np.array([t]), row, u, p[0])[0].reshape(-1, width)[event, : len(row)]
        largest = max(1.0, float(np.abs(new).max()))
        for kept in (plant.invariants, plant.watched):
            left, beside = (kept.core(np.array([t]), x, u, p[1])[0] for x in (new, new + plant.system.nominal["x"]))
            # In its own unit, which a step of the usual size tells; one that it does not change is searched for.
            if not np.all(np.abs(left) <= ROUNDING * np.minimum(largest, np.abs(beside - left))):
                return None
        return new

    def refusal(self, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray, event: int) -> RefusedReset | None:
        """Why nothing lies behind an event."""
        try:
            self.behind(t, row, u, p, event)
        except RefusedReset as error:
            return error
        return None

    def _before(self, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray) -> dict[str, np.ndarray]:
        plant, n, nz = self.plant, self.plant.system.sizes["x"], self.plant.system.sizes["z"]
        if plant.is_implicit:
            return {"x": row[:n], "z": row[n : n + nz], "xdot": row[n + nz :]}
        point = (np.array([[t]]), row[None, :], u[None, :], p)
        z = plant.readout.core.evaluate_many(*point)[0][0][:nz]
        return {"x": row, "z": z, "xdot": plant.rhs.core.evaluate_many(*point)[0][0][:n]}

    def function(self, twin: System) -> Any:
        """The same for the core, whose system may have modes behind its inputs and parameters."""
        sizes, width, discretes = self.plant.system.sizes, self.plant.row_width, self.plant.system.discrete_count
        function = _core.Function("restart", [1, width, twin.sizes["u"], twin.sizes["p"], 1, discretes], [width, width])

        def restart(
            t: np.ndarray, row: np.ndarray, u: np.ndarray, p: np.ndarray, event: np.ndarray, held: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            given = u[: sizes["u"]].copy(), p[: sizes["p"]].copy()
            known = given[1].copy()
            known[sizes["p"] - discretes :] = held
            return self.rows(float(t[0]), row.copy(), *given, int(event[0]), known)

        function.set_python(restart)
        return function


def _jet_of(system: System, inputs: Mapping[str, object], t: float, u: np.ndarray) -> Callable[[int], np.ndarray]:
    """u and its derivatives at a time: numbers are constant, all else is differentiated."""

    def jet(order: int) -> np.ndarray:
        found = np.zeros((order + 1, len(u)))
        if order and inputs:
            found = input_jet(system, inputs, t, order, [])
        found[0] = u
        return found

    return jet


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) or (isinstance(value, np.ndarray) and value.dtype.kind in "fiu")
