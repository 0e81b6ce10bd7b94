"""The result of measuring the order of a method: errors against steps, the slopes fitted to them, what was left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.model.names import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Why a point does not count; the first is the only one that does.
USED, ROUNDING, TOO_LARGE, FAILED = range(4)
REASONS = {
    ROUNDING: "no larger than rounding or the reference can make it",
    TOO_LARGE: "the error is as large as the variable itself",
    FAILED: "the run did not reach the end",
}
# A measured order this far below the expected one is worth a remark.
REMARKABLE = 0.5


@dataclass(frozen=True, eq=False)
class Convergence:
    """The result of `dd.convergence`: the measured order, overall and by variable, and the errors behind it.

    Parameters
    ----------
    model, method: names of both.
    span: (t0, t1); the errors are those at t1.
    steps: the step sizes, largest first, (k,).
    expected: the order of the method, from its tableau.
    order: the measured order of all states together.
    orders: the measured order by variable; NaN where fewer than two steps tell something.
    error: the root mean square over the states of error/size, (k,); NaN where a run failed.
    errors: the absolute error by variable, (k,) each.
    used: which steps the fit by variable took, (k,) of bool each.
    used_overall: the same for `order`.
    ranges: the smallest and largest step of each fit, by variable; None where there is no fit.
    notes: what was left out of the fits and why, in sentences.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> c = dd.convergence(m, "heun", [0.1, 0.05, 0.025])
    >>> c.expected, round(c.order, 1), c.errors["x"].shape, c.ranges["x"]
    (2, 2.0, (3,), (0.025, 0.1))
    """

    model: str
    method: str
    span: tuple[float, float]
    steps: np.ndarray
    expected: int
    order: float
    orders: Mapping[str, float]
    error: np.ndarray
    errors: Mapping[str, np.ndarray]
    used: Mapping[str, np.ndarray]
    used_overall: np.ndarray
    ranges: Mapping[str, tuple[float, float] | None]
    notes: tuple[str, ...]

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw the errors against the steps, with the slope of the expected order; gives the figure.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> figure = dd.convergence(m, "rk4", [0.2, 0.1, 0.05]).plot()
        """
        from daedalus.display.lectures.method_plots import plot_convergence

        return plot_convergence(self, ax)

    def __repr__(self) -> str:
        t0, t1 = self.span
        lines = [
            f"{self.method} on {self.model!r}, t = {t0:g} to {t1:g}: order {self.order:.2f} measured, "
            f"{self.expected} expected",
            f"{'step':>12} {'error':>10} {'slope':>6}",
        ]
        for step, error, slope, used in zip(self.steps, self.error, self._local_slopes(), self.used_overall):
            shown = "" if math.isnan(slope) else f"{slope:.2f}"
            lines.append(f"{step:>12.6g} {error:>10.2e} {shown:>6}{'' if used else '  left out'}".rstrip())
        orders = self.orders.items()
        by_name = [f"{name} -" if math.isnan(order) else f"{name} {order:.2f}" for name, order in orders]
        more = f", … ({counted(len(by_name), 'variable')})" if len(by_name) > 8 else ""
        lines.append("by variable: " + ", ".join(by_name[:8]) + more)
        return "\n".join([*lines, *self.notes])

    def _local_slopes(self) -> np.ndarray:
        """The slope from each used step to the next smaller one; NaN elsewhere."""
        slopes = np.full(len(self.steps), np.nan)
        places = np.flatnonzero(self.used_overall)
        for before, after in pairwise(places):
            ratio = self.error[before] / self.error[after]
            slopes[after] = math.log(ratio) / math.log(self.steps[before] / self.steps[after])
        return slopes


def fitted_order(steps: np.ndarray, errors: np.ndarray, used: np.ndarray) -> float:
    """The slope of log(error) over log(step) by least squares; NaN for fewer than two points.

    Example
    -------
    >>> import numpy as np
    >>> from daedalus.studies.measured_order import fitted_order
    >>> steps = np.array([0.4, 0.2, 0.1])
    >>> round(fitted_order(steps, 3 * steps**4, np.array([True, True, True])), 6)
    4.0
    """
    if np.count_nonzero(used) < 2:
        return math.nan
    x, y = np.log(steps[used]), np.log(errors[used])
    return float(np.dot(x - x.mean(), y) / np.dot(x - x.mean(), x - x.mean()))


def judged(errors: np.ndarray, floors: np.ndarray, size: float) -> np.ndarray:
    """A verdict for every error: used, at the floor of rounding, as large as the variable itself, or failed (NaN)."""
    verdicts = np.full(len(errors), USED)
    verdicts[errors >= size] = TOO_LARGE
    verdicts[errors <= floors] = ROUNDING
    verdicts[~np.isfinite(errors)] = FAILED
    return verdicts


def left_out_notes(steps: np.ndarray, verdicts: Mapping[str, np.ndarray]) -> list[str]:
    """What was left out, one sentence for each reason and set of steps."""
    groups: dict[tuple[int, tuple[int, ...]], list[str]] = {}
    for name, verdict in verdicts.items():
        for reason in (ROUNDING, TOO_LARGE):
            places = tuple(np.flatnonzero(verdict == reason).tolist())
            if places:
                groups.setdefault((reason, places), []).append(name)
    notes = []
    for (reason, places), names in groups.items():
        who = "every variable" if len(names) == len(verdicts) else ", ".join(names[:6]) + ", …" * (len(names) > 6)
        notes.append(f"left out for {who}: {_steps_text(steps, places)} ({REASONS[reason]})")
    return notes


def _steps_text(steps: np.ndarray, places: Sequence[int]) -> str:
    if len(places) == len(steps):
        return "all steps"
    plural = "step" if len(places) == 1 else "steps"
    return f"{plural} " + ", ".join(f"{steps[k]:.6g}" for k in places)


def below_expected(order: float, expected: int) -> list[str]:
    """A remark where the measured order falls short of the expected one."""
    if not order < expected - REMARKABLE:
        return []
    return [
        "below the expected order: the steps are still too large, the right-hand side is not smooth enough, "
        "or an event falls between the steps"
    ]
