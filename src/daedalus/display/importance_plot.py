"""Sobol' indices as bars: the share of the variance each value explains alone, and with all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.curves import MOST_PANELS
from daedalus.display.look import COLOURS, Axes, look, panel_of, tell_left_out
from daedalus.ensembles.importance import Importance
from daedalus.errors import InputError
from daedalus.model.names import split_index
from daedalus.simulation.result.labelled_samples import element_columns

# Rows of the indices of a variable, (2, names), and of their spread.
Indices = tuple[np.ndarray, np.ndarray]
FIRST, TOTAL = 0, 1
ALL, ALONE = "total: alone and together with others", "first order: alone"
# Columns of panels where a vector is drawn.
MOST_BESIDE = 2


def plot_importance(imp: Importance, name: str | None, ax: Axes | None) -> Any:
    """The indices of one variable, the first one by default, at its last time; one panel per element of a vector."""
    elements = _elements(imp, str(next(iter(imp.first.data_vars))) if name is None else name)
    end = float(imp.first["time"].values[-1])
    count = len(imp.first["name"])
    with look():
        if ax is not None:
            if len(elements) > 1:
                first = next(iter(elements))
                raise InputError(f"{name} has {len(elements)} elements, and ax= is one panel.", remedy=f'"{first}"')
            _draw(ax, imp, *next(iter(elements.items())))
            ax.set_title(f"Importance for {next(iter(elements))} at t = {end:g} s (lines: ± 2 standard errors)")
            ax.legend(fontsize="small")
            return ax.figure
        places = np.linspace(0, len(elements) - 1, min(MOST_PANELS, len(elements))).round().astype(int)
        shown = [list(elements)[k] for k in dict.fromkeys(places.tolist())]
        beside = min(MOST_BESIDE, len(shown))
        below = -(-len(shown) // beside)
        size = (4.0 + 3.5 * beside, 1.2 + below * (0.8 + 0.5 * count))
        figure, grid = panel_of(None, size, nrows=below, ncols=beside, squeeze=False)
        panels = grid.ravel()
        for panel, label in zip(panels, shown):
            _draw(panel, imp, label, elements[label])
        for panel in panels[len(shown) :]:
            panel.remove()
        what = f" for {shown[0]}" if len(shown) == 1 else ""
        figure.suptitle(f"Importance{what} at t = {end:g} s (lines: ± 2 standard errors)", fontsize="medium")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        tell_left_out(figure, [label for label in elements if label not in shown], "imp.plot(...)", "imp.first")
    return figure


def _elements(imp: Importance, name: str) -> dict[str, Indices]:
    """The indices of the elements of a variable at its last time, or of the element that is asked for."""
    stem, index = split_index(name)
    whole = name if index is None or name in imp.first or stem not in imp.first else stem
    parts = []
    for part in (imp[whole], imp.spread[whole]):
        values = part.isel(time=-1).values
        columns = element_columns(whole, values.reshape(-1, *values.shape[2:]))
        parts.append({label: column.reshape(values.shape[:2]) for label, column in columns.items()})
    found = {label: (shares, parts[1][label]) for label, shares in parts[0].items()}
    if whole == name:
        return found
    if name not in found:
        raise InputError(f"{whole} has no element {name}.", f"its elements are {', '.join(found)}", remedy=min(found))
    return {name: found[name]}


def _draw(ax: Axes, imp: Importance, label: str, indices: Indices) -> None:
    """Two bars for every value, the largest at the top."""
    shares, spread = indices
    order = np.argsort(np.nan_to_num(shares[TOTAL]))
    for offset, row, text, colour in ((0.2, TOTAL, ALL, COLOURS[0]), (-0.2, FIRST, ALONE, COLOURS[1])):
        ax.barh(np.arange(len(order)) + offset, shares[row][order], 0.38, xerr=2 * spread[row][order], color=colour,
                label=text, error_kw={"elinewidth": 1.0, "capsize": 2.0})  # fmt: skip
    ax.set_yticks(range(len(order)), [str(imp.first["name"].values[k]) for k in order])
    ax.set(xlabel=f"share of the variance of {label}", xlim=(min(0.0, ax.get_xlim()[0]), None))
    ax.grid(visible=False, axis="y")
