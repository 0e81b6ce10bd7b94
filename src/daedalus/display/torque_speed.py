"""Torque–speed diagrams: motor and load over the speed, and the speeds at which a drive settles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.display.look import Axes, draw_axes, panel_of
from daedalus.display.operating_points import Curve, TorqueSpeedPoint, find_operating_points, read_curve
from daedalus.errors import InputError

if TYPE_CHECKING:
    import casadi as ca

GRID = 801
SLIVER = 0.08
DRIVES, BRAKES = "#1b9e77", "#d95f02"
# Where a quadrant lies (signs of speed and torque) and what the motor does there: it drives where P = Tω > 0.
QUADRANTS = {
    1: (1, 1, "1: drives forwards"),
    2: (-1, 1, "2: brakes backwards"),
    3: (-1, -1, "3: drives backwards"),
    4: (1, -1, "4: brakes forwards"),
}


@dataclass(frozen=True, eq=False)
class TorqueSpeed:
    """What `dd.torque_speed` returns: the matplotlib figure, and the operating points that it shows.

    Parameters
    ----------
    figure: the figure; `figure.savefig("drive.png")` writes it.
    points: all crossings in order of speed, each with .speed .torque .stable .slope_difference .power .quadrant.
    notes: where the curves are the same or grow without bound.

    Example
    -------
    >>> import daedalus as dd
    >>> dd.torque_speed(lambda w: 10 - w, lambda w: 0.09 * w**2, (0, 12)).points
    (speed 6.35978, torque 3.64022: stable (k = -2.14),)
    """

    figure: Any
    points: tuple[TorqueSpeedPoint, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        found = [f"  {point}" for point in self.points] or ["  the curves do not cross"]
        return "\n".join(["Torque–speed diagram", *found, *self.notes])


def torque_speed(
    motor: Callable[[Any], Any] | ca.SX | float,
    load: Callable[[Any], Any] | ca.SX | float,
    speeds: Sequence[float] | np.ndarray,
    quadrants: bool = False,
    ax: Axes | None = None,
) -> TorqueSpeed:
    """Draw the torques of motor and load over the speed and mark the operating points, filled where stable.

    The shaft obeys J ω' = T(ω) - T_L(ω). A crossing of the curves is stable if k = ∂T/∂ω - ∂T_L/∂ω < 0, that is, if the
    load curve is steeper. If k = 0, the signs of T - T_L on both sides decide.

    Parameters
    ----------
    motor, load: torque as a function of the speed (for arrays or single numbers), as an expression of one symbol, or
        as a number.
    speeds: the range (low, high), or the speeds to evaluate. Crossings closer together than 1/800 of the range can be
        missed.
    quadrants: shade the regions where the motor drives the load (P = T ω > 0) and where it brakes it.
    ax: axes to draw into; a new figure without them.

    A curve that jumps across the other one, such as dry friction at standstill, gives an operating point with an
    infinite slope difference.

    Raises an InputError for an empty range, and for a curve that cannot be evaluated or depends on more than the speed.

    Example
    -------
    An induction motor with Kloss' curve under a constant load: of the two crossings, that below the pull-out speed is
    unstable.

    >>> import daedalus as dd
    >>> def motor(w):
    ...     slip = 1 - w / 157.0
    ...     return 2 * 40.0 / (slip / 0.2 + 0.2 / slip)
    >>> dd.torque_speed(motor, 25.0, (0, 156))
    Torque–speed diagram
      speed 67.5414, torque 25: unstable (k = 0.218)
      speed 145.979, torque 25: stable (k = -1.77)
    """
    grid = _read_speeds(speeds)
    curves = read_curve(motor, "motor", grid), read_curve(load, "load", grid)
    _check_symbols(*curves)
    points, notes = find_operating_points(*curves, grid)
    figure, ax = panel_of(ax, (6.4, 4.4))
    for curve, label, colour in zip(curves, ("motor", "load"), ("#1f77b4", "#7f3b08")):
        values = curve.values(grid)
        ax.plot(grid, np.where(np.isfinite(values), values, np.nan), color=colour, linewidth=1.8, label=label)
    for stable, face, label in ((True, "black", "stable"), (False, "white", "unstable")):
        chosen = [(p.speed, p.torque) for p in points if p.stable is stable]
        if chosen:
            ax.plot(*zip(*chosen), "o", color="black", markerfacecolor=face, markersize=8, label=label, zorder=5)
    draw_axes(ax, color="0.6", linewidth=0.8, zorder=0.5)
    ax.set(xlabel="speed", ylabel="torque", xlim=(grid[0], grid[-1]))
    ax.grid(alpha=0.3)
    if quadrants:
        _shade_quadrants(ax)
    ax.legend(fontsize="small")
    return TorqueSpeed(figure, points, notes)


def _read_speeds(speeds: Any) -> np.ndarray:
    """A fine rising grid over the range, with the given speeds in it."""
    try:
        given = np.unique(np.asarray(speeds, dtype=float))
    except (TypeError, ValueError):
        given = np.zeros(0)
    if len(given) < 2 or not np.all(np.isfinite(given)):
        raise InputError(
            "The speeds cannot be used.",
            f"speeds = {speeds!r}",
            because="the curves are compared over this range, which needs at least two different speeds.",
            remedy="speeds=(0.0, 150.0), or np.linspace(0.0, 150.0, 301)",
        )
    return given if len(given) >= GRID else np.unique(np.concatenate([np.linspace(given[0], given[-1], GRID), given]))


def _check_symbols(motor: Curve, load: Curve) -> None:
    if motor.symbol is not None and load.symbol is not None and motor.symbol != load.symbol:
        raise InputError(
            "Motor and load are expressions of different symbols.",
            because="both curves are drawn over the same speed.",
            remedy="ca.substitute(load, load_speed, motor_speed)",
        )


def _shade_quadrants(ax: Axes) -> None:
    """Colour the visible parts of the four quadrants and say in each what the motor does."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    bottom, top = min(bottom, 0.0), max(top, 0.0)
    for across, up, text in QUADRANTS.values():
        x = (max(left, 0.0), right) if across > 0 else (left, min(right, 0.0))
        y = (0.0, top) if up > 0 else (bottom, 0.0)
        # The margin around the curves shows a sliver of quadrants that nothing is in.
        if x[1] - x[0] < SLIVER * (right - left) or y[1] - y[0] < SLIVER * (top - bottom):
            continue
        ax.fill_between(x, *y, color=DRIVES if across * up > 0 else BRAKES, alpha=0.10, linewidth=0, zorder=0.4)
        inner, outer = (x[0], "left") if across < 0 else (x[1], "right")
        place = (inner + (0.02 if across < 0 else -0.02) * (right - left), y[1] if up > 0 else y[0])
        ax.annotate(
            text, place, xytext=(0, -4 if up > 0 else 4), textcoords="offset points", fontsize="small", color="0.35",
            ha=outer, va="top" if up > 0 else "bottom",
        )  # fmt: skip
    ax.set_ylim(bottom, top)
