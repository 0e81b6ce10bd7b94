"""Classic problems in several variants, with optima in closed form or published: each is a success and reaches it."""

import casadi as ca
import numpy as np
import pytest
import scipy.linalg
from scipy.optimize import brentq, minimize_scalar

import daedalus as dd


def solved(ocp, optimum, error, **way):
    """A plan that is a success, at its optimum."""
    plan = ocp.solve(**way)
    assert plan.success, plan
    assert plan.objective == pytest.approx(optimum, rel=error)
    return plan


def chain(order, start):
    """x1' = x2, ..., xn' = u."""
    m = dd.Model("chain")
    x, u = m.state("x", order, start=start), m.input("u")
    m.equation(m.der(x), [*(x[k] for k in range(1, order)), u])
    return m, x, u


@pytest.mark.parametrize("seed", range(3))
def test_least_energy_of_linear_systems(seed):
    # ∫ |u|² = eᵀ W⁻¹ e with the Gramian W and e what the free motion misses; of some given states by their part of W.
    random = np.random.default_rng(seed)
    n, T = int(random.integers(2, 5)), 1.5
    A, B = random.normal(size=(n, n)), random.normal(size=(n, 2))
    m = dd.Model("linear")
    x, u = m.state("x", n, start=random.normal(size=n)), m.input("u", 2)
    m.equation(m.der(x), ca.mtimes(A, x) + ca.mtimes(B, u))
    block = scipy.linalg.expm(T * np.block([[A, B @ B.T], [np.zeros((n, n)), -A.T]]))
    W = block[:n, n:] @ block[:n, :n].T
    ends, given = random.normal(size=n), sorted(random.permutation(n)[: n - seed % 2])
    e = (ends - block[:n, :n] @ m.freeze().start["x"])[given]
    ocp = dd.OptimalControl(m, T, 30)
    ocp.start()
    ocp.finish({f"x[{k}]": ends[k] for k in given})
    ocp.input("u", kind="linear")
    ocp.minimise(running=ca.sumsqr(u))
    solved(ocp, e @ np.linalg.solve(W[np.ix_(given, given)], e), 1e-3)


@pytest.mark.parametrize("start", [(1.0, 0.0), (0.5, 0.8), (-1.0, -0.3)])
def test_least_time_of_a_cart(start):
    # x + v |v| / 2 > 0 asks for u = -1 first.
    x0, v0 = start if start[0] + start[1] * abs(start[1]) / 2 > 0 else (-start[0], -start[1])
    m, _, u = chain(2, start)
    ocp = dd.OptimalControl(m, dd.unknown(2.0, 0.1, 9.0), 30)
    ocp.start()
    ocp.finish({"x": [0.0, 0.0]})
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
    solved(ocp, v0 + 2 * np.sqrt(x0 + v0**2 / 2), 1e-5, mesh_tolerance=1e-6)


def test_least_time_under_bounded_jerk():
    m, _, u = chain(3, [0.0, 0.0, 0.0])
    ocp = dd.OptimalControl(m, dd.unknown(3.0, 0.1, 9.0), 40)
    ocp.start()
    ocp.finish({"x": [1.0, 0.0, 0.0]})
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
    solved(ocp, 32 ** (1 / 3), 1e-4)


def test_least_fuel_of_a_cart():
    m = dd.Model("cart")
    x, v, push, pull = m.state("x", start=0.0), m.state("v", start=0.0), m.input("push"), m.input("pull")
    m.equation([m.der(x), m.der(v)], [v, push - pull])
    ocp = dd.OptimalControl(m, 3.0, 60)
    ocp.start()
    ocp.finish({"x": 1.0, "v": 0.0})
    for name in ("push", "pull"):
        ocp.bound(name, 0.0, 1.0)
    ocp.minimise(running=push + pull)
    solved(ocp, 3.0 - np.sqrt(9.0 - 4.0), 1e-3)


def curve(start):
    """A curve y(x) by its slope."""
    m = dd.Model("curve")
    y, slope = m.state("y", start=start), m.input("slope")
    m.equation(m.der(y), slope)
    return m, y, slope


