"""The chain of rods for tools without a modelling language: planar bodies, multipliers, accelerations of the hinges.

Unknowns y = (x, y, angle of each rod; their rates; two forces of each hinge). The hinges stand as their second
derivative: index 1, so that a solver for 0 = F(t, y, y') can run it.
"""

from typing import Any

import numpy as np

GRAVITY = 9.81


def residual(rods: int) -> Any:
    """Compiled F(t, y, y', out) of a chain that is a metre long and weighs a kilogram."""
    import numba

    n, length, mass = rods, 1.0 / rods, 1.0 / rods
    inertia = mass * length**2 / 12

    @numba.njit
    def rows(t: float, y: Any, rate: Any, out: Any) -> None:
        half, first_rate, first_force = length / 2, 3 * n, 6 * n
        for i in range(3 * n):
            out[i] = rate[i] - y[first_rate + i]
        for i in range(n):
            c, s = np.cos(y[3 * i + 2]), np.sin(y[3 * i + 2])
            fx, fy = y[first_force + 2 * i], y[first_force + 2 * i + 1]
            gx, gy = 0.0, 0.0
            if i + 1 < n:
                gx, gy = y[first_force + 2 * i + 2], y[first_force + 2 * i + 3]
            v = first_rate + 3 * i
            out[v] = mass * rate[v] - fx + gx
            out[v + 1] = mass * (rate[v + 1] + GRAVITY) - fy + gy
            out[v + 2] = inertia * rate[v + 2] + half * (c * (fy + gy) - s * (fx + gx))
            # Acceleration of the left end, less that of the right end of the rod before.
            w, a = y[v + 2] ** 2, rate[v + 2]
            ax, ay = rate[v] + half * (s * a + c * w), rate[v + 1] - half * (c * a - s * w)
            if i > 0:
                k = v - 3
                c, s, w, a = np.cos(y[3 * i - 1]), np.sin(y[3 * i - 1]), y[k + 2] ** 2, rate[k + 2]
                ax -= rate[k] - half * (s * a + c * w)
                ay -= rate[k + 1] + half * (c * a - s * w)
            out[first_force + 2 * i], out[first_force + 2 * i + 1] = ax, ay

    return rows


def start(rods: int, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """y and y' of a chain that is let go horizontally from rest: forces and accelerations enter linearly."""
    y, rate = np.zeros(8 * rods), np.zeros(8 * rods)
    y[0 : 3 * rods : 3] = (np.arange(rods) + 0.5) / rods
    unknown = np.arange(3 * rods, 8 * rods)
    held = rest = np.zeros(8 * rods)
    rows(0.0, y, rate, rest)
    matrix = np.zeros((len(unknown), len(unknown)))
    for k, place in enumerate(unknown):
        held = np.zeros(8 * rods)
        where = rate if place < 6 * rods else y
        where[place] = 1.0
        rows(0.0, y, rate, held)
        where[place] = 0.0
        matrix[:, k] = held[unknown] - rest[unknown]
    found = np.linalg.solve(matrix, -rest[unknown])
    rate[3 * rods : 6 * rods], y[6 * rods :] = found[: 3 * rods], found[3 * rods :]
    return y, rate


def pattern(rods: int) -> Any:
    """Which entries of ∂F/∂y + c ∂F/∂y' may be nonzero."""
    from scipy.sparse import lil_matrix

    n = rods
    found = lil_matrix((8 * n, 8 * n))
    for i in range(n):
        for k in range(3):
            found[3 * i + k, [3 * i + k, 3 * (n + i) + k]] = 1
        v, force = 3 * (n + i), 6 * n + 2 * i
        forces = [force, force + 1] + ([force + 2, force + 3] if i + 1 < n else [])
        for k in range(3):
            found[v + k, [v + k, 3 * i + 2, *forces]] = 1
        ends = [v, v + 1, v + 2, 3 * i + 2] + ([v - 3, v - 2, v - 1, 3 * i - 1] if i > 0 else [])
        for k in range(2):
            found[force + k, ends] = 1
    return found.tocsc()


def positions(y: np.ndarray, rods: int) -> np.ndarray:
    """The centres of the rods, (rods, 2)."""
    return np.asarray(y[: 3 * rods]).reshape(rods, 3)[:, :2]
