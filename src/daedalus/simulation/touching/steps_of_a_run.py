"""What a run with located contacts consists of: steps between places, impacts, and contacts that come to rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus.simulation.touching.body_rows import BodyRows
from daedalus.simulation.touching.contact_modes import Pair
from daedalus.simulation.touching.contact_step import ContactStepper
from daedalus.simulation.touching.tree_rows import TreeRows


class StepTaken(NamedTuple):
    """A step from a row: one alone, or two of half its length, extrapolated; and what the step before had left."""

    t: float
    x: np.ndarray
    h: float
    alone: bool
    pushed: frozenset[tuple[int, int]]
    taken: float

    def again(self, stepper: ContactStepper, x: np.ndarray, h: float) -> np.ndarray:
        """The row behind a step of a length from a row nearby."""
        stepper.pushed, stepper.taken = self.pushed, self.taken
        one = stepper.step(self.t, x, h, located=True).x
        if self.alone:
            return one
        half = stepper.step(self.t, x, 0.5 * h, located=True).x
        rest = stepper.step(self.t + 0.5 * h, half, 0.5 * h, located=True).x
        return extrapolated(stepper.bodies.rows, one, rest)


class Struck(NamedTuple):
    """Impacts of some pairs at a row."""

    t: float
    x: np.ndarray
    pairs: set[Pair]
    pushed: frozenset[tuple[int, int]]
    taken: float

    def again(self, stepper: ContactStepper, x: np.ndarray) -> np.ndarray:
        """The row behind the impacts from a row nearby."""
        stepper.pushed, stepper.taken = self.pushed, self.taken
        found = stepper.impacts(self.t, x)
        return x if found is None else found[0]


class Stuck(NamedTuple):
    """Pairs that have slid come to rest at a row."""

    t: float
    x: np.ndarray
    pairs: tuple[Pair, ...]


def extrapolated(rows: BodyRows | TreeRows, one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """The row behind two steps of half the length with the error that one of the whole length shows taken off.

    A step is symmetric in time, so that its error has even powers of the length alone (W. B. Gragg, SIAM J. Numer.
    Anal. 2, 1965): this is of order four between changes of contacts.
    """
    return rows.unit(two + (two - one) / 3.0)
