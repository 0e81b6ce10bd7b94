"""Contacts and joints that contradict each other: no velocities obey both, whatever the forces.

Contacts want G v >= b, joints J v = r. The least s with G v >= b - s and |J v - r| <= s is a linear program; where it
is not zero there is no motion, with or without friction. Its multipliers tell which rows are at odds (J. Farkas, J.
reine angew. Math. 124, 1902). What escapes only at velocities that no digit of a direction supports does not escape.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.errors import SolverError


class NoMotionError(SolverError):
    """No velocities obey the contacts and joints of a moment: some pairs of shapes, and rows of joints."""

    def __init__(self, pairs: list[tuple[int, int, int]], joints: list[int], missing: float) -> None:
        super().__init__("No velocities obey all contacts and joints.", f"they miss by {missing:.3g} m/s")
        self.pairs, self.joints, self.missing = pairs, joints, missing


class RowsAtOdds(NamedTuple):
    """Rows of contacts and of joints that no velocities obey together, and by how much they miss, m/s."""

    contacts: np.ndarray
    joints: np.ndarray
    missing: float


def conflict(
    contacts: np.ndarray, bounds: np.ndarray, joints: np.ndarray, rates: np.ndarray, scale: float
) -> RowsAtOdds | None:
    """The rows at odds; None where some velocities obey all to a small share of a scale.

    Example
    -------
    >>> found = conflict(np.array([[1.0]]), np.array([0.0]), np.array([[1.0]]), np.array([-2.0]), 2.0)
    >>> found.missing, conflict(np.array([[1.0]]), np.array([0.0]), np.array([[1.0]]), np.array([2.0]), 2.0) is None
    (1.0, True)
    """
    own = np.flatnonzero(np.isfinite(bounds))
    width = joints.shape[1] + 1
    one = np.ones((len(own), 1)), np.ones((len(joints), 1))
    rows = np.vstack(
        [np.hstack([-contacts[own], -one[0]]), np.hstack([joints, -one[1]]), np.hstack([-joints, -one[1]])]
    )
    right = np.concatenate([-bounds[own], rates, -rates])
    cost = np.eye(width)[-1]
    most = scale / KNOWN_BY_DIFFERENCES
    from scipy.optimize import linprog  # half a second to import, and seldom needed

    found = linprog(cost, rows, right, bounds=[(-most, most)] * (width - 1) + [(0, None)], method="highs")
    if found.status != 0 or found.fun <= KNOWN_BY_DIFFERENCES * scale:
        return None
    pressed = np.abs(found.ineqlin.marginals) > KNOWN_BY_DIFFERENCES
    held = pressed[len(own) :].reshape(2, -1).any(axis=0)
    return RowsAtOdds(own[pressed[: len(own)]], np.flatnonzero(held), float(found.fun))
