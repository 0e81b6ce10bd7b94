"""Problems of the literature, each as it is published: their optima are closed forms, or the numbers of the source."""

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad, solve_bvp
from scipy.optimize import brentq, fsolve
from tests.support.optima import Published, begun, check, ode

import daedalus as dd


def catalyst_mixing() -> dd.OptimalControl:
    # COPS 3 (Dolan, Moré, Munson 2004), problem 14.
    m, (x, y), _ = ode("x y", "u", lambda x, y, u: [u * (10 * y - x), u * (x - 10 * y) - (1 - u) * y], [1.0, 0.0])
    ocp = begun(m, 1.0, 100)
    ocp.bound("u", 0.0, 1.0)
    ocp.minimise(final=-1 + x + y)
    return ocp


def batch_reactor() -> dd.OptimalControl:
    # A -> B -> C at a chosen temperature: W. H. Ray, Advanced Process Control (1981).
    def rates(a, b, T):
        first, second = 4000 * ca.exp(-2500 / T) * a**2, 6.2e5 * ca.exp(-5000 / T) * b
        return [-first, first - second]

    m, (_, b), _ = ode("a b", "T", rates, [1.0, 0.0])
    ocp = begun(m, 1.0, linear="T")
    ocp.bound("T", 298.0, 398.0)
    ocp.minimise(final=-b)
    return ocp


def parallel_reactor() -> dd.OptimalControl:
    # S. A. Dadebo, K. B. McAuley, Computers and Chemical Engineering 19 (1995): 0.57353 and 0.573545 by two authors.
    m, (_, b), _ = ode("a b", "u", lambda a, b, u: [-(u + u**2 / 2) * a, u * a], [1.0, 0.0])
    ocp = begun(m, 1.0, linear="u")
    ocp.bound("u", 0.0, 5.0)
    ocp.minimise(final=-b)
    return ocp


def stirred_tank() -> dd.OptimalControl:
    # R. Luus, Iterative Dynamic Programming (2000), 6.2.1: global optimum 0.13309.
    def rates(x, y, u):
        reaction = (y + 0.5) * ca.exp(25 * x / (x + 2))
        return [-(2 + u) * (x + 0.25) + reaction, 0.5 - y - reaction]

    m, (x, y), (u,) = ode("x y", "u", rates, [0.09, 0.09])
    ocp = begun(m, 0.78, linear="u")
    ocp.minimise(running=x**2 + y**2 + 0.1 * u**2)
    return ocp


def bioreactor() -> dd.OptimalControl:
    # J. Lee, W. F. Ramirez, AIChE Journal 40 (1994), with the rates of Tholudur and Ramirez (1997): 6.1516.
    m = dd.Model("bioreactor")
    x, u = m.state("x", 7, start=[1.0, 0.1, 40.0, 0.0, 0.0, 1.0, 0.0]), m.input("u", 2)
    volume, cells, food, protein, inducer, shock, recovery = ca.vertsplit(x)
    slowing = 14.35 + food * (1 + food / 111.5)
    growth = food / slowing * (shock + 0.22 / (0.22 + inducer) * recovery)
    made = 0.233 * food / slowing * (0.0005 + inducer) / (0.022 + inducer)
    fading, thinning = 0.09 * inducer / (0.034 + inducer), (u[0] + u[1]) / volume
    m.equation(
        m.der(x),
        ca.vertcat(
            u[0] + u[1], growth * cells - thinning * cells,
            100 * u[0] / volume - thinning * food - growth * cells / 0.51,
            made * cells - thinning * protein, 4 * u[1] / volume - thinning * inducer,
            -fading * shock, fading * (1 - recovery),
        ),
    )  # fmt: skip
    ocp = begun(m, 10.0)
    ocp.bound("u", 0.0, 1.0)
    ocp.minimise(final=-volume * protein)
    return ocp


