"""Statements of documents 001, 003 and 004 in small systems with solutions in closed form."""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import daedalus as dd
from daedalus import catalogue

# -- document 001 ------------------------------------------------------------------------------------------------


@pytest.mark.document("001", "d/dt M = f_x M with M(0) = I, d/dt N = f_x N + f_u with N(0) = 0", "`sens.M`, `sens.N`")
def test_first_derivatives_of_a_linear_system_are_its_exponential():
    A, B, T = np.array([[0.0, 1.0], [-2.0, -0.5]]), np.array([0.3, 1.0]), 1.3
    m = dd.Model("linear")
    x, u = m.state("x", 2, start=[0.4, -0.2]), m.input("u")
    m.equation(m.der(x), ca.DM(A) @ x + ca.DM(B) * u)
    sens = dd.sensitivities(m, T, inputs={"u": 0.7}, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sens.M, expm(A * T), rtol=1e-8)
    forced = np.linalg.solve(A, (expm(A * T) - np.eye(2)) @ B)
    np.testing.assert_allclose(np.ravel(sens.N), forced, rtol=1e-8)
    # At the start M is the unit matrix and grows by f_x, N is zero and grows by f_u.
    soon, short = 1e-6, dd.sensitivities(m, 1e-6, inputs={"u": 0.7})
    np.testing.assert_allclose(np.asarray(short.M), np.eye(2) + soon * A, atol=1e-11)
    np.testing.assert_allclose(np.ravel(short.N), soon * B, atol=1e-11)


@pytest.mark.document(
    "001", "d/dt O = f_xx[M, M] + f_x O and those of P and Q, zero at the start", "`sens.O`, `sens.P`, `sens.Q`"
)
def test_second_derivatives_in_closed_form():
    """x' = u x² has x(t) = x0 / (1 − u x0 t)."""
    x0, u0, T = 0.5, 0.8, 1.0
    m = dd.Model("quadratic")
    x, u = m.state("x", start=x0), m.input("u")
    m.equation(m.der(x), u * x**2)
    sens = dd.sensitivities(m, T, inputs={"u": u0}, order=2, rtol=1e-11, atol=1e-13)
    left = 1 - u0 * x0 * T
    expected = {"O": 2 * u0 * T / left**3, "P": 2 * x0 * T / left**3, "Q": 2 * x0**3 * T**2 / left**3}
    short = dd.sensitivities(m, 1e-6, inputs={"u": u0}, order=2)
    for letter, value in expected.items():
        assert np.asarray(getattr(sens, letter)).item() == pytest.approx(value, rel=1e-8)
        assert abs(np.asarray(getattr(short, letter)).item()) < 1e-5


# -- document 003 ------------------------------------------------------------------------------------------------


@pytest.mark.document("003", "q is not the state: states are q and q'", "`m.coordinate`")
def test_coordinates_and_their_rates_are_the_states():
    m = dd.Model("cart")
    x, theta = (m.coordinate(name) for name in ("x", "theta"))
    m.kinetic_energy(m.rate(x) ** 2 + m.rate(theta) ** 2)
    assert set(m.freeze().labels["x"]) == {"x", "theta", "x_dot", "theta_dot"}


@pytest.mark.document("003", "d/dt ∂L/∂q' − ∂L/∂q = 0 from L = T − V: m x'' + k x = 0", 'dd.derive(m, "lagrange")')
def test_the_equation_of_euler_and_lagrange_for_a_mass_on_a_spring():
    m = dd.Model("mass on a spring")
    x, mass, k = m.coordinate("x"), m.parameter("m", 2.0), m.parameter("k", 3.0)
    m.kinetic_energy(mass * m.rate(x) ** 2 / 2)
    m.potential_energy(k * x**2 / 2)
    steps = {step.kind: [str(line) for line in step.after] for step in dd.derive(m, "lagrange")}
    assert steps["Lagrange function"] == ["L = m*x_dot^2/2 - k*x^2/2"]
    assert steps["momenta"] == ["dL/dx_dot = m*x_dot"]
    assert steps["rates of momenta"] == ["d/dt dL/dx_dot = m*x_ddot"]
    assert steps["slopes"] == ["dL/dx = -k*x"]
    assert steps["equations of motion"] == ["m*x_ddot + k*x = 0"]


