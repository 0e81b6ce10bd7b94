"""What `.meas` looks at: a run over time with its dense output, or the points of a sweep with lines between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from daedalus.components.spice.analyses.named_values import evaluated
from daedalus.components.spice.netlist import Netlist
from daedalus.components.spice.netlist_text import Card

Tree = tuple[Any, ...]
MOST_PANELS = 200_000
# Boole's rule over four parts of a panel.
BOOLE = np.array([7.0, 32.0, 12.0, 32.0, 7.0]) / 90.0


class Panels:
    """A curve in panels of five points each, (panels, 5): jumps lie between panels."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self.x, self.y = x, y

    def integral(self, power: int = 1) -> float:
        """∫ yᵏ dx."""
        return float(np.sum((self.y**power @ BOOLE) * (self.x[:, -1] - self.x[:, 0])))


class Curve(Protocol):
    """A formula along an axis."""

    first: float
    last: float

    def panels(self, tree: Tree, low: float, high: float, card: Card) -> Panels:
        """The formula between two places of the axis."""

    def at(self, tree: Tree, x: float, card: Card) -> float:
        """The formula at a place of the axis."""


class RunCurve:
    """A run over time; between its rows are points of the dense output, at least one for every step of .tran."""

    def __init__(self, run: Any, netlist: Netlist, known: Mapping[str, Any]) -> None:
        self.run, self.netlist, self.known = run, netlist, known
        self.first, self.last = float(run.time[0]), float(run.time[-1])

    def _values(self, tree: Tree, samples: Any, times: np.ndarray, card: Card) -> np.ndarray:
        known = {**self.known, "time": times}
        found = evaluated(tree, lambda name: np.asarray(samples[name]), self.netlist, card, known)
        return np.real(np.broadcast_to(found, times.shape)).astype(float)

    def panels(self, tree: Tree, low: float, high: float, card: Card) -> Panels:
        """Panels between the rows of the run."""
        rows = np.asarray(self.run.time, dtype=float)
        own = self._values(tree, self.run, rows, card)
        begin, end = np.clip(rows[:-1], low, high), np.clip(rows[1:], low, high)
        used = np.flatnonzero(end > begin)
        if not len(used):
            return Panels(np.zeros((0, 5)), np.zeros((0, 5)))
        step = max(self.netlist.transient.step, (high - low) / MOST_PANELS)
        parts = np.maximum(1, np.ceil((end - begin)[used] / step)).astype(int)
        place = np.repeat(used, parts)
        share = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        width = (end - begin)[place] / np.repeat(parts, parts)
        left = begin[place] + share * width
        x = left[:, None] + width[:, None] * np.linspace(0.0, 1.0, 5)
        x = np.clip(x, low, high)
        y = self._values(tree, self.run.at(x.ravel()), x.ravel(), card).reshape(x.shape)
        # Rows know both sides of a jump, the dense output the later one.
        last = share == np.repeat(parts, parts) - 1
        whole = last & (end[place] == rows[place + 1])
        y[whole, -1] = own[place[whole] + 1]
        return Panels(x, y)

    def at(self, tree: Tree, x: float, card: Card) -> float:
        """The value at a time."""
        times = np.array([min(max(x, self.first), self.last)])
        return float(self._values(tree, self.run.at(times), times, card)[0])


class TableCurve:
    """The points of a sweep; complex values are their magnitudes."""

    def __init__(self, dataset: Any, axis: str, netlist: Netlist, known: Mapping[str, Any], row: int = 0) -> None:
        """Row: which curve of a nested sweep."""
        self.dataset, self.netlist, self.known, self.row = dataset, netlist, known, row
        self.axis = np.asarray(dataset[axis], dtype=float)
        self.names = {axis: self.axis}
        self.first, self.last = float(self.axis.min()), float(self.axis.max())

    def _values(self, tree: Tree, card: Card) -> tuple[np.ndarray, np.ndarray]:
        def lookup(name: str) -> np.ndarray:
            found = np.asarray(self.dataset[name])
            return found if found.ndim == 1 else found[self.row]

        found = np.asarray(evaluated(tree, lookup, self.netlist, card, {**self.known, **self.names}))
        found = np.abs(found) if np.iscomplexobj(found) else found
        order = np.argsort(self.axis, kind="stable")
        return self.axis[order], np.broadcast_to(found, self.axis.shape)[order].astype(float)

    def panels(self, tree: Tree, low: float, high: float, card: Card) -> Panels:
        """Straight lines between the points; a single point is a panel without width."""
        x, y = self._values(tree, card)
        if len(x) == 1 and low <= x[0] <= high:
            return Panels(np.full((1, 5), x[0]), np.full((1, 5), y[0]))
        begin, end = np.clip(x[:-1], low, high), np.clip(x[1:], low, high)
        used = end > begin
        spots = begin[used, None] + (end - begin)[used, None] * np.linspace(0.0, 1.0, 5)
        return Panels(spots, np.interp(spots, x, y))

    def at(self, tree: Tree, x: float, card: Card) -> float:
        """The value between the points."""
        return float(np.interp(x, *self._values(tree, card)))
