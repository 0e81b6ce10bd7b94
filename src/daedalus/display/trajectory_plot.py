"""Draw a trajectory over time: at most six panels by unit, events as thin lines, the drift of constraints on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.display.curves import MOST_PANELS, MOST_VALUES, CurvePanel, chosen_panels, named_panels
from daedalus.display.look import (
    TIME_LABEL,
    Axes,
    labelled,
    legend,
    logarithmic_from,
    look,
    mark_events,
    panel_column,
    readable_limits,
    tell_left_out,
)
from daedalus.errors import InputError
from daedalus.model.names import read_names
from daedalus.simulation.result.trajectory import Trajectory

# Points per piece of dense output, so that curves are smooth between long steps.
POINTS_PER_STEP = 12
MOST_POINTS = 20_000
# Constraints that drift by more than this are marked.
LARGE_DRIFT = 1e-6
# Bands of modes, which are a quarter as high as a panel.
MOST_BANDS = 4
# Characters beside an axis.
LONGEST_LABEL = 12


def plot_trajectory(tr: Trajectory, names: str | Sequence[str] | None, ax: Axes | None) -> Any:
    """Draw variables over time and return the figure; with `ax` everything goes into that panel."""
    samples = fine_samples(tr)
    left_out: list[str] = []
    if names is None:
        bands = [v.name for v in tr.system.of_kind("discrete") if v.name in tr and is_mode(tr, v.name)]
        modes = [name for name in bands if np.ptp(np.asarray(tr[name])) > 0][:MOST_BANDS]
        panels, left_out = chosen_panels(samples, bands, MOST_PANELS - (len(modes) + 1) // 2)
        left_out += [name for name in bands if name not in modes]
        # Elements and derivatives are drawn where they were asked for.
        further = [name for name in tr.saved or () if name not in tr.system.places or name.endswith("dot")]
        panels += named_panels(samples, [name for name in further if name not in tr.system.outputs])
        if not panels and not modes:
            raise InputError("There is nothing to plot.", remedy="a run that keeps some variables")
    else:
        wanted = read_names(names, "names")
        if not wanted:
            raise InputError("There is nothing to plot.", remedy='tr.plot(["x"]), or tr.plot() for all')
        modes = [] if ax is not None else [name for name in wanted if is_mode(tr, name)]
        panels = named_panels(samples, [name for name in wanted if name not in modes])
    if ax is not None:
        panels, modes = [CurvePanel("", [curve for panel in panels for curve in panel.curves])], []
    with look():
        heights = [_height(panel) for panel in panels] + [0.4] * len(modes)
        ratios = {"height_ratios": heights}
        figure, axes = panel_column(ax, len(heights), 1.2 + sum(heights), gridspec_kw=ratios)
        if ax is None:
            figure.suptitle(tr.system.name if tr.success else f"{tr.system.name}: {tr.stop_reason}", wrap=True)
            _tell_drift(axes[0], tr)
            tell_left_out(figure, left_out, "tr.plot([...])", "tr.keys()")
        for panel, group in zip(axes, panels):
            _draw(panel, tr, samples, group)
            legend(panel, beside=ax is None)
        for panel, name in zip(axes[len(panels) :], modes):
            draw_bands(panel, tr, name)
        if ax is None and not modes and (first := logarithmic_from(tr.time)):
            axes[-1].set(xscale="log", xlim=(first, tr.time[-1]))
        axes[-1].set_xlabel(TIME_LABEL)
    return figure


def _height(panel: CurvePanel) -> float:
    """Inches of a panel: enough for its legend; constants need less."""
    least = 1.1 if all(curve.flat is not None for curve in panel.curves) else 1.9
    return min(max(least, 0.4 + 0.19 * len(panel.curves)), 4.5)


def _tell_drift(panel: Axes, tr: Trajectory) -> None:
    """How well the constraints are kept, above the first panel; in colour where they are not."""
    if tr.saved is not None or not (drift := tr.drift()):
        return
    name, worst = max(drift.items(), key=lambda entry: entry[1])
    large = not worst <= LARGE_DRIFT
    panel.set_title(
        "constraints kept exactly" if worst == 0 else f"constraints kept within {worst:.1e}" + f" ({name})" * large,
        loc="right", fontsize="small", color="#d55e00" if large else "0.45",
    )  # fmt: skip


def fine_samples(tr: Trajectory) -> Any:
    """The dense output on a grid fine enough to look smooth, broken at events."""
    starts, ends = tr.dense_spans
    if len(starts) == 0:
        return tr
    each = max(2, min(POINTS_PER_STEP, MOST_POINTS // len(starts)))
    fractions = np.linspace(0.0, 1.0, each, endpoint=False)
    grid = (starts[:, None] + fractions * (ends - starts)[:, None]).ravel()
    # The last moment before each event, so that jumps are drawn upright.
    times = np.array([t for _, t, *_ in tr.outcome.events])
    before = times - 1e-9 * abs(ends[-1] - starts[0])
    changes = _changes(tr)
    grid = np.unique(np.concatenate([grid, before[before > starts[0]], changes, ends[-1:]]))
    return tr.at(grid if ends[-1] >= starts[0] else grid[::-1])


def _changes(tr: Trajectory) -> np.ndarray:
    """When discrete variables change, within the run."""
    held = tr.run_data.held_values
    if held is None or len(held.times) > MOST_POINTS:
        return np.zeros(0)
    low, high = sorted((float(tr.time[0]), float(tr.time[-1])))
    return np.clip(held.times, low, high)


def _draw(panel: Axes, tr: Trajectory, samples: Any, group: CurvePanel) -> None:
    discrete = {v.name for v in tr.system.of_kind("discrete")}
    forward = len(samples.time) < 2 or samples.time[-1] >= samples.time[0]
    step = "steps-post" if forward else "steps-pre"
    for curve in group.curves:
        drawn = step if curve.name in discrete else "default"
        values = curve.values if curve.flat is None else np.full(len(samples.time), curve.flat)
        panel.plot(samples.time, values, label=curve.legend, drawstyle=drawn)
    count = len(panel.lines)
    mark_events(panel, [t for _, t, *_ in tr.outcome.events])
    units = sorted({curve.unit for curve in group.curves} - {""})
    alone = group.names[0] if len(group.names) == 1 else ""
    # A long name would run into the next panel; the legend has it.
    alone = "" if len(alone) > LONGEST_LABEL and units else alone
    panel.set_ylabel(labelled(alone, ", ".join(units)).strip()[: 2 * LONGEST_LABEL])
    panel.ticklabel_format(axis="y", useOffset=False)
    # A run that ends in a blow-up keeps a readable scale.
    if not tr.success and count:
        even = np.linspace(samples.time[0], samples.time[-1], 400)
        limits = readable_limits(np.concatenate([_interpolated(even, line) for line in panel.lines[:count]]))
        if limits is not None:
            panel.set_ylim(*limits)


def _interpolated(times: np.ndarray, line: Any) -> np.ndarray:
    """A curve at equally spaced times: steps crowd where a run blows up."""
    x, y = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
    order = np.argsort(x, kind="stable")
    return np.interp(np.sort(times), x[order], y[order])


# Modes over time as bands: a discrete variable that only takes a few whole numbers is shown by what it is when.

# With more changes, steps are easier to read.
MOST_CHANGES = 200
# A value is written into its band where that is longer than this share of the run.
ROOM = 0.03


def is_mode(tr: Trajectory, name: str) -> bool:
    """Whether a name is a scalar discrete variable that only takes a few whole numbers.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("lamp"); x = m.state("x", start=0.0)
    >>> on, level = m.discrete("on"), m.discrete("level", start=0.5)
    >>> m.equation(m.der(x), on); m.schedule([1.0], {"on": 1})
    >>> tr = dd.simulate(m, 2.0)
    >>> is_mode(tr, "on"), is_mode(tr, "level"), is_mode(tr, "x")
    (True, False, False)
    """
    if name not in {v.name for v in tr.system.of_kind("discrete") if v.shape == ()}:
        return False
    values = np.asarray(tr[name])
    whole = bool(np.all(values == np.round(values)))
    few = len(np.unique(values)) <= MOST_VALUES and np.count_nonzero(np.diff(values)) <= MOST_CHANGES
    return whole and bool(few)


def draw_bands(panel: Axes, tr: Trajectory, name: str) -> None:
    """A coloured band for each stretch of a mode, with its value written in it."""
    values, times = np.asarray(tr[name]), np.asarray(tr.time)
    begins = np.flatnonzero(np.concatenate([[True], np.diff(values) != 0]))
    ends = [*times[begins[1:]], times[-1]]
    kinds = np.unique(values).tolist()
    length = abs(times[-1] - times[0])
    for begin, end in zip(begins, ends):
        value, first = values[begin], times[begin]
        panel.axvspan(first, end, color=f"C{kinds.index(value) % 10}", alpha=0.35, linewidth=0)
        if abs(end - first) > ROOM * length:
            panel.text(0.5 * (first + end), 0.5, f"{value:g}", ha="center", va="center", fontsize="small")
    panel.set_ylim(0.0, 1.0)
    panel.set_yticks([])
    panel.set_ylabel(name, rotation=0, ha="right", va="center")
