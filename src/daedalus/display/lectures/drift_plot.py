"""Draw how far a run leaves the constraints of its model, over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.display.look import TIME_LABEL, Axes, legend, look, panel_of

# Constraints with a line of their own: those that are left most.
MOST_LINES = 8
# Violations below this are drawn on it: zero has no place on a logarithmic axis.
LEAST = 1e-18


@look()
def plot_drift(time: np.ndarray, series: Mapping[str, np.ndarray], title: str, ax: Axes | None) -> Any:
    """One line per constraint in a logarithmic axis, those with the largest violations."""
    given = ax
    figure, ax = panel_of(ax, (8.2, 4.2))
    ranked = sorted(series, key=lambda name: -float(np.nanmax(np.abs(series[name]), initial=0.0)))
    for name in ranked[:MOST_LINES]:
        ax.semilogy(time, np.maximum(np.abs(series[name]), LEAST), linewidth=1.1, label=name)
    if len(ranked) > MOST_LINES:
        ax.plot([], [], " ", label=f"and {len(ranked) - MOST_LINES} smaller ones")
    ax.set(xlabel=TIME_LABEL, ylabel="violation", title=title)
    ax.grid(alpha=0.3, which="both")
    legend(ax, beside=given is None)
    return figure
