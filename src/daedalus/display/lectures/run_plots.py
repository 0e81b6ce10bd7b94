"""Draw what a run did: its steps, its drift off the constraints, and its energy over time for several methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.display.look import TIME_LABEL, Axes, legend, logarithmic_from, look, panel_column, panel_of
from daedalus.simulation.result.step_table import Steps
from daedalus.studies.energy_over_time import EnergyOverTime

# The heights of the panels, in inches.
TALL, LOW = 2.6, 1.3
# Constraints with a line of their own: those that are left most.
MOST_LINES = 8
# Violations below this are drawn on it: zero has no place on a logarithmic axis.
LEAST = 1e-18
# Energies that grow beyond this factor of the start leave the picture.
BLOWN_UP = 20.0


@look()
def plot_steps(steps: Steps, work: Any, method: str, events: list[float], ax: Axes | None) -> Any:
    """Step sizes on a logarithmic axis with rejected attempts marked, and one panel per count that is not constant."""
    counts = []
    if np.any(steps.newton):
        counts.append(("iterations", steps.newton))
    if np.any(steps.rejected):
        counts.append(("rejected", steps.rejected))
    if len(np.unique(steps.order)) > 1:
        counts.append(("order", steps.order))
    if ax is not None or not counts:
        figure, top = panel_of(ax, (6.4, 3.6))
        panels = [top]
    else:
        heights = [TALL, *[LOW] * len(counts)]
        figure, panels = panel_column(None, len(heights), sum(heights), height_ratios=heights)
    _draw_sizes(panels[0], steps, work, method, events)
    for panel, (label, values) in zip(panels[1:], counts):
        panel.step(*_stairs(steps, values), where="post", linewidth=1.0)
        panel.set(ylabel=label, ylim=(0, 1.1 * max(values.max(), 1)))
        panel.yaxis.get_major_locator().set_params(integer=True)
    if ax is None and (first := logarithmic_from(steps.time)):
        panels[-1].set(xscale="log", xlim=(first, steps.time[-1] + steps.size[-1]))
    panels[-1].set_xlabel(TIME_LABEL)
    return figure


def _draw_sizes(ax: Any, steps: Steps, work: Any, method: str, events: list[float]) -> None:
    ax.semilogy(steps.time, steps.size, "o-", markersize=2.5, linewidth=0.8, label="step size")
    refused = steps.rejected > 0
    if np.any(refused):
        ax.semilogy(steps.time[refused], steps.size[refused], "x", markersize=6, label="after a rejected attempt")
    for k, event in enumerate(events):
        ax.axvline(event, color="0.6", linestyle=":", linewidth=0.8, label="event" if k == 0 else None)
    told = [f"{work.steps} steps", f"{work.rejected} rejected"]
    if work.newton:
        told.append(f"{work.newton} Newton iterations, {work.newton / max(1, work.steps + work.rejected):.1f} per step")
    ax.set(ylabel="step size [s]")
    ax.set_title(f"{method}: {', '.join(told)}")
    ax.grid(alpha=0.3, which="both")
    ax.legend()


def _stairs(steps: Steps, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times and values of stairs that reach to the end of the last step."""
    if not len(values):
        return steps.time, values
    last = steps.time[-1] + np.sign(steps.time[-1] - steps.time[0] or 1.0) * steps.size[-1]
    return np.append(steps.time, last), np.append(values, values[-1])


@look()
def plot_drift(time: np.ndarray, series: Mapping[str, np.ndarray], title: str, ax: Axes | None) -> Any:
    """One line per constraint in a logarithmic axis, those with the largest violations."""
    given = ax
    figure, ax = panel_of(ax, (8.2, 4.2))
    ranked = sorted(series, key=lambda name: -float(np.nanmax(np.abs(series[name]), initial=0.0)))
    for name in ranked[:MOST_LINES]:
        ax.semilogy(time, np.maximum(np.abs(series[name]), LEAST), linewidth=1.1, label=name)
    if len(ranked) > MOST_LINES:
        ax.plot([], [], " ", label=f"and {len(ranked) - MOST_LINES} smaller ones")
    ax.set(xlabel=TIME_LABEL, ylabel="violation", title=title)
    ax.grid(alpha=0.3, which="both")
    legend(ax, beside=given is None)
    return figure


# Methods that keep the energy lie on each other: dashes leave the lines below visible.
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (2, (4, 4)), (0, (1, 2)))


@look()
def plot_energy(found: EnergyOverTime, ax: Axes | None, change: bool) -> Any:
    """One line per method; with `change` the distance from the start in a logarithmic axis."""
    figure, ax = panel_of(ax, (7.2, 4.2))
    for k, (name, values) in enumerate(found.energy.items()):
        shown = np.abs(values - values[0]) if change else values
        ax.plot(found.time[name], np.where(shown > 0, shown, np.nan) if change else shown,
                linestyle=DASHES[k % len(DASHES)],
                label=f"{name}: ended early" if name in found.failed else name)  # fmt: skip
    for name in found.failed:
        if name not in found.energy:
            ax.plot([], [], " ", label=f"{name}: did not run")
    if change:
        ax.set(yscale="log", ylabel="|E(t) − E(0)| [J]")
        ax.grid(alpha=0.3, which="both")
    else:
        ax.set(ylabel="energy [J]")
        _keep_readable(ax, found)
    ax.set(xlabel=TIME_LABEL, title=f"energy of {found.model}")
    ax.legend()
    return figure


def _keep_readable(ax: Any, found: EnergyOverTime) -> None:
    """Cut a method whose energy explodes, so that the others stay visible."""
    starts = [float(values[0]) for values in found.energy.values()]
    calm = [v for v in found.energy.values() if np.ptp(v) <= BLOWN_UP * max(np.abs(starts).max(), NOT_ZERO)]
    if len(calm) in (0, len(found.energy)):
        return
    low, high = min(float(v.min()) for v in calm), max(float(v.max()) for v in calm)
    room = max(high - low, 0.1 * abs(high), NOT_ZERO)
    ax.set_ylim(low - room, high + 2 * room)
