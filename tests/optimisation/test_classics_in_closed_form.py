"""Further classics whose optima are closed forms or follow from a few equations, written as in their sources."""

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad, solve_bvp, solve_ivp
from scipy.optimize import brentq
from tests.support.optima import Published, check, ode

import daedalus as dd


def problem(m: dd.Model, duration: object, **ends: float) -> dd.OptimalControl:
    """From the model's start to some ends, on intervals that nobody gives."""
    ocp = dd.OptimalControl(m, duration)
    ocp.start()
    if ends:
        ocp.finish(ends)
    return ocp


def quickest(m: dd.Model, guess: float, **ends: float) -> dd.OptimalControl:
    """The same in least time."""
    ocp = problem(m, dd.unknown(guess, 0.1 * guess, 10 * guess), **ends)
    ocp.minimise(final=ocp.duration)
    return ocp


def catenoid() -> dd.OptimalControl:
    # The least surface between two rings: y = c cosh(x / c).
    m, (y,), (slope,) = ode("y", "slope", lambda y, slope: [slope], [1.0])
    ocp = problem(m, 1.0, y=1.0)
    ocp.bound(y, 0.05, 3.0)
    ocp.minimise(running=y * ca.sqrt(1 + slope**2))
    return ocp


def catenoid_area() -> float:
    c = brentq(lambda c: c * np.cosh(0.5 / c) - 1, 0.6, 2.0)
    return float(2 * quad(lambda x: c * np.cosh(x / c) ** 2, 0.0, 0.5)[0])


def least_resistance() -> dd.OptimalControl:
    # Newton, Principia (1687), II 34: a flat nose, then slopes of at least one.
    m = dd.Model("body")
    y, drag, slope = m.state("y", start=1.0), m.state("drag", start=0.0), m.input("slope")
    m.equation([m.der(y), m.der(drag)], [-slope, m.time / (1 + slope**2)])
    ocp = problem(m, 1.0, y=0.0)
    ocp.bound(slope, 0.0, 50.0)
    ocp.minimise(final=drag)
    return ocp


def least_drag() -> float:
    def width(s: float) -> float:
        return (1 + s**2) ** 2 / s

    def height(s: float) -> float:
        return (s**2 + 0.75 * s**4 - np.log(s) - 1.75) / width(s)

    last = brentq(lambda s: height(s) - 1, 1.0001, 20.0)
    k = 1 / width(last)
    curved = quad(lambda s: k * width(s) / (1 + s**2) * k * (1 + s**2) * (3 * s**2 - 1) / s**2, 1.0, last)[0]
    return float((4 * k) ** 2 / 2 + curved)


def linear_medium() -> dd.OptimalControl:
    # Rays are circles where the speed grows in proportion.
    m, _, _ = ode("x y", "b", lambda x, y, b: [(1 + y) * ca.cos(b), (1 + y) * ca.sin(b)], [0.0, 0.0])
    return quickest(m, 1.0, x=1.0, y=0.0)


def cone() -> dd.OptimalControl:
    # A straight line on the unrolled cone of half angle 0.5.
    m, (r, _), _ = ode("r p", "b", lambda r, p, b: [ca.cos(b), ca.sin(b) / (r * np.sin(0.5))], [1.0, 0.0])
    ocp = quickest(m, 2.0, r=2.0, p=2.0)
    ocp.bound(r, 0.1, 5.0)
    return ocp


def car_with_drag() -> dd.OptimalControl:
    # v = tanh t, then v = tan(T - t).
    m, _, (u,) = ode("x v", "u", lambda x, v, u: [v, u - v**2], [0.0, 0.0])
    ocp = quickest(m, 3.0, x=2.0, v=0.0)
    ocp.bound(u, -1.0, 1.0)
    return ocp


def time_with_drag() -> float:
    turn = brentq(lambda t: np.log(np.cosh(t)) - np.log(np.cos(np.arctan(np.tanh(t)))) - 2, 0.1, 20.0)
    return float(turn + np.arctan(np.tanh(turn)))


