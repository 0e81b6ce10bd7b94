"""More problems of textbooks: path constraints, singular arcs, many switches; optima published or in closed form."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve
from tests.support.optima import Published, begun, check, ode

import daedalus as dd


def alp_rider() -> dd.OptimalControl:
    # J. T. Betts, Practical Methods for Optimal Control (2010), 4.11.6: 2030.85609; a stiff system along four peaks.
    def rates(a, b, c, d, u, w):
        return [-10 * a + u + w, -2 * b + u + 2 * w, -3 * c + 5 * d + u - w, 5 * c - 3 * d + u + 3 * w]

    m, x, (u, w) = ode("a b c d", "u w", rates, [2.0, 1.0, 2.0, 1.0])
    ocp = begun(m, 20.0, 150, "u w", a=2.0, b=3.0, c=1.0, d=-2.0)
    square, t = sum(s**2 for s in x), m.time
    peaks = ((3, 3, 12), (3, 6, 10), (3, 10, 6), (8, 15, 4))
    ocp.subject_to(square >= 0.01 + sum(h * ca.exp(-k * (t - a) ** 2) for h, a, k in peaks))
    ocp.minimise(running=100 * square + 0.01 * (u**2 + w**2))
    return ocp


def container_crane() -> dd.OptimalControl:
    # Betts (2010), 4.11.3, after Y. Sakawa and Y. Shindo (1982): 0.0375194596.
    def rates(a, b, c, d, e, f, u, w):
        return [d, e, f, u + 17.2656 * c, w, -(u + 27.0756 * c + 2 * e * f) / b]

    m, x, (u, w) = ode("a b c d e f", "u w", rates, [0.0, 22.0, 0.0, 0.0, -1.0, 0.0])
    ocp = begun(m, 9.0, 60, "u w", a=10.0, b=14.0, c=0.0, d=2.5, e=0.0, f=0.0)
    for name, low, high in (("u", -2.83374, 2.83374), ("w", -0.80865, 0.71265), ("d", -2.5, 2.5), ("e", -1.0, 1.0)):
        ocp.bound(name, low, high)
    ocp.minimise(running=(x[2] ** 2 + x[5] ** 2 + 0.01 * (u**2 + w**2)) / 2)
    return ocp


def orbit_in_least_time() -> dd.OptimalControl:
    # The dual of Bryson and Ho (1975), 2.5: the orbit that is the highest in 3.32 is reached in 3.32 and no sooner.
    m = dd.Model("transfer")
    r, out, along = m.state("r", start=1.0), m.state("out", start=0.0), m.state("along", start=1.0)
    angle, thrust = m.input("angle"), 0.1405 / (1 - 0.0749 * m.time)
    m.equation(
        [m.der(r), m.der(out), m.der(along)],
        [out, along**2 / r - 1 / r**2 + thrust * ca.sin(angle), -out * along / r + thrust * ca.cos(angle)],
    )
    ocp = begun(m, dd.unknown(3.0, 1.0, 6.0), 60, "angle", r=1.5253, out=0.0, along=float(np.sqrt(1 / 1.5253)))
    ocp.bound("angle", -2 * np.pi, 2 * np.pi)
    ocp.minimise(final=ocp.duration)
    ocp.guess({"r": np.linspace(1.0, 1.5, 61), "along": np.linspace(1.0, 0.8, 61), "angle": np.linspace(0.5, 5.5, 61)})
    return ocp


def arm_rates(a, b, c, d, u, w, sin=ca.sin, cos=ca.cos):
    mass = 31 / 36 + 9 / 4 * sin(c) ** 2
    first = sin(c) * (9 / 4 * cos(c) * a**2 + 2 * b**2) + 4 / 3 * (u - w) - 3 / 2 * cos(c) * w
    second = sin(c) * (9 / 4 * cos(c) * b**2 + 7 / 2 * a**2) - 7 / 3 * w + 3 / 2 * cos(c) * (u - w)
    return [first / mass, -second / mass, b - a, a]


def two_link_arm() -> dd.OptimalControl:
    # R. Luus, Iterative Dynamic Programming (2000): 2.983 s, with inputs that are constant on a few stages.
    m, *_ = ode("a b c d", "u w", arm_rates, [0.0, 0.0, 0.5, 0.0])
    ocp = begun(m, dd.unknown(3.0, 0.5, 10.0), 60, a=0.0, b=0.0, c=0.5, d=0.522)
    for name in ("u", "w"):
        ocp.bound(name, -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
    return ocp


def arm_time() -> float:
    """Four ends fix the one switch of u, the two of w and the time."""

    def left(s: np.ndarray) -> np.ndarray:
        times, x = np.array([0.0, s[1], s[0], s[2], s[3]]), np.array([0.0, 0.0, 0.5, 0.0])
        for begin, end, u, w in zip(times, times[1:], (1, 1, -1, -1), (1, -1, -1, 1)):
            slopes = lambda _, x: arm_rates(*x, u, w, np.sin, np.cos)  # noqa: B023, E731
            x = solve_ivp(slopes, (begin, end), x, rtol=1e-10, atol=1e-12, method="DOP853").y[:, -1]
        return x - np.array([0.0, 0.0, 0.5, 0.522])

    found = fsolve(left, [1.49, 0.94, 2.63, 2.98])
    assert np.abs(left(found)).max() < 1e-8
    return float(found[3])


def rayleigh_with_a_mixed_constraint() -> dd.OptimalControl:
    # H. Maurer, D. Augustin (2001): 44.8044433.
    m, (x, _), (u,) = ode("x y", "u", lambda x, y, u: [y, -x + y * (1.4 - 0.14 * y**2) + 4 * u], [-5.0, -5.0])
    ocp = begun(m, 4.5, 90, "u")
    ocp.subject_to(u + x / 6 <= 0)
    ocp.minimise(running=x**2 + u**2)
    return ocp


def bounded_van_der_pol() -> dd.OptimalControl:
    # V. Vassiliadis, R. Sargent, C. Pantelides (1994): 2.86733 over 5 s with the input between -0.3 and 1.
    m, (x, y), (u,) = ode("x y", "u", lambda x, y, u: [(1 - y**2) * x - y + u, x], [0.0, 1.0])
    ocp = begun(m, 5.0, 100, "u")
    ocp.bound("u", -0.3, 1.0)
    ocp.minimise(running=x**2 + y**2 + u**2)
    return ocp


def bridge_crane() -> dd.OptimalControl:
    # M. W. Rutquist, M. M. Edvall, PROPT manual: a load moved by 15 and brought to rest in least time, 8.5789.
    m, *_ = ode("a b c d", "u", lambda a, b, c, d, u: [b, u, d, -0.98 * c + 0.1 * u], [0.0] * 4)
    ocp = begun(m, dd.unknown(8.0, 1.0, 20.0), 60, a=15.0, b=0.0, c=0.0, d=0.0)
    ocp.bound("u", -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
    return ocp


def bridge_crane_time() -> float:
    """+1 and -1 in turn, odd about the middle: the distance and the swing fix the first switch and half the time."""
    omega = np.sqrt(0.98)

    def left(s: np.ndarray) -> list[float]:
        first, half = s
        # u = 1, -1 until half with a switch at `first`, 1 from there to the middle? Odd: u(T - t) = -u(t).
        times = np.array([0.0, first, half, 2 * half - first, 2 * half])
        signs = np.array([1.0, -1.0, 1.0, -1.0])
        swing = sum(
            sign * (np.exp(1j * omega * (2 * half - a)) - np.exp(1j * omega * (2 * half - b)))
            for sign, a, b in zip(signs, times[:-1], times[1:])
        )
        moved = sum(
            sign * ((2 * half - a) ** 2 - (2 * half - b) ** 2) / 2 for sign, a, b in zip(signs, times[:-1], times[1:])
        )
        return [float(moved - 15.0), float((swing * np.exp(-1j * omega * half)).real)]

    found = fsolve(left, [4.0, 4.29])
    assert np.allclose(left(found), 0.0, atol=1e-10)
    return float(2 * found[1])


def oscillator_at_rest_in_least_time() -> dd.OptimalControl:
    # L. S. Pontryagin and others (1962), §5: from (2, 0) one half circle about (1, 0), in π.
    m, *_ = ode("x y", "u", lambda x, y, u: [y, -x + u], [2.0, 0.0])
    ocp = begun(m, dd.unknown(2.0, 0.1, 9.0), 40, x=0.0, y=0.0)
    ocp.bound("u", -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
    return ocp


def way_round_a_disc() -> dd.OptimalControl:
    # Two tangents of √3 and an arc of π/3 about a disc of radius 1 between (-2, 0) and (2, 0).
    m, (x, y), _ = ode("x y", "p q", lambda x, y, p, q: [p, q], [-2.0, 0.0])
    ocp = begun(m, dd.unknown(5.0, 1.0, 20.0), 60, x=2.0, y=0.0)
    ocp.subject_to(m["p"] ** 2 + m["q"] ** 2 <= 1)
    ocp.subject_to(x**2 + y**2 >= 1)
    ocp.minimise(final=ocp.duration)
    s = np.linspace(-1.0, 1.0, 61)
    ocp.guess({"x": 2 * s, "y": 1.5 * (1 - s**2)})
    return ocp


def investment() -> dd.OptimalControl:
    # M. I. Kamien, N. L. Schwartz, Dynamic Optimization (1991): all is invested until one unit before the end: -exp(2).
    m, (x,), (u,) = ode("x", "u", lambda x, u: [u * x], [1.0])
    ocp = begun(m, 3.0, 60)
    ocp.bound("u", 0.0, 1.0)
    ocp.minimise(running=-(1 - u) * x)
    return ocp


def fishery() -> dd.OptimalControl:
    # C. W. Clark, Mathematical Bioeconomics (1976): nothing until half the capacity, in ln 9, then what grows: 1/4.
    m, _, (h,) = ode("x", "h", lambda x, h: [x * (1 - x) - h], [0.1])
    ocp = begun(m, 10.0, 100, x=0.5)
    ocp.bound("h", 0.0, 1.0)
    ocp.minimise(running=-h)
    return ocp


def trapezoid_of_speed() -> dd.OptimalControl:
    # d / v + v / a with the speed at most v.
    m, *_ = ode("x v", "u", lambda x, v, u: [v, u], [0.0, 0.0])
    ocp = begun(m, dd.unknown(4.0, 0.5, 20.0), 40, x=3.0, v=0.0)
    ocp.bound("u", -2.0, 2.0)
    ocp.bound("v", None, 1.5)
    ocp.minimise(final=ocp.duration)
    return ocp


def great_circle() -> dd.OptimalControl:
    # Latitude and longitude on a sphere of radius 1, at speed 1: the angle between the ends.
    m, (a, _), _ = ode("a b", "c", lambda a, b, c: [ca.sin(c), ca.cos(c) / ca.cos(a)], [0.3, 0.0])
    ocp = begun(m, dd.unknown(1.5, 0.1, 5.0), 30, "c", a=0.9, b=1.8)
    ocp.bound(a, -1.4, 1.4)
    ocp.bound("c", -3.0, 3.0)
    ocp.minimise(final=ocp.duration)
    return ocp


TEXTBOOK = {
    "alp rider": Published(alp_rider, 2030.85609, 1e-3, {"mesh_tolerance": 1e-3}, long=True),
    "container crane": Published(container_crane, 0.0375194596, 1e-5),
    "orbit in least time": Published(orbit_in_least_time, 3.32, 3e-4),
    "two-link arm": Published(two_link_arm, 2.9822799426, 1e-5, {"mesh_tolerance": 1e-6}),
    "Rayleigh with a mixed constraint": Published(rayleigh_with_a_mixed_constraint, 44.8044433, 1e-4),
    "bounded van der Pol": Published(bounded_van_der_pol, 2.86733, 1e-4),
    "bridge crane": Published(bridge_crane, bridge_crane_time(), 1e-5, {"mesh_tolerance": 1e-6}),
    "oscillator at rest": Published(oscillator_at_rest_in_least_time, np.pi, 1e-6),
    "way round a disc": Published(way_round_a_disc, 2 * np.sqrt(3.0) + np.pi / 3, 1e-4),
    "investment": Published(investment, -np.exp(2.0), 1e-4),
    "fishery": Published(fishery, -(10 - np.log(9.0)) / 4, 1e-4),
    "trapezoid of speed": Published(trapezoid_of_speed, 3.0 / 1.5 + 1.5 / 2.0, 1e-3),
    "great circle": Published(
        great_circle, float(np.arccos(np.sin(0.3) * np.sin(0.9) + np.cos(0.3) * np.cos(0.9) * np.cos(1.8))), 1e-6
    ),
}
NAMES = [pytest.param(name, marks=[pytest.mark.long] if known.long else []) for name, known in TEXTBOOK.items()]


@pytest.mark.wide
def test_the_stored_time_of_the_arm_meets_its_ends():
    assert arm_time() == pytest.approx(TEXTBOOK["two-link arm"].optimum, abs=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_textbook_optima_are_reached(name):
    check(TEXTBOOK[name])
