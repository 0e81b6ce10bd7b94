"""Draw where something goes: a path in the plane or in space, and one quantity over another."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.look import COLOURS, Axes, draw_axes, labelled, legend, look, panel_of
from daedalus.display.trajectory_plot import fine_samples
from daedalus.errors import InputError
from daedalus.model.names import counted
from daedalus.model.values import unit_of
from daedalus.simulation.result.trajectory import Trajectory


def plot_path(tr: Trajectory, name: str, ax: Axes | None) -> Any:
    """A position of two or three components as a path with equal scales; round mark: start, square: end."""
    samples = fine_samples(tr)
    values = np.asarray(samples[name])
    size = values.shape[1] if values.ndim == 2 else 1
    if size not in (2, 3):
        raise InputError(
            f"{name} is not a path.",
            f"it has {size} component{'s' if size > 1 else ''}",
            because="a path has two or three.",
            remedy=f"tr.plot({name!r})",
        )
    unit = unit_of(tr.system, name)
    with look():
        figure, panel = panel_of(ax, (6.4, 5.6), subplot_kw={"projection": "3d"} if size == 3 else {})
        _check_panel(panel, name, size)
        if ax is None:
            figure.suptitle(f"{tr.system.name}: {name}")
        (line,) = panel.plot(*values.T, label=name)
        for place, marker in ((values[0], "o"), (values[-1], "s")):
            panel.plot(*([c] for c in place), marker, color=line.get_color(), markersize=5)
        for event in tr.events[:200]:
            panel.plot(*([c] for c in np.asarray(event.after[name])), "|", color="0.4", markersize=8)
        letters = "xyz"[:size]
        panel.set(**{f"{letter}label": labelled(f"{name}[{k}]", unit) for k, letter in enumerate(letters)})
        if size == 3:
            panel.zaxis.labelpad = 8
        panel.set_aspect("equal", adjustable="datalim") if size == 2 else _equal_scales(panel, values)
    return figure


def _check_panel(panel: Any, name: str, size: int) -> None:
    if (size == 3) != hasattr(panel, "get_zlim"):
        raise InputError(
            f"The panel does not fit {name}.",
            f"{name} has {size} components",
            because="a path in space needs axes in space.",
            remedy='plt.subplots(subplot_kw={"projection": "3d"})' if size == 3 else "plt.subplots()",
        )


def _equal_scales(panel: Any, values: np.ndarray) -> None:
    low, high = values.min(axis=0), values.max(axis=0)
    half = max(float(np.max(high - low)), 1e-12) * 0.55
    middle = (low + high) / 2
    panel.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half),
              zlim=(middle[2] - half, middle[2] + half))  # fmt: skip
    panel.set_box_aspect((1, 1, 1))


def plot_phase(tr: Trajectory, names: list[str], ax: Axes | None, points: bool) -> Any:
    """Two or three scalars over each other along the run, as a line or as the points of its rows."""
    samples = tr if points else fine_samples(tr)
    columns = []
    for name in names:
        values = np.asarray(samples[name])
        if values.ndim != 1:
            raise InputError(f"{name} is not a scalar.", f"its shape is {values.shape[1:]}", remedy=f'"{name}[0]"')
        columns.append(values.astype(float))
    in_space = len(names) == 3
    with look():
        figure, panel = panel_of(ax, (7.6, 5), **({"subplot_kw": {"projection": "3d"}} if in_space else {}))
        if points:
            panel.plot(*columns, ".", markersize=3, label=tr.system.name)
        else:
            # A gap at every event, where values may jump.
            breaks = np.searchsorted(samples.time, [t for _, t, *_ in tr.outcome.events])
            width = {"linewidth": 0.8} if in_space else {}
            (line,) = panel.plot(*(np.insert(c, breaks, np.nan) for c in columns), label=tr.system.name, **width)
            ends = {"color": line.get_color(), "linestyle": "none", "markersize": 5}
            panel.plot(*(c[:1] for c in columns), marker="o", **ends, label=f"start, t = {samples.time[0]:.4g} s")
            panel.plot(*(c[-1:] for c in columns), marker="s", **ends, label=f"end, t = {samples.time[-1]:.4g} s")
            legend(panel, beside=ax is None and not in_space)
        for name, set_label in zip(names, (panel.set_xlabel, panel.set_ylabel, getattr(panel, "set_zlabel", None))):
            if set_label is not None:
                set_label(labelled(name, unit_of(tr.system, name)))
        if ax is None:
            panel.set_title(tr.system.name)
    return figure


def plot_poles(system: Any, ax: Axes | None) -> Any:
    """Poles (crosses) and, where they are known, zeros (circles) of a linear system in the complex plane."""
    poles = np.asarray(system.poles())
    zeros = np.asarray(system.zeros()) if hasattr(system, "zeros") and len(system.inputs) else np.zeros(0)
    with look():
        figure, panel = panel_of(ax, (5.6, 5))
        draw_axes(panel, color="0.5", linewidth=0.9)
        panel.plot(poles.real, poles.imag, "x", color=COLOURS[0], markersize=8, markeredgewidth=1.8, label="poles")
        if len(zeros):
            panel.plot(zeros.real, zeros.imag, "o", color=COLOURS[1], markersize=7, fillstyle="none", label="zeros")
        unstable = int(np.sum(poles.real > 1e-9 * max(1.0, np.abs(poles).max(initial=0.0))))
        count = counted(len(poles), "pole")
        panel.set_title(f"{f'{unstable} of' if unstable else 'none of'} {count} in the right half-plane")
        panel.set(xlabel="real part [1/s]", ylabel="imaginary part [rad/s]")
        panel.legend(fontsize="small")
        panel.margins(0.15)
    return figure
