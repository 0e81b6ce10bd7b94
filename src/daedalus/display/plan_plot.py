"""Draw a plan: states and inputs over time, bounds as dashed lines, and marks where a bound or condition presses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import ROUNDING
from daedalus.display.curves import largest, settled
from daedalus.display.look import TIME_LABEL, labelled, legend, look, panel_column
from daedalus.model.values import unit_of
from daedalus.optimisation.result.plan import Plan
from daedalus.simulation.result.labelled_samples import element_columns

POINTS_PER_INTERVAL = 12


def plot_plan(plan: Plan, names: str | Sequence[str] | None, ax: Any) -> Any:
    """Draw variables of a plan and return the figure; with `ax` everything goes into that panel."""
    system = plan.system
    states = [name for name, place in system.places.items() if place.letter == "x"]
    inputs = [v.name for v in system.of_kind("input")]
    wanted = [names] if isinstance(names, str) else [*states, *inputs] if names is None else list(names)
    with look():
        figure, axes = panel_column(ax, len(wanted), 1.2 + 1.7 * len(wanted))
        if ax is None:
            figure.suptitle(f"{system.name}: {plan.status}, cost {plan.objective:.6g}")
        for panel, name in zip(axes, wanted):
            _draw(panel, plan, name)
            legend(panel, beside=ax is None)
        axes[-1].set_xlabel(TIME_LABEL)
    return figure


def _draw(panel: Any, plan: Plan, name: str) -> None:
    begin, end = plan.time[0], plan.time[-1]
    held = name in plan.inputs and getattr(plan.inputs[name], "kind", "") == "hold"
    times = plan.time if held else np.linspace(begin, end, POINTS_PER_INTERVAL * (len(plan.time) - 1) + 1)
    values = settled(plan[name] if held else plan.at(times)[name])
    if largest(values) <= ROUNDING * _usual_size(plan, name):
        values = np.zeros_like(values)
    for label, column in element_columns(name, values).items():
        (line,) = panel.plot(times, column, label=label, drawstyle="steps-post" if held else "default")
        _draw_bounds(panel, plan, label, line.get_color())
    panel.set_ylabel(labelled(name, unit_of(plan.system, name)))


def _usual_size(plan: Plan, name: str) -> float:
    """How large a variable usually is: its nominal value, or 1."""
    place = plan.system.places.get(name)
    sizes = None if place is None or place.letter is None else plan.system.nominal.get(place.letter)
    if place is None or sizes is None:
        return 1.0
    return float(np.max(np.asarray(sizes)[place.positions], initial=0.0)) or 1.0


def _draw_bounds(panel: Any, plan: Plan, label: str, colour: str) -> None:
    """Dashed lines for bounds, and thick dots where they press."""
    stage, layout = plan.transcription.stage, plan.transcription.layout
    for quantity, variables, shares in (
        (stage.inputs, layout.inputs, layout.shares[:-1]),
        (stage.states, layout.nodes, layout.shares),
    ):
        if label not in quantity.labels:
            continue
        k = quantity.labels.index(label)
        for bound in (quantity.lower[k], quantity.upper[k]):
            if np.isfinite(bound):
                panel.axhline(bound, color=colour, linestyle="--", linewidth=0.8, alpha=0.6)
        values = plan.outcome.w[variables[:, k]]
        width = max(1e-12, 1e-4 * (quantity.upper[k] - quantity.lower[k])) if np.isfinite(
            quantity.upper[k] - quantity.lower[k]
        ) else 1e-5 * max(1.0, float(np.abs(values).max()))  # fmt: skip
        active = (values - quantity.lower[k] < width) | (quantity.upper[k] - values < width)
        times = plan.time[0] + plan.duration * shares
        panel.plot(times[active], values[active], ".", color=colour, markersize=7)
