"""Phase portraits: how two states move each other, where they rest, and whether they stay there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.display.look import Axes, labelled, panel_of
from daedalus.display.planar_equilibria import PlanarEquilibrium, find_equilibria
from daedalus.display.planar_field import PlanarField, planar_field
from daedalus.errors import InputError
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.model.values import unit_of

Box = Mapping[str, tuple[float, float]] | Sequence[Any]

# Arrows or streamlines need few points, nullclines many.
FIELD_POINTS, NULLCLINE_POINTS, PATH_POINTS = 25, 201, 800
# A path is drawn for the time that the usual speed needs to cross the box this often.
CROSSINGS = 10.0
# Strides of an even spread of points in the unit square: 1/g and 1/g² with g³ = g + 1 (Roberts 2018).
STRIDES = np.array([0.7548776662466927, 0.5698402909980532])
FIELD, PATH, NULLCLINES = "0.72", "#1f77b4", ("#d95f02", "#1b9e77")
MARKS = {"node": "o", "focus": "D", "centre": "h", "saddle": "X", "degenerate": "s"}


@dataclass(frozen=True, eq=False)
class PhasePortrait:
    """What `dd.phase_portrait` returns: the matplotlib figure, and the equilibria that it shows.

    Parameters
    ----------
    figure: the figure; `figure.savefig("portrait.png")` writes it.
    equilibria: isolated points at rest from left to right, each with .values .point .kind .stable .eigenvalues
        .jacobian.
    curve: points (k, 2) where equilibria are not isolated but fill a curve.
    names: the two states.
    notes: what was held, and what the picture does not show.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); y = m.state("y", start=1.0)
    >>> m.equation(m.der(x), -x); m.equation(m.der(y), x - 2 * y)
    >>> [e.kind for e in dd.phase_portrait(m, "x", "y", (-1, 1, -1, 1)).equilibria]
    ['stable node']
    """

    figure: Any
    equilibria: tuple[PlanarEquilibrium, ...]
    curve: np.ndarray
    names: tuple[str, str]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        found = [f"  {e}" for e in self.equilibria] or ["  no isolated equilibrium in the box"]
        return "\n".join([f"Phase portrait in {self.names[0]} and {self.names[1]}", *found, *self.notes])


def phase_portrait(
    model: Model | System,
    x: str,
    y: str,
    box: Box,
    start: Mapping[str, object] | None = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    time: float = 0.0,
    field: str | None = "streamlines",
    nullclines: bool = False,
    trajectories: int | Sequence[Sequence[float]] = 6,
    duration: float | None = None,
    ax: Axes | None = None,
) -> PhasePortrait:
    """Draw the phase portrait of two states over a box. Stable equilibria are filled, unstable ones hollow.

    Equilibria come from Newton's method on a grid of starts. Their kind follows from the eigenvalues of the Jacobian:
    node, focus, saddle. For a pair ±iω, the first Lyapunov coefficient distinguishes a centre from a weak focus.

    Parameters
    ----------
    model: any model with an explicit form. If it has more than two states, the others keep their start values.
    x, y: the two states, such as "angle" and "angle_dot", or "q[0]" and "q[1]".
    box: {x: (low, high), y: (low, high)}, ((low, high), (low, high)) or (left, right, bottom, top).
    start, inputs, parameters: as in `dd.simulate`; start matters for the states that are not drawn.
    time: the time shown, if the model or its inputs depend on time.
    field: "streamlines", "arrows" (all of the same length), or None.
    nullclines: draw where x' = 0 and where y' = 0.
    trajectories: how many to draw from starts spread over the box, or the starts themselves, [(x, y), ...].
    duration: the duration of each; by default about ten widths of the box at the typical speed.
    ax: axes to draw into; a new figure without them.

    Raises an InputError for a name that is not a scalar state, an empty box, or a field that is nowhere finite; a
    SolverError for a model without an explicit form.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("pendulum")
    >>> angle = m.state("angle", start=1.0, rate=0.0)
    >>> m.equation(m.der(m.der(angle)), -np.sin(angle) - 0.2 * m.der(angle))
    >>> dd.phase_portrait(m, "angle", "angle_dot", {"angle": (-1, 4), "angle_dot": (-2, 2)}, nullclines=True)
    Phase portrait in angle and angle_dot
      angle = 0, angle_dot = 0: stable focus (eigenvalues -0.1 ± 0.995i)
      angle = 3.14159, angle_dot = 0: saddle, unstable (eigenvalues 0.905 and -1.105)
    """
    bounds = _read_box(box, (x, y))
    if field not in ("streamlines", "arrows", None):
        raise InputError(
            f"field={field!r} is not valid.",
            because="the field is drawn as streamlines, as arrows, or not at all.",
            remedy='field="streamlines", "arrows" or None',
        )
    plane = planar_field(model, (x, y), bounds, start, inputs, parameters, _number(time, "time"))
    usual = _usual_rate(plane)
    starts = _read_starts(trajectories, plane)
    length = 2.0 * CROSSINGS / usual if duration is None else _number(duration, "duration", positive=True)
    equilibria, curve = find_equilibria(plane)
    figure, ax = panel_of(ax, (6.8, 5.2))
    _draw_field(ax, plane, field)
    if nullclines:
        _draw_nullclines(ax, plane)
    _draw_paths(ax, plane, starts, length)
    _draw_equilibria(ax, equilibria, curve)
    _finish(ax, plane, bounds)
    more = ("the equilibria fill a curve, drawn dotted",) if len(curve) else ()
    return PhasePortrait(figure, equilibria, curve, (x, y), (*plane.notes, *more))


# -- reading the arguments -------------------------------------------------------------------------------------


def _read_box(box: Any, names: tuple[str, str]) -> np.ndarray:
    """((left, right), (bottom, top)) as an array (2, 2)."""
    try:
        ranges = [box[name] for name in names] if isinstance(box, Mapping) else box
        bounds = np.asarray(ranges, dtype=float).reshape(2, 2)
    except (KeyError, TypeError, ValueError):
        bounds = np.full((2, 2), np.nan)
    # Newton's method and the paths leave the box by up to twice its size, which must still be a number.
    if not np.all(np.abs(bounds) < 1e300) or np.any(bounds[:, 0] >= bounds[:, 1]):
        raise InputError(
            "The box of the phase portrait cannot be used.",
            f"box = {box!r}",
            because="it gives a lower and a higher bound for each of the two states.",
            remedy=f'box={{"{names[0]}": (-1, 1), "{names[1]}": (-1, 1)}}, or (-1, 1, -1, 1)',
        )
    return bounds


def _number(value: Any, name: str, positive: bool = False) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or (positive and number <= 0):
        raise InputError(
            f"{name}= cannot be used.",
            f"got {value!r}",
            because=f"it is a {'positive ' if positive else ''}number in the model's time.",
            remedy=f"{name}=1.0",
        )
    return number


def _read_starts(trajectories: Any, plane: PlanarField) -> np.ndarray:
    """Starts of the drawn paths, (k, 2): as given, or spread evenly over the box."""
    if isinstance(trajectories, (int, np.integer)) and not isinstance(trajectories, bool) and trajectories >= 0:
        spread = (0.5 + np.arange(1, trajectories + 1)[:, None] * STRIDES) % 1.0
        return plane.centre + (2 * spread - 1) * 0.9 * plane.reach
    try:
        starts = np.asarray(trajectories, dtype=float).reshape(-1, 2)
    except (TypeError, ValueError):
        starts = np.full((1, 2), np.nan)
    if isinstance(trajectories, bool) or not np.all(np.abs(starts - plane.centre) <= 2 * plane.reach):
        raise InputError(
            "The trajectories of the phase portrait cannot be used.",
            f"trajectories = {trajectories!r}",
            because="it is a number of them, or their starts (x, y) in the box.",
            remedy=f"trajectories=6, or [({plane.centre[0]:g}, {plane.centre[1]:g})]",
        )
    return starts


def _usual_rate(plane: PlanarField) -> float:
    """The median speed over the box, in half boxes per time."""
    points = np.stack(np.meshgrid(*plane.grid(FIELD_POINTS)), axis=-1).reshape(-1, 2)
    speed = np.linalg.norm(plane(points) / plane.reach, axis=1)
    speed = speed[np.isfinite(speed)]
    if not len(speed):
        raise InputError(
            "The field is nowhere finite in the box.",
            f"{plane.names[0]} and {plane.names[1]} of the model {plane.system.name!r}",
            because="a division by zero, or a root or logarithm of a negative number, is everywhere in it.",
            remedy="another box, or other start values for the states that are held",
        )
    return float(np.median(speed)) or float(np.max(speed)) or 1.0


# -- drawing ---------------------------------------------------------------------------------------------------


def _values_on_grid(plane: PlanarField, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates (count,) and the field (2, count, count), masked where it is not finite."""
    x, y = plane.grid(count)
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = plane(points).reshape(count, count, 2)
    return x, y, np.ma.masked_invalid(values.transpose(2, 0, 1))


