"""Events of models without formulas for x' and z: how the state behind an event, and its time, follow from before it.

    dτ = -(g_v dv) / g',    dx⁺ = r_v dv + (r' - f⁺) dτ            v = (x, u, p), g' and r' along the solution

as in saltation.py, with derivatives through z(t, x, u, p) by the implicit function theorem and f⁺ from a consistent
restart (I. A. Hiskens, M. A. Pai, IEEE Transactions on Circuits and Systems I 47, 2000).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.events.restarted_state import restarted_state
from daedalus.differentiation.events.saltation import carried
from daedalus.differentiation.variational.implicit_slopes import ImplicitSlopes, consistent_row
from daedalus.errors import SolverError
from daedalus.model.system.once import remembered
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.start.restart import restarts


@dataclass(frozen=True, eq=False)
class Jump:
    """At one event: the row behind it, ∂x⁺/∂(x, u, p) and ∂τ/∂(x, u, p)."""

    row: np.ndarray
    slopes: np.ndarray
    time: np.ndarray


class ResidualEvents:
    """Guards and resets of a plant with their derivatives at points."""

    def __init__(self, plant: ImplicitPlant) -> None:
        self.plant, self.system = plant, plant.system
        self.guards = ImplicitSlopes(self.system, self.system.guards)
        self.resets = [ImplicitSlopes(self.system, self.system.resets[k, :].T) for k in range(len(self.system.events))]

    def rates(self, t: np.ndarray, rows: np.ndarray, u: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and rates of all guards along the solution, (times, events) each."""
        n = self.system.sizes["x"]
        found = [self.guards.at(float(a), row, b, p)[:2] for a, row, b in zip(t, rows, u)]
        values = np.array([value for value, _ in found])
        rates = [slope[:, 0] + slope[:, 1 : 1 + n] @ row[-n:] for (_, slope), row in zip(found, rows)]
        return values, np.array(rates)

    def moves(self, guard: int, t: float, row: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """∂τ/∂(x, u, p) of an event."""
        n = self.system.sizes["x"]
        slope = self.guards.at(t, row, u, p)[1][guard]
        rate = slope[0] + slope[1 : 1 + n] @ row[-n:]
        return -slope[1:] / rate

    def jump(self, case: Case, guard: int, t: float, row: np.ndarray, u: np.ndarray) -> Jump:
        """What an event that resets something makes of a row."""
        n, p = self.system.sizes["x"], case.p
        time = self.moves(guard, t, row, u, p)
        new, slope, _ = self.resets[guard].at(t, row, u, p)
        guess = np.concatenate([new, row[n:]])
        if restarts(self.system):
            found, slope = restarted_state(case, guard, t, row, u, slope)
            guess = found.row
        behind = consistent_row(self.plant, t, guess, u, p)
        if behind is None:
            raise SolverError(
                f"Behind the event {self.system.events[guard].name!r} no values are consistent.",
                f"at t = {t:.6g} the equations have no solution for x' and z near those before it",
                remedy="another reset, or start values of the algebraic variables",
            )
        return Jump(behind, carried(slope, row[-n:], behind[-n:], time), time)


@remembered
def events_of(plant: ImplicitPlant) -> ResidualEvents:
    """The events of a plant, made once."""
    return ResidualEvents(plant)