def fuel_and_time() -> dd.OptimalControl:
    # M. Athans, P. Falb (1966), 8-6: ∫ 1 + |u|, with pushes of 1 / √3 at both ends.
    m, _, (u,) = ode("x v", "u", lambda x, v, u: [v, u], [0.0, 0.0])
    ocp = problem(m, dd.unknown(3.0, 0.5, 20.0), x=1.0, v=0.0)
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(running=1 + ca.fabs(u))
    return ocp


def least_jerk() -> dd.OptimalControl:
    # 10 s³ - 15 s⁴ + 6 s⁵ (T. Flash, N. Hogan, Journal of Neuroscience 5, 1985).
    m, _, (jerk,) = ode("x v a", "jerk", lambda x, v, a, jerk: [v, a, jerk], [0.0, 0.0, 0.0])
    ocp = problem(m, 1.0, x=1.0, v=0.0, a=0.0)
    ocp.minimise(running=jerk**2)
    return ocp


def zermelo() -> dd.OptimalControl:
    # A. E. Bryson, Y.-C. Ho (1975), 2.7: a current that grows across the river, 5.46.
    m, _, _ = ode("x y", "b", lambda x, y, b: [ca.cos(b) - y, ca.sin(b)], [3.66, -1.86])
    return quickest(m, 5.0, x=0.0, y=0.0)


def longest_range() -> dd.OptimalControl:
    # A. E. Bryson, Dynamic Optimization (1999): thrust of half the weight for 2 s; 1.712316 in PROPT's collection.
    m, (x, _, _), _ = ode("x y v", "b", lambda x, y, v, b: [v * ca.cos(b), v * ca.sin(b), 0.5 - ca.sin(b)], [0.0] * 3)
    ocp = problem(m, 2.0, y=0.1)
    ocp.minimise(final=-x)
    return ocp


def epidemic() -> dd.OptimalControl:
    m, (_, ill), (u,) = ode(
        "s i", "u", lambda s, i, u: [-(1 - u) * 0.5 * s * i, (1 - u) * 0.5 * s * i - 0.2 * i], [0.99, 0.01]
    )
    ocp = problem(m, 40.0)
    ocp.bound(u, 0.0, 0.8)
    ocp.minimise(running=ill + 0.5 * u**2)
    return ocp


def epidemic_cost() -> float:
    def shut(s, i, p, q):
        return np.clip(0.5 * s * i * (q - p), 0.0, 0.8)

    def rates(t, z):
        s, i, p, q = z
        met = (1 - shut(*z)) * 0.5
        return np.array([-met * s * i, met * s * i - 0.2 * i, met * i * (p - q), -1 + met * s * (p - q) + 0.2 * q])

    t = np.linspace(0, 40, 400)
    guess = np.array([np.linspace(0.99, 0.3, 400), 0.01 + 0.1 * np.sin(np.pi * t / 40), 0 * t, 3 * (1 - t / 40)])
    found = solve_bvp(rates, lambda a, e: [a[0] - 0.99, a[1] - 0.01, e[2], e[3]], t, guess, tol=1e-7, max_nodes=50_000)
    even = np.linspace(0, 40, 20_001)
    z = found.sol(even)
    return float(np.trapezoid(z[1] + 0.5 * shut(*z) ** 2, even))


def rod_matrices() -> tuple[np.ndarray, np.ndarray]:
    n = 10
    a = 25.0 * (np.eye(n, k=1) + np.eye(n, k=-1) - 2 * np.eye(n))
    a[0, 0] = -25.0
    return a, 25.0 * np.eye(n)[-1]


def heated_rod() -> dd.OptimalControl:
    a, b = rod_matrices()
    m = dd.Model("rod")
    x, u = m.state("x", 10, start=np.cos(np.arange(10))), m.input("u")
    m.equation(m.der(x), ca.DM(a) @ x + ca.DM(b) * u)
    ocp = problem(m, 1.0)
    ocp.minimise(running=ca.sumsqr(x) / 10 + 0.01 * u**2)
    return ocp