def pendulum():
    m = dd.Model("pendulum")
    p = m.coordinate("p", 3, start=[0.6, 0.0, -0.8], rate=[0.0, 0.5, 0.0])
    m.kinetic_energy(ca.sumsqr(m.rate(p)))
    m.potential_energy(2 * 9.81 * p[2])
    m.constraint("z", (ca.sumsqr(p) - 1) / 2)
    return m


@pytest.mark.document("003", "the force that keeps c(q) = 0 is in the span of ∇c", "`m.constraint`")
def test_the_force_of_the_rod_points_along_it():
    tr = dd.simulate(pendulum(), 1.0, save_at=np.linspace(0.0, 1.0, 11), rtol=1e-9)
    force = 2.0 * (np.stack([tr[f"p_ddot[{k}]"] for k in range(3)], axis=1) + np.array([0.0, 0.0, 9.81]))
    p = np.stack([tr[f"p[{k}]"] for k in range(3)], axis=1)
    assert np.abs(np.cross(force, p)).max() < 1e-7 * np.abs(force).max()


@pytest.mark.document("003", "x' = u − x + z, 0 = x z − 1 becomes x' = u − x + 1/x", "`dd.eliminate`")
def test_an_algebraic_variable_with_a_formula_is_eliminated():
    m = dd.Model("semi-explicit")
    x, z, u = m.state("x", start=2.0), m.algebraic("z"), m.input("u")
    m.equation(m.der(x), u - x + z)
    m.equation(x * z, 1)
    assert str(dd.derive(m, "first_order").equations[0]) == "d/dt x = 1/x + u - x"
    assert dd.eliminate(m).freeze().sizes["z"] == 0


@pytest.mark.document("003", "z = ξ(x, u) exists only if ∇zG has full rank: not for the pendulum", "`dd.analyse`")
def test_the_rod_force_is_no_function_of_the_equations_as_written():
    report = dd.analyse(pendulum())
    assert report.index == 3
    with pytest.raises(dd.DaedalusError):
        dd.eliminate(pendulum(), "z")


@pytest.mark.document("003", "implicit Euler is BDF of one step", "`dd.bdf(1)`")
def test_bdf_of_one_step_is_implicit_euler():
    m = catalogue.load("van_der_pol").model
    ends = [dd.simulate(m, 1.0, method=method, step=0.01) for method in (dd.bdf(1), "implicit_euler")]
    for name in ends[0].system.labels["x"]:
        np.testing.assert_allclose(ends[0][name], ends[1][name], rtol=1e-8, atol=1e-10)


@pytest.mark.document("003", "a step of implicit Euler solves r(x₊, z₊) = 0 by Newton's method", "`dd.newton`")
def test_a_step_of_implicit_euler_is_the_root_of_its_residual():
    """x' = −x + z, 0 = x + 2 z − z³ − 1, with the matrix [I − h F_x, −h F_z; G_x, G_z]."""
    h, x0 = 0.1, 0.5
    m = dd.Model("semi-explicit")
    x, z = m.state("x", start=x0), m.algebraic("z")
    m.equation(m.der(x), z - x)
    m.equation(x + 2 * z - z**3 - 1)
    found = dd.newton(
        lambda w: np.array([w[0] - x0 - h * (w[1] - w[0]), w[0] + 2 * w[1] - w[1] ** 3 - 1]),
        np.array([x0, 0.2]),
        jacobian=lambda w: np.array([[1 + h, -h], [1.0, 2 - 3 * w[1] ** 2]]),
    )
    run = dd.simulate(m, h, method="implicit_euler", step=h)
    assert found.x == pytest.approx([run["x"][-1], run["z"][-1]], abs=1e-9)


