"""Curves of folds and Hopf points of published models, with the points of two parameters on them."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def written(name, parameters, start, equations):
    """A model of scalar states, given its right-hand sides."""
    m = dd.Model(name)
    p = {key: m.parameter(key, value) for key, value in parameters.items()}
    states = [m.state(key, start=value) for key, value in start.items()]
    for state, rate in zip(states, equations(p, *states)):
        m.equation(m.der(state), rate)
    return m


def test_oxidation_of_carbon_monoxide():
    """V. Bykov, G. Yablonskii, V. Kim (1978), as in the tutorials of MatCont: A. Dhooge et al., ACM TOMS 29 (2003)."""

    def rates(p, x, y, s):
        z = 1 - x - y - s
        return 5.0 * z**2 - 2 * x**2 - 10 * x * y, p["q2"] * z - 0.1 * y - 10 * x * y, 0.0675 * (z - p["k"] * s)

    m = written("oxidation", {"q2": 0.6, "k": 0.4}, {"x": 0.07, "y": 0.2, "s": 0.05}, rates)
    branch = dd.branch(m, "q2", (0.6, 1.9))
    assert [point.kind for point in branch.points] == ["hopf", "fold", "fold", "hopf"]
    assert [point.parameter for point in branch.points] == pytest.approx(
        [1.040991, 1.0522, 1.042049, 1.051556], abs=2e-6
    )
    folds = branch.points[1].follow("k", (0.1, 2.0))
    double = [(1.161199, 0.722339), (1.417627, 0.971398)]
    assert [point.kind for point in folds.points] == ["bogdanov-takens", "cusp", "bogdanov-takens"]
    for point, published in zip(folds.points, [double[0], (1.006408, 0.355991), double[1]]):
        assert tuple(point.parameters.values()) == pytest.approx(published, abs=1e-6)
    hopf = branch.points[0].follow("k", (0.1, 2.0))
    assert [point.kind for point in hopf.points] == ["bogdanov-takens", *["generalised hopf"] * 2, "bogdanov-takens"]
    for point, published in zip(hopf.points[::3], double):
        assert tuple(point.parameters.values()) == pytest.approx(published, abs=1e-6)


def test_the_fold_hopf_points_of_the_atmosphere():
    """E. N. Lorenz's model of 1984: (F, G) = (1.684, 1.683), A. Shil'nikov, G. Nicolis, C. Nicolis (1995).

    The first Lyapunov coefficient changes its sign there through infinity: no generalised Hopf point.
    """

    def rates(p, x, y, z):
        return -(y**2) - z**2 - 0.25 * x + 0.25 * p["F"], x * y - 4 * x * z - y + p["G"], 4 * x * y + x * z - z

    m = written("atmosphere", {"F": 0.1, "G": 0.25}, {"x": 0.1, "y": 0.25, "z": 0.0}, rates)
    (hopf,) = dd.branch(m, "F", (0.1, 4.0)).points
    curve = hopf.follow("G", (-3.0, 3.0))
    assert [point.kind for point in curve.points] == ["fold-hopf", "fold-hopf"]
    for point, sign in zip(curve.points, (-1, 1)):
        assert tuple(point.parameters.values()) == pytest.approx((1.684, sign * 1.683), abs=5e-4)
        x, y, z = (float(point.state[name]) for name in "xyz")
        slopes = [[-0.25, -2 * y, -2 * z], [y - 4 * z, x - 1, -4 * x], [4 * y + z, 4 * x, x - 1]]
        values = np.linalg.eigvals(slopes)
        assert np.sort(np.abs(values))[0] < 1e-8
        assert np.abs(values.real).max() < 1e-8


def test_two_oscillators_lose_stability_together():
    """Two pairs cross at a = 0 and at b = 0: both do at the origin."""

    def rates(p, x, y, u, v):
        one, other = p["a"] - x**2 - y**2, p["b"] + 0.5 * p["a"] - u**2 - v**2 + 0.1 * x
        return one * x - y, x + one * y, other * u - 2 * v, 2 * u + other * v

    start = {"x": 0.0, "y": 0.0, "u": 0.0, "v": 0.0}
    m = written("two oscillators", {"a": -1.0, "b": -0.3}, start, rates)
    points = dd.branch(m, "a", (-1.0, 1.0)).points
    assert [(point.kind, round(point.parameter, 9)) for point in points] == [("hopf", 0.0), ("hopf", 0.6)]
    for point in points:
        (double,) = [one for one in point.follow("b", (-1.0, 1.0)).points if one.kind == "double hopf"]
        assert tuple(double.parameters.values()) == pytest.approx((0.0, 0.0), abs=1e-8)


def test_a_fold_of_a_curve_of_folds_meets_a_pair():
    """x' = a - x² beside a pair with the real part b: fold-Hopf where both vanish."""
    m = written(
        "fold and pair", {"a": 1.0, "b": -0.5}, {"x": 1.0, "u": 0.0, "v": 0.0},
        lambda p, x, u, v: (p["a"] - x**2 + 0.2 * u, (p["b"] + x) * u - v, u + (p["b"] + x) * v),
    )  # fmt: skip
    fold = next(point for point in dd.branch(m, "a", (1.0, -1.0)).points if point.kind == "fold")
    (found,) = fold.follow("b", (-1.0, 1.0)).points
    assert found.kind == "fold-hopf"
    assert tuple(found.parameters.values()) == pytest.approx((0.0, 0.0), abs=1e-8)


