"""Draw a sweep: one line a case, coloured by the swept value, or bands of percentiles where there are many."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.display.look import COLOURS, TIME_LABEL, Axes, labelled, look, panel_of
from daedalus.ensembles.ensemble import Ensemble
from daedalus.errors import InputError
from daedalus.model.names import did_you_mean, split_index

# From this many cases on bands tell more than lines.
MANY_CASES = 40
BANDS = ((5, 95), (25, 75))


def plot_ensemble(en: Ensemble, name: str | None, ax: Axes | None, bands: bool | None) -> Any:
    """Draw one scalar over time, a line a case or percentile bands over all of them, and return the figure."""
    name, values = _chosen(en, name)
    rows = values.values.reshape(-1, values.shape[-1])
    with look():
        figure, ax = panel_of(ax, (8, 4.2))
        if en.is_summary:
            _draw_summary(ax, en, rows)
        elif len(rows) >= MANY_CASES if bands is None else bands:
            _draw_bands(ax, en.data["time"].values, rows)
        else:
            _draw_lines(figure, ax, en, rows)
        ax.set(xlabel=TIME_LABEL, ylabel=labelled(name, values.attrs.get("units", "")))
        failed = len(en.failed)
        count = int(en.data["cases"]) if en.is_summary else en.success.size
        title = str(en.data.attrs.get("title", ""))
        ax.set_title(f"{title}: {failed} of {count} cases failed" if failed else title)
    return figure


def _chosen(en: Ensemble, name: str | None) -> tuple[str, Any]:
    """The scalar that is drawn, `x[0]` too, with time as its last axis."""
    scalars = [str(n) for n in en.data.data_vars if en.data[n].dims[-1:] == ("time",)]
    vectors = [str(n) for n in en.data.data_vars if en.data[n].dims[-2:-1] == ("time",)]
    if name is None and not scalars and vectors:
        name = f"{vectors[0]}[0]"
    name = name or next(iter(scalars), "")
    stem, index = split_index(name)
    if name in scalars:
        return name, en[name]
    if index is not None and len(index) == 1 and stem in vectors and index[0] < en[stem].shape[-1]:
        return name, en[stem][..., index[0]]
    raise InputError(
        f"{name} is not a scalar of the sweep." if name else "The sweep has no variable over time to draw.",
        f"scalars: {', '.join([*scalars, *(f'{v}[0]' for v in vectors)]) or 'none'}",
        because="a plot has one curve a case.",
        remedy=did_you_mean(name, [*scalars, *(f"{v}[0]" for v in vectors)]) if scalars or vectors else "save_at=None",
    )


def _draw_summary(ax: Axes, en: Ensemble, rows: np.ndarray) -> None:
    """A line for every statistic, and a band between the outermost quantiles."""
    labels = [str(label) for label in en.data["summary"].values]
    time = en.data["time"].values
    shares = [k for k, label in enumerate(labels) if label not in ("mean", "std", "min", "max")]
    if len(shares) >= 2:
        ends = sorted(shares, key=lambda k: float(labels[k]))
        label = f"{labels[ends[0]]} to {labels[ends[-1]]}"
        ax.fill_between(time, rows[ends[0]], rows[ends[-1]], color=COLOURS[0], alpha=0.22, linewidth=0, label=label)
    for k, label in enumerate(labels):
        ax.plot(time, rows[k], color=COLOURS[k % len(COLOURS)], linestyle="--" if k in shares else "-", label=label)
    ax.legend(fontsize="small")


def _draw_bands(ax: Axes, time: np.ndarray, rows: np.ndarray) -> None:
    good = rows[~np.all(np.isnan(rows), axis=1)]
    # The inner band is darker by itself, so that the legend tells it from the outer one.
    for (low, high), alpha in zip(BANDS, (0.22, 0.4)):
        edges = np.nanpercentile(good, [low, high], axis=0)
        ax.fill_between(time, *edges, color=COLOURS[0], alpha=alpha, linewidth=0, label=f"{low} to {high} %")
    ax.plot(time, np.nanmedian(good, axis=0), color=COLOURS[0], label=f"median of {len(good)} cases")
    ax.legend(fontsize="small")


def _draw_lines(figure: Any, ax: Axes, en: Ensemble, rows: np.ndarray) -> None:
    import matplotlib.pyplot as plt

    colour = _colour_values(en, len(rows))
    palette = plt.get_cmap("viridis")
    span = np.ptp(colour) or 1.0
    for row, value in zip(rows, colour):
        ax.plot(en.data["time"], row, color=palette((value - colour.min()) / span), linewidth=1.1)
    if np.ptp(colour) > 0:
        scale = plt.cm.ScalarMappable(cmap=palette, norm=plt.Normalize(colour.min(), colour.max()))
        swept = [str(c) for c in en.data.coords if c != "time"]
        figure.colorbar(scale, ax=ax, label=swept[0])


def _colour_values(en: Ensemble, count: int) -> np.ndarray:
    """The first swept value of every case."""
    first = next(str(c) for c in en.data.coords if c != "time")
    spread = en.data[first].broadcast_like(en.success) if first in en.success.dims else en.data[first]
    values = spread.transpose(*en.success.dims).values.reshape(-1)
    return values if len(values) == count else np.zeros(count)
