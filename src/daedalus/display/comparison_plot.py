"""Draw several runs over each other, and how far they are apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.display.curves import MOST_PANELS
from daedalus.display.look import COLOURS, TIME_LABEL, Axes, labelled, legend, look, panel_column, tell_left_out
from daedalus.display.trajectory_plot import fine_samples
from daedalus.errors import InputError
from daedalus.model.names import split_index
from daedalus.model.values import unit_of
from daedalus.simulation.result.labelled_samples import element_columns, recorded_names
from daedalus.simulation.result.trajectory import Trajectory

# Longer names are written above their panel.
LONGEST_LABEL = 16
DASHES = ("-", "--", ":", "-.")


def compare(
    *runs: Trajectory,
    names: str | Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw several runs together, with one panel per quantity; returns the figure.

    Parameters
    ----------
    runs: two or more trajectories, of one model or of several.
    names: what to draw, also elements such as "x[0]"; by default the states that all runs have.
    labels: a name for every run, for the legend.
    ax: axes to draw everything into.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 1.0)
    >>> m.equation(m.der(x), -k * x)
    >>> slow, fast = dd.simulate(m, 2.0), dd.simulate(m, 2.0, parameters={"k": 3.0})
    >>> figure = dd.compare(slow, fast, labels=["k = 1", "k = 3"])
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['k = 1', 'k = 3']
    """
    _check(runs, labels)
    titles = list(labels) if labels is not None else run_names(runs)
    wanted = _common(runs) if names is None else [names] if isinstance(names, str) else list(names)
    samples = [fine_samples(run) for run in runs]
    entries = [entry for name in wanted for entry in _entries(samples, name)]
    left_out: list[str] = []
    if names is None:
        entries, left_out = entries[:MOST_PANELS], [label for label, _ in entries[MOST_PANELS:]]
    with look():
        figure, panels = panel_column(ax, len(entries), 1.2 + 1.9 * len(entries))
        if ax is None:
            figure.suptitle(", ".join(dict.fromkeys(run.system.name for run in runs)), wrap=True)
            tell_left_out(figure, left_out, "dd.compare(..., names=[...])", "tr.keys()")
        for place, (panel, (label, columns)) in enumerate(zip(panels, entries)):
            for k, (sample, column) in enumerate(zip(samples, columns)):
                text = titles[k] if ax is None or len(entries) == 1 else f"{label}, {titles[k]}"
                colour = COLOURS[(k if ax is None or len(entries) == 1 else place) % len(COLOURS)]
                panel.plot(sample.time, column, DASHES[k % len(DASHES)], color=colour, label=text)
            unit = unit_of(runs[0].system, split_index(label)[0])
            if len(label) > LONGEST_LABEL and ax is None:
                panel.set_title(label, loc="left", fontsize="small")
            panel.set_ylabel(labelled("" if len(label) > LONGEST_LABEL else label, unit).strip())
        legend(panels[0], beside=ax is None)
        panels[-1].set_xlabel(TIME_LABEL)
    return figure


def _check(runs: Sequence[object], labels: Sequence[str] | None) -> None:
    wrong = [run for run in runs if not isinstance(run, Trajectory)]
    if len(runs) < 2 or wrong:
        raise InputError(
            "dd.compare needs at least two runs.",
            f"got {type(wrong[0]).__name__}" if wrong else f"got {len(runs)}",
            because="every curve is drawn from a trajectory.",
            remedy="dd.compare(dd.simulate(m, 1.0), dd.simulate(n, 1.0))",
        )
    if labels is not None and len(labels) != len(runs):
        raise InputError(
            "Every run needs one label.", f"{len(runs)} runs, {len(labels)} labels", remedy='labels=["before", "after"]'
        )


def run_names(runs: Sequence[Trajectory]) -> list[str]:
    """What runs are called where nobody says it: as their models, or by number where two of these are the same."""
    names = [run.system.name for run in runs]
    return names if len(set(names)) == len(names) else [f"run {k + 1}" for k in range(len(runs))]


def _common(runs: Sequence[Trajectory]) -> list[str]:
    first, *others = (recorded_names(run) for run in runs)
    kinds = {v.name: v.kind for v in runs[0].system.variables}
    shared = [n for n in first if all(n in other for other in others) and kinds.get(n, "output") != "input"]
    if not shared:
        raise InputError(
            "The runs have no quantity in common.",
            [f"{run.system.name} has {', '.join(recorded_names(run)[:6])}" for run in runs[:3]],
            remedy="names=[...] that all of them have",
        )
    return shared


def _entries(samples: Sequence[Any], name: str) -> list[tuple[str, list[np.ndarray]]]:
    """(label, one column a run) of every element of a name."""
    values = [np.asarray(sample[name]) for sample in samples]
    if len({v.shape[1:] for v in values}) > 1:
        raise InputError(f"{name} has different shapes in the runs.", remedy=f'names=["{name}[0]"]')
    every = [element_columns(name, v) for v in values]
    return [(label, [columns[label] for columns in every]) for label in every[0]]
