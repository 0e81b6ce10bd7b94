"""Lengths and speeds of a run with hard contacts: what touches, what rests, what bounces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus.algebra.agreement import HALF_OF_DIGITS
from daedalus.simulation.touching.touching_bodies import TouchingBodies

# Touching, as a share of the size of shapes: half the digits of a gap, which is a difference of positions.
TOUCH = HALF_OF_DIGITS
# A fixed step that is not given, as a share of the time √(size / pull): in it a shape falls by half the square of this
# in its sizes, and Moreau's method, of order one, is good to about this share.
FIXED = 0.01
# A contact goes on over gaps of this share of the shapes' size: twice the fall in a fixed step. The share of the speed
# that a step gives is by judgement.
NEAR, NEAR_SPEED = FIXED**2, 0.1
# Accelerations below this share of v² / size hardly bend a motion.
WEIGHTLESS = 1e-3


class Lengths(NamedTuple):
    """What counts as touching (m), as an approach at rest (m/s), and as a bounce."""

    touch: float
    slow: float
    bounce: float
    size: float  # of shapes
    pull: float  # the acceleration at the start, m/s²


def speed_and_pull(bodies: TouchingBodies, row: np.ndarray, slope: np.ndarray, large: float) -> tuple[float, float]:
    """The largest speed at the start, and the largest acceleration or what stands for it."""
    fast = float(np.abs(bodies.rows.twists(row)[:, :3]).max(initial=0.0))
    pull = float(np.abs(bodies.rows.changes(row, slope)[:, :3]).max(initial=0.0))
    if pull < WEIGHTLESS * fast**2 / large:
        pull = fast**2 / large  # in the time of a fall a body goes as far as it is large
    return fast, pull or 1e-3
