"""Draw how a solution changes: each quantity with the band of small changes, and its scaled derivatives over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.differentiation.result.sensitivity_result import Sensitivities
from daedalus.display.curves import MOST_PANELS
from daedalus.display.look import TIME_LABEL, Axes, labelled, look, mark_events, tell_left_out
from daedalus.model.names import element_label
from daedalus.model.values import unit_of

# A label, its values over time, and its slopes by every column.
Row = tuple[str, np.ndarray, np.ndarray]
# The relative change that the bands show, the most curves drawn unasked, and the points in time.
CHANGE = 0.1
MOST_CURVES, POINTS = 6, 401


@look()
def plot_sensitivities(
    sens: Sensitivities, of: str | Sequence[str] | None, wrt: str | Sequence[str] | None, ax: Axes | None
) -> Any:
    """One row per quantity: left its course with a band of changes, right ∂y/∂θ · θ; with `ax` the right panel only."""
    import matplotlib.pyplot as plt

    names = _names(of) or [v.name for v in sens.system.of_kind("state")]
    columns = _columns(sens, _names(wrt), of)
    samples = sens.at(_times(sens))
    rows = [row for name in names for row in _rows(samples, name)]
    left_out: list[str] = []
    if not of:
        rows, left_out = _chosen(rows, columns)
    sizes = sens.sizes
    # Ten per cent of zero is zero: what has no value yet widens no band.
    changes = np.where(sens.without_value, 0.0, CHANGE * sizes)
    if ax is not None:
        for row in rows:
            _curves(ax, sens, samples.time, row, columns, sizes)
        _finish(ax, beside=False)
        return ax.figure
    figure, grid = plt.subplots(
        len(rows), 2, sharex=True, squeeze=False, figsize=(10, 1.0 + 2.1 * len(rows)), layout="constrained"
    )
    figure.suptitle(f"{sens.system.name}: sensitivities")
    tell_left_out(figure, left_out, "sens.plot([...])", "sens.states")
    for (left, right), row in zip(grid, rows):
        label, values, slopes = row
        band = np.sqrt(np.sum((slopes[:, columns] * changes[columns]) ** 2, axis=1))
        left.fill_between(samples.time, values - band, values + band, alpha=0.25, linewidth=0)
        left.plot(samples.time, values, linewidth=1.4, label=label)
        left.set_ylabel(labelled(label, unit_of(sens.system, label)))
        left.grid(alpha=0.3)
        mark_events(left, [event.time for event in sens.events])
        _curves(right, sens, samples.time, row, columns, sizes)
        right.set_ylabel(labelled("", unit_of(sens.system, label)).strip())
        _finish(right, beside=True)
    grid[0, 0].set_title(f"solution\n(band: all values change by ±{CHANGE:.0%})", fontsize="medium")
    grid[0, 1].set_title("sensitivity\n(derivative × size of the value)", fontsize="medium")
    for panel in grid[-1]:
        panel.set_xlabel(TIME_LABEL)
    return figure


def _chosen(rows: list[Row], columns: list[int]) -> tuple[list[Row], list[str]]:
    """As many rows as a page holds, evenly chosen among those that the columns change, and the labels of the rest."""
    moved = [row for row in rows if np.any(row[2][:, columns])] or rows
    places = np.linspace(0, len(moved) - 1, min(MOST_PANELS, len(moved))).round().astype(int)
    chosen = [moved[k] for k in dict.fromkeys(places.tolist())]
    labels = [row[0] for row in chosen]
    return chosen, [row[0] for row in rows if row[0] not in labels]


def _names(names: str | Sequence[str] | None) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def _columns(sens: Sensitivities, wrt: list[str], of: object) -> list[int]:
    """What is drawn: the columns of the names, else those of the largest influence, parameters first."""
    if wrt:
        return sens.columns_of(wrt)
    candidates = sens.columns_of(["parameters"]) or list(range(len(sens.labels)))
    # A derivative times a value of zero says nothing.
    unset = sens.without_value
    candidates = [k for k in candidates if not unset[k]] or candidates
    place = {label: k for k, label in enumerate(sens.labels)}
    ranked = [place[name] for name in sens.rank(of).names]
    return [k for k in ranked if k in candidates][:MOST_CURVES]


def _times(sens: Sensitivities) -> np.ndarray:
    """Times close enough to look smooth, with the last moment before each event."""
    begin, end = sens.steps[0], sens.steps[-1]
    grid = np.linspace(begin, end, POINTS)
    events = np.array([event.time for event in sens.events])
    return np.unique(np.concatenate([grid, events, events - 1e-9 * abs(end - begin)]).clip(*sorted((begin, end))))


def _rows(samples: Any, name: str) -> list[Row]:
    """(label, values, slopes by every column) of every element of a name."""
    values, slopes, shape = samples.curves_of(name)
    return [(element_label(name, shape, k), values[:, k], slopes[:, k]) for k in range(values.shape[1])]


def _curves(
    panel: Axes,
    sens: Sensitivities,
    time: np.ndarray,
    row: Row,
    columns: list[int],
    sizes: np.ndarray,
) -> None:
    label, _, slopes = row
    for k in columns:
        panel.plot(time, slopes[:, k] * sizes[k], linewidth=1.3, label=f"∂{label}/∂{sens.labels[k]}")
    mark_events(panel, [event.time for event in sens.events])
    panel.axhline(0.0, color="0.6", linewidth=0.7, zorder=0)


def _finish(panel: Axes, beside: bool) -> None:
    panel.grid(alpha=0.3)
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False} if beside else {}
    panel.legend(fontsize="small", **place)
