"""Intervals with inputs held, as steps of a flow in the core: as many as the state and its covariance ask for."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus.compilation import compile_function
from daedalus.differentiation.case import Case
from daedalus.differentiation.differentiable_system import flowing_system, has_instants
from daedalus.differentiation.events.jumping_conditions import jumping_conditions
from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.errors import SolverError
from daedalus.estimation.kept_directions import kept_projector
from daedalus.integrators.methods import is_implicit
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.model.model import as_system
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import plant_of

EXPLICIT, IMPLICIT = "rk4", "radau5"
# More explicit steps than these in an interval mean a stiff model; more implicit ones that there is no way on.
MOST_STEPS = {EXPLICIT: 256, IMPLICIT: 20_000}
# Collocation solves for all stages of a covariance together; beyond this size exponentials in shorter steps cost less.
LARGEST_STIFF = 24
# How exact a covariance is, in the deviations that it tells of.
COVARIANCE_RTOL = 1e-6


class Propagated(NamedTuple):
    """The end of an interval, its covariance, its derivative by the beginning, and the noise gathered on the way."""

    x: np.ndarray
    covariance: np.ndarray
    transition: np.ndarray
    noise: np.ndarray


class HeldFlow:
    """The map of an interval of any length from any time on, with its covariance, to a tolerance.

    An explicit method that needs too many steps gives way to an implicit one. The length of the steps is remembered
    from one interval to the next.
    """

    def __init__(self, system: System, case: Case, atol: float) -> None:
        self._system, self._p, self._tolerances = system, case.p, (case.settings.rtol, atol)
        self._projector = kept_projector(case)
        self._by_state = slopes_by_state(system)
        self._use(IMPLICIT if is_implicit(case.settings.method) else EXPLICIT)

    def _use(self, method: str) -> None:
        flow = FlowCore(self._system, tableau(method), 1.0, 1, 0.0)
        self._method, self._core, self._step = method, flow.first_order, np.inf
        self._asked = [*self._tolerances, COVARIANCE_RTOL, 2.0**flow.tableau.order - 1]

    def carry(
        self, t: float, length: float, x: np.ndarray, covariance: np.ndarray, u: np.ndarray, density: np.ndarray
    ) -> Propagated:
        """A state and its covariance at the end, with the noise that a spectral density adds on the way."""
        most = MOST_STEPS[self._method]
        point = (t, length, x, u, self._p, covariance, density)
        stiff = self._method == IMPLICIT and len(x) <= LARGEST_STIFF
        found = self._core.carry(self._by_state, self._projector, *point, self._asked, self._step, most, stiff)
        if found:
            self._step = found[4]
            return Propagated(*found[:4])
        if self._method == IMPLICIT:
            raise SolverError(
                f"The estimator cannot continue at t = {t:.6g}.",
                f"{most} steps in one interval do not reach the tolerance",
                remedy="a shorter interval every=, or a looser rtol=",
            )
        self._use(IMPLICIT)
        return self.carry(t, length, x, covariance, u, density)

    @property
    def explicit(self) -> bool:
        """Whether explicit steps have been enough so far."""
        return self._method == EXPLICIT

    def in_one_step(
        self, t: float, length: float, x: np.ndarray, covariance: np.ndarray, u: np.ndarray, density: np.ndarray
    ) -> Propagated | None:
        """The same by one explicit step, or None where that does not reach the tolerance."""
        point = (t, length, x, u, self._p, covariance, density)
        found = self._core.carry(self._by_state, self._projector, *point, self._asked, np.inf, 1, False)
        return Propagated(*found[:4]) if found else None


@remembered
def slopes_by_state(system: System) -> Any:
    """∂x'/∂x by rows, as a compiled function of (t, x, u, p)."""
    arguments = system.symbols(("t", "x", "u", "p"))
    slopes = ca.densify(slope_formulas(system))
    return compile_function(ca.Function("by_state", arguments, [ca.vec(slopes.T)])).core


def slope_formulas(system: System) -> ca.SX:
    """∂x'/∂x in symbols."""
    plant = plant_of(system)
    assert isinstance(plant, ExplicitPlant)
    return ca.jacobian(plant.form.xdot, system.symbol("x"))


def held_flow(case: Case) -> HeldFlow | None:
    """The flow of a case, or None for runs that such steps cannot make: with events, tables, jumps, or no formulas."""
    drive = case.drive
    if not case.has_formulas or drive.tables or drive.callbacks:
        return None
    if has_instants(as_system(case.model)) or jumping_conditions(case.system):
        return None
    system = flowing_system(case.system)
    if system.events or system.labels["x"] != case.system.labels["x"]:
        return None
    atol = case.atol if isinstance(case.atol, (int, float)) else float(np.min(case.settings.call["atol"]))
    return HeldFlow(system, case, float(atol))
