"""Where energy comes from and goes: powers as stacked areas over time, energies of a run as a flow diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.algebra.agreement import SAME
from daedalus.display.look import TIME_LABEL, legend, look, panel_of, readable_limits

if TYPE_CHECKING:
    import xarray

    from daedalus.simulation.energy.power import EnergyBalance

_COLOURS = {"supplied": "#2f7d4f", "stored": "#1f5fa8", "lost": "#b3261e"}
# What a band is called on either side: a source may take energy, a store may give it.
GIVEN = {"supplied": "supplied", "stored": "given back", "lost": "given"}
TAKEN = {"supplied": "taken up", "stored": "stored", "lost": "lost"}
# Shares below this part of the whole are drawn together; below the second one they cannot be seen and have no label.
JOINED, NOT_DRAWN = 0.02, 1e-6
# Areas below this part of the largest power are not drawn.
SMALLEST = 1e-4
# Shades of one colour that can be told apart, and how much white the lightest one has.
MOST_SHADES, LIGHTEST = 5, 0.7
# Between what gave energy, and between what took it; the whole is 1.
GAP = 0.11
# Room of a label of two lines.
LABEL = 0.17
# Equally spaced times at which short spikes have their true share.
EVEN = 400


def plot_areas(power: xarray.Dataset, ax: Any = None) -> Any:
    """Powers over time: supplied above zero, stored and lost below; one shade a part."""
    given = ax
    with look():
        _, ax = panel_of(ax, (9, 4.5))
    time = power["time"].values
    # Each kind is stacked on its side; a store that gives energy back counts on the other side.
    tops = {1: np.zeros(len(time)), -1: np.zeros(len(time))}
    largest = max(float(np.abs(power[kind]).max()) for kind in _COLOURS)
    for kind, way in (("supplied", 1), ("lost", -1), ("stored", -1)):
        areas = _areas_of(power, kind, SMALLEST * largest)
        for k, (name, powers) in enumerate(areas):
            values = way * powers
            colour = _shade(_COLOURS[kind], k / max(len(areas) - 1, 1))
            for side in (1, -1):
                part = np.where(side * values > 0, values, 0.0)
                if np.any(part):
                    label = f"{name} {kind}" if side == way or not np.any(way * values > 0) else None
                    low, high = tops[side], tops[side] + part
                    ax.fill_between(time, low, high, color=colour, lw=0, label=label)
                    ax.plot(time, np.where(part == 0.0, np.nan, high), color="white", lw=0.6)
                    tops[side] = high
    ax.axhline(0, color="black", lw=0.8)
    ax.set_xlabel(TIME_LABEL)
    ax.set_ylabel("power [W]")
    ax.set_title("Power: supplied above, used below" + _without_spikes(ax, time, tops[1], tops[-1]))
    legend(ax, beside=given is None)
    return ax.figure


def _areas_of(power: xarray.Dataset, kind: str, least: float) -> list[tuple[str, np.ndarray]]:
    """The parts with some power of a kind, largest first, each over time; the smallest of many are added up."""
    found = [(str(name), power[kind].sel(component=name).values) for name in power["component"].values]
    found = [(name, values) for name, values in found if np.abs(values).max(initial=0.0) > least]
    found.sort(key=lambda area: -float(np.abs(area[1]).max()))
    if len(found) <= MOST_SHADES:
        return found
    kept, rest = found[: MOST_SHADES - 1], found[MOST_SHADES - 1 :]
    return [*kept, (f"{len(rest)} others", np.sum([values for _, values in rest], axis=0))]


def _shade(colour: str, lightness: float) -> tuple[float, ...]:
    """A colour made lighter: 0 leaves it, 1 is the lightest shade."""
    from matplotlib.colors import to_rgb

    return tuple(1 - (1 - share) * (1 - LIGHTEST * lightness) for share in to_rgb(colour))


def _without_spikes(ax: Any, time: np.ndarray, above: np.ndarray, below: np.ndarray) -> str:
    """Limit a panel to the powers between short spikes, and return what to tell of them; empty where there are none."""
    even = np.linspace(time[0], time[-1], EVEN)
    order = np.argsort(time, kind="stable")
    sums = [np.interp(np.sort(even), time[order], values[order]) for values in (above, below)]
    # Most spikes are shorter than the distance of these times; the largest and the smallest values have them all.
    limits = readable_limits(np.concatenate([*sums, [above.max(), below.min()]]))
    if limits is None:
        return ""
    ax.set_ylim(*limits)
    return f" (spikes up to {max(above.max(), -below.min()):.3g} W are cut)"


def plot_flow(balance: EnergyBalance, ax: Any = None) -> Any:
    """Energies of a run as bands from what gave them to what took them (Sankey), widths in proportion."""
    given, taken = _shares(balance)
    with look():
        _, ax = panel_of(ax, (9, max(4.5, 1.2 + 0.55 * max(len(given), len(taken)))))
    whole = sum(value for _, _, value in given) or 1.0
    left, right = ([value / whole for _, _, value in own] for own in (given, taken))
    for (name, kind, value), (low, high), inside, middle in zip(
        given, _levels(left, GAP), _levels(left, 0.0), _apart(_levels(left, GAP))
    ):
        _band(ax, (0.0, low, high), (0.45, *inside), _COLOURS[kind])
        told = energy_text(value) if kind == "supplied" else f"{GIVEN[kind]} {energy_text(value)}"
        ax.text(-0.02, middle, f"{name}\n{told}", ha="right", va="center", fontsize=9)
    for (name, kind, value), (low, high), inside, middle in zip(
        taken, _levels(right, GAP), _levels(right, 0.0), _apart(_levels(right, GAP))
    ):
        _band(ax, (0.55, *inside), (1.0, low, high), _COLOURS[kind])
        ax.text(1.02, middle, f"{name}\n{TAKEN[kind]} {energy_text(value)}", ha="left", va="center", fontsize=9)
    ax.fill_between([0.45, 0.55], 0, 1, color="#cccccc", lw=0)
    error = 0.0 if abs(balance.error) <= SAME * whole else -balance.error
    lowest = min((low for shares in (left, right) for low, _ in _levels(shares, GAP)), default=0.0)
    highest = max((top for shares in (left, right) for top in _apart(_levels(shares, GAP))), default=1.0)
    ax.text(0.5, min(lowest, 0.0) - 0.04, f"{energy_text(whole)} in all; numerical error {error:.1g} J", ha="center",
            va="top", fontsize=9)  # fmt: skip
    ax.set_title("Energy over the run, in and out")
    ax.set_xlim(-0.45, 1.5)
    ax.set_ylim(min(lowest, 0.0) - 0.2, max(highest, 1.0) + 0.12)
    ax.axis("off")
    return ax.figure


def energy_text(value: float) -> str:
    """An energy with the prefix that leaves one to three digits before the point.

    Example
    -------
    >>> energy_text(1.214e5), energy_text(0.00217), energy_text(5e-9), energy_text(0.0)
    ('121 kJ', '2.17 mJ', '5e-09 J', '0 J')
    """
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")):
        if factor <= abs(value) < 1e3 * factor:
            return f"{float(f'{value / factor:.3g}'):g} {prefix}J"
    return f"{value:.3g} J"


def _shares(balance: EnergyBalance) -> tuple[list[tuple[str, str, float]], list[tuple[str, str, float]]]:
    """(part, kind, energy) of what gave and of what took energy, all positive; small shares of a kind joined."""
    sides: dict[bool, list[tuple[str, str, float]]] = {True: [], False: []}
    for name in balance.components["component"].values:
        for kind, way in (("supplied", 1), ("stored", -1), ("lost", -1)):
            value = way * float(balance.components[kind].sel(component=name))
            if value:
                sides[value > 0].append((str(name), kind, abs(value)))
    return _joined(sides[True]), _joined(sides[False])


def _joined(shares: list[tuple[str, str, float]]) -> list[tuple[str, str, float]]:
    """Shares below 2 % of their side taken together by kind; rounding left out."""
    whole = sum(value for _, _, value in shares)
    large = [share for share in shares if share[2] >= JOINED * whole]
    for kind in _COLOURS:
        small = [share for share in shares if share[1] == kind and NOT_DRAWN * whole < share[2] < JOINED * whole]
        if len(small) == 1:
            large.append((small[0][0], kind, small[0][2]))
        elif small:
            large.append((f"{len(small)} others", kind, sum(value for _, _, value in small)))
    return large


def _apart(levels: list[tuple[float, float]]) -> list[float]:
    """The middles of levels, moved up where two labels of two lines would touch.

    Example
    -------
    >>> [round(y, 2) for y in _apart([(0.0, 0.01), (0.02, 0.03), (0.5, 0.6)])]
    [0.01, 0.18, 0.55]
    """
    found: list[float] = []
    for low, high in levels:
        middle = (low + high) / 2
        found.append(max(middle, found[-1] + LABEL) if found else middle)
    return found


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
