"""Pictures of a Runge–Kutta method in the complex plane: its stability region |R(z)| <= 1 and its order star.

The order star is where |R(z)| > |exp(z)|: near 0 it has p + 1 fingers, one more than the order, each bounded white or
dark sector ends in a zero or a pole of R (Wanner, Hairer & Nørsett 1978).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.look import draw_axes, panel_of
from daedalus.errors import InputError
from daedalus.integrators.tableaux.tableau import Tableau

POINTS = 401
REGION, STAR = "#9ecae1", "#d95f02"


def plot_stability(
    tableau: Tableau,
    ax: Any = None,
    order_star: bool = False,
    window: tuple[float, float, float, float] | None = None,
) -> Any:
    """Draw the stability region of a tableau; gives the matplotlib axes.

    Parameters
    ----------
    tableau: the method.
    ax: axes to draw into; a new figure without them.
    order_star: draw the order star over the region, with zeros (circles) and poles (crosses) of R.
    window: (left, right, bottom, top) in the complex plane; chosen from the region without it.

    Example
    -------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import daedalus as dd
    >>> from daedalus.display.lectures.stability_plot import plot_stability
    >>> plot_stability(dd.tableau("rk4")).get_title()
    'rk4: order 4, stable on [-2.785, 0] and ±2.828i'
    """
    ax, x, y = complex_plane(ax, _window(tableau, order_star) if window is None else checked_window(window), POINTS)
    z = x[None, :] + 1j * y[:, None]
    with np.errstate(divide="ignore"):
        growth = np.clip(np.log(np.abs(tableau.stability(z))), -50.0, 50.0)
    ax.contourf(x, y, growth, levels=[-51.0, 0.0], colors=[REGION])
    ax.contour(x, y, growth, levels=[0.0], colors=["#08519c"], linewidths=1.2)
    if order_star:
        _draw_star(tableau, ax, z, growth - z.real)
    ax.set_title(_title(tableau), fontsize="medium")
    return ax


def complex_plane(
    ax: Any, window: tuple[float, float, float, float], points: int
) -> tuple[Any, np.ndarray, np.ndarray]:
    """A panel that shows a window of the complex plane, and coordinates over it, (points,) each."""
    left, right, bottom, top = window
    _, ax = panel_of(ax, (5, 5))
    draw_axes(ax, color="0.6", linewidth=0.8, zorder=0.5)
    ax.set(xlabel="Re z", ylabel="Im z", xlim=(left, right), ylim=(bottom, top))
    ax.set_aspect("equal")
    return ax, np.linspace(left, right, points), np.linspace(bottom, top, points)


def _draw_star(tableau: Tableau, ax: Any, z: np.ndarray, excess: np.ndarray) -> None:
    from matplotlib.patches import Patch

    # Near 0 a high order leaves a difference below rounding: nothing is drawn there.
    known = np.ma.masked_where(np.abs(excess) < _rounding(tableau, z), excess)
    x, y = z[0].real, z[:, 0].imag
    ax.contourf(x, y, known, levels=[0.0, 1e3], colors=[STAR], alpha=0.4)
    ax.contour(x, y, known, levels=[0.0], colors=[STAR], linewidths=1.0)
    entries = [Patch(color=REGION, label="|R| ≤ 1"), Patch(color=STAR, alpha=0.4, label="|R| > |exp|")]
    for marks, style, label in zip(_roots(tableau), ("o", "x"), ("zeros", "poles")):
        if marks.size:
            entries += ax.plot(marks.real, marks.imag, style, color="black", markerfacecolor="white", label=label)
    ax.legend(handles=entries, loc="upper left", fontsize="small", framealpha=0.9)


def _rounding(tableau: Tableau, z: np.ndarray) -> np.ndarray:
    """A bound on the rounding error of log|R(z) exp(-z)|."""
    total = np.abs(z)
    for p in tableau.stability_coefficients:
        coefficients = np.array([float(a) for a in p])[::-1]
        with np.errstate(divide="ignore"):
            total = total + np.polyval(np.abs(coefficients), np.abs(z)) / np.abs(np.polyval(coefficients, z))
    return 2e-16 * len(coefficients) * total


def _title(tableau: Tableau) -> str:
    name = f"{tableau.name or 'tableau'}: order {tableau.order}"
    if tableau.is_l_stable:
        return f"{name}, L-stable"
    if tableau.is_a_stable:
        return f"{name}, A-stable"
    real, imaginary = tableau.real_stability_interval, tableau.imaginary_stability_interval
    return f"{name}, stable on [-{real:.4g}, 0]" + (f" and ±{imaginary:.4g}i" if imaginary else "")


def _roots(tableau: Tableau) -> tuple[np.ndarray, np.ndarray]:
    """Zeros and poles of R."""
    numerator, denominator = (np.array([float(a) for a in p]) for p in tableau.stability_coefficients)
    return np.roots(numerator[::-1]), np.roots(denominator[::-1])


def _window(tableau: Tableau, order_star: bool) -> tuple[float, float, float, float]:
    """Bounds that show the boundary of the region, found as the roots of P(z) - exp(iθ) Q(z)."""
    zeros, poles = _roots(tableau)
    if abs(tableau.stability(np.inf)) == 1 or (order_star and poles.size):
        # A boundary that runs to infinity has no size: zeros and poles set the scale.
        reach = 1.5 * max(2.0, np.max(np.abs(np.concatenate([zeros, poles]))))
        return -reach, reach, -reach, reach
    numerator, denominator = (np.array([float(a) for a in p]) for p in tableau.stability_coefficients)
    size = max(len(numerator), len(denominator))
    P, Q = (np.pad(p, (0, size - len(p))) for p in (numerator, denominator))
    boundary = np.concatenate([np.roots((P - np.exp(1j * a) * Q)[::-1]) for a in np.linspace(0.05, 6.25, 90)])
    if poles.size:
        # A method with poles is about the left half plane: some of it is shown.
        points = np.concatenate([boundary, poles, [-0.4 * np.ptp(boundary.real)]])
    else:
        # Specks around far zeros of R are left out.
        limit = 2.5 * max(tableau.real_stability_interval, tableau.imaginary_stability_interval, 1.0)
        points = np.concatenate([boundary[np.abs(boundary) <= limit], [0.0]])
    margin = 0.15 * max(np.ptp(points.real), np.ptp(points.imag))
    left, right = np.min(points.real) - margin, np.max(points.real) + margin
    height = max(np.max(np.abs(points.imag)) + margin, 0.35 * (right - left))
    missing = max(0.0, 1.4 * height - (right - left)) / 2
    return left - missing, right + missing, -height, height


def checked_window(window: Any) -> tuple[float, float, float, float]:
    """The corners of a window in the complex plane; others are refused."""
    try:
        left, right, bottom, top = (float(bound) for bound in window)
    except (TypeError, ValueError):
        left, right, bottom, top = 0.0, 0.0, 0.0, 0.0
    if left < right and bottom < top:
        return left, right, bottom, top
    raise InputError(
        "The window of the plot cannot be used.",
        f"window = {window!r}",
        because="it is (left, right, bottom, top) with left < right and bottom < top.",
        remedy="window=(-4, 2, -4, 4).",
    )