def test_synapses_that_tire():
    """J. M. Cortes et al., PNAS 110 (2013), as in the tutorials of BifurcationKit."""

    def rates(p, E, x, u):
        drive = 3.07 * u * x * E + p["E0"]
        answer = 1.5 * ca.log(1 + ca.exp(drive / 1.5))
        return (answer - E) / 0.013, (1 - x) / 0.2 - u * x * E, (0.3 - u) / 1.5 + 0.3 * (1 - u) * E

    m = written("synapses", {"E0": -2.0}, {"E": 0.238616, "x": 0.982747, "u": 0.367876}, rates)
    points = dd.branch(m, "E0", (-4.0, -0.9)).points
    assert [point.kind for point in points] == ["fold", "hopf", "fold", "hopf"]
    assert [point.parameter for point in points] == pytest.approx([-1.4630, -1.8501, -1.8652, -1.1511], abs=1e-4)


def test_a_shallow_truss_snaps_through():
    """Statics alone: two elastic bars of the height 1/2 over the half span 1 snap where a bar is L0^(1/3) long."""
    m = dd.Model("truss")
    w, load, length = m.algebraic("w", start=0.0), m.parameter("load", 0.0), np.sqrt(1.25)
    bar = ca.sqrt(1 + (0.5 - w) ** 2)
    m.equation(load, 2 * (length - bar) / length * (0.5 - w) / bar)
    short = length ** (1 / 3)
    most = 2 * (length - short) / length * np.sqrt(short**2 - 1) / short
    points = dd.branch(m, "load", (-0.05, 0.1)).points
    assert [point.parameter for point in points] == pytest.approx([most, -most], rel=1e-9)


def test_a_column_under_a_load_that_follows_it():
    """H. Ziegler's column flutters where P = 41/28 + c²/2 (c: damping of both hinges; stiffness, mass, length one)."""
    m = dd.Model("column")
    q, P, c = m.coordinate("q", 2, start=[0, 0], rate=[0, 0]), m.parameter("P", 0.5), 0.1
    r = m.rate(q)
    m.kinetic_energy(0.5 * (3 * r[0] ** 2 + 2 * ca.cos(q[1] - q[0]) * r[0] * r[1] + r[1] ** 2))
    m.potential_energy(0.5 * (q[0] ** 2 + (q[1] - q[0]) ** 2))
    m.generalised_force(q, ca.vertcat(P * ca.sin(q[0] - q[1]) - c * (2 * r[0] - r[1]), -c * (r[1] - r[0])))
    (point,) = dd.branch(m, "P", (0.5, 4.0), start={"q": [0, 0]}).points
    assert point.kind == "hopf"
    assert point.parameter == pytest.approx(41 / 28 + c**2 / 2, rel=1e-9)


def test_a_branch_that_goes_to_infinity_inside_its_range_ends_there():
    """A chemostat: s = 0.1 D / (1 - D) grows without bounds; rounding made hundreds of folds at D = 1."""
    m = written(
        "chemostat", {"D": 0.1}, {"s": 0.05, "x": 0.9},
        lambda p, s, x: (p["D"] * (1 - s) - s * x / (0.1 + s), x * (s / (0.1 + s) - p["D"])),
    )  # fmt: skip
    branch = dd.branch(m, "D", (0.1, 1.2))
    (washout,) = branch.points
    assert (washout.kind, washout.parameter) == ("branch point", pytest.approx(1 / 1.1, rel=1e-9))
    assert branch.ended == "The branch goes to infinity at D = 1: x grows without bounds there."
