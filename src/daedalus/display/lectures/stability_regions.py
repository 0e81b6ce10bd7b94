"""Draw the stability regions of several methods in one picture, with a legend."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from daedalus.display.look import COLOURS, Axes, look, panel_of
from daedalus.errors import InputError
from daedalus.integrators.multistep.multistep import Multistep
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.integrators.tableaux.tableau import Tableau

POINTS = 401


@look()
def plot_stability_regions(
    methods: Iterable[str | Tableau | Multistep],
    ax: Axes | None = None,
    window: tuple[float, float, float, float] = (-6.0, 4.0, -5.0, 5.0),
    order_star: bool = False,
) -> Any:
    """Draw the stability regions |R(z)| ≤ 1 of several methods in one figure; returns the figure.

    Parameters
    ----------
    methods: names of tableaux, `dd.Tableau` objects, or multistep methods such as `dd.bdf(3)`.
    window: the range shown: smallest and largest real part, smallest and largest imaginary part.
    order_star: draw |R(z)| = |exp(z)| instead; its sectors at zero count the order.

    Example
    -------
    >>> import daedalus as dd
    >>> figure = dd.plot_stability_regions(["euler", "rk4", "implicit_euler"])
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['euler', 'rk4', 'implicit_euler']
    """
    chosen = [tableau(m) if isinstance(m, str) else m for m in methods]
    if not chosen:
        raise InputError("No method to draw.", remedy='["euler", "rk4"]')
    left, right, bottom, top = window
    figure, ax = panel_of(ax, (5.6, 5.4))
    x, y = np.meshgrid(np.linspace(left, right, POINTS), np.linspace(bottom, top, POINTS))
    z = x + 1j * y
    handles = []
    for k, method in enumerate(chosen):
        with np.errstate(all="ignore"):
            size = np.abs(np.asarray(method.stability(z)))
            size = size / np.abs(np.exp(z)) if order_star else size
        colour = COLOURS[k % len(COLOURS)]
        ax.contour(x, y, np.nan_to_num(size, nan=1e9, posinf=1e9), levels=[1.0], colors=[colour], linewidths=1.6)
        ax.contourf(x, y, np.nan_to_num(size, nan=1e9, posinf=1e9), levels=[0.0, 1.0], colors=[colour], alpha=0.10)
        (handle,) = ax.plot([], [], color=colour, label=method.name or type(method).__name__)
        handles.append(handle)
    ax.axhline(0.0, color="0.5", linewidth=0.6)
    ax.axvline(0.0, color="0.5", linewidth=0.6)
    ax.set(xlabel="Re z", ylabel="Im z", xlim=(left, right), ylim=(bottom, top), aspect="equal")
    ax.set_title("Order stars" if order_star else "Stability regions", fontsize="medium")
    ax.legend(handles=handles, fontsize="small", loc="upper right")
    return figure