def free_flying_robot() -> dd.OptimalControl:
    # Y. Sakawa, Optimal Control Applications and Methods 20 (1999); J. T. Betts (2010), example 6.13.
    def rates(x, y, angle, v, w, spin, a, b, c, d):
        push = a - b + c - d
        return [v, w, spin, push * ca.cos(angle), push * ca.sin(angle), 0.2 * (a - b) - 0.2 * (c - d)]

    m, _, (a, b, c, d) = ode("x y angle v w spin", "a b c d", rates, [-10.0, -10.0, np.pi / 2, 0.0, 0.0, 0.0])
    ocp = begun(m, 12.0, x=0.0, y=0.0, angle=0.0, v=0.0, w=0.0, spin=0.0)
    for name in "abcd":
        ocp.bound(name, 0.0, None)
    ocp.subject_to(a + b <= 1)
    ocp.subject_to(c + d <= 1)
    ocp.minimise(running=a + b + c + d)
    return ocp


def moon_lander() -> dd.OptimalControl:
    # J. Meditch, IEEE Transactions on Automatic Control 9 (1964): fall, then full thrust, 2 √17 here.
    m, _, (u,) = ode("h v", "u", lambda h, v, u: [v, u - 1.5], [10.0, -2.0])
    ocp = begun(m, dd.unknown(4.0, 0.1, 100.0), 40, h=0.0, v=0.0)
    ocp.bound("u", 0.0, 3.0)
    ocp.minimise(running=u)
    return ocp


