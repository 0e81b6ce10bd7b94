"""The stability region of a linear multistep method in the complex plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.lectures.stability_plot import REGION, checked_window, complex_plane
from daedalus.integrators.multistep.multistep import Multistep

# Each point costs the eigenvalues of a small matrix.
POINTS = 121
# Of a boundary that runs to infinity this much is shown.
WIDEST = 40.0


def plot_multistep(method: Multistep, ax: Any = None, window: Any = None) -> Any:
    """Draw where all roots of ρ(ζ) - z σ(ζ) stay in the unit disc, with the root locus; gives the matplotlib axes.

    Parameters
    ----------
    method: what to draw.
    ax: axes to draw into; a new figure without them.
    window: (left, right, bottom, top) in the complex plane; chosen from the region without it.

    Example
    -------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import daedalus as dd
    >>> plot_multistep(dd.adams_bashforth(2)).get_xlabel()
    'Re z'
    """
    ax, x, y = complex_plane(ax, _window(method) if window is None else checked_window(window), POINTS)
    growth = method.stability(x[None, :] + 1j * y[:, None])
    ax.contourf(x, y, np.minimum(growth, 10.0), levels=[-1.0, 1.0 + 1e-9], colors=[REGION])
    rim = method.boundary()
    ax.plot(rim.real, rim.imag, color="#08519c", linewidth=1.2)
    ax.set_title(_title(method), fontsize="medium")
    return ax


def _title(method: Multistep) -> str:
    name = f"{method.name or 'multistep'}: order {method.order}"
    if not method.is_zero_stable:
        return f"{name}, not zero-stable"
    if method.is_a_stable:
        return f"{name}, A-stable"
    angle = method.stability_angle
    return f"{name}, A({angle:.2f}°)-stable" if angle else name


def _window(method: Multistep) -> tuple[float, float, float, float]:
    rim = method.boundary()
    rim = rim[np.isfinite(rim) & (np.abs(rim) < WIDEST)]
    left, right = min(float(rim.real.min()), -1.0), max(float(rim.real.max()), 0.5)
    height = max(float(np.abs(rim.imag).max()), 0.5)
    margin = 0.15 * max(right - left, height)
    return left - margin, right + margin, -height - margin, height + margin
