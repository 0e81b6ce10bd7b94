"""Draw branches of equilibria: stable parts solid, unstable ones dashed, special points marked and named."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.display.look import Axes, labelled, look, panel_of
from daedalus.errors import InputError

if TYPE_CHECKING:
    from daedalus.studies.branches.branch import Branch
    from daedalus.studies.branches.followed_points import FollowedPoints
    from daedalus.studies.orbits.orbit_branch import OrbitBranch

# A mark for each kind of point.
MARKS = {
    "fold": "s", "hopf": "o", "branch point": "D", "cusp": "^", "bogdanov-takens": "v", "generalised hopf": "P",
    "fold of cycles": "s", "period doubling": "o", "torus": "^",
}  # fmt: skip


@look()
def plot_branch(branch: Branch, name: str | None, ax: Axes | None) -> Any:
    """One variable over the parameter; returns the figure."""
    chosen = _variable(branch, name)
    figure, panel = panel_of(ax, (6.4, 4.4))
    values, over = branch[chosen], branch[branch.parameter]
    drawn: set[bool] = set()
    for first, last, stable in _stretches(branch.stable):
        panel.plot(
            over[first : last + 1],
            values[first : last + 1],
            "-" if stable else "--",
            color="C0",
            label=None if stable in drawn else ("stable" if stable else "unstable"),
        )
        drawn.add(stable)
    marked: set[str] = set()
    for point in branch.points:
        panel.plot(
            [point.parameter],
            [point.state[chosen]],
            MARKS[point.kind],
            color="C1",
            markersize=6,
            label=None if point.kind in marked else ("Hopf point" if point.kind == "hopf" else point.kind),
        )
        marked.add(point.kind)
    places = branch.system.places
    parameter = branch.system.place(branch.parameter)
    panel.set_xlabel(labelled(branch.parameter, parameter.unit))
    panel.set_ylabel(labelled(chosen, places[chosen].unit if chosen in places else ""))
    panel.set_title(f"Equilibria of {branch.system.name}")
    panel.legend(fontsize="small")
    return figure


@look()
def plot_orbits(branch: OrbitBranch, name: str | None, ax: Axes | None) -> Any:
    """The largest and the smallest value of one variable on each orbit over the parameter; returns the figure."""
    chosen = _variable(branch, name)
    figure, panel = panel_of(ax, (6.4, 4.4))
    over, extents = branch[branch.parameter], (branch[chosen], branch.least(chosen))
    drawn: set[bool] = set()
    for first, last, stable in _stretches(branch.stable):
        for values in extents:
            told = None if stable in drawn else ("stable" if stable else "unstable")
            style = "-" if stable else "--"
            panel.plot(over[first : last + 1], values[first : last + 1], style, color="C0", label=told)
            drawn.add(stable)
    marked: set[str] = set()
    for point in branch.points:
        # Two marks, on the curves of the largest and of the smallest value.
        k = int(np.argmin(np.abs(over - point.parameter) + np.abs(branch.period - point.period) / point.period))
        label = None if point.kind in marked else point.kind
        for values in extents:
            panel.plot([point.parameter], [values[k]], MARKS[point.kind], color="C1", markersize=6, label=label)
            label = None
        marked.add(point.kind)
    panel.set_xlabel(labelled(branch.parameter, branch.system.place(branch.parameter).unit))
    places = branch.system.places
    panel.set_ylabel(labelled(f"{chosen}, largest and smallest", places[chosen].unit if chosen in places else ""))
    panel.set_title(f"Periodic orbits of {branch.system.name}")
    panel.legend(fontsize="small")
    return figure


@look()
def plot_followed(curve: FollowedPoints, ax: Axes | None) -> Any:
    """The curve in the plane of its two parameters; returns the figure."""
    figure, panel = panel_of(ax, (6.4, 4.4))
    first, second = curve.parameters
    panel.plot(curve[first], curve[second], label="folds" if curve.kind == "fold" else "Hopf points")
    marked: set[str] = set()
    for point in curve.points:
        label = None if point.kind in marked else point.kind
        panel.plot([point.parameters[first]], [point.parameters[second]], MARKS[point.kind], color="C1", label=label)
        marked.add(point.kind)
    panel.set_xlabel(first)
    panel.set_ylabel(second)
    panel.set_title("Folds" if curve.kind == "fold" else "Hopf points")
    panel.legend(fontsize="small")
    return figure


def _variable(branch: Branch | OrbitBranch, name: str | None) -> str:
    scalars = [own for own in branch if own != branch.parameter and branch[own].ndim == 1]
    if name is not None:
        if np.ndim(branch[name]) != 1:
            raise InputError(f"{name} is a vector.", remedy=f"br.plot('{name}[0]')")
        return name
    if scalars:
        return scalars[0]
    vector = next(own for own in branch if own != branch.parameter)
    return f"{vector}[{np.prod(branch[vector].shape[1:]) // 2}]" if branch[vector].ndim == 2 else f"{vector}[0,0]"


def _stretches(stable: np.ndarray) -> list[tuple[int, int, bool]]:
    """First and last rows of stretches that are stable or unstable throughout; neighbours share a row."""
    ends = [0, *(np.flatnonzero(np.diff(stable.astype(int))) + 1).tolist(), len(stable)]
    return [(first, min(last, len(stable) - 1), bool(stable[first])) for first, last in itertools.pairwise(ends)]
