"""Draw how a method does: its work over precision, the way of its Newton iterations, its errors over steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daedalus.display.look import Axes, look, panel_of
from daedalus.errors import InputError
from daedalus.studies.measured_order import Convergence
from daedalus.studies.newton import NewtonHistory
from daedalus.studies.work_precision import WorkPrecision

MOST_VARIABLES = 8
# The line of the expected order is drawn this much below the errors, so that it hides none of them.
BELOW = 0.4
# The slope triangle spans these shares of the steps, and lies this much below that line.
TRIANGLE, UNDER = (0.45, 0.8), 0.5


@look()
def plot_work_precision(found: WorkPrecision, ax: Axes | None, work: str) -> Any:
    """One line per method; runs that failed are left out, and a method without any run is named as such."""
    if work not in ("evaluations", "steps", "seconds"):
        raise InputError(f"work={work!r} is not measured.", remedy='work="evaluations", "steps" or "seconds"')
    figure, ax = panel_of(ax, (6.4, 4.4))
    marks = "os^Dv<>P*X"
    for k, (name, errors) in enumerate(found.errors.items()):
        cost = getattr(found, work)[name]
        good = np.isfinite(errors) & (errors > 0) & (cost > 0)
        ax.loglog(cost[good], errors[good], f"{marks[k % len(marks)]}-", markersize=5,
                  label=name if good.any() else f"{name}: no run succeeded")  # fmt: skip
    words = {"evaluations": "evaluations of the equations", "steps": "steps", "seconds": "processor time (s)"}
    ax.set(xlabel=words[work], ylabel="error at the end")
    ax.set_title(f"Work and precision: {found.model}", fontsize="medium")
    ax.grid(alpha=0.3, which="both")
    ax.legend(fontsize="small")
    return figure


@look()
def plot_newton(history: NewtonHistory, ax: Axes | None) -> Any:
    """Residuals in a logarithmic axis; shortened steps are marked."""
    from matplotlib.ticker import MaxNLocator

    figure, ax = panel_of(ax, (6.4, 4.0))
    count = np.arange(len(history.residuals))
    shown = np.where(history.residuals > 0, history.residuals, np.nan)
    ax.semilogy(count, shown, "o-", label="residual")
    short = np.flatnonzero(history.damping < 1.0)
    if len(short):
        ax.semilogy(short + 1, shown[short + 1], "s", markerfacecolor="none", markersize=9, label="shortened step")
    for k in range(2, len(count)):
        if np.isfinite(history.rates[k]):
            ax.annotate(f"rate {history.rates[k]:.2f}", (k, shown[k]), textcoords="offset points", xytext=(6, 4),
                        fontsize="small")  # fmt: skip
    ax.set(xlabel="iteration", ylabel="norm of f")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_title(history.sentence, fontsize="medium")
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")
    return figure


@look()
def plot_convergence(measured: Convergence, ax: Axes | None) -> Any:
    """Draw all errors, those left out of the fits hollow, and return the figure."""
    figure, ax = panel_of(ax, (6.4, 4.8))
    steps = measured.steps
    for name in list(measured.errors)[:MOST_VARIABLES]:
        order = measured.orders[name]
        label = name if math.isnan(order) else f"{name}: {order:.2f}"
        _draw(ax, steps, measured.errors[name], measured.used[name], label, linewidth=1.0)
    label = f"all states, relative: {measured.order:.2f}"
    _draw(ax, steps, measured.error, measured.used_overall, label, color="black", linewidth=2.0)
    used = measured.used_overall
    ends = np.array([steps[used].min(), steps[used].max()])
    anchor = BELOW * np.min(measured.error[used] / steps[used] ** measured.expected)
    ax.plot(ends, anchor * ends**measured.expected, "--", color="0.5", label=f"slope {measured.expected}, expected")
    _draw_triangle(ax, ends, anchor, measured.expected)
    ax.set(xscale="log", yscale="log", xlabel="step size [s]", ylabel=f"error at t = {measured.span[1]:g} s")
    ax.set_title(f"{measured.method} on {measured.model}: order {measured.order:.2f}", fontsize="medium")
    ax.grid(alpha=0.3, which="both")
    ax.legend(fontsize="small", title="order by variable", title_fontsize="small")
    return figure


def _draw_triangle(ax: Axes, ends: np.ndarray, anchor: float, order: int) -> None:
    """A triangle under the line of the expected order: 1 to the side, the order up."""
    low, high = np.exp(np.log(ends[0]) + np.array(TRIANGLE) * np.log(ends[1] / ends[0]))
    bottom, top = (UNDER * anchor * step**order for step in (low, high))
    ax.plot([low, high, high, low], [bottom, bottom, top, bottom], color="0.5", linewidth=1.0)
    ax.annotate("1", (np.sqrt(low * high), bottom), (0, -3), textcoords="offset points", ha="center", va="top")
    ax.annotate(f"{order}", (high, np.sqrt(bottom * top)), (4, 0), textcoords="offset points", va="center")


def _draw(ax: Axes, steps: np.ndarray, errors: np.ndarray, used: np.ndarray, label: str, **style: Any) -> None:
    """A line through the used points; the others are hollow marks beside it."""
    (line,) = ax.plot(steps[used], errors[used], "o-", markersize=4, label=label, **style)
    aside = ~used & (errors > 0)
    ax.plot(steps[aside], errors[aside], "o", markersize=4, color=line.get_color(), markerfacecolor="none")
