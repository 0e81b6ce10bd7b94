"""Draw a sweep: one panel per output, one line per case coloured by the swept value, or percentile bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.display.curves import FLAT, MOST_PANELS, MOST_VALUES, flat_value, largest
from daedalus.display.look import (
    COLOURS,
    TIME_LABEL,
    Axes,
    labelled,
    legend,
    look,
    panel_column,
    tell_left_out,
    unit_text,
)
from daedalus.ensembles.ensemble import Ensemble
from daedalus.errors import InputError
from daedalus.model.names import did_you_mean, split_index

# From this many cases on bands tell more than lines.
MANY_CASES = 40
BANDS = ((5, 95), (25, 75))
# How the values of a second swept name differ.
DASHES = ("-", "--", ":", "-.")


def plot_ensemble(en: Ensemble, name: str | Sequence[str] | None, ax: Axes | None, bands: bool | None) -> Any:
    """Draw scalars over time, a line per case or percentile bands over all of them, and return the figure."""
    _check_values(en)
    left_out: list[str] = []
    if name is None:
        names, left_out = _default(en, MOST_PANELS if ax is None else 1)
    else:
        names = [name] if isinstance(name, str) else list(name)
    chosen = [_settled(en, *_chosen(en, one)) for one in names]
    with look():
        figure, panels = panel_column(ax, len(chosen), 1.4 + 2.8 * len(chosen))
        if ax is None:
            tell_left_out(figure, left_out, "en.plot([...])", "list(en.data)")
        for panel, (label, values) in zip(panels, chosen):
            _draw(panel, en, label, values, bands)
        # One scale of colours and one legend serve for all panels.
        _tell_swept(figure, panels, en, chosen[0][1], bands)
        legend(panels[0], beside=ax is None)
        panels[-1].set_xlabel(TIME_LABEL)
        failed = len(en.failed)
        count = int(en.data["cases"]) if en.is_summary else en.success.size
        title = str(en.data.attrs.get("title", ""))
        panels[0].set_title(f"{title}: {failed} of {count} cases failed" if failed else title)
    return figure


def _check_values(en: Ensemble) -> None:
    """A sweep in which no case left its start has nothing to draw."""
    scalars, vectors = _scalars(en)
    if len(en.failed) == 0 or any(np.isfinite(en.data[name].values).any() for name in (*scalars, *vectors)):
        return
    raise InputError(
        "The sweep has no values to draw.",
        [f"all {len(en.failed)} cases failed", en.failed[0][1]],
        remedy="en.failed, which has the reason of every case",
    )


def _draw(panel: Axes, en: Ensemble, label: str, values: Any, bands: bool | None) -> None:
    rows = values.values.reshape(-1, values.shape[-1])
    if en.is_summary:
        _draw_summary(panel, en, rows)
    elif _are_bands(rows, bands):
        _draw_bands(panel, en.data["time"].values, rows)
    else:
        _draw_lines(panel, en, rows)
    panel.set_ylabel(labelled(label, values.attrs.get("units", "")))
    panel.ticklabel_format(axis="y", useOffset=False)


def _are_bands(rows: np.ndarray, bands: bool | None) -> bool:
    return len(rows) >= MANY_CASES if bands is None else bands


def _scalars(en: Ensemble) -> tuple[list[str], list[str]]:
    """The names of scalars over time and of vectors over time."""
    scalars = [str(n) for n in en.data.data_vars if en.data[n].dims[-1:] == ("time",)]
    vectors = [str(n) for n in en.data.data_vars if en.data[n].dims[-2:-1] == ("time",)]
    return scalars, vectors


def _default(en: Ensemble, most: int) -> tuple[list[str], list[str]]:
    """As many outputs as a page holds, elements of vectors evenly chosen, and the names of those left out."""
    scalars, vectors = _scalars(en)
    # What is the same constant in all cases, as most inputs are, tells nothing.
    moving = [name for name in scalars if en.data[name].dtype.kind == "f" and _constant(en, en[name]) is None]
    elements = [f"{name}[{k}]" for name in vectors for k in range(en.data[name].shape[-1])]
    elements = [name for name in elements if _constant(en, _chosen(en, name)[1]) is None]
    modes = [name for name in moving if _is_mode(en[name].values)]
    moving = [name for name in moving if name not in modes]
    every = [*moving, *elements, *modes] or scalars[:1]
    room = most - len(moving)
    if elements and room > 0:
        places = np.linspace(0, len(elements) - 1, min(room, len(elements))).round().astype(int)
        moving += [elements[k] for k in dict.fromkeys(places.tolist())]
    moving += modes
    names = (moving or every)[:most] or [""]
    return names, [name for name in every if name not in names]


def _is_mode(values: np.ndarray) -> bool:
    """Whether a variable only takes a few whole numbers: it is drawn last, and as steps."""
    found = np.unique(values[np.isfinite(values)])
    few = 1 < len(found) <= MOST_VALUES < values.shape[-1]
    return few and bool(np.all(found == np.round(found)))


def _constant(en: Ensemble, values: Any) -> float | None:
    """The value of what is constant over all cases and times but for rounding, else None."""
    rows = values.values.reshape(-1, values.shape[-1])
    if en.is_summary:
        labels = [str(label) for label in en.data["summary"].values]
        places = [k for k, label in enumerate(labels) if label != "std"]
        spread = largest(rows[labels.index("std")]) if "std" in labels else 0.0
        rows = rows[places] if places else rows
        if spread > FLAT * largest(rows):
            return None
    return flat_value(rows.ravel())


def _settled(en: Ensemble, label: str, values: Any) -> tuple[str, Any]:
    """The same values, made exactly constant where they are but for rounding; a deviation is then zero."""
    constant = _constant(en, values)
    if constant is None:
        return label, values
    same = np.full(values.shape, constant)
    if en.is_summary:
        same[[str(label) == "std" for label in en.data["summary"].values]] = 0.0
    return label, values.copy(data=same)


def _chosen(en: Ensemble, name: str) -> tuple[str, Any]:
    """The scalar that is drawn, `x[0]` too, with time as its last axis."""
    scalars, vectors = _scalars(en)
    stem, index = split_index(name)
    if name in scalars:
        return name, en[name]
    if index is not None and len(index) == 1 and stem in vectors and index[0] < en[stem].shape[-1]:
        return name, en[stem][..., index[0]]
    raise InputError(
        f"{name} is not a scalar of the sweep." if name else "The sweep has no variable over time to draw.",
        f"scalars: {', '.join([*scalars, *(f'{v}[0]' for v in vectors)]) or 'none'}",
        because="each panel shows one scalar.",
        remedy=did_you_mean(name, [*scalars, *(f"{v}[0]" for v in vectors)]) if scalars or vectors else "save_at=None",
    )


def _draw_summary(ax: Axes, en: Ensemble, rows: np.ndarray) -> None:
    """A line for every statistic, and bands: between the outermost quantiles, and of deviations around the mean."""
    labels = [str(label) for label in en.data["summary"].values]
    time = en.data["time"].values
    shares = [k for k, label in enumerate(labels) if label not in ("mean", "std", "min", "max")]
    if len(shares) >= 2:
        ends = sorted(shares, key=lambda k: float(labels[k]))
        label = f"{labels[ends[0]]} to {labels[ends[-1]]}"
        ax.fill_between(time, rows[ends[0]], rows[ends[-1]], color=COLOURS[0], alpha=0.22, linewidth=0, label=label)
    if {"mean", "std"} <= {*labels}:
        mean, deviation = rows[labels.index("mean")], rows[labels.index("std")]
        for width, alpha in ((2, 0.22), (1, 0.4)):
            edges = mean - width * deviation, mean + width * deviation
            told = f"± {width} standard deviation{'s' if width > 1 else ''}"
            ax.fill_between(time, *edges, color=COLOURS[0], alpha=alpha, linewidth=0, label=told)
    for k, label in enumerate(labels):
        if label == "std" and "mean" in labels:
            continue
        ax.plot(time, rows[k], color=COLOURS[k % len(COLOURS)], linestyle="--" if k in shares else "-", label=label)


def _draw_bands(ax: Axes, time: np.ndarray, rows: np.ndarray) -> None:
    good = rows[~np.all(np.isnan(rows), axis=1)]
    # The inner band is darker by itself, so that the legend tells it from the outer one.
    for (low, high), alpha in zip(BANDS, (0.22, 0.4)):
        edges = np.nanpercentile(good, [low, high], axis=0)
        ax.fill_between(time, *edges, color=COLOURS[0], alpha=alpha, linewidth=0, label=f"{low} to {high} %")
    ax.plot(time, np.nanmedian(good, axis=0), color=COLOURS[0], label=f"median of {len(good)} cases")


def _draw_lines(ax: Axes, en: Ensemble, rows: np.ndarray) -> None:
    """A line per case: colour is the first swept value, the kind of line the second one."""
    import matplotlib.pyplot as plt

    _, colour, second = _swept(en, len(rows))
    kinds = np.unique(second)
    palette = plt.get_cmap("viridis")
    span = np.ptp(colour) or 1.0
    style = "steps-post" if _is_mode(rows) else "default"
    for row, value, other in zip(rows, colour, second):
        dash = DASHES[int(np.searchsorted(kinds, other)) % len(DASHES)] if len(kinds) <= len(DASHES) else "-"
        tint = palette((value - colour.min()) / span)
        ax.plot(en.data["time"], row, dash, color=tint, linewidth=1.1, drawstyle=style)


def _tell_swept(figure: Any, panels: Sequence[Axes], en: Ensemble, values: Any, bands: bool | None) -> None:
    """What colours and kinds of lines mean: a scale beside the panels, entries for the legend of the first one."""
    import matplotlib.pyplot as plt

    rows = values.values.reshape(-1, values.shape[-1])
    if en.is_summary or _are_bands(rows, bands):
        return
    swept, colour, second = _swept(en, len(rows))
    kinds = np.unique(second)
    if np.ptp(colour) > 0:
        scale = plt.cm.ScalarMappable(cmap=plt.get_cmap("viridis"), norm=plt.Normalize(colour.min(), colour.max()))
        label = labelled(swept[0], en.data[swept[0]].attrs.get("units", ""))
        figure.colorbar(scale, ax=list(dict.fromkeys(panels)), label=label, aspect=max(20, 14 * len(panels)))
    if 1 < len(kinds) <= len(DASHES):
        unit = unit_text(en.data[swept[1]].attrs.get("units", ""))
        for k, other in enumerate(kinds):
            panels[0].plot([], [], DASHES[k], color="0.3", label=f"{swept[1]} = {other:g} {unit}".strip())
    elif len(kinds) > 1:
        text = f"lines of one colour differ in {', '.join(swept[1:])}"
        panels[0].set_title(text, loc="right", fontsize="small", color="0.4")


def _swept(en: Ensemble, count: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The swept names, and the first two of their values for every case."""
    names = [str(c) for c in en.data.coords if c != "time" and en.data[c].dtype.kind in "fiu"]
    first, second = (_case_values(en, names[k], count) if len(names) > k else np.zeros(count) for k in (0, 1))
    return names, first, second


def _case_values(en: Ensemble, name: str, count: int) -> np.ndarray:
    """One swept value of every case."""
    spread = en.data[name].broadcast_like(en.success) if name in en.success.dims else en.data[name]
    if not set(en.success.dims) <= set(spread.dims):
        spread = spread.broadcast_like(en.success)
    values = spread.transpose(*en.success.dims).values.reshape(-1)
    return values if len(values) == count else np.zeros(count)
