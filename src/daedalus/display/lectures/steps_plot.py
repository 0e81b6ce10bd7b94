"""Draw the steps of a run: their sizes over time, and where the run jumped."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.look import Axes, look, panel_of


@look()
def plot_steps(
    times: np.ndarray, sizes: np.ndarray, work: Any, method: str, events: list[float], ax: Axes | None
) -> Any:
    """Step sizes in a logarithmic axis; counts of rejections and of Newton's iterations in the title."""
    figure, ax = panel_of(ax, (6.4, 3.6))
    ax.semilogy(times, np.where(sizes > 0, sizes, np.nan), "o-", markersize=2.5, linewidth=0.8, label="step size")
    for k, event in enumerate(events):
        ax.axvline(event, color="0.6", linestyle=":", linewidth=0.8, label="event" if k == 0 else None)
    counts = [f"{work.steps} steps", f"{work.rejected} rejected"]
    if work.newton:
        counts.append(f"{work.newton} Newton iterations, {work.newton / max(1, work.steps + work.rejected):.1f} a step")
    ax.set(xlabel="time", ylabel="step size")
    ax.set_title(f"{method}: {', '.join(counts)}", fontsize="medium")
    ax.grid(alpha=0.3, which="both")
    ax.legend(fontsize="small")
    return figure
