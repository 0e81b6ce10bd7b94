"""Problems for BDF whose solutions are published or known: model, row at the start, end, exact values there."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from implicit_models import implicit_model

import daedalus as dd
from daedalus import _core, catalogue


@dataclass
class Problem:
    """A model ready for the core; integrate(...) runs it to its end."""

    model: dd.Model
    start: list[float]
    end: float
    exact: np.ndarray = field(default_factory=lambda: np.zeros(0))
    index: tuple[int, ...] = ()
    level: tuple[int, ...] = ()
    inputs: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self.core = implicit_model(self.model, self.index, self.level)
        self.parameters = self.model.freeze().start["p"]

    def integrate(self, method: object = None, end: float | None = None, **options: object) -> _core.Run:
        end = self.end if end is None else end
        method = _core.Bdf() if method is None else method
        start = np.array(options.pop("start", self.start), float)
        inputs = np.array(self.inputs, float)
        begin = options.pop("begin", 0.0)
        return _core.integrate(self.core, method, begin, end, start, inputs, self.parameters, **options)


def published(name: str) -> Problem:
    """Robertson, Chemical Akzo Nobel or HIRES; all have as many equations as y, explicit in the derivatives."""
    known = catalogue.load(name)
    system = known.model.freeze()
    symbols = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    residual = ca.Function("residual", symbols, [system.residual, ca.jacobian(system.residual, symbols[1])])
    start = system.default_start
    value, matrix = (np.array(part) for part in residual(0, 0, start, [], [], system.start["p"]))
    slope = -np.linalg.lstsq(matrix, value, rcond=None)[0][:, 0]
    return Problem(known.model, [*start, *slope], known.span[1], np.asarray(known.reference["y"]))


def hyperbola() -> Problem:
    """x' = -z with z = x²: x = 1 / (1 + t)."""
    m = dd.Model("hyperbola")
    x, z = m.state("x"), m.algebraic("z")
    m.equation(m.der(x), -z)
    m.equation(z, x**2)
    return Problem(m, [1, 1, -1], 4.0, np.array([0.2, 0.04, -0.04]))


def attracted() -> Problem:
    """x' = z with z = -5 (x - g) + g', g = e^(-t/2): errors of the start are forgotten, and x = g remains."""
    m = dd.Model("attracted")
    x, z = m.state("x"), m.algebraic("z")
    m.equation(m.der(x), z)
    g = ca.exp(-m.time / 2)
    m.equation(z, -5 * (x - g) - g / 2)
    return Problem(m, [1, -0.5, -0.5], 8.0, np.exp([-4.0]))


def van_der_pol() -> Problem:
    """The stiff oscillator; end values of the Test Set for IVP Solvers."""
    m = dd.Model("van der pol")
    x, v = m.state("x"), m.state("v")
    m.equation(m.der(x), v)
    m.equation(1e-6 * m.der(v), (1 - x**2) * v - x)
    return Problem(m, [2, 0, 0, -2e6], 2.0, np.array([1.706167732170483, -0.8928097010247975]))


def index_two() -> Problem:
    """E. Hairer, Ch. Lubich, M. Roche (1989): solution e^t, e^-2t, and e^2t for z."""
    m = dd.Model("index 2")
    x, y, z = m.state("x"), m.state("y"), m.algebraic("z")
    m.equation(m.der(x), x * y**2 * z**2)
    m.equation(m.der(y), x**2 * y**2 - 3 * y**2 * z)
    m.equation(x**2 * y, 1.0)
    exact = np.exp([1.0, -2.0, 2.0])
    return Problem(m, [1, 1, 1, 1, -2], 1.0, exact, (1, 1, 2), (1, 1, 0))


def pendulum() -> Problem:
    """A pendulum with its constraint on the level of velocities; the length and the energy are conserved."""
    m = dd.Model("pendulum")
    x, y, vx, vy = (m.state(name) for name in ("x", "y", "vx", "vy"))
    force = m.algebraic("force")
    m.equation(m.der(x), vx)
    m.equation(m.der(y), vy)
    m.equation(m.der(vx), -force * x)
    m.equation(m.der(vy), -force * y - 9.81)
    m.equation(x * vx + y * vy)
    return Problem(m, [1, 0, 0, 0, 0, 0, 0, 0, -9.81], 5.0, index=(1, 1, 1, 1, 2), level=(1, 1, 1, 1, 0))


def bouncing_ball() -> Problem:
    """A ball dropped from 1 m, with its height above the ground as an algebraic variable too."""
    m = dd.Model("ball")
    h, v, gap = m.state("h"), m.state("v"), m.algebraic("gap")
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.equation(gap, h)
    return Problem(m, [1, 0, 1, 0, -9.81], 1.5)


def heat(points: int) -> Problem:
    """A rod that is heated at one end: x' = 1/dx² (neighbours), smooth and stiff."""
    m = dd.Model("heat")
    x = m.state("x", points)
    padded = ca.vertcat(1.0, x, 0.0)
    m.equation(m.der(x), points**2 * (padded[:-2] - 2 * padded[1:-1] + padded[2:]))
    start = np.zeros(2 * points)
    start[points] = points**2
    return Problem(m, list(start), 3.0, 1 - np.arange(1, points + 1) / (points + 1))
