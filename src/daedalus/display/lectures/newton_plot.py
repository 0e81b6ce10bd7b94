"""Draw the way of Newton's method: residuals over iterations and the share of each step that was taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.look import Axes, look, panel_of
from daedalus.studies.newton import NewtonHistory


@look()
def plot_newton(history: NewtonHistory, ax: Axes | None) -> Any:
    """Residuals in a logarithmic axis; shortened steps are marked."""
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
    ax.set_title(history.sentence, fontsize="medium")
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")
    return figure