@pytest.mark.parametrize("ends", [(1.0, 1.0), (1.0, 2.0)])
def test_the_surface_of_a_soap_film(ends):
    # y = c cosh((x - a) / c) through both rings, the shallower of two such curves.
    def slack(c):
        return c * np.cosh((1.0 - a_of(c)) / c) - ends[1]

    def a_of(c):
        return c * np.arccosh(max(ends[0] / c, 1.0))

    c = brentq(slack, 0.6, min(ends) - 1e-9) if slack(min(ends) - 1e-9) * slack(0.6) < 0 else None
    if c is None:
        c, a_of = (
            brentq(lambda c: c * np.cosh((1.0 + c * np.arccosh(ends[0] / c)) / c) - ends[1], 0.5, 0.9999),
            (lambda c: -c * np.arccosh(ends[0] / c)),
        )
    a = a_of(c)
    area = c / 2 * (1.0 + c / 2 * (np.sinh(2 * (1 - a) / c) + np.sinh(2 * a / c)))
    m, y, slope = curve(ends[0])
    ocp = dd.OptimalControl(m, 1.0, 40)
    ocp.start()
    ocp.finish({"y": ends[1]})
    ocp.input(slope, kind="linear")
    ocp.guess({"y": 1.0})
    ocp.minimise(running=y * ca.sqrt(1 + slope**2))
    solved(ocp, area, 1e-5)


def test_the_largest_area_under_a_rope():
    # An arc of a circle over a chord of 1 with length 1.2.
    half = brentq(lambda a: np.sin(a) / a - 1 / 1.2, 0.1, 3.0)
    radius = 0.5 / np.sin(half)
    m, y, slope = curve(0.0)
    ocp = dd.OptimalControl(m, 1.0, 40)
    ocp.start()
    ocp.finish({"y": 0.0})
    ocp.input(slope, kind="linear")
    ocp.subject_to(ocp.integral(ca.sqrt(1 + slope**2)) == 1.2, at="end", name="length")
    ocp.guess({"y": 0.2})
    ocp.minimise(running=-y)
    solved(ocp, -(radius**2) * (half - np.sin(2 * half) / 2), 1e-4)


def test_the_shortest_way_with_a_smallest_radius():
    # Dubins: left, straight, left from (0, 0) along x to (4, 4) against x, between circles of radius 1.
    m = dd.Model("car")
    p, d, turn = m.state("p", 2, start=[0.0, 0.0]), m.state("d", 2, start=[1.0, 0.0]), m.input("turn")
    m.equation(m.der(p), d)
    m.equation(m.der(d), [-turn * d[1], turn * d[0]])
    ocp = dd.OptimalControl(m, dd.unknown(7.0, 1.0, 20.0), 60)
    ocp.start()
    ocp.finish({"p": [4.0, 4.0], "d": [-1.0, 0.0]})
    ocp.bound(turn, -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
    plan = solved(ocp, np.hypot(4.0, 2.0) + np.pi, 1e-3)
    assert "of 4 end values 3 are independent: the rest is kept by d" in plan.notes


@pytest.mark.parametrize("seed", range(4))
def test_rotations_of_least_effort(seed):
    # ∫ |ω|² over unit time is the square of the angle, in one piece and in two, whichever of the values are given.
    random = np.random.default_rng(seed)
    axis, angle = random.normal(size=3), random.uniform(0.5, 2.0)
    axis /= np.linalg.norm(axis)
    end = np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])
    m = dd.Model("turning")
    q, w = m.state("q", 4, start=[1.0, 0.0, 0.0, 0.0]), m.input("w", 3)
    vector = q[0] * w + ca.cross(q[1:], w)
    m.equation(m.der(q), 0.5 * ca.vertcat(-ca.dot(q[1:], w), vector))
    if seed == 3:
        halves = [dd.OptimalControl(m, 0.5, 10) for _ in range(2)]
        halves[0].start()
        halves[1].finish({"q": end})
        for part in halves:
            part.minimise(running=ca.sumsqr(w))
        plan = dd.phases(*halves).solve()
        assert plan.success, plan
        assert plan.objective == pytest.approx(angle**2, rel=1e-4)
        return
    ocp = dd.OptimalControl(m, 1.0, 20)
    ocp.start()
    ocp.finish({"q": end} if seed == 0 else {f"q[{k}]": end[k] for k in range(1, 4)})
    ocp.minimise(running=ca.sumsqr(w))
    plan = solved(ocp, angle**2, 1e-4)
    assert plan.replay()["q"][-1] == pytest.approx(end, abs=1e-5)


def test_an_area_swept_by_two_steering_inputs():
    # Brockett: z' = x v - y u is twice the area, and the shortest closed curve around it is a circle.
    m = dd.Model("sweeping")
    x, u = m.state("x", 3, start=[0.0, 0.0, 0.0]), m.input("u", 2)
    m.equation(m.der(x), [u[0], u[1], x[0] * u[1] - x[1] * u[0]])
    ocp = dd.OptimalControl(m, 1.0, 40)
    ocp.start()
    ocp.finish({"x": [0.0, 0.0, 1.0]})
    ocp.input(u, kind="linear")
    time = np.linspace(0.0, 1.0, 41)
    ocp.guess({"u": np.stack([np.cos(6 * time), np.sin(6 * time)], axis=1)})
    ocp.minimise(running=ca.sumsqr(u))
    solved(ocp, 2 * np.pi, 1e-3)