def _draw_field(ax: Axes, plane: PlanarField, field: str | None) -> None:
    if field is None:
        return
    x, y, values = _values_on_grid(plane, FIELD_POINTS)
    if field == "streamlines":
        ax.streamplot(x, y, values[0], values[1], color=FIELD, linewidth=0.8, arrowsize=0.8, density=1.1, zorder=1)
        return
    # All arrows have the same length on the page: the directions count, not the speeds.
    scaled = values / plane.reach[:, None, None]
    length = np.ma.masked_equal(np.ma.sqrt((scaled**2).sum(axis=0)), 0.0)
    direction = scaled / length * plane.reach[:, None, None]
    ax.quiver(x, y, direction[0], direction[1], angles="xy", pivot="middle", color=FIELD, width=0.002, zorder=1)


def _draw_nullclines(ax: Axes, plane: PlanarField) -> None:
    x, y, values = _values_on_grid(plane, NULLCLINE_POINTS)
    for component, name, colour in zip(values, plane.names, NULLCLINES):
        if component.min() < 0 < component.max():
            ax.contour(x, y, component, levels=[0.0], colors=[colour], linewidths=1.2, linestyles="--", zorder=2)
        ax.plot([], [], "--", color=colour, linewidth=1.2, label=f"{name}' = 0")


