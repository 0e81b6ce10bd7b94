"""One look for all plots: colours that colour-blind readers tell apart, units on axes, scales that stay readable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

# The type of a panel; nothing of matplotlib is imported before something is drawn.
if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any

# M. Okabe and K. Ito, Color Universal Design (2008), the dark ones first; yellow, which vanishes on paper, left out.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#666666")
# Curves beyond the number of colours repeat them with another stroke.
STYLES = ("-", "--", "-.")
MOST_LEGEND_ENTRIES = 16
TIME_LABEL = "time [s]"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Curves that leave the range of their inner 90 % by this factor have blown up.
BLOW_UP = 50.0
# Time is logarithmic if this share of many steps is in this first part of the run.
MANY_STEPS, EARLY_STEPS, EARLY = 40, 0.75, 1e-3


@contextmanager
def look() -> Iterator[None]:
    """The package's colours and lines for what is drawn inside; a user's own style is left alone elsewhere."""
    import matplotlib as mpl
    from cycler import cycler

    with mpl.rc_context({
        "axes.prop_cycle": cycler(linestyle=STYLES) * cycler(color=COLOURS),
        "axes.grid": True, "grid.alpha": 0.3, "lines.linewidth": 1.4,
        "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": "medium", "legend.fontsize": "small",
        "axes.formatter.limits": (-3, 5), "axes.formatter.use_mathtext": True,
    }):  # fmt: skip
        yield


def labelled(name: str, unit: str) -> str:
    """A name with its unit as axes show it.

    Example
    -------
    >>> labelled("speed", "m/s"), labelled("mode", "")
    ('speed [m/s]', 'mode')
    """
    text = unit_text(unit)
    return f"{name} [{text}]" if text else name


def unit_text(unit: str) -> str:
    """A unit label as it is read: powers raised, products with a dot, seconds below the line taken together.

    What is measured in ones, `unit="1"`, has none.

    Example
    -------
    >>> unit_text("kg*m^2"), unit_text("m/s/s"), unit_text("ohm"), unit_text("1/s"), unit_text("1")
    ('kg·m²', 'm/s²', 'Ω', '1/s', '')
    """
    if unit == "1":
        return ""
    seconds = len(unit) - len(unit.rstrip("/s")) if unit.endswith("/s/s") else 0
    if seconds:
        order = seconds // 2
        unit = f"{unit[:-seconds]}/s^{order}"
    unit = re.sub(r"(?:\^|\*\*)(-?\d+)", lambda power: power[1].translate(_RAISED), unit)
    return re.sub(r"\bohm\b", "Ω", unit.replace("*", "·"))


def panel_of(ax: Axes | None, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
    """The figure and the panel to draw into: those of given axes, or new ones of a size in inches."""
    if ax is not None:
        return ax.figure, ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, **{"layout": "constrained", **options})


def panel_column(ax: Axes | None, count: int, height: float, **options: Any) -> tuple[Any, list[Any]]:
    """The figure and panels below each other over one time; given axes serve for all of them."""
    if ax is not None:
        return ax.figure, [ax] * count
    import matplotlib.pyplot as plt

    size = (8, height)
    figure, grid = plt.subplots(count, 1, sharex=True, squeeze=False, figsize=size, layout="constrained", **options)
    return figure, list(grid[:, 0])


def draw_axes(panel: Axes, **style: Any) -> None:
    """Lines through zero, both ways, below all curves: some run along them."""
    panel.axhline(0.0, **{"zorder": 1, **style})
    panel.axvline(0.0, **{"zorder": 1, **style})


def legend(panel: Axes, beside: bool) -> None:
    """A legend: beside a panel of our own, inside one that was given; of very many curves the first and the last."""
    handles, labels = panel.get_legend_handles_labels()
    if not labels:
        return
    if len(labels) > MOST_LEGEND_ENTRIES:
        import matplotlib.lines

        gap = matplotlib.lines.Line2D([], [], linestyle="none")
        handles = [*handles[: MOST_LEGEND_ENTRIES - 2], gap, handles[-1]]
        labels = [*labels[: MOST_LEGEND_ENTRIES - 2], f"… {len(labels) - MOST_LEGEND_ENTRIES + 1} more", labels[-1]]
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False} if beside else {}
    panel.legend(handles, labels, fontsize="small", **place)


def tell_left_out(figure: Any, names: Sequence[str], call: str, lister: str) -> None:
    """What a picture does not show, below it, with the call that draws it and the one that lists all names."""
    if not names:
        return
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    text = f"Not shown ({len(names)}): {shown}. {call} draws the names you give; {lister} lists them."
    figure.supxlabel("\n".join(wrap(text, 90)), fontsize="small", color="0.4")


def ending_text(tr: Any) -> str:
    """Why a run ended, with the unit of the time where that is all there is to say."""
    return f"{tr.stop_reason} s" if tr.status == "finished" else str(tr.stop_reason)


def mark_events(panel: Axes, times: Sequence[float]) -> None:
    """Thin lines at the times of events."""
    for t in list(times)[:200]:
        panel.axvline(t, color="0.8", linewidth=0.7, zorder=0)


def logarithmic_from(times: np.ndarray) -> float:
    """Where a logarithmic time axis of a run with these steps begins; 0 where the axis is linear.

    Stiff kinetics over 1e11 s would otherwise happen within the first pixel.

    Example
    -------
    >>> import numpy as np
    >>> logarithmic_from(np.array([0.0, *np.geomspace(1e-3, 1e11, 100)])), logarithmic_from(np.linspace(0, 1, 100))
    (0.001, 0.0)
    """
    times = np.asarray(times, dtype=float)
    if len(times) < MANY_STEPS or times[0] != 0 or times[-1] <= 0:
        return 0.0
    early = np.quantile(times, EARLY_STEPS)
    return float(times[1]) if 0 < early < EARLY * times[-1] else 0.0


def readable_limits(values: np.ndarray) -> tuple[float, float] | None:
    """Limits for curves that end in a blow-up, which would flatten what came before; None where none is needed.

    Example
    -------
    >>> import numpy as np
    >>> t = np.linspace(0, 1, 101)
    >>> readable_limits(np.sin(t)) is None
    True
    >>> low, high = readable_limits(np.where(t < 1, np.sin(6 * t), 1e9))
    >>> bool(low >= -1 and 3 < high < 10)
    True
    """
    finite = values[np.isfinite(values)]
    if len(finite) < 20:
        return None
    low, high = np.quantile(finite, [0.05, 0.95])
    body = high - low
    if body <= 0 or np.ptp(finite) <= BLOW_UP * body:
        return None
    return float(max(finite.min(), low - 2 * body)), float(min(finite.max(), high + 2 * body))
