"""How an FMU makes its own steps: of one length, or as long as the estimate of their error allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedalus.errors import InputError
from daedalus.exchange.c_code.steps_in_c import second_weights
from daedalus.integrators.tableaux.tableau import Tableau

# The first step of a run and behind events (s).
FIRST_STEP = 1e-4


@dataclass(frozen=True, eq=False)
class EmbeddedSteps:
    """What the runtime controls its steps by.

    rtol: relative tolerance. fixed: the length of all steps in s, 0 for steps by their error. second_order: the order
    of the second weights, 0 without them: then a step is tried whole and in two halves. errors: first less second
    weights. several: steps of backward differentiation formulas, which remember those before.
    """

    rtol: float
    fixed: float
    second_order: int
    errors: np.ndarray
    several: bool = False


def embedded_steps(table: Tableau, rtol: float, step: float | None, several: bool = False) -> EmbeddedSteps:
    """The steps of a tableau at a tolerance, or of one length; several: of backward differentiation formulas.

    Example
    -------
    >>> import daedalus as dd
    >>> embedded_steps(dd.tableau("dopri5"), 1e-6, None).second_order
    4
    """
    if step is not None and not (isinstance(step, (int, float)) and np.isfinite(step) and step > 0):
        raise InputError(
            "step must be a positive number.", f"got {step!r}", remedy="step=1e-3, or None for steps by their error"
        )
    errors, order = second_weights(table)
    if several and step is not None:
        raise InputError(
            "BDF chooses its steps itself.", f"step={step!r}", because="its order follows its errors.",
            remedy='step=None, or method="radau5"',
        )  # fmt: skip
    return EmbeddedSteps(float(rtol), float(step or 0.0), order, errors, several)