@pytest.mark.document(
    "003", "E rank deficient: a step of implicit Euler may err by O(h) or O(1)", '`method="implicit_euler"`'
)
def test_a_step_errs_by_an_order_less_for_every_differentiation():
    """x2' = x1, x3' = x2, x3 = sin t from exact values: x3 is exact, x2 errs by h/2, x1 by a number."""
    errors = []
    for h in (0.02, 0.01):
        x = np.array([-np.sin(1.0), np.cos(1.0), np.sin(1.0)])
        E, A = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]]), np.eye(3)
        step = np.linalg.solve(E / h - A, E @ x / h - np.array([0.0, 0.0, np.sin(1.0 + h)]))
        m = dd.Model.from_matrices(E, A, np.array([[0.0], [0.0], [-1.0]]))
        assert dd.analyse(m).index == 3
        errors.append(step - np.array([-np.sin(1.0 + h), np.cos(1.0 + h), np.sin(1.0 + h)]))
    large, small = np.abs(errors)
    assert small[2] < 1e-14
    assert large[1] / small[1] == pytest.approx(2.0, rel=0.05)
    assert large[0] / small[0] == pytest.approx(1.0, rel=0.05)
    assert small[0] > 0.1


# -- document 004 ------------------------------------------------------------------------------------------------


@pytest.mark.document("004", "(9) to (11): F linear in x' has the normal form x' = −M⁻¹ F(0, x, t)", "`dd.initialise`")
def test_a_linear_equation_in_derivatives_is_solved_for_them():
    M = np.array([[2.0, 1.0], [1.0, 3.0]])
    m = dd.Model("general form")
    x = m.state("x", 2, start=[0.3, 0.7])
    rest = ca.vertcat(x[0] * x[1] - 1, ca.sin(x[0]) + m.time)
    m.equation(ca.DM(M) @ m.der(x) + rest)
    expected = -np.linalg.solve(M, [0.3 * 0.7 - 1, np.sin(0.3)])
    np.testing.assert_allclose(dd.initialise(m).der("x"), expected, rtol=1e-12)


@pytest.mark.document("004", "(15): constraints may contain derivatives, g(x', x, t) = 0", "`m.equation`")
def test_constraints_on_derivatives_are_equations_like_others():
    """x' = λ, x' + x = 0: the constraint determines the derivative, λ follows."""
    m = dd.Model("constraint on a rate")
    x, force = m.state("x", start=1.0), m.algebraic("lambda")
    m.equation(m.der(x), force)
    m.equation(m.der(x) + x)
    tr = dd.simulate(m, 1.0, rtol=1e-9)
    assert tr["x"][-1] == pytest.approx(np.exp(-1.0), rel=1e-7)
    assert tr["lambda"][-1] == pytest.approx(-np.exp(-1.0), rel=1e-6)


@pytest.mark.document("004", "λ is unique where G J has full rank, and only there", "`dd.analyse`")
@pytest.mark.parametrize(("pull", "index"), [(1.0, 2), (-2.5, 2), (0.0, None)])
def test_the_rank_of_the_product_decides(pull, index):
    """x' = J λ with g = x1: G J is the first entry of J."""
    m = dd.Model("product")
    x, force = m.state("x", 2, start=[0.0, 1.0]), m.algebraic("lambda")
    m.equation(m.der(x), ca.vertcat(pull * force - x[1], force))
    m.equation(x[0])
    report = dd.analyse(m)
    assert (report.index == 2) == (index == 2)
    if pull:  # 0 = g' = J₁ λ − x₂ leaves one λ; where J₁ = 0 this equation says nothing of λ
        assert dd.initialise(m)["lambda"] == pytest.approx(1.0 / pull)
