"""Carts that carry a pole, of any masses, lengths and units of time, as index 3; their motion by angle is an ODE.

    M x'' = λ (p - x),  m p'' = -λ (p - x),  m h'' = -λ h - m g,  (p - x)² + h² = L²

A light cart hurries below the mass of its pole whenever that passes the lowest place: its own scale of time is
shorter by the root of the ratio of masses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

import daedalus as dd

NAMES = ("x", "p", "h", "vx", "vp", "vh", "force")


@dataclass(frozen=True)
class CartAndPole:
    """Masses of cart and pole, length, gravity, span and first angle, in any units."""

    cart: float
    pole: float
    length: float
    gravity: float
    span: float
    angle: float

    @classmethod
    def random(cls, rng: np.random.Generator, decades: float = 6.0) -> CartAndPole:
        """One whose masses differ by up to so many decades, with units of time from 0.1 ms to three hours."""
        pole, ratio, length = 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-decades, decades), 10 ** rng.uniform(-1, 1)
        gravity = 9.81 * 10 ** (2 * rng.uniform(-4, 4))
        span = 3 * np.sqrt(length / gravity) * rng.uniform(0.5, 1.5)
        return cls(ratio * pole, pole, length, gravity, span, rng.uniform(-2.5, 2.5))

    def in_unit(self, seconds: float) -> CartAndPole:
        """The same one with times counted in so many seconds."""
        parts = self.cart, self.pole, self.length, self.gravity * seconds**2, self.span / seconds, self.angle
        return CartAndPole(*parts)

    @property
    def start(self) -> np.ndarray:
        """Consistent values at rest."""
        sine, cosine, one = np.sin(self.angle), np.cos(self.angle), self.length
        force = self.gravity * cosine / (one * (sine**2 * (1 / self.cart + 1 / self.pole) + cosine**2 / self.pole))
        return np.array([0.0, one * sine, -one * cosine, 0.0, 0.0, 0.0, force])

    @property
    def sizes(self) -> np.ndarray:
        """What each unknown is large beside."""
        speed = np.sqrt(self.gravity * self.length)
        return np.array([self.length] * 3 + [speed] * 3 + [self.pole * self.gravity / self.length])

    def equations(self) -> Callable[[float, Sequence[float], Sequence[float]], list[float]]:
        """F(t, y, y') as `dd.solve_dae` takes it."""

        def residual(t: float, y: Sequence[float], yp: Sequence[float]) -> list[float]:
            x, p, h, vx, vp, vh, force = y
            return [
                yp[0] - vx, yp[1] - vp, yp[2] - vh, self.cart * yp[3] - force * (p - x),
                self.pole * yp[4] + force * (p - x), self.pole * yp[5] + force * h + self.pole * self.gravity,
                (p - x) ** 2 + h**2 - self.length**2,
            ]  # fmt: skip

        return residual

    def model(self) -> dd.Model:
        """The same as a model."""
        m = dd.Model("cart and pole")
        y = [m.state(name, start=float(value)) for name, value in zip(NAMES[:6], self.start)]
        force = m.algebraic(NAMES[6])
        for residual in self.equations()(0.0, [*y, force], [*(m.der(one) for one in y), 0.0]):
            m.equation(residual)
        return m

    def end(self) -> np.ndarray:
        """Positions and speeds at the end, by x and the angle from below with an explicit method of order 8."""
        cart, pole, one, gravity = self.cart, self.pole, self.length, self.gravity

        def slopes(t: float, y: np.ndarray) -> list[float]:
            _, angle, speed, turning = y
            sine, cosine = np.sin(angle), np.cos(angle)
            whole, pull = cart + pole * sine**2, one * turning**2 + gravity * cosine
            below = -(gravity * (cart + pole) + pole * one * cosine * turning**2)
            return [speed, turning, pole * sine * pull / whole, sine * below / (one * whole)]

        floor = 1e-15 * np.array([one, 1.0, one / self.span, 1 / self.span])
        run = solve_ivp(slopes, (0, self.span), [0, self.angle, 0, 0], "DOP853", rtol=3e-14, atol=floor)
        x, angle, speed, turning = run.y[:, -1]
        sine, cosine = np.sin(angle), np.cos(angle)
        places = [x, x + one * sine, -one * cosine]
        return np.array([*places, speed, speed + one * cosine * turning, one * sine * turning])

    def error(self, found: np.ndarray, wanted: np.ndarray) -> float:
        """The largest difference of positions and speeds, in units of their sizes."""
        return float(np.max(np.abs(found[:6] - wanted) / self.sizes[:6]))
