"""Draw a trajectory over time: a panel for each unit, events as thin lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.model.names import element_label
from daedalus.simulation.result.labelled_samples import unit_of
from daedalus.simulation.result.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Points per piece of dense output, so that curves are smooth between long steps.
POINTS_PER_STEP = 12
MOST_POINTS = 20_000
MOST_LEGEND_ENTRIES = 12


def plot_trajectory(tr: Trajectory, names: str | Sequence[str] | None, ax: Axes | None) -> Any:
    """Draw variables over time and return the figure; with `ax` everything goes into that panel."""
    import matplotlib.pyplot as plt

    wanted = _default_names(tr) if names is None else [names] if isinstance(names, str) else list(names)
    panels = [wanted] if ax is not None else _by_unit(tr, wanted)
    if ax is not None:
        figure, axes = ax.figure, [ax]
    else:
        height = 1.2 + 1.9 * len(panels)
        figure, grid = plt.subplots(
            len(panels), 1, sharex=True, squeeze=False, figsize=(8, height), layout="constrained"
        )
        axes = list(grid[:, 0])
        figure.suptitle(tr.system.name if tr.success else f"{tr.system.name}: {tr.stop_reason}", wrap=True)
    samples = _fine_samples(tr)
    for panel, group in zip(axes, panels):
        _draw(panel, tr, samples, group)
        _legend(panel, beside=ax is None)
    axes[-1].set_xlabel("time")
    return figure


def _default_names(tr: Trajectory) -> list[str]:
    system = tr.system
    states = [n for n, place in system.places.items() if place.letter == "x"]
    known = set(tr.keys())
    names = [*states, *(v.name for v in system.of_kind("algebraic")), *tr._plant.output_slices]
    return [name for name in names if name in known]


def _by_unit(tr: Trajectory, names: list[str]) -> list[list[str]]:
    """Names with a common unit share a panel; names without one get a panel of their own."""
    panels: dict[str, list[str]] = {}
    for name in names:
        unit = unit_of(tr.system, name)
        panels.setdefault(unit or f"name:{name}", []).append(name)
    return list(panels.values())


def _fine_samples(tr: Trajectory) -> Any:
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
    grid = np.unique(np.concatenate([grid, before[before > starts[0]], ends[-1:]]))
    return tr.at(grid if ends[-1] >= starts[0] else grid[::-1])


def _draw(panel: Axes, tr: Trajectory, samples: Any, names: list[str]) -> None:
    for name in names:
        values = samples[name]
        shape = values.shape[1:]
        flat = values.reshape(len(values), -1) if len(shape) < 2 else values.transpose(0, 2, 1).reshape(len(values), -1)
        for k in range(flat.shape[1]):
            panel.plot(samples.time, flat[:, k], label=element_label(name, shape, k), linewidth=1.4)
    for _, t, *_ in tr.outcome.events[:200]:
        panel.axvline(t, color="0.8", linewidth=0.7, zorder=0)
    units = {unit_of(tr.system, name) for name in names} - {""}
    panel.set_ylabel(f"[{', '.join(sorted(units))}]" if units else names[0])
    panel.grid(alpha=0.3)


def _legend(panel: Axes, beside: bool) -> None:
    """A legend while it stays readable: beside a panel of our own, inside one that was given."""
    if len(panel.get_legend_handles_labels()[1]) > MOST_LEGEND_ENTRIES:
        return
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False} if beside else {}
    panel.legend(fontsize="small", **place)
