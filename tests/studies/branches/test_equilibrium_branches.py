"""Branches of equilibria against published bifurcation points, for ODEs and for DAEs as they are written."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rings import examples

import daedalus as dd
from daedalus.studies.branches.rest_equations import eigenvalues_of


def kinds(branch):
    return [point.kind for point in branch.points]


def brusselator(a=1.0):
    m = dd.Model("Brusselator")
    A, B = m.parameter("A", a), m.parameter("B", 1.0)
    x, y = m.state("x", start=a), m.state("y", start=1.0 / a)
    m.equation(m.der(x), A + x**2 * y - (B + 1) * x)
    m.equation(m.der(y), B * x - x**2 * y)
    return m


@pytest.mark.parametrize("a", [0.5, 1.0, 1.7])
def test_brusselator_oscillates_beyond_one_plus_a_squared(a):
    (point,) = dd.branch(brusselator(a), "B", (0.5, 1.0 + 2 * a**2)).points
    assert point.kind == "hopf"
    assert point.parameter == pytest.approx(1 + a**2, rel=1e-10)
    # Kuramoto's amplitude equation has Re g = (2 + A²)/(2 A²) for the mode (1, -1 + i/A), |mode|² = 2 + 1/A².
    expected = -(2 + a**2) / (2 * a**2) / (2 + 1 / a**2) / a
    assert point.coefficient == pytest.approx(expected, rel=1e-7)


def test_shorter_steps_find_the_same_points():
    """max_step bounds how far a step moves x or B, in their sizes."""
    usual, fine = (dd.branch(brusselator(), "B", (1.0, 3.0), max_step=step) for step in (None, 0.004))
    assert [p.parameter for p in fine.points] == pytest.approx([p.parameter for p in usual.points], rel=1e-10)
    for found, step in ((usual, 0.025), (fine, 0.004)):
        moves = [np.diff(found["B"]) / 2.0, np.diff(found["y"]) / np.maximum(1.0, np.abs(found["y"][:-1]))]
        assert 0.5 * step < np.max(np.hypot(*moves) / 3**0.25) < 1.1 * step


def lorenz():
    m = dd.Model("Lorenz")
    x, r = m.state("x", 3, start=[0.0, 0.0, 0.0]), m.parameter("r", 0.5)
    m.equation(m.der(x), ca.vertcat(10 * (x[1] - x[0]), x[0] * (r - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]))
    return m


def test_lorenz_pitchfork_and_subcritical_hopf_points():
    trivial = dd.branch(lorenz(), "r", (0.5, 30.0))
    assert kinds(trivial) == ["branch point"]
    assert trivial.points[0].parameter == pytest.approx(1.0, abs=1e-9)
    assert "pitchfork" in trivial.points[0].sentence
    assert trivial.points[0].coefficient < 0
    other = trivial.points[0].switch()
    assert kinds(other) == ["hopf", "hopf"]
    for point in other.points:
        # σ (σ + b + 3)/(σ - b - 1)
        assert point.parameter == pytest.approx(10 * (10 + 8 / 3 + 3) / (10 - 8 / 3 - 1), rel=1e-10)
        assert point.coefficient > 0
        assert "subcritical" in point.sentence
    # The two arms are ±√(b (r - 1)).
    assert np.allclose(np.abs(other["x"][:, 0]), np.sqrt(8 / 3 * np.maximum(other["r"] - 1, 0)), atol=1e-7)


def bratu(cells):
    m = dd.Model("Bratu")
    u, rate = m.state("u", cells, start=0.0), m.parameter("rate", 0.0)
    padded, h = ca.vertcat(0, u, 0), 1 / (cells + 1)
    m.equation(m.der(u), (padded[2:] - 2 * u + padded[:-2]) / h**2 + rate * ca.exp(u))
    return m


def test_fold_of_bratu_tends_to_the_published_value():
    """3.513830719 for the continuous problem; second differences approach it with h²."""
    folds = [dd.branch(bratu(n), "rate", (0.0, 4.0), most_points=160).points[0].parameter for n in (15, 31)]
    limit = folds[1] + (folds[1] - folds[0]) / 3
    assert limit == pytest.approx(3.513830719, abs=2e-5)
    assert abs(folds[1] - 3.513830719) < abs(folds[0] - 3.513830719) / 3.5


def test_cusp_and_hysteresis():
    m = dd.Model("cusp")
    x = m.state("x", start=-2.0)
    a, b = m.parameter("a", -2.0), m.parameter("b", 1.0)
    m.equation(m.der(x), a + b * x - x**3)
    br = dd.branch(m, "a", (-2.0, 2.0))
    assert kinds(br) == ["fold", "fold"]
    turn = 2 / (3 * np.sqrt(3))
    assert [p.parameter for p in br.points] == pytest.approx([turn, -turn], abs=1e-10)
    curve = br.points[0].follow("b", (-1.0, 1.5))
    (cusp,) = curve.points
    assert cusp.kind == "cusp"
    assert abs(cusp.parameters["a"]) < 1e-8
    assert abs(cusp.parameters["b"]) < 1e-8
    assert np.allclose(4 * curve["b"] ** 3, 27 * curve["a"] ** 2, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_cusps_are_found_whatever_the_ranges(seed):
    """(a − A) + (b − B) ξ − c ξ³ with ξ = x − C has its cusp at (A, B); steps land on either side of it, or near it."""
    rng = np.random.default_rng(seed)
    at_a, at_b, centre = rng.uniform(-2.0, 2.0, 3) if seed else np.zeros(3)
    cubic = rng.uniform(0.3, 3.0) if seed else 1.0
    m = dd.Model("cusp")
    x, a, b = m.state("x", start=centre - 3.0), m.parameter("a", 0.0), m.parameter("b", at_b + 1.0)
    m.equation(m.der(x), a - at_a + (b - at_b) * (x - centre) - cubic * (x - centre) ** 3)
    width = 1.0 / np.sqrt(cubic)
    folds = [p for p in dd.branch(m, "a", (at_a - width, at_a + width)).points if p.kind == "fold"]
    for low, high in ((-1.0, 3.0), (-0.3, 2.0), (-5.0, 1.4)):
        (cusp,) = folds[0].follow("b", (at_b + low, at_b + high)).points
        assert cusp.kind == "cusp"
        assert list(cusp.parameters.values()) == pytest.approx([at_a, at_b], abs=1e-8)


def takens_bogdanov():
    """x' = y, y' = b1 + b2 x + x² - x y: folds b2² = 4 b1, Hopf points b1 = 0, b2 < 0 (Kuznetsov, section 8.4)."""
    m = dd.Model("Bogdanov-Takens")
    x, y = m.state("x", start=0.0), m.state("y", start=0.0)
    b1, b2 = m.parameter("b1", -0.1), m.parameter("b2", -0.5)
    m.equation([m.der(x), m.der(y)], [y, b1 + b2 * x + x**2 - x * y])
    return m


def test_bogdanov_takens_from_both_sides():
    br = dd.branch(takens_bogdanov(), "b1", (-0.1, 0.2))
    assert kinds(br) == ["hopf", "fold"]
    hopf, fold = br.points
    assert abs(hopf.parameter) < 1e-10
    assert hopf.frequency == pytest.approx(np.sqrt(0.5), rel=1e-9)
    assert hopf.coefficient < 0
    assert fold.parameter == pytest.approx(0.0625, rel=1e-9)
    folds = fold.follow("b2", (-1.0, 1.0))
    assert np.allclose(folds["b2"] ** 2, 4 * folds["b1"], atol=1e-9)
    for curve in (folds, hopf.follow("b2", (-1.0, 1.0))):
        (point,) = (p for p in curve.points if p.kind == "bogdanov-takens")
        assert abs(point.parameters["b1"]) < 1e-9
        assert abs(point.parameters["b2"]) < 1e-9


def hodgkin_huxley():
    """Membrane in mV and ms as Hodgkin and Huxley 1952 give it, rest at 0."""
    m = dd.Model("Hodgkin-Huxley")
    v = m.state("v", start=0.0)
    gates = {name: m.state(name, start=0.3) for name in "mhn"}
    current = m.parameter("current", 0.0)
    rates = {
        "m": ((25 - v) / 10 / (ca.exp((25 - v) / 10) - 1), 4 * ca.exp(-v / 18)),
        "h": (0.07 * ca.exp(-v / 20), 1 / (ca.exp((30 - v) / 10) + 1)),
        "n": ((10 - v) / 100 / (ca.exp((10 - v) / 10) - 1), 0.125 * ca.exp(-v / 80)),
    }
    for name, (opening, closing) in rates.items():
        m.equation(m.der(gates[name]), opening * (1 - gates[name]) - closing * gates[name])
    sodium = 120 * gates["m"] ** 3 * gates["h"] * (v - 115)
    m.equation(m.der(v), current - sodium - 36 * gates["n"] ** 4 * (v + 12) - 0.3 * (v - 10.613))
    return m


def test_hodgkin_huxley_fires_between_two_hopf_points():
    """9.78 and 154.5 µA/cm² (J. Rinzel and R. N. Miller, Math. Biosci. 49, 1980: 9.78 and 154.527)."""
    br = dd.branch(hodgkin_huxley(), "current", (0.0, 200.0))
    assert kinds(br) == ["hopf", "hopf"]
    first, second = br.points
    assert first.parameter == pytest.approx(9.78, abs=0.01)
    assert first.coefficient > 0
    assert second.parameter == pytest.approx(154.527, abs=0.05)
    assert second.coefficient < 0


def buckling_arm(stiffness=2.0, length=1.3):
    """A rod on a spring hinge under a load on its tip, in Cartesian coordinates: index 3."""
    m = dd.Model("buckling arm")
    r, pull = m.state("r", 2, start=[0.0, length], rate=0.0), m.algebraic("pull")
    load = m.parameter("load", 0.1)
    angle = ca.atan2(r[0], r[1])
    # The hinge's moment -k θ acts on the tip as a force along the circle.
    spring = -stiffness * angle / length**2 * ca.vertcat(r[1], -r[0])
    m.equation(m.der(m.der(r)), spring + ca.vertcat(0, -load) - 0.1 * m.der(r) - pull * r)
    m.equation(r.T @ r, length**2)
    return m


@pytest.mark.parametrize(("stiffness", "length"), [(2.0, 1.3), (0.5, 2.0)])
def test_buckling_of_an_arm_of_index_3(stiffness, length):
    critical = stiffness / length
    br = dd.branch(buckling_arm(stiffness, length), "load", (0.1 * critical, 2 * critical))
    assert kinds(br) == ["branch point"]
    (point,) = br.points
    assert point.parameter == pytest.approx(critical, rel=1e-9)
    assert "pitchfork" in point.sentence
    assert point.coefficient < 0
    assert br.stable[0]
    assert not br.stable[-1]
    bent = point.switch()
    angle = np.arctan2(bent["r"][:, 0], bent["r"][:, 1])
    # k θ = load L sin θ
    assert np.allclose(stiffness * angle, bent["load"] * length * np.sin(angle), atol=1e-8 * stiffness)
    assert bent.stable[0]
    assert bent.stable[-1]


def test_stirred_tank_has_two_folds_and_ignites():
    """x' = -x + Da (1 - x) exp(y), y' = -y + B Da (1 - x) exp(y) - β y: folds where d Da/dx = 0 by hand."""
    B, beta = 14.0, 1.5
    m = dd.Model("CSTR")
    x, y, Da = m.state("x", start=0.0), m.state("y", start=0.0), m.parameter("Da", 0.01)
    rate = Da * (1 - x) * ca.exp(y)
    m.equation([m.der(x), m.der(y)], [-x + rate, -(1 + beta) * y + B * rate])
    br = dd.branch(m, "Da", (0.01, 0.3))
    # At rest y = B x/(1 + β): Da(x) = x/(1 - x) exp(-B x/(1 + β)), which turns where 1/(x (1 - x)) = B/(1 + β).
    ratio = B / (1 + beta)
    turns = np.roots([ratio, -ratio, 1.0])
    expected = sorted(turns / (1 - turns) * np.exp(-ratio * turns))
    folds = sorted(p.parameter for p in br.points if p.kind == "fold")
    assert folds == pytest.approx(expected, rel=1e-9)


@settings(max_examples=examples(25) // 3, deadline=None)
@given(st.data())
def test_random_planar_hopf_points(data):
    """A normal form with known frequency, place and sign of the first Lyapunov coefficient, in random coordinates."""
    draw = lambda low, high: data.draw(st.floats(low, high))  # noqa: E731
    omega, at, cubic = draw(0.3, 3.0), draw(-0.5, 0.5), data.draw(st.sampled_from([-1.0, 1.0])) * draw(0.2, 2.0)
    turn = np.array([[1.0, draw(-0.5, 0.5)], [draw(-0.5, 0.5), 1.5]])
    m = dd.Model("normal form")
    x, mu, scale = m.state("x", 2, start=[0.0, 0.0]), m.parameter("mu", -1.0), 1.0
    w = ca.solve(ca.DM(turn), x)
    square = ca.dot(w, w)
    grow = (mu - at) + cubic * square
    flow = ca.vertcat(grow * w[0] - omega * w[1], omega * w[0] + grow * w[1])
    m.equation(m.der(x), scale * ca.DM(turn) @ flow)
    (point,) = dd.branch(m, "mu", (-1.0, 1.0)).points
    assert point.kind == "hopf"
    assert point.parameter == pytest.approx(at, abs=1e-9)
    assert point.frequency == pytest.approx(omega, rel=1e-8)
    assert np.sign(point.coefficient) == np.sign(cubic)


def test_a_free_coordinate_is_held():
    m = dd.Model("cart with a hanging spring")
    place, x = m.state("place", start=3.0), m.state("x", start=0.0)
    load = m.parameter("load", 0.0)
    m.equation(m.der(place), x - load)
    m.equation(m.der(x), load - x)
    br = dd.branch(m, "load", (0.0, 1.0))
    assert np.allclose(br["place"], 3.0)
    assert np.allclose(br["x"], br["load"])
    assert br.notes == ("place may be anywhere and stays where the first point has it",)


def test_bounds_end_a_branch():
    m = dd.Model("tank")
    h, q = m.state("h", start=1.0, lower=0.0, upper=2.0), m.input("q")
    m.equation(m.der(h), q - 0.5 * ca.sqrt(h))
    br = dd.branch(m, "q", (0.1, 5.0), start={"h": 0.04})
    assert "upper" in br.ended or "bound 2" in br.ended
    assert br["h"][-1] == pytest.approx(2.0, rel=1e-9)
    assert br["q"][-1] == pytest.approx(0.5 * np.sqrt(2.0), rel=1e-8)


def test_results_are_named_arrays():
    br = dd.branch(brusselator(), "B", (1.0, 3.0))
    data = br.to_xarray()
    assert data["x"].dims == ("point",)
    assert np.allclose(data["y"], br["B"])
    assert br.at(0)["x"] == pytest.approx(1.0)
    figure = br.plot("y")
    assert figure.axes[0].get_xlabel() == "B"
    assert figure.axes[0].get_ylabel() == "y"
    lines = {line.get_label(): line.get_linestyle() for line in figure.axes[0].get_lines()}
    assert lines["stable"] == "-"
    assert lines["unstable"] == "--"


@pytest.mark.parametrize(
    ("name", "span", "text"),
    [
        ("x", (0.0, 1.0), "x cannot be moved: it is a state or algebraic variable."),
        ("B", (1.0, 1.0), "The range of B is not a pair of different numbers."),
        ("B", 3.0, "The range of B is not a pair of different numbers."),
        ("C", (0.0, 1.0), "has no"),
    ],
)
def test_wrong_uses(name, span, text):
    with pytest.raises(dd.InputError, match=text.replace("(", r"\(")):
        dd.branch(brusselator(), name, span)


def test_only_branch_points_switch_and_do_not_persist():
    hopf = dd.branch(brusselator(), "B", (1.0, 3.0)).points[0]
    with pytest.raises(dd.InputError, match="No branch of equilibria crosses at a hopf point"):
        hopf.switch()
    crossing = dd.branch(lorenz(), "r", (0.5, 2.0)).points[0]
    with pytest.raises(dd.InputError, match="does not persist"):
        crossing.follow("r")


def test_of_many_states_eigenvalues_are_found_where_they_are_needed():
    """Pairs of 42 states that cross the axis and come back, each in a window of its own."""
    windows, count = {0: (0.31, 0.52), 1: (0.45, 0.83)}, 21
    m = dd.Model("oscillators")
    x, v, mu = m.state("x", count), m.state("v", count), m.parameter("mu", 0.0)
    for k in range(count):
        low, high = windows.get(k, (0.0, 0.0))
        growth = 4 * (mu - low) * (high - mu) if k in windows else -0.5 - 0.1 * k
        m.equation(m.der(x[k]), v[k])
        m.equation(m.der(v[k]), -(1 + 0.3 * k) * x[k] + growth * v[k] - v[k] ** 3)
    br = dd.branch(m, "mu", (0.0, 1.0))
    found = [point.parameter for point in br.points]
    assert [point.kind for point in br.points] == ["hopf"] * 4
    assert np.allclose(found, sorted(value for pair in windows.values() for value in pair), atol=1e-8)
    assert len(br.eigenvalues) == len(br["mu"])
    assert sum(values is None for values in br.eigenvalues.known) > 0
    truth = [bool(np.all(values.real < 0)) for values in br.eigenvalues]
    assert br.stable.tolist() == truth


def test_a_branch_that_goes_to_infinity_does_not_end_on_another_one():
    """x = 1/mu beside x = 0: at mu = 0 Newton's method only finds the second."""
    m = dd.Model("hyperbola")
    x, mu = m.state("x", start=1.0), m.parameter("mu", 1.0)
    m.equation(m.der(x), -x * (mu * x - 1))
    br = dd.branch(m, "mu", (1.0, 0.0))
    assert br["x"][-1] > 10
    assert len([p for p in br.points if p.kind == "fold"]) == 0


@pytest.mark.parametrize("least", [1.0, 1e-3, 1e-9, 0.0])
def test_eigenvalues_of_many_states_are_right_near_the_axis_whatever_is_singular(least):
    # A pair beside the axis, one that is nearly zero, and fast ones, seen through a change of coordinates.
    rng = np.random.default_rng(4)
    fast = -np.geomspace(2.0, 2000.0, 97)
    blocks = np.diag(np.append(fast, [0.0, 0.0, -least]))
    blocks[97:99, 97:99] = [[1e-5, 3.0], [-3.0, 1e-5]]
    turned = np.linalg.qr(rng.standard_normal((100, 100)))[0] + 0.02 * rng.standard_normal((100, 100))
    found = eigenvalues_of(turned @ blocks @ np.linalg.inv(turned))
    exact = np.append(fast, [1e-5 + 3j, 1e-5 - 3j, -least])
    for value in exact:
        assert np.abs(found - value).min() < 1e-9 * 2000
    assert np.sum(found.real > 2e-6) == 2
