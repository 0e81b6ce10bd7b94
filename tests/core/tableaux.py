"""Explicit tableaux of orders 1 to 8 as plain numbers, for the tests of the general stepper."""

from __future__ import annotations

import numpy as np
from scipy.integrate._ivp import dop853_coefficients as dop853
from scipy.integrate._ivp.rk import RK45

from daedalus import _core


def lower(*rows: list[float]) -> np.ndarray:
    matrix = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return matrix


EULER = (lower([]), [1], [0], 1)
MIDPOINT = (lower([], [1 / 2]), [0, 1], [0, 1 / 2], 2)
HEUN3 = (lower([], [1 / 3], [0, 2 / 3]), [1 / 4, 0, 3 / 4], [0, 1 / 3, 2 / 3], 3)
RK4 = (lower([], [1 / 2], [0, 1 / 2], [0, 0, 1]), [1 / 6, 1 / 3, 1 / 3, 1 / 6], [0, 1 / 2, 1 / 2, 1], 4)
DOPRI5 = (np.pad(RK45.A, ((0, 0), (0, 1))), RK45.B, RK45.C, 5)
# Butcher 1964: On Runge-Kutta processes of high order, seven stages, order 6.
BUTCHER6 = (
    lower(
        [],
        [1 / 3],
        [0, 2 / 3],
        [1 / 12, 1 / 3, -1 / 12],
        [-1 / 16, 9 / 8, -3 / 16, -3 / 8],
        [0, 9 / 8, -3 / 8, -3 / 4, 1 / 2],
        [9 / 44, -9 / 11, 63 / 44, 18 / 11, 0, -16 / 11],
    ),
    [11 / 120, 0, 27 / 40, 27 / 40, -4 / 15, -4 / 15, 11 / 120],
    [0, 1 / 3, 2 / 3, 1 / 3, 1 / 2, 1 / 2, 1],
    6,
)
DOP8 = (dop853.A[:12, :12], dop853.B, dop853.C[:12], 8)

FIXED = {
    "euler": EULER,
    "midpoint": MIDPOINT,
    "heun3": HEUN3,
    "rk4": RK4,
    "dopri5": DOPRI5,
    "butcher6": BUTCHER6,
    "dop8": DOP8,
}


def make(name: str) -> _core.Tableau:
    a, b, c, order = FIXED[name]
    return _core.Tableau(a, b, c, None, order, 0)


def dopri5_pair() -> _core.Tableau:
    """The 5(4) pair with its seventh stage: first same as last."""
    a = np.zeros((7, 7))
    a[:6, :5] = RK45.A
    a[6, :6] = RK45.B
    b = np.append(RK45.B, 0)
    return _core.Tableau(a, b, np.append(RK45.C, 1), b + RK45.E, 5, 4)
