"""Problems for controllers, written so that every tool gets the same: formulas of (x, u), weights, bounds, a start."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

HORIZON, STEP, SAMPLES = 20, 0.05, 300


@dataclass(frozen=True)
class Loop:
    """x' = rates(x, u) from `start` towards `aim` with inputs near `rest`, at the price of weighted squares."""

    rates: Callable[[Any, Any], Any]
    start: np.ndarray
    aim: np.ndarray
    rest: np.ndarray
    of_states: np.ndarray
    of_inputs: np.ndarray
    of_end: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def next_state(self, x: np.ndarray, u: np.ndarray, pieces: int = 4) -> np.ndarray:
        """The plant after one sampling interval, by the classical method."""

        def f(at: np.ndarray) -> np.ndarray:
            return np.array(self.rates(at, u), dtype=float)

        h = STEP / pieces
        for _ in range(pieces):
            one = f(x)
            two = f(x + h / 2 * one)
            three = f(x + h / 2 * two)
            x = x + h / 6 * (one + 2 * two + 2 * three + f(x + h * three))
        return x


def _cart_rates(x: Any, u: Any) -> list[Any]:
    """A cart of 1 kg with a bob of 0.3 kg on a rod of 0.5 m; angle from the upright."""
    sine, cosine = np.sin(x[1]), np.cos(x[1])
    push = u[0] + 0.15 * x[3] ** 2 * sine
    a = (push - 0.3 * 9.81 * sine * cosine) / (1.0 + 0.3 * sine**2)
    return [x[2], x[3], a, (9.81 * sine - a * cosine) / 0.5]


def _quadrotor_rates(x: Any, u: Any) -> list[Any]:
    """Position, velocity, unit quaternion and angular velocity; the catalogue's quadrotor."""
    mass, arm, drag, jx, jz = 0.468, 0.225, 0.0245, 4.856e-3, 8.801e-3
    w, a, b, c, p, q, r = (x[k] for k in range(6, 13))
    lift = (u[0] + u[1] + u[2] + u[3]) / mass
    up = [2 * (a * c + w * b), 2 * (b * c - w * a), 1 - 2 * (a * a + b * b)]
    spin = [-a * p - b * q - c * r, w * p + b * r - c * q, w * q + c * p - a * r, w * r + a * q - b * p]
    return [
        x[3], x[4], x[5], lift * up[0], lift * up[1], lift * up[2] - 9.81, *(0.5 * s for s in spin),
        (arm * (u[1] - u[3]) - (jz - jx) * q * r) / jx, (arm * (u[2] - u[0]) - (jx - jz) * p * r) / jx,
        drag * (u[0] - u[1] + u[2] - u[3]) / jz,
    ]  # fmt: skip


def loop_of(name: str) -> Loop:
    """A problem by name."""
    if name == "cart_pendulum":
        weights = np.array([10.0, 20.0, 0.1, 0.1])
        start, zero, one = np.array([0.0, np.pi, 0.0, 0.0]), np.zeros(1), np.ones(1)
        return Loop(
            _cart_rates, start, np.zeros(4), zero, weights, 0.01 * one, 5.0 * weights + 0.5, -20.0 * one, 20.0 * one
        )
    still = np.array([0.0] * 6 + [1.0] + [0.0] * 6)
    aim = still.copy()
    aim[:3] = 1.0
    weights = np.array([10.0] * 3 + [1.0] * 3 + [0.0] + [1.0] * 3 + [0.1] * 3)
    hover = np.full(4, 0.468 * 9.81 / 4)
    return Loop(
        _quadrotor_rates, still, aim, hover, weights, np.full(4, 0.1), 5.0 * weights, np.zeros(4), np.full(4, 2.5)
    )