def _draw_paths(ax: Axes, plane: PlanarField, starts: np.ndarray, duration: float) -> None:
    label = "trajectories"
    for start in starts:
        path = plane.path(start, duration, PATH_POINTS)
        if len(path) < 2:
            continue
        ax.plot(*path.T, color=PATH, linewidth=1.2, label=label, zorder=3)
        ax.plot(*start, ".", color=PATH, markersize=5, label="_start", zorder=3)
        label = "_path"


def _draw_equilibria(ax: Axes, equilibria: Sequence[PlanarEquilibrium], curve: np.ndarray) -> None:
    if len(curve):
        ax.plot(*curve.T, ".", color="black", markersize=3, label="equilibria, not isolated", zorder=4)
    drawn = set()
    for e in equilibria:
        mark = next(shape for word, shape in MARKS.items() if word in e.kind)
        face = {True: "black", False: "white", None: "0.6"}[e.stable]
        label = e.kind if e.kind not in drawn else "_equilibrium"
        drawn.add(e.kind)
        ax.plot(*e.point, mark, color="black", markerfacecolor=face, markersize=8, clip_on=False, label=label, zorder=5)


def _finish(ax: Axes, plane: PlanarField, bounds: np.ndarray) -> None:
    labels = [labelled(name, unit_of(plane.system, name)) for name in plane.names]
    ax.set(xlim=bounds[0], ylim=bounds[1], xlabel=labels[0], ylabel=labels[1])
    ax.set_title("; ".join([plane.system.name, *plane.notes]), fontsize="medium", wrap=True)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize="small", frameon=False)
