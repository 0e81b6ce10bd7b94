"""Where energy comes from and goes: powers as stacked areas over time, energies of a run as a flow diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.display.look import TIME_LABEL, panel_of

if TYPE_CHECKING:
    import xarray

    from daedalus.simulation.energy.power import EnergyBalance

_COLOURS = {"supplied": "#2f7d4f", "stored": "#1f5fa8", "lost": "#b3261e"}
# Shares below this part of the whole are not drawn.
SMALLEST = 1e-4
# Between what gave energy, and between what took it; the whole is 1.
GAP = 0.06


def plot_areas(power: xarray.Dataset, ax: Any = None) -> Any:
    """Powers over time: supplied above zero, stored and lost below; one shade a part."""
    _, ax = panel_of(ax, (8, 4.5), layout=None)
    time = power["time"].values
    # Each kind is stacked on its side; a store that gives energy back counts on the other side.
    tops = {1: np.zeros(len(time)), -1: np.zeros(len(time))}
    largest = max(float(np.abs(power[kind]).max()) for kind in _COLOURS)
    for kind, way in (("supplied", 1), ("lost", -1), ("stored", -1)):
        names = [
            n for n in power["component"].values if np.abs(power[kind].sel(component=n)).max() > SMALLEST * largest
        ]
        for k, name in enumerate(names):
            values = way * power[kind].sel(component=name).values
            for side in (1, -1):
                part = np.where(side * values > 0, values, 0.0)
                if np.any(part):
                    label = f"{name} {kind}" if side == way or not np.any(way * values > 0) else None
                    shade = 0.9 - 0.5 * k / max(len(names), 1)
                    ax.fill_between(
                        time, tops[side], tops[side] + part, color=_COLOURS[kind], alpha=shade, lw=0, label=label
                    )
                    tops[side] = tops[side] + part
    ax.axhline(0, color="black", lw=0.8)
    ax.set_xlabel(TIME_LABEL)
    ax.set_ylabel("power (W), supplied up, stored and lost down")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)
    ax.figure.tight_layout()
    return ax.figure


def plot_flow(balance: EnergyBalance, ax: Any = None) -> Any:
    """Energies of a run as bands from what gave them to what took them (Sankey), widths in proportion."""
    _, ax = panel_of(ax, (8, 4.5), layout=None)
    given, taken = _shares(balance)
    whole = sum(value for _, _, value in given) or 1.0
    left, right = ([value / whole for _, _, value in own] for own in (given, taken))
    for (name, kind, value), (low, high), inside in zip(given, _levels(left, GAP), _levels(left, 0.0)):
        _band(ax, (0.0, low, high), (0.45, *inside), _COLOURS[kind])
        ax.text(-0.02, (low + high) / 2, f"{name}\n{value:.3g} J", ha="right", va="center", fontsize=9)
    for (name, kind, value), (low, high), inside in zip(taken, _levels(right, GAP), _levels(right, 0.0)):
        _band(ax, (0.55, *inside), (1.0, low, high), _COLOURS[kind])
        text = f"{name} {'stores' if kind == 'stored' else 'loses'}\n{value:.3g} J"
        ax.text(1.02, (low + high) / 2, text, ha="left", va="center", fontsize=9)
    ax.fill_between([0.45, 0.55], 0, 1, color="#cccccc", lw=0)
    ax.text(0.5, -0.06, f"{whole:.3g} J\nnumerics {-balance.error:.1g} J", ha="center", va="top", fontsize=9)
    ax.set_xlim(-0.35, 1.4)
    ax.set_ylim(-0.3, 1.2)
    ax.axis("off")
    return ax.figure


def _shares(balance: EnergyBalance) -> tuple[list[tuple[str, str, float]], list[tuple[str, str, float]]]:
    """(part, kind, energy) of what gave and of what took energy, all positive."""
    given: list[tuple[str, str, float]] = []
    taken: list[tuple[str, str, float]] = []
    for name in balance.components["component"].values:
        for kind, way in (("supplied", 1), ("stored", -1), ("lost", -1)):
            value = way * float(balance.components[kind].sel(component=name))
            if value:
                (given if value > 0 else taken).append((str(name), kind, abs(value)))
    largest = max((value for _, _, value in (*given, *taken)), default=1.0)
    given, taken = ([share for share in own if share[2] > SMALLEST * largest] for own in (given, taken))
    return given, taken


def _levels(shares: list[float], gap: float) -> list[tuple[float, float]]:
    """Places above each other, in proportion: with gaps about the middle, without them from zero on."""
    height = sum(shares) + gap * (len(shares) - 1)
    low, found = 0.5 - height / 2 if gap else 0.0, []
    for share in shares:
        found.append((low, low + share))
        low += share + gap
    return found


def _band(ax: Any, start: tuple[float, float, float], end: tuple[float, float, float], colour: str) -> None:
    """A band that goes over smoothly from one place to another."""
    x = np.linspace(start[0], end[0], 60)
    s = (x - start[0]) / (end[0] - start[0])
    share = s * s * (3 - 2 * s)
    low, high = (start[k] + (end[k] - start[k]) * share for k in (1, 2))
    ax.fill_between(x, low, high, color=colour, alpha=0.6, lw=0)
