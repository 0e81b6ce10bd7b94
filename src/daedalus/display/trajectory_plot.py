"""Draw a trajectory over time: a panel for each unit, events as thin lines, the drift of constraints on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.display.look import Axes, labelled, legend, look, mark_events, panel_column, readable_limits
from daedalus.display.mode_bands import draw_bands, is_mode
from daedalus.model.switching.delays import BEFORE, SIGNAL, TIME
from daedalus.model.system.system import System
from daedalus.simulation.result.labelled_samples import element_columns, unit_of
from daedalus.simulation.result.trajectory import Trajectory

# Points per piece of dense output, so that curves are smooth between long steps.
POINTS_PER_STEP = 12
MOST_POINTS = 20_000
# Constraints that drift by more than this are marked.
LARGE_DRIFT = 1e-6


def plot_trajectory(tr: Trajectory, names: str | Sequence[str] | None, ax: Axes | None) -> Any:
    """Draw variables over time and return the figure; with `ax` everything goes into that panel."""
    wanted = _default_names(tr) if names is None else [names] if isinstance(names, str) else list(names)
    modes = [] if ax is not None else [name for name in wanted if is_mode(tr, name)]
    shown = [name for name in wanted if name not in modes]
    panels = [wanted] if ax is not None else by_unit(tr.system, shown)
    samples = fine_samples(tr)
    with look():
        heights = [1.9] * len(panels) + [0.4] * len(modes)
        ratios = {"height_ratios": heights}
        figure, axes = panel_column(ax, len(heights), 1.2 + sum(heights), gridspec_kw=ratios)
        if ax is None:
            figure.suptitle(tr.system.name if tr.success else f"{tr.system.name}: {tr.stop_reason}", wrap=True)
            _tell_drift(axes[0], tr)
        for panel, group in zip(axes, panels):
            _draw(panel, tr, samples, group)
            legend(panel, beside=ax is None)
        for panel, name in zip(axes[len(panels) :], modes):
            draw_bands(panel, tr, name)
        axes[-1].set_xlabel("time")
    return figure


def _tell_drift(panel: Axes, tr: Trajectory) -> None:
    """How well the constraints are kept, above the first panel; in colour where they are not."""
    drift = tr.drift()
    if not drift:
        return
    name, worst = max(drift.items(), key=lambda entry: entry[1])
    large = not worst <= LARGE_DRIFT
    panel.set_title(
        f"constraints kept within {worst:.1e}" + (f" ({name})" if large else ""),
        loc="right", fontsize="small", color="#d55e00" if large else "0.45",
    )  # fmt: skip


def _default_names(tr: Trajectory) -> list[str]:
    system = tr.system
    states = [n for n, place in system.places.items() if place.letter == "x"]
    known = set(tr.keys())
    others = [v.name for kind in ("algebraic", "discrete") for v in system.of_kind(kind)]
    aside = {v.name + more for v in system.delayed for more in (SIGNAL, TIME, BEFORE)}
    names = [*states, *others, *(name for name in tr._plant.output_slices if name not in aside)]
    return [name for name in names if name in known]


def by_unit(system: System, names: list[str]) -> list[list[str]]:
    """Names with a common unit share a panel; names without one get a panel of their own."""
    panels: dict[str, list[str]] = {}
    for name in names:
        panels.setdefault(unit_of(system, name) or f"name:{name}", []).append(name)
    return list(panels.values())


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
    held = tr._held_values
    if held is None or len(held.times) > MOST_POINTS:
        return np.zeros(0)
    low, high = sorted((float(tr.time[0]), float(tr.time[-1])))
    return np.clip(held.times, low, high)


def _draw(panel: Axes, tr: Trajectory, samples: Any, names: list[str]) -> None:
    discrete = {v.name for v in tr.system.of_kind("discrete")}
    forward = len(samples.time) < 2 or samples.time[-1] >= samples.time[0]
    step = "steps-post" if forward else "steps-pre"
    for name in names:
        drawn = step if name in discrete else "default"
        for label, column in element_columns(name, samples[name]).items():
            panel.plot(samples.time, column, label=label, drawstyle=drawn)
    count = len(panel.lines)
    mark_events(panel, [t for _, t, *_ in tr.outcome.events])
    units = {unit_of(tr.system, name) for name in names} - {""}
    panel.set_ylabel(labelled(names[0] if len(names) == 1 else "", ", ".join(sorted(units))).strip() or names[0])
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
