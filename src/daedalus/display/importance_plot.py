"""Sobol' indices as bars: what each uncertain value explains alone, and what it has a part in."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.look import Axes, panel_of
from daedalus.ensembles.importance import Importance
from daedalus.errors import InputError


def plot_importance(imp: Importance, name: str | None, ax: Axes | None) -> Any:
    """The indices of one variable, the first one by default, at its last time; the largest at the top."""
    name = str(next(iter(imp.first.data_vars))) if name is None else name
    shares = imp[name].isel(time=-1)
    if shares.ndim != 2:
        raise InputError(f"{name} is not a scalar.", remedy=f'outputs=["{name}[0]"]')
    spread = imp.spread[name].isel(time=-1)
    figure, ax = panel_of(ax, (6.0, 0.6 + 0.45 * shares.sizes["name"]))
    order = np.argsort(np.nan_to_num(shares.sel(index="total").values))
    labels = [str(shares["name"].values[k]) for k in order]
    for offset, index, colour in ((0.2, "total", "C0"), (-0.2, "first", "C1")):
        widths, errors = (part.sel(index=index).values[order] for part in (shares, spread))
        ax.barh(np.arange(len(order)) + offset, widths, 0.38, xerr=2 * errors, color=colour, label=index)
    ax.set_yticks(range(len(order)), labels)
    ax.set(xlabel=f"share of the variance of {name}", xlim=(min(0.0, ax.get_xlim()[0]), None))
    ax.legend(loc="lower right")
    return figure
