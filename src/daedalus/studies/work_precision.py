"""Work and precision of several methods: what an error costs, in evaluations and in time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.errors import DaedalusError, InputError, SolverError
from daedalus.integrators.multistep.multistep import Multistep
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.simulation.simulate import simulate

# Tolerances of the run that errors are measured against, and the methods that are asked for it.
RTOL_OF_REFERENCE = 1e-12
RIGHT = ("dop853", "radau9", "auto")


@dataclass(frozen=True, eq=False)
class WorkPrecision:
    """The result of `dd.work_precision`: the error and the work for every method and tolerance.

    errors, evaluations, steps, seconds: by the name of the method, one value per tolerance; NaN if a run failed.
    Errors are those at the end, relative to the size of the states there (largest of all states).

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); x = m.state("x", start=1.0); v = m.state("v", start=0.0)
    >>> m.equation([m.der(x), m.der(v)], [v, -x])
    >>> w = dd.work_precision(m, ["dopri5", "tsit5"], [1e-4, 1e-8], span=10.0)
    >>> bool(w.errors["tsit5"][1] < w.errors["tsit5"][0]), bool(w.evaluations["tsit5"][1] > w.evaluations["tsit5"][0])
    (True, True)
    """

    model: str
    tolerances: np.ndarray
    errors: Mapping[str, np.ndarray]
    evaluations: Mapping[str, np.ndarray]
    steps: Mapping[str, np.ndarray]
    seconds: Mapping[str, np.ndarray]
    failed: Mapping[str, tuple[str, ...]]

    def plot(self, ax: Any = None, work: str = "evaluations") -> Any:
        """Draw error over work, one line per method; work: "evaluations", "steps" or "seconds"; returns the figure."""
        from daedalus.display.lectures.method_plots import plot_work_precision

        return plot_work_precision(self, ax, work)

    def __str__(self) -> str:
        lines = [f"work and precision on {self.model!r}", "  method        tolerance     error  evaluations  steps"]
        for name, errors in self.errors.items():
            for k, tolerance in enumerate(self.tolerances):
                lines.append(
                    f"  {name:12s}  {tolerance:9.1e}  {errors[k]:8.2e}  {self.evaluations[name][k]:11.0f}"
                    f"  {self.steps[name][k]:5.0f}"
                )
        return "\n".join(lines)

    __repr__ = __str__


def work_precision(
    model: Model | System,
    methods: Iterable[str | Tableau | Multistep],
    tolerances: Iterable[float],
    span: object = 10.0,
    **options: Any,
) -> WorkPrecision:
    """Run a model with several methods and tolerances and compare the work for a given error.

    Parameters
    ----------
    methods: names of `dd.methods()` that choose their steps, or tableaux with an embedded pair; "rk4" and other methods
        with fixed steps get steps of span · tolerance^(1/order).
    tolerances: relative ones; the absolute tolerance is a thousandth of each.
    span: as in `dd.simulate`. options: of `dd.simulate`: start, inputs, parameters.

    The reference is a run at rtol = 1e-12. A failed run is NaN, with its reason in `.failed`.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> found = dd.work_precision(m, ["tsit5", "rk4"], [1e-3, 1e-6], span=1.0)
    >>> sorted(found.errors)
    ['rk4', 'tsit5']
    """
    system = as_system(model)
    refuse_touching(system, "dd.work_precision")
    wanted = np.array([float(value) for value in tolerances])
    if not len(wanted) or not np.all((wanted > 0) & (wanted < 1)):
        raise InputError("Tolerances must be between 0 and 1.", f"got {wanted.tolist()}", remedy="[1e-3, 1e-5, 1e-7]")
    right = _right(model, span, options)
    labels = system.labels["x"]
    goal = np.array([float(right[name][-1]) for name in labels])
    length = float(right.time[-1] - right.time[0])
    errors, evaluations, steps, seconds, failed = {}, {}, {}, {}, {}
    for method in methods:
        name = method if isinstance(method, str) else method.name or type(method).__name__
        rows = [_one(model, method, value, span, options, labels, goal, length) for value in wanted]
        errors[name], evaluations[name], steps[name], seconds[name] = (
            np.array([row[k] for row in rows], dtype=float) for k in range(4)
        )
        reasons = tuple(str(row[4]) for row in rows if row[4])
        if reasons:
            failed[name] = reasons
    return WorkPrecision(system.name, wanted, errors, evaluations, steps, seconds, failed)


def _one(
    model: Any, method: Any, tolerance: float, span: Any, options: dict[str, Any], labels: Any, goal: np.ndarray,
    length: float,
) -> tuple[float, float, float, float, str]:  # fmt: skip
    """Error, evaluations, steps, seconds and why a run failed."""
    given = {"rtol": tolerance, "atol": 1e-3 * tolerance, "progress": False, **options}
    began = time.process_time()
    try:
        run = simulate(model, span, method=method, **given)
    except InputError as error:
        order = getattr(method, "order", None) or _order_of(method)
        if order is None:
            return np.nan, np.nan, np.nan, np.nan, str(error)
        fixed = length * tolerance ** (1.0 / order) / 4
        try:
            run = simulate(model, span, method=method, step=fixed, **{**options, "progress": False})
        except DaedalusError as further:
            return np.nan, np.nan, np.nan, np.nan, str(further)
    except DaedalusError as error:
        return np.nan, np.nan, np.nan, np.nan, str(error)
    spent = time.process_time() - began
    if not run.success:
        return np.nan, np.nan, np.nan, spent, run.stop_reason
    end = np.array([float(run[name][-1]) for name in labels])
    off = float(np.max(np.abs(end - goal) / np.maximum(1.0, np.abs(goal)), initial=0.0))
    return off, float(run.work.rhs), float(run.work.steps), spent, ""


def _order_of(method: Any) -> int | None:
    from daedalus.integrators.methods import METHODS

    return getattr(METHODS.get(method), "order", None) if isinstance(method, str) else None


def _right(model: Any, span: Any, options: dict[str, Any]) -> Any:
    reasons = []
    first: DaedalusError | None = None
    for method in RIGHT:
        try:
            run = simulate(
                model,
                span,
                method=method,
                rtol=RTOL_OF_REFERENCE,
                atol=1e-3 * RTOL_OF_REFERENCE,
                progress=False,
                **options,
            )
        except DaedalusError as error:
            reasons.append(str(error).split("\n")[0])
            first = first or error
            continue
        if run.success:
            return run
        reasons.append(run.stop_reason)
    if first is not None and len(set(reasons)) == 1:
        raise first  # all methods say the same, such as an input without a value
    raise SolverError(
        "No reference solution was found to measure errors against.",
        reasons[:3],
        because=f"no run at a tolerance of {RTOL_OF_REFERENCE:g} reached the end.",
        remedy="a shorter span",
    )
