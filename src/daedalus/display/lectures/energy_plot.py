"""Draw the energy of a model over time along runs of several methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.display.look import TIME_LABEL, Axes, look, panel_of
from daedalus.studies.energy_over_time import EnergyOverTime

# Energies that grow beyond this factor of the start leave the picture.
BLOWN_UP = 20.0
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
