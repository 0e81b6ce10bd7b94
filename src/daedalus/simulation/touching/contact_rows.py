"""Rows, steps and held values of a run with hard contacts, as they come."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.simulation.between.dense import Dense
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.held_values import HeldValues


class ContactRows:
    """What a run leaves behind: a row behind every step and jump, and the parameters that held in each step."""

    def __init__(self, t: float, x: np.ndarray) -> None:
        self.times, self.rows = [t], [x]
        self._spans: list[tuple[float, float, np.ndarray, np.ndarray, np.ndarray]] = []
        self._held: list[tuple[int, float, np.ndarray]] = []

    def jump(self, t: float, x: np.ndarray, values: np.ndarray | None = None) -> None:
        """A row behind a jump, with the parameters that hold from there on where they have changed."""
        self.times.append(t)
        self.rows.append(x)
        if values is not None:
            self._held.append((len(self.rows) - 1, t, values))

    def step(self, span: tuple[float, float], x0: np.ndarray, x1: np.ndarray, values: np.ndarray) -> None:
        """A step between two rows, and the parameters in it."""
        self._held.append((len(self.rows) - 1, span[0], values))
        self._spans.append((*span, x0, x1, values))
        self.times.append(span[1])
        self.rows.append(x1)

    @property
    def lengths(self) -> list[float]:
        """Those of the steps."""
        return [b - a for a, b, *_ in self._spans]

    def held(self, count: int) -> HeldValues | None:
        """The last `count` parameters along the run; None where there was no step."""
        if not self._held:
            return None
        first, when, values = zip(*self._held)
        table = np.array(values)
        return HeldValues(np.array(first, dtype=float), np.array(when), table[:, table.shape[1] - count :].copy())

    def dense(self, plant: Any, drive: Drive) -> Dense:
        """Cubic polynomials on the steps, from the rows and their slopes on both sides."""
        if not self._spans:
            return Dense.joined([], plant.row_width)
        t0, t1 = (np.array([span[k] for span in self._spans]) for k in (0, 1))
        x0, x1, p = (np.array([span[k] for span in self._spans]) for k in (2, 3, 4))
        h = (t1 - t0)[:, None]
        d0, d1 = (slopes_at(plant, t, x, drive.at(t), p) * h for t, x in ((t0, x0), (t1, x1)))
        coefficients = np.stack([x0, d0, 3 * (x1 - x0) - 2 * d0 - d1, 2 * (x0 - x1) + d0 + d1], axis=1)
        return Dense(t0, t1, np.ascontiguousarray(coefficients))


def slopes_at(plant: Any, t: np.ndarray, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The slopes of rows, with parameters for each row or for all; by a solve for each where a plant needs one."""
    function = plant.rhs.core
    if callable(function) or p.ndim == 1:
        found: np.ndarray = function.evaluate_many(t[:, None], x, u, p)[0]
        return found
    rows = zip(t, x, u, p)
    return np.array([function.evaluate_many(np.array([[t]]), x[None], u[None], p)[0][0] for t, x, u, p in rows])
