"""Intervals with inputs held, as fixed steps in the core: as many as the tolerance asks for, seen by doubling them."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.differentiable_system import flowing_system
from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.errors import SolverError
from daedalus.integrators.methods import is_implicit
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.model.system.system import System

EXPLICIT, IMPLICIT = "rk4", "radau5"
# More explicit steps than these in half an interval mean a stiff model; more implicit ones that there is no way on.
MOST_STEPS = 64


class HeldFlow:
    """The map of an interval of any length from any time on, with its derivative, to a tolerance.

    The number of steps in half an interval doubles while the two halves and the whole disagree, and halves again where
    they agree by far; an explicit method that needs too many gives way to an implicit one.
    """

    def __init__(self, system: System, p: np.ndarray, implicit: bool, rtol: float, atol: float) -> None:
        self._system, self._p, self._tolerances = system, p, (rtol, atol)
        self._use(IMPLICIT if implicit else EXPLICIT, 1)

    def _use(self, method: str, steps: int) -> None:
        self._method, self._steps = method, steps
        flow = FlowCore(self._system, tableau(method), 1.0, steps, 0.0)
        self._core: Any = flow.first_order
        self._fine = float(2**flow.tableau.order - 1)

    def carry(
        self, t: float, length: float, x: np.ndarray, u: np.ndarray, covariance: np.ndarray, density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A state and its covariance at the end, with the noise that a spectral density adds on the way."""
        while True:
            found = self._core.carry(t, length, x, u, self._p, covariance, density, *self._tolerances)
            if found and found[2] <= self._fine:
                # Half the steps would be worse by a power of two, the order of the method; a little more to be sure.
                if self._steps > 1 and found[2] < 0.1:
                    self._use(self._method, self._steps // 2)
                return found[0], found[1]
            self._refine(t)

    def halves(
        self, t: float, length: float, x: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The state at the end, and the derivatives of the first and of the second half."""
        half, none = 0.5 * length, np.zeros((len(x), len(x)))
        self.carry(t, length, x, u, none, none)  # settles the number of steps
        while True:
            first = self._core.transition(t, half, x, u, self._p)
            second = first and self._core.transition(t + half, half, first[0], u, self._p)
            if first and second:
                return second[0], first[1], second[1]
            self._refine(t)

    def _refine(self, t: float) -> None:
        if self._steps < MOST_STEPS:
            self._use(self._method, 2 * self._steps)
        elif self._method == EXPLICIT:
            self._use(IMPLICIT, 1)
        else:
            raise SolverError(
                f"The estimator cannot go on at t = {t:.6g}.",
                f"{2 * MOST_STEPS} steps in one interval do not reach the tolerance",
                remedy="a shorter interval every=, or a looser rtol=",
            )


def held_flow(case: Case) -> HeldFlow | None:
    """The flow of a case, or None for runs that fixed steps cannot make: with events, tables, or without formulas."""
    drive = case.drive
    if not case.has_formulas or case.nominal is not None or drive.tables or drive.callbacks:
        return None
    system = flowing_system(case.system)
    if system.events or system.labels["x"] != case.system.labels["x"]:
        return None
    atol = case.atol if isinstance(case.atol, (int, float)) else float(np.min(case.settings.call["atol"]))
    return HeldFlow(system, case.p, is_implicit(case.settings.method), case.settings.rtol, float(atol))
