"""Draw the steps of a run: sizes, rejected attempts, Newton's iterations and orders over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.look import TIME_LABEL, Axes, logarithmic_from, look, panel_column, panel_of
from daedalus.simulation.result.step_table import Steps

# The heights of the panels, in inches.
TALL, LOW = 2.6, 1.3


@look()
def plot_steps(steps: Steps, work: Any, method: str, events: list[float], ax: Axes | None) -> Any:
    """Step sizes on a logarithmic axis with rejected attempts marked, and one panel per count that is not constant."""
    counts = []
    if np.any(steps.newton):
        counts.append(("iterations", steps.newton))
    if np.any(steps.rejected):
        counts.append(("rejected", steps.rejected))
    if len(np.unique(steps.order)) > 1:
        counts.append(("order", steps.order))
    if ax is not None or not counts:
        figure, top = panel_of(ax, (6.4, 3.6))
        panels = [top]
    else:
        heights = [TALL, *[LOW] * len(counts)]
        figure, panels = panel_column(None, len(heights), sum(heights), height_ratios=heights)
    _draw_sizes(panels[0], steps, work, method, events)
    for panel, (label, values) in zip(panels[1:], counts):
        panel.step(*_stairs(steps, values), where="post", linewidth=1.0)
        panel.set(ylabel=label, ylim=(0, 1.1 * max(values.max(), 1)))
        panel.yaxis.get_major_locator().set_params(integer=True)
    if ax is None and (first := logarithmic_from(steps.time)):
        panels[-1].set(xscale="log", xlim=(first, steps.time[-1] + steps.size[-1]))
    panels[-1].set_xlabel(TIME_LABEL)
    return figure


def _draw_sizes(ax: Any, steps: Steps, work: Any, method: str, events: list[float]) -> None:
    ax.semilogy(steps.time, steps.size, "o-", markersize=2.5, linewidth=0.8, label="step size")
    refused = steps.rejected > 0
    if np.any(refused):
        ax.semilogy(steps.time[refused], steps.size[refused], "x", markersize=6, label="after a rejected attempt")
    for k, event in enumerate(events):
        ax.axvline(event, color="0.6", linestyle=":", linewidth=0.8, label="event" if k == 0 else None)
    told = [f"{work.steps} steps", f"{work.rejected} rejected"]
    if work.newton:
        told.append(f"{work.newton} Newton iterations, {work.newton / max(1, work.steps + work.rejected):.1f} per step")
    ax.set(ylabel="step size [s]")
    ax.set_title(f"{method}: {', '.join(told)}")
    ax.grid(alpha=0.3, which="both")
    ax.legend()


def _stairs(steps: Steps, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times and values of stairs that reach to the end of the last step."""
    if not len(values):
        return steps.time, values
    last = steps.time[-1] + np.sign(steps.time[-1] - steps.time[0] or 1.0) * steps.size[-1]
    return np.append(steps.time, last), np.append(values, values[-1])