def rod_cost() -> float:
    a, b = rod_matrices()

    def riccati(t: float, p: np.ndarray) -> np.ndarray:
        p = p.reshape(10, 10)
        return (a.T @ p + p @ a - np.outer(p @ b, b @ p) / 0.01 + np.eye(10) / 10).ravel()

    x = np.cos(np.arange(10))
    end = solve_ivp(riccati, (0, 1), np.zeros(100), method="LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    return float(x @ end.reshape(10, 10) @ x)


def spin_turned() -> dd.OptimalControl:
    # A spin from pole to pole at a rate of at most one takes π; at rest on the pole nothing shows a direction.
    m = dd.Model("spin")
    n, w = m.state("n", 3, start=[0.0, 0.0, 1.0]), m.input("w", 2)
    m.equation(m.der(n), ca.cross(ca.vertcat(w, 0), n))
    ocp = quickest(m, 2.0, **{"n[2]": -1.0})
    ocp.subject_to(ca.sumsqr(w) <= 1)
    return ocp


def area_swept() -> dd.OptimalControl:
    # The shortest way that sweeps an area of one and may end anywhere above its start: a circle, in Heisenberg's group.
    m, _, _ = ode(
        "x y z", "a", lambda x, y, z, a: [ca.cos(a), ca.sin(a), (x * ca.sin(a) - y * ca.cos(a)) / 2], [0.0] * 3
    )
    return quickest(m, 3.0, x=0.0, y=0.0, z=1.0)


def late_heating() -> dd.OptimalControl:
    # Full power for the last ln 2.
    m, _, (u,) = ode("T", "u", lambda T, u: [u - T], [0.0])
    ocp = problem(m, 3.0, T=1.0)
    ocp.bound(u, 0.0, 2.0)
    ocp.minimise(running=u)
    return ocp


def colony() -> dd.OptimalControl:
    # S. Macevicz, G. Oster, Behavioral Ecology and Sociobiology 1 (1976): workers first, queens at the end.
    m, (_, queens), (u,) = ode("w q", "u", lambda w, q, u: [u * w, (1 - u) * w], [1.0, 0.0])
    ocp = problem(m, 2.0)
    ocp.bound(u, 0.0, 1.0)
    ocp.minimise(final=-queens)
    return ocp


CLASSICS: dict[str, tuple[Callable[[], dd.OptimalControl], object, float]] = {
    "catenoid": (catenoid, catenoid_area, 1e-4),
    "least resistance": (least_resistance, least_drag, 6e-3),
    "medium of linear speed": (linear_medium, float(np.arccosh(1.5)), 1e-4),
    "cone": (cone, float(np.sqrt(5 - 4 * np.cos(2 * np.sin(0.5)))), 1e-4),
    "car with drag": (car_with_drag, time_with_drag, 1e-3),
    "fuel and time": (fuel_and_time, 2 * np.sqrt(3), 1e-4),
    "least jerk": (least_jerk, 720.0, 5e-3),
    "late heating": (late_heating, 2 * np.log(2), 2e-3),
    "colony": (colony, -np.e, 1e-6),
    "area swept": (area_swept, 2 * np.sqrt(np.pi), 2e-3),
    "heated rod": (heated_rod, rod_cost, 2e-3),
}
LARGER = {
    "zermelo": (zermelo, 5.4577, 1e-3),
    "longest range": (longest_range, -1.712316, 1e-3),
    "epidemic": (epidemic, epidemic_cost, 1e-3),
    "spin turned": (spin_turned, np.pi, 1e-4),
}


@pytest.mark.parametrize(
    "name", [*CLASSICS, *(pytest.param(name, marks=pytest.mark.wide) for name in LARGER)]
)  # fmt: skip
def test_closed_forms_are_reached(name):
    build, optimum, error = (CLASSICS | LARGER)[name]
    check(Published(build, optimum() if callable(optimum) else float(optimum), error))
