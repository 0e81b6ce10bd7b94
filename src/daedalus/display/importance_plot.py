"""Sobol' indices as bars: the share of the variance each value explains alone, and with all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.look import COLOURS, Axes, look, panel_of
from daedalus.ensembles.importance import Importance
from daedalus.errors import InputError

LABELS = {"total": "total: alone and together with others", "first": "first order: alone"}


def plot_importance(imp: Importance, name: str | None, ax: Axes | None) -> Any:
    """The indices of one variable, the first one by default, at its last time; the largest at the top."""
    name = str(next(iter(imp.first.data_vars))) if name is None else name
    shares = imp[name].isel(time=-1)
    if shares.ndim != 2:
        raise InputError(f"{name} is not a scalar.", remedy=f'outputs=["{name}[0]"]')
    spread = imp.spread[name].isel(time=-1)
    end = float(imp.first["time"].values[-1])
    own = ax is None
    with look():
        figure, ax = panel_of(ax, (7.5, 2.0 + 0.5 * shares.sizes["name"]))
        order = np.argsort(np.nan_to_num(shares.sel(index="total").values))
        labels = [str(shares["name"].values[k]) for k in order]
        for offset, index, colour in ((0.2, "total", COLOURS[0]), (-0.2, "first", COLOURS[1])):
            widths, errors = (part.sel(index=index).values[order] for part in (shares, spread))
            ax.barh(np.arange(len(order)) + offset, widths, 0.38, xerr=2 * errors, color=colour, label=LABELS[index],
                    error_kw={"elinewidth": 1.0, "capsize": 2.0})  # fmt: skip
        ax.set_yticks(range(len(order)), labels)
        ax.set(xlabel=f"share of the variance of {name}", xlim=(min(0.0, ax.get_xlim()[0]), None))
        ax.set_title(f"Importance for {name} at t = {end:g} s (lines: ± 2 standard errors)")
        ax.grid(visible=False, axis="y")
        if own:
            figure.legend(loc="outside lower center", ncols=2, frameon=False)
        else:
            ax.legend(fontsize="small")
    return figure
