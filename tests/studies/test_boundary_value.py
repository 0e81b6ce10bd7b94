"""Boundary value problems against closed forms and published numbers."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def second_order(name, right, **parameters):
    m = dd.Model(name)
    y = m.state("y", start=0.0, rate=0.0)
    symbols = {key: m.parameter(key, value) for key, value in parameters.items()}
    m.equation(m.der(m.der(y)), right(y, m, **symbols))
    return m


def both_ends(left, right):
    return lambda at: [at(0)["y"] - left, at(1)["y"] - right]


def test_bratu_has_two_solutions():
    """y'' = -λ e^y: y(1/2) = 2 ln cosh(θ/4) with θ = √(2 λ) cosh(θ/4), two roots for λ < 3.5138."""
    from scipy.optimize import brentq

    m = second_order("Bratu", lambda y, m, rate: -rate * ca.exp(y), rate=1.0)
    for peak, between in ((0.1, (0.1, 4.0)), (4.0, (4.0, 20.0))):
        theta = brentq(lambda q: q - np.sqrt(2.0) * np.cosh(q / 4), *between)
        guess = {"y": lambda t, peak=peak: 4 * peak * t * (1 - t), "y_dot": lambda t, peak=peak: 4 * peak * (1 - 2 * t)}
        sol = dd.boundary_value(m, (0, 1), both_ends(0, 0), guess=guess)
        assert float(sol.at(0.5)["y"]) == pytest.approx(2 * np.log(np.cosh(theta / 4)), rel=1e-6)
        assert sol.error < 1e-5


@pytest.mark.parametrize(("stiffness", "slope"), [(1.0, 0.8452026845), (5.0, 4.57504614e-2), (10.0, 3.5833778e-4)])
def test_troesch(stiffness, slope):
    """y'' = n sinh(n y); slopes at 0 of S. M. Roberts and J. S. Shipman, J. Comput. Phys. 10 (1972)."""
    m = second_order("Troesch", lambda y, m, n: n * ca.sinh(n * y), n=stiffness)
    guess = {"y": lambda t: t**8, "y_dot": lambda t: 8 * t**7} if stiffness > 5 else {"y": lambda t: t, "y_dot": 1.0}
    sol = dd.boundary_value(m, (0, 1), both_ends(0, 1), guess=guess, rtol=1e-8, atol=1e-12)
    assert float(sol["y_dot"][0]) == pytest.approx(slope, rel=2e-6)


@pytest.mark.parametrize("q", [1.0, 5.0])
def test_eigenvalues_of_mathieu(q):
    """y'' = -(a - 2 q cos 2t) y, y'(0) = y'(π) = 0, y(0) = 1: a = a₀(q) or a₂(q), by the guess."""
    from scipy.special import mathieu_a

    m = dd.Model("Mathieu")
    y, a = m.state("y", start=1.0, rate=0.0), m.parameter("a", 0.0)
    m.equation(m.der(m.der(y)), -(a - 2 * q * ca.cos(2 * m.time)) * y)
    conditions = lambda at: [at(0)["y"] - 1, at(0)["y_dot"], at(np.pi)["y_dot"]]  # noqa: E731
    sol = dd.boundary_value(m, (0, np.pi), conditions, free={"a": float(mathieu_a(0, q)) + 0.2})
    found = sol["a"]
    assert min(abs(found - mathieu_a(k, q)) for k in (0, 2, 4)) < 1e-5


def test_conditions_inside_of_the_span():
    """A beam y'''' = 1 on three supports."""
    m = dd.Model("beam")
    y, s, moment, force = (m.state(name, start=0.0) for name in ("y", "s", "moment", "force"))
    m.equation([m.der(y), m.der(s), m.der(moment), m.der(force)], [s, moment, force, 1.0])
    sol = dd.boundary_value(m, (0, 1), lambda at: [at(0)["y"], at(0.4)["y"], at(1)["y"], at(0)["moment"]])
    # By hand: y = t⁴/24 + f t³/6 + s t with zeros at 0.4 and 1.
    matrix, right = np.array([[0.4**3 / 6, 0.4], [1 / 6, 1.0]]), -np.array([0.4**4 / 24, 1 / 24])
    f, slope = np.linalg.solve(matrix, right)
    t = np.linspace(0, 1, 21)
    assert np.allclose(sol.at(t)["y"], t**4 / 24 + f * t**3 / 6 + slope * t, atol=1e-12)


def test_layer_is_resolved():
    """ε y'' = -y', y(0) = 0, y(1) = 1: (1 - e^(-t/ε))/(1 - e^(-1/ε))."""
    m = second_order("layer", lambda y, m, epsilon: -m.der(y) / epsilon, epsilon=1e-3)
    sol = dd.boundary_value(m, (0, 1), both_ends(0, 1))
    t = np.array([0.0, 1e-4, 1e-3, 5e-3, 0.5])
    assert np.allclose(sol.at(t)["y"], 1 - np.exp(-t / 1e-3), atol=1e-5)
    # The mesh is ten times denser in the layer, at least.
    assert np.sum(sol.time < 0.02) / 0.02 > 10 * np.sum(sol.time > 0.1) / 0.9


def test_pendulum_of_index_3_between_two_places():
    """Thrown from the lowest point so that it stands at 1 rad after half a second; against a run with that start."""
    m = dd.Model("pendulum")
    r, pull = m.state("r", 2, start=[0.0, -1.0], rate=[1.0, 0.0]), m.algebraic("pull")
    m.equation(m.der(m.der(r)), ca.vertcat(0, -9.81) - pull * r)
    m.equation(r.T @ r, 1.0)
    goal = np.sin(1.0)
    sol = dd.boundary_value(
        m, (0, 0.5), lambda at: [at(0)["r"][0], at(0.5)["r"][0] - goal],
        guess={"r": lambda t: [np.sin(2 * t), -np.cos(2 * t)], "r_dot": [2.0, 1.0]},
    )  # fmt: skip
    start = {"r": sol["r"][0], "r_dot": sol["r_dot"][0]}
    run = dd.simulate(m, 0.5, start={**start, "r": [0.0, -1.0], "r_dot": [float(start["r_dot"][0]), 0.0]}, rtol=1e-10)
    assert float(run["r"][-1, 0]) == pytest.approx(goal, abs=1e-6)
    assert np.allclose(np.linalg.norm(sol["r"], axis=1), 1.0, atol=1e-7)


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        (lambda at: [at(0)["y"]], "2 conditions needed, 1 given"),
        ([("y", 0.0)], "The conditions are not a function"),
        (lambda at: [at(0)["y"], at(2)["y"]], "t = 2 is outside of the span"),
        (lambda at: [at(0)["y"], at(1)["w"]], "has no"),
    ],
)
def test_wrong_conditions(conditions, text):
    m = second_order("line", lambda y, m: 0 * y)
    with pytest.raises(dd.InputError, match=text):
        dd.boundary_value(m, (0, 1), conditions)


def test_no_solution_is_told():
    m = second_order("Bratu", lambda y, m, rate: -rate * ca.exp(y), rate=6.0)
    with pytest.raises(dd.SolverError, match=r"was not solved|needs more than"):
        dd.boundary_value(m, (0, 1), both_ends(0, 0))


def test_conditions_may_be_equations():
    """A comparison is 0 where it does not hold: `at(0)["x"] == 1` was met by every x but 1, with success."""
    m = dd.Model("wave")
    x, v = m.state("x"), m.state("v")
    m.equation([m.der(x), m.der(v)], [v, -2 * x])
    sol = dd.boundary_value(m, (0, 1), lambda at: [at(0)["x"] == 1, at(1)["x"] == 0.2])
    assert [float(sol.at(0.0)["x"]), float(sol.at(1.0)["x"])] == pytest.approx([1.0, 0.2])
    with pytest.raises(dd.InputError, match="is an inequality"):
        dd.boundary_value(m, (0, 1), lambda at: [at(0)["x"] <= 1, at(1)["x"]])
    with pytest.raises(dd.InputError, match="True or False"):
        dd.boundary_value(m, (0, 1), lambda at: [True, at(1)["x"]])


@pytest.mark.parametrize(("pressure", "stress"), [(0.0, 0.4695999), (0.5, 0.9276800)])
def test_boundary_layer_from_a_poor_guess(pressure, stress):
    """Falkner and Skan, f''' + f f'' + β (1 - f'²) = 0 (D. R. Hartree 1937); Newton's method alone fails from there."""
    m = dd.Model("boundary layer")
    f, g, h = m.state("f", start=0.0), m.state("g", start=0.0), m.state("h", start=0.5)
    m.equation([m.der(f), m.der(g), m.der(h)], [g, h, -f * h - pressure * (1 - g**2)])
    sol = dd.boundary_value(m, (0, 8), lambda at: [at(0)["f"], at(0)["g"], at(8)["g"] - 1])
    assert float(sol.at(0.0)["h"]) == pytest.approx(stress, abs=1e-6)


def test_troesch_with_a_steep_end():
    """y'' = 20 sinh(20 y): y'(0) = 1.648773182e-8 (S. M. Roberts, J. S. Shipman, J. Comput. Phys. 10, 1972)."""
    m = second_order("Troesch", lambda y, m: 20 * ca.sinh(20 * y))
    sol = dd.boundary_value(m, (0, 1), both_ends(0, 1), rtol=1e-8)
    assert float(sol.at(0.0)["y_dot"]) == pytest.approx(1.648773182e-8, rel=1e-4)


def test_tip_of_a_beam():
    """A cantilever under P L²/E I = 1: the tip sinks by 0.30172 (K. E. Bisshopp, D. C. Drucker 1945)."""
    m = dd.Model("beam")
    x, y, slope, bend = (m.state(name, start=0.0) for name in ("x", "y", "slope", "bend"))
    m.equation([m.der(x), m.der(y), m.der(slope), m.der(bend)], [ca.cos(slope), ca.sin(slope), bend, ca.cos(slope)])
    sol = dd.boundary_value(m, (0, 1), lambda at: [at(0)["x"], at(0)["y"], at(0)["slope"], at(1)["bend"]])
    assert float(sol.at(1.0)["y"]) == pytest.approx(-0.30172, abs=1e-5)


@pytest.mark.parametrize("epsilon", [1e-2, 1e-4, 1e-6])
def test_shock_layer(epsilon):
    """ε y'' + t y' = -ε π² cos πt - π t sin πt (U. Ascher, J. Christiansen, R. D. Russell 1981): an error function."""
    from scipy.special import erf

    m = dd.Model("shock")
    y = m.state("y", start=-1.0, rate=0.0)
    t = m.time
    m.equation(
        epsilon * m.der(m.der(y)),
        -t * m.der(y) - epsilon * np.pi**2 * ca.cos(np.pi * t) - np.pi * t * ca.sin(np.pi * t),
    )
    sol = dd.boundary_value(m, (-1, 1), lambda at: [at(-1)["y"] + 2, at(1)["y"]])
    times, width = np.linspace(-1, 1, 201), np.sqrt(2 * epsilon)
    exact = np.cos(np.pi * times) + erf(times / width) / erf(1 / width)
    assert np.abs(sol.at(times)["y"] - exact).max() < 1e-6


@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
@pytest.mark.parametrize("name", ["Bratu", "string", "layer", "driven"])
def test_between_mesh_points_the_solution_is_as_good(name, rtol):
    """A hundred times as accurate as polynomials of collocation on smooth motions, else within the tolerance."""
    t, free = np.linspace(0, 1, 401), {}
    if name == "Bratu":
        m = second_order(name, lambda y, m: -ca.exp(y))
        c = 1.0
        for _ in range(200):
            c = np.sqrt(2.0) * np.cosh(c / 4)
        exact, conditions, allowed = -2 * np.log(np.cosh((t - 0.5) * c / 2) / np.cosh(c / 4)), both_ends(0, 0), 1e-12
    elif name == "string":
        m, free = second_order(name, lambda y, m, k: -(k**2) * y, k=6.0), {"k": 6.0}
        exact, allowed = np.sin(2 * np.pi * t), 1e-10
        conditions = lambda at: [at(0)["y"], at(1)["y"], at(0)["y_dot"] - at(0)["k"]]  # noqa: E731
    elif name == "layer":
        m = second_order(name, lambda y, m: y / 1e-6)
        exact, conditions, allowed = np.exp(-t / 1e-3), both_ends(1, 0), 10 * rtol
    else:
        # Input and solution have a corner inside an interval: y'' = |t - 0.37|.
        m = dd.Model(name)
        y, u = m.state("y", start=0.0, rate=0.0), m.input("u")
        m.equation(m.der(m.der(y)), u)
        corner = lambda s: np.abs(s - 0.37) ** 3 / 6  # noqa: E731
        exact = corner(t) - corner(0) * (1 - t) - corner(1) * t
        conditions, allowed = both_ends(0, 0), rtol
    inputs = {"u": lambda s: abs(s - 0.37)} if name == "driven" else None
    guess = {"y": lambda s: np.sin(2 * np.pi * s)} if name == "string" else None
    sol = dd.boundary_value(m, (0, 1), conditions, guess=guess, free=free, inputs=inputs, rtol=rtol, atol=1e-3 * rtol)
    assert np.abs(sol.at(t)["y"] - exact).max() < allowed


def test_algebraic_variables_between_mesh_points():
    """y'' = -z, ln z = y is Bratu's problem: z is as accurate as y, and obeys its equation."""
    m = dd.Model("Bratu")
    y, z = m.state("y", start=0.5, rate=0.0), m.algebraic("z", start=1.0)
    m.equation(m.der(m.der(y)), -z)
    m.equation(ca.log(z), y)
    sol = dd.boundary_value(m, (0, 1), both_ends(0, 0))
    found = sol.at(np.linspace(0, 1, 101))
    assert sol["z"] == pytest.approx(np.exp(sol["y"]), rel=1e-13)
    c = 1.0
    for _ in range(200):
        c = np.sqrt(2.0) * np.cosh(c / 4)
    exact = -2 * np.log(np.cosh((np.linspace(0, 1, 101) - 0.5) * c / 2) / np.cosh(c / 4))
    assert np.abs(found["y"] - exact).max() < 1e-12
    assert np.abs(found["z"] - np.exp(exact)).max() < 1e-12
