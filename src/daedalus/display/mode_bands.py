"""Modes over time as bands: a discrete variable that only takes a few whole numbers is shown by what it is when."""

from __future__ import annotations

import numpy as np

from daedalus.display.look import Axes
from daedalus.simulation.result.trajectory import Trajectory

# With more values, or more changes, steps are easier to read.
MOST_VALUES, MOST_CHANGES = 8, 200
# A value is written into its band where that is longer than this share of the run.
ROOM = 0.03


def is_mode(tr: Trajectory, name: str) -> bool:
    """Whether a name is a scalar discrete variable that only takes a few whole numbers.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("lamp"); x = m.state("x", start=0.0)
    >>> on, level = m.discrete("on"), m.discrete("level", start=0.5)
    >>> m.equation(m.der(x), on); m.schedule([1.0], {"on": 1})
    >>> tr = dd.simulate(m, 2.0)
    >>> is_mode(tr, "on"), is_mode(tr, "level"), is_mode(tr, "x")
    (True, False, False)
    """
    if name not in {v.name for v in tr.system.of_kind("discrete") if v.shape == ()}:
        return False
    values = np.asarray(tr[name])
    whole = bool(np.all(values == np.round(values)))
    few = len(np.unique(values)) <= MOST_VALUES and np.count_nonzero(np.diff(values)) <= MOST_CHANGES
    return whole and bool(few)


def draw_bands(panel: Axes, tr: Trajectory, name: str) -> None:
    """A coloured band for each stretch of a mode, with its value written in it."""
    values, times = np.asarray(tr[name]), np.asarray(tr.time)
    begins = np.flatnonzero(np.concatenate([[True], np.diff(values) != 0]))
    ends = [*times[begins[1:]], times[-1]]
    kinds = np.unique(values).tolist()
    length = abs(times[-1] - times[0])
    for begin, end in zip(begins, ends):
        value, first = values[begin], times[begin]
        panel.axvspan(first, end, color=f"C{kinds.index(value) % 10}", alpha=0.35, linewidth=0)
        if abs(end - first) > ROOM * length:
            panel.text(0.5 * (first + end), 0.5, f"{value:g}", ha="center", va="center", fontsize="small")
    panel.set_ylim(0.0, 1.0)
    panel.set_yticks([])
    panel.set_ylabel(name, rotation=0, ha="right", va="center")