def test_light_bends_where_its_speed_changes():
    # Two media as two phases: Snell's way from (0, 0) over the line y = 1 to (2, 2), at speed 1 and then 0.6.
    best = minimize_scalar(lambda x: np.hypot(x, 1.0) + np.hypot(2 - x, 1.0) / 0.6, bounds=(0, 2), method="bounded").fun

    def medium(speed):
        m = dd.Model(f"at {speed}")
        p, d = m.state("p", 2, start=[0.0, 0.0]), m.input("d")
        m.equation(m.der(p), [speed * ca.cos(d), speed * ca.sin(d)])
        ocp = dd.OptimalControl(m, dd.unknown(1.5, 0.1, 9.0), 10)
        ocp.bound(d, 0.0, 3.0)
        ocp.minimise(final=ocp.duration)
        return ocp

    one, two = medium(1.0), medium(0.6)
    one.start()
    one.finish({"p[1]": 1.0})
    two.finish({"p": [2.0, 2.0]})
    plan = dd.phases(one, two).solve()
    assert plan.success, plan
    assert plan.duration == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("to", [(0.0, 1.0), (1.0, -0.5)])
def test_the_fastest_way_through_a_current(to):
    # Zermelo in a steady current (0.5, 0.2) at speed 1: |to - t c| = t.
    current, to = np.array([0.5, 0.2]), np.array(to)
    best = brentq(lambda t: np.linalg.norm(to - t * current) - t, 1e-3, 50.0)
    m = dd.Model("boat")
    p, d = m.state("p", 2, start=[0.0, 0.0]), m.input("d")
    m.equation(m.der(p), [0.5 + ca.cos(d), 0.2 + ca.sin(d)])
    ocp = dd.OptimalControl(m, dd.unknown(1.0, 0.1, 20.0), 20)
    ocp.start()
    ocp.finish({"p": to})
    ocp.bound(d, -np.pi, np.pi)
    ocp.minimise(final=ocp.duration)
    solved(ocp, best, 1e-6)


def test_the_highest_orbit_in_a_given_time():
    # Bryson and Ho (1975), section 2.5: from a circular orbit by a small thrust; r = 1.5253 at t = 3.3207.
    m = dd.Model("sail")
    r, out, along, angle = m.state("r", start=1.0), m.state("out", start=0.0), m.state("along", start=1.0), m.input("a")
    push = 0.1405 / (1 - 0.0749 * m.time)
    m.equation(m.der(r), out)
    m.equation(m.der(out), along**2 / r - 1 / r**2 + push * ca.sin(angle))
    m.equation(m.der(along), -out * along / r + push * ca.cos(angle))
    ocp = dd.OptimalControl(m, 3.3207, 60)
    ocp.start()
    ocp.finish({"out": 0.0})
    ocp.subject_to(along**2 * r == 1.0, at="end", name="circle")
    ocp.bound(angle, -np.pi, 2 * np.pi)
    ocp.guess({"r": np.linspace(1.0, 1.5, 61), "along": np.linspace(1.0, 0.8, 61), "a": np.linspace(0.5, 5.5, 60)})
    ocp.minimise(final=-r)
    solved(ocp, -1.5253, 1e-3)


@pytest.mark.long
def test_a_free_flying_robot():
    # Y. Sakawa (1999); Betts, Practical Methods (2010), problem 6.13: 7.9101471, a local optimum.
    m = dd.Model("robot")
    x, u = m.state("x", 6, start=[-10.0, -10.0, 0.0, 0.0, np.pi / 2, 0.0]), m.input("u", 4)
    one, two = u[0] - u[1], u[2] - u[3]
    m.equation(m.der(x), [x[2], x[3], (one + two) * ca.cos(x[4]), (one + two) * ca.sin(x[4]), x[5], 0.2 * (one - two)])
    ocp = dd.OptimalControl(m, 12.0, 60)
    ocp.start()
    ocp.finish({"x": np.zeros(6)})
    ocp.bound(u, 0.0, 1.0)
    for k in (0, 2):
        ocp.subject_to(u[k] + u[k + 1] <= 1.0, name=f"jets {k}")
    ocp.minimise(running=ca.sum1(u))
    solved(ocp, 7.9101471, 1e-2, mesh_tolerance=1e-4, starts=1)