def robot_arm() -> dd.OptimalControl:
    # COPS 3, problem 8: 9.14101 with 400 intervals; J. T. Betts (2010): 9.14093620.
    m = dd.Model("arm")
    length, turn, lift = m.state("r", start=4.5, rate=0.0), m.state("a", start=0.0, rate=0.0), m.state("b", rate=0.0)
    u = m.input("u", 3)
    inertia = ((5 - length) ** 3 + length**3) / 3
    m.equation(
        [m.der(m.der(length)), m.der(m.der(turn)), m.der(m.der(lift))],
        [u[0] / 5, u[1] / (inertia * ca.sin(lift) ** 2), u[2] / inertia],
    )
    ocp = dd.OptimalControl(m, dd.unknown(1.0, 0.1, 100.0), 50)
    rest = {"r_dot": 0.0, "a_dot": 0.0, "b_dot": 0.0}
    ocp.start({"r": 4.5, "a": 0.0, "b": np.pi / 4, **rest})
    ocp.finish({"r": 4.5, "a": 2 * np.pi / 3, "b": np.pi / 4, **rest})
    ocp.bound("r", 0.0, 5.0)
    ocp.bound("a", -np.pi, np.pi)
    ocp.bound("b", 0.0, np.pi)
    ocp.bound("u", -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
    return ocp


def particle_steering() -> dd.OptimalControl:
    # COPS 3, problem 9; A. E. Bryson, Y.-C. Ho (1975), 2.4: the linear tangent law.
    m, _, (u,) = ode("x y v w", "u", lambda x, y, v, w, u: [v, w, 100 * ca.cos(u), 100 * ca.sin(u)], [0.0] * 4)
    ocp = begun(m, dd.unknown(1.0, 0.01, 10.0), 50, "u", y=5.0, v=45.0, w=0.0)
    ocp.bound(u, -np.pi / 2, np.pi / 2)
    ocp.minimise(final=ocp.duration)
    return ocp


def hang_glider() -> dd.OptimalControl:
    # COPS 3, problem 11: R. Bulirsch, E. Nerz, H. J. Pesch, O. von Stryk (1993); J. T. Betts (2010): 1248.03103.
    def rates(x, y, v, w, lift):
        r = (x / 100 - 2.5) ** 2
        sink = w - 2.5 * (1 - r) * ca.exp(-r)
        speed = ca.sqrt(v**2 + sink**2)
        pressure = 0.5 * 1.13 * 14 * speed / 100
        up, drag = pressure * lift, pressure * (0.034 + 0.069662 * lift**2)
        return [v, w, -up * sink - drag * v, up * v - drag * sink - 9.80665]

    m, (x, *_), _ = ode("x y v w", "lift", rates, [0.0, 1000.0, 13.2275675, -1.28750052])
    ocp = begun(m, dd.unknown(100.0, 10.0, 200.0), 60, "lift", y=900.0, v=13.2275675, w=-1.28750052)
    ocp.bound("lift", 0.0, 1.4)
    ocp.bound("x", 0.0, None)
    ocp.bound("v", 0.0, None)
    ocp.minimise(final=-x)
    return ocp


def shuttle_reentry() -> dd.OptimalControl:
    # J. T. Betts, Practical Methods for Optimal Control (2010), 6.1: cross range 34.1412 degrees, no nominal values.
    degree, mass = np.pi / 180, 203000 / 32.174

    def rates(h, lon, lat, v, g, psi, attack, bank):
        a, r = attack / degree, 20902900 + h
        pressure = 0.5 * 0.002378 * ca.exp(-h / 23800) * 2690 * v**2 / mass
        lift, drag = pressure * (-0.20704 + 0.029244 * a), pressure * (0.07854 - 0.61592e-2 * a + 0.621408e-3 * a**2)
        gravity, round_earth = 0.14076539e17 / r**2, v / r * ca.cos(g) * ca.sin(psi) / ca.cos(lat)
        return [
            v * ca.sin(g), round_earth, v / r * ca.cos(g) * ca.cos(psi), -drag - gravity * ca.sin(g),
            lift / v * ca.cos(bank) + ca.cos(g) * (v / r - gravity / v),
            lift * ca.sin(bank) / (v * ca.cos(g)) + round_earth * ca.sin(lat),
        ]  # fmt: skip

    begin = [260000.0, 0.0, 0.0, 25600.0, -degree, 90 * degree]
    m, (_, _, lat, *_), _ = ode("h lon lat v g psi", "attack bank", rates, begin)
    ends = {"h": 80000.0, "v": 2500.0, "g": -5 * degree}
    ocp = begun(m, dd.unknown(2000.0, 100.0, 4000.0), 60, "attack bank", **ends)
    for name, low, high in (("attack", -90, 90), ("bank", -89, 1), ("lat", -89, 89), ("g", -89, 89)):
        ocp.bound(name, low * degree, high * degree)
    ocp.bound("v", 1.0, None)
    ocp.bound("h", 0.0, None)
    ocp.minimise(final=-lat / degree)
    return ocp


def tumour() -> dd.OptimalControl:
    # U. Ledzewicz, H. Schättler, SIAM Journal on Control and Optimization 46 (2007); J. T. Betts (2010): 7571.67158.
    most = ((5.85 - 0.02) / 0.00873) ** 1.5

    def rates(p, q, y, u):
        return [-0.084 * p * ca.log(p / q), q * (5.85 - 0.02 - 0.00873 * p ** (2 / 3) - 0.15 * u), u]

    m, (p, *_), _ = ode("p q y", "u", rates, [most / 2, most / 4, 0.0])
    ocp = begun(m, dd.unknown(1.0, 0.1, 10.0), 40)
    for name, low, high in (("u", 0.0, 75.0), ("y", 0.0, 15.0), ("p", 0.01, most), ("q", 0.01, most)):
        ocp.bound(name, low, high)
    ocp.minimise(final=p)
    return ocp


def wall(limit: float) -> Callable[[], dd.OptimalControl]:
    # Bryson, Denham, Dreyfus (1963): three kinds of optima, by how near the wall is.
    def build() -> dd.OptimalControl:
        m, _, (u,) = ode("x v", "u", lambda x, v, u: [v, u], [0.0, 1.0])
        ocp = begun(m, 1.0, linear="u", x=0.0, v=-1.0)
        ocp.bound("x", None, limit)
        ocp.minimise(running=u**2 / 2)
        return ocp

    return build


def slide(gravity: float, **ends: float) -> Callable[[], dd.OptimalControl]:
    def build() -> dd.OptimalControl:
        def rates(x, y, v, angle):
            return [v * ca.cos(angle), v * ca.sin(angle), gravity * ca.sin(angle)]

        m, *_ = ode("x y v", "angle", rates, [0.0, 0.0, 0.0])
        ocp = begun(m, dd.unknown(1.0, 0.01, 10.0), 60, "angle", **ends)
        ocp.bound("angle", 0.0, np.pi / 2)
        ocp.minimise(final=ocp.duration)
        return ocp

    return build


def cycloid_time(x: float, y: float, gravity: float) -> float:
    """x = a (φ - sin φ), y = a (1 - cos φ), t = φ √(a / g)."""
    phi = brentq(lambda f: (f - np.sin(f)) * y - (1 - np.cos(f)) * x, 1e-3, 2 * np.pi - 1e-3)
    return float(phi * np.sqrt(y / (1 - np.cos(phi)) / gravity))


def river() -> dd.OptimalControl:
    # Zermelo's problem with a linear current: A. E. Bryson, Y.-C. Ho (1975), 2.7. The angle has no bounds.
    m, *_ = ode("x y", "angle", lambda x, y, angle: [ca.cos(angle) - y, ca.sin(angle)], [3.66, -1.86])
    ocp = begun(m, dd.unknown(5.0, 0.1, 20.0), 60, "angle", x=0.0, y=0.0)
    ocp.minimise(final=ocp.duration)
    return ocp


def river_time() -> float:
    """The closed form of Bryson and Ho, in angles at the start and at the end."""

    def left(angles: np.ndarray) -> list[float]:
        (s, e), (t, f) = 1 / np.cos(angles), np.tan(angles)
        x = (e * (f - t) - t * (e - s) + np.log((f + e) / (t + s))) / 2
        return [x + 3.66, s - e + 1.86]

    begin, end = fsolve(left, np.radians([105.0, 240.0]))
    return float(np.tan(end) - np.tan(begin))


def dragged_cart() -> dd.OptimalControl:
    m, *_ = ode("x v", "u", lambda x, v, u: [v, u - v * ca.fabs(v)], [0.0, 0.0])
    ocp = begun(m, dd.unknown(2.0, 0.1, 20.0), 30, x=1.0, v=0.0)
    ocp.bound("u", -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
    return ocp


def dragged_time() -> float:
    """Push for t1: v = tanh t, x = ln cosh t; brake for t2: v = tan(t2 - t), x = -ln cos t2, with equal v between."""
    push = brentq(lambda t: np.log(np.cosh(t)) - np.log(np.cos(np.arctan(np.tanh(t)))) - 1, 0.1, 5.0)
    return float(push + np.arctan(np.tanh(push)))


def hypersensitive() -> dd.OptimalControl:
    # A. V. Rao, K. D. Mease, Automatica 35 (1999): leave 1, stay at 0 for long, go to 1.5.
    m, (x,), (u,) = ode("x", "u", lambda x, u: [-(x**3) + u], [1.0])
    ocp = begun(m, 10_000.0, 50, "u", x=1.5)
    ocp.minimise(running=x**2 + u**2)
    return ocp


def hypersensitive_cost() -> float:
    """Hamilton, Jacobi and Bellman: V' = 2 (√(x⁶ + x²) ∓ x³) on the way to the middle and from there."""
    leaving = quad(lambda x: 2 * (np.sqrt(x**6 + x**2) - x**3), 0.0, 1.0)[0]
    return float(leaving + quad(lambda x: 2 * (np.sqrt(x**6 + x**2) + x**3), 0.0, 1.5)[0])


def rayleigh() -> dd.OptimalControl:
    # H. Maurer, D. Augustin (2001), without bounds on the input: 29.376.
    m, (x, _), (u,) = ode("x y", "u", lambda x, y, u: [y, -x + y * (1.4 - 0.14 * y**2) + 4 * u], [-5.0, -5.0])
    ocp = begun(m, 2.5, linear="u")
    ocp.minimise(running=x**2 + u**2)
    return ocp


def rayleigh_cost() -> float:
    """From Pontryagin's conditions: u = -2 q for the multipliers (p, q), solved as a boundary value problem."""

    def slopes(_, s):
        x, y, p, q, _ = s
        u = -2 * q
        return np.array([y, -x + y * (1.4 - 0.14 * y**2) + 4 * u, q - 2 * x, -p - q * (1.4 - 0.42 * y**2), x**2 + u**2])

    def ends(begin, end):
        return np.array([begin[0] + 5, begin[1] + 5, end[2], end[3], begin[4]])

    times = np.linspace(0.0, 2.5, 101)
    straight = np.stack([np.linspace(-5.0, 0.0, 101), np.full(101, 2.0), 0 * times, 0 * times, 10 * times])
    found = solve_bvp(slopes, ends, times, straight, tol=1e-8, max_nodes=20_000)
    assert found.success
    return float(found.y[4, -1])


def orbit_raising() -> dd.OptimalControl:
    # A. E. Bryson, Y.-C. Ho (1975), 2.5: the largest circular orbit in a given time, radius 1.525.
    m = dd.Model("orbit")
    r, out, along = m.state("r", start=1.0), m.state("out", start=0.0), m.state("along", start=1.0)
    angle, thrust = m.input("angle"), 0.1405 / (1 - 0.0749 * m.time)
    m.equation(
        [m.der(r), m.der(out), m.der(along)],
        [out, along**2 / r - 1 / r**2 + thrust * ca.sin(angle), -out * along / r + thrust * ca.cos(angle)],
    )
    ocp = begun(m, 3.32, linear="angle", out=0.0)
    ocp.subject_to(along == ca.sqrt(1 / r), at="end")
    ocp.minimise(final=-r)
    return ocp


def singular() -> dd.OptimalControl:
    # G. M. Aly, W. C. Chan, International Journal of Control 17 (1973): singular all the way, cost 0.
    m, (_, _, cost), _ = ode("x y cost", "u", lambda x, y, c, u: [y, u, (y**2 - x**2) / 2], [0.0, 1.0, 0.0])
    ocp = begun(m, np.pi / 2, linear="u")
    ocp.bound("u", -1.0, 1.0)
    ocp.minimise(final=cost)
    return ocp


def oscillator_to_a_line() -> dd.OptimalControl:
    # K. H. Well's van der Pol problem with an end on a line: 1.6857 (H. Maurer, D. Augustin 2001).
    m, (x, y), (u,) = ode("x y", "u", lambda x, y, u: [y, -x + (1 - x**2) * y + u], [1.0, 0.0])
    ocp = begun(m, 5.0, linear="u")
    ocp.subject_to(y - x == 1, at="end")
    ocp.minimise(running=(x**2 + y**2 + u**2) / 2)
    return ocp


def speed_limit() -> dd.OptimalControl:
    # D. H. Jacobson, M. M. Lele, IEEE Transactions on Automatic Control 14 (1969): 0.1698.
    m, (x, y), (u,) = ode("x y", "u", lambda x, y, u: [y, -y + u], [0.0, -1.0])
    ocp = begun(m, 1.0, linear="u")
    ocp.subject_to(y - 8 * (m.time - 0.5) ** 2 + 0.5 <= 0)
    ocp.minimise(running=x**2 + y**2 + 0.005 * u**2)
    return ocp


PUBLISHED = {
    "catalyst mixing": Published(catalyst_mixing, -0.0480557, 1e-5),
    "batch reactor": Published(batch_reactor, -0.610775, 3e-5),
    "parallel reactor": Published(parallel_reactor, -0.573545, 1e-5),
    "stirred tank": Published(stirred_tank, 0.13309, 1e-4),
    "bioreactor": Published(bioreactor, -6.1516, 1e-5, long=True),
    "free-flying robot": Published(free_flying_robot, 7.9101471, 1e-6, {"mesh_tolerance": 1e-5}, long=True),
    "moon lander": Published(moon_lander, 2 * np.sqrt(17.0), 1e-6, {"mesh_tolerance": 1e-6}),
    "robot arm": Published(robot_arm, 9.1409362, 1e-5, {"mesh_tolerance": 1e-6}),
    "particle steering": Published(particle_steering, 0.55457088, 1e-7),
    "hang glider": Published(hang_glider, -1248.03103, 1e-6, {"mesh_tolerance": 1e-6}, long=True),
    "shuttle re-entry": Published(shuttle_reentry, -34.1412, 1e-6),
    "tumour": Published(tumour, 7571.67158, 1e-6, {"mesh_tolerance": 1e-6}),
    "wall that holds long": Published(wall(0.04), 4 / (9 * 0.04), 1e-4),
    "wall that holds": Published(wall(0.1), 4 / (9 * 0.1), 1e-4),
    "wall that is touched": Published(wall(0.2), 2 + 6 * (1 - 4 * 0.2) ** 2, 1e-6),
    "wall out of reach": Published(wall(0.3), 2.0, 1e-8),
    "slide to a line": Published(slide(32.174, x=1.0), np.sqrt(np.pi / 32.174), 1e-7),
    "slide to a point": Published(slide(9.81, x=2.0, y=2.0), cycloid_time(2.0, 2.0, 9.81), 1e-6),
    "orbit raising": Published(orbit_raising, -1.5253, 1e-4, {"mesh_tolerance": 1e-5}, long=True),
    "Rayleigh": Published(rayleigh, rayleigh_cost(), 1e-6, {"mesh_tolerance": 1e-7}),
    "river": Published(river, river_time(), 1e-6),
    "dragged cart": Published(dragged_cart, dragged_time(), 1e-6, {"mesh_tolerance": 1e-6}),
    "hypersensitive": Published(hypersensitive, hypersensitive_cost(), 1e-5, {"mesh_tolerance": 1e-6}),
    "singular": Published(singular, 0.0, 1e-6),
    "oscillator to a line": Published(oscillator_to_a_line, 1.6857, 1e-4),
    "speed limit": Published(speed_limit, 0.1698, 2e-4),
}


NAMES = [pytest.param(name, marks=[pytest.mark.long] if known.long else []) for name, known in PUBLISHED.items()]


@pytest.mark.parametrize("name", NAMES)
def test_published_optima_are_reached(name):
    check(PUBLISHED[name])


def test_a_mesh_of_two_phases_meets_the_published_zero():
    # A. Schwartz, Theory and Implementation of Numerical Methods (1996), 4.4: two phases, one with a curved wall.
    def half(duration: float) -> tuple[dd.OptimalControl, list]:
        m, x, u = ode("x y", "u", lambda x, y, u: [y, u - 0.1 * (1 + 2 * x**2) * y], [1.0, 1.0])
        ocp = dd.OptimalControl(m, duration, 20)
        ocp.bound("y", -0.8, None)
        return ocp, [*x, *u]

    one, (x, y, u) = half(1.0)
    one.start()
    one.bound(u, -1.0, 1.0)
    one.subject_to(1 - 9 * (x - 1) ** 2 - ((y - 0.4) / 0.3) ** 2 <= 0)
    two, (x, y, _) = half(1.9)
    two.minimise(final=5 * (x**2 + y**2))
    plan = dd.phases(one, two).solve()
    assert plan.success
    assert abs(plan.objective) < 1e-8
