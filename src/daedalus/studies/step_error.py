"""The error of one step, ‖x₁ - x(t₀ + h)‖ from a right start, and its order: one more than that of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import EPSILON, NOT_ZERO
from daedalus.errors import InputError, SolverError
from daedalus.integrators.methods import METHODS, is_multistep
from daedalus.integrators.multistep.multistep import Multistep
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.frozen_mapping import FrozenMapping
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.model import Model, as_system
from daedalus.model.plain_numbers import without_unit
from daedalus.model.system.system import System
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.simulate import simulate
from daedalus.studies.expected_order import ASKED_RTOL, expected_step_order
from daedalus.studies.measured_order import fitted_order

# The order is fitted to steps h, h/2, h/4, ...; errors that rounding may have made are left out.
HALVINGS = 6
LEFT_OUT = 100.0 * EPSILON


@dataclass(frozen=True, eq=False)
class StepError:
    """The result of `dd.step_error`.

    Parameters
    ----------
    model, method: names of both.
    time: the start of the step.
    step: its size.
    errors: x₁ - x(t₀ + h) of each state, by name.
    error: the norm of these.
    order: its order, fitted over halved steps; NaN if rounding leaves fewer than two.
    expected: the order of the method plus one, or less if the index of the model reduces it.
    steps, norms: the steps and norms that the order was fitted to.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> e = dd.step_error(m, "euler", 0.1)
    >>> round(e.error, 6), round(e.errors["x"], 6), e.expected, round(e.order, 1)
    (0.004837, -0.004837, 2, 2.0)
    """

    model: str
    method: str
    time: float
    step: float
    errors: Mapping[str, float]
    error: float
    order: float
    expected: int
    steps: np.ndarray
    norms: np.ndarray

    def __repr__(self) -> str:
        return (
            f"{self.method} on {self.model!r}, one step of {self.step:g} from t = {self.time:g}: "
            f"error {self.error:.3g}, order {self.order:.2f} measured, {self.expected} expected"
        )


def step_error(
    model: Model | System,
    method: str | Tableau | Multistep,
    h: float,
    time: float = 0.0,
    start: Mapping[str, object] | Samples | None = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
) -> StepError:
    """Measure the error of one step of a method, and its order; `dd.convergence` measures whole runs.

    The error of one step is O(h^(p+1)) for a method of order p; T / h of them add up to O(h^p). At index 2 and 3,
    implicit methods have lower orders (`dd.methods()`). The reference is a run with "dop853" at rtol = 1e-13, or
    "radau9" if x' and z have no formulas. A multistep method steps from exact past values.

    Parameters
    ----------
    model: the model. method: a name of `dd.methods()`, a `dd.Tableau` or `dd.bdf(3)`.
    h: the step size; the order is fitted over h, h/2, h/4, ...
    time: the start time. start, inputs, parameters: as in `dd.simulate`.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); x = m.state("x", start=1.0); v = m.state("v", start=0.0)
    >>> m.equation([m.der(x), m.der(v)], [v, -x])
    >>> dd.step_error(m, "rk4", 0.2)
    rk4 on 'oscillator', one step of 0.2 from t = 0: error 2.67e-06, order 5.00 measured, 5 expected
    """
    h, time = without_unit(h, "s", "h"), without_unit(time, "s", "time")
    if method == "auto" or not (isinstance(h, (int, float, np.number)) and np.isfinite(h) and h > 0):
        raise InputError(
            "dd.step_error needs one method and one step size.",
            f"method = {method!r}, h = {h!r}"[:120],
            remedy='h=0.1 and method="rk4"' if method == "auto" else "h=0.1 and the same method",
        )
    system = as_system(model)
    refuse_touching(system, "dd.step_error")
    given: dict[str, Any] = {"inputs": inputs, "parameters": parameters, "progress": False}
    sizes = float(h) * 0.5 ** np.arange(HALVINGS)
    named: Any = METHODS[method] if isinstance(method, str) and method in METHODS else method
    back = named.steps if is_multistep(method) else 1
    ends = time + back * sizes
    right = _right(model, (time, float(ends[0])), start, given, ends[::-1])
    labels = system.labels["x"]
    gaps = []
    for k, size in enumerate(sizes):
        run = simulate(model, (time, float(ends[k])), start=start, method=method, step=float(size), rtol=1e-10, **given)
        if not run.success:
            raise _did_not_arrive(system, run.stop_reason)
        gaps.append([float(run[name][-1]) - float(right[name][len(sizes) - 1 - k]) for name in labels])
    norms = np.linalg.norm(np.array(gaps).reshape(len(sizes), -1), axis=1)
    size = max(float(np.linalg.norm([right[name][0] for name in labels])), NOT_ZERO)
    order = fitted_order(sizes, norms, norms > LEFT_OUT * size)
    errors = FrozenMapping(dict(zip(labels, gaps[0])))
    name = method if isinstance(method, str) else named.name or type(method).__name__
    expected = expected_step_order(system, method, float(h))
    return StepError(system.name, name, float(time), float(h), errors, float(norms[0]), order, expected, sizes, norms)


def _right(model: Model | System, span: tuple[float, float], start: Any, given: Any, times: np.ndarray) -> Any:
    """The values at the ends of all steps."""
    options: dict[str, Any] = {"start": start, "save_at": times, "rtol": ASKED_RTOL, "atol": 1e-3 * ASKED_RTOL, **given}
    try:
        found = simulate(model, span, method="dop853", **options)
    except SolverError:  # x' and z have no formulas
        found = simulate(model, span, method="radau9", **{**options, "rtol": 10 * ASKED_RTOL})
    if not found.success:
        raise _did_not_arrive(as_system(model), found.stop_reason)
    return found


def _did_not_arrive(system: System, reason: str) -> SolverError:
    return SolverError(
        f"A step of {system.name!r} did not reach its end.",
        reason,
        because="the error is that at the end of the step.",
        remedy="a shorter step",
    )
