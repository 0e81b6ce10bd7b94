"""Mistakes of the source documents that no test of a part shows yet, and the page that lists all of them."""

import ast
import re
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm
from tests.support import lecture_models as lectures

import daedalus as dd
from daedalus import catalogue
from daedalus.derivations.formula.agreement import largest_difference

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "corrections.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| 00\d", line)]


def test_every_line_of_the_page_names_a_test_that_exists():
    assert len(ROWS) >= 34
    for row in ROWS:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, row
        for path, name in named:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (path, name)


# -- document 001: sensitivities ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flight():
    k = catalogue.load("quadrotor", form="plain")
    return dd.sensitivities(k.model, 2.0, wrt=("start", "inputs"), inputs=k.inputs, rtol=1e-9)


def test_the_row_of_the_quaternion_needs_the_product_rule(flight):
    at, block = flight.at(1.3), slice(6, 10)
    rate = flight.states.at(1.3)["quaternion_dot"]
    q = flight.states.at(1.3)["quaternion"]
    whole = rate @ at.M[block] + q @ at.M_dot[block]
    assert np.abs(whole).max() < 1e-6
    assert np.abs(rate @ at.M[block]).max() > 0.01  # what is printed


def test_rates_at_the_start_are_not_free(flight):
    k = catalogue.load("quadrotor", form="plain")
    lin = dd.linearise(k.model, at=dict(k.inputs))
    np.testing.assert_allclose(flight.at(0.0).M_dot, lin.A, atol=1e-9)
    np.testing.assert_allclose(flight.at(0.0).N_dot, lin.B, atol=1e-9)


def test_second_derivatives_have_both_slots():
    """x' = x²: M = 1/(1 - x0 t)², O = 2 t/(1 - x0 t)³; with one slot O' = 2 M + 2 x O."""
    m = dd.Model("square")
    x = m.state("x", start=0.5)
    m.equation(m.der(x), x**2)
    sens = dd.sensitivities(m, 1.0, order=2, wrt=("start",), rtol=1e-10, atol=1e-12)
    assert sens.M[0, 0] == pytest.approx(4.0)
    assert sens.O[0, 0, 0] == pytest.approx(16.0)
    printed = dd.Model("printed")
    x, M, O = (printed.state(name, start=value) for name, value in (("x", 0.5), ("M", 1.0), ("O", 0.0)))
    printed.equation(ca.vertcat(*(printed.der(s) for s in (x, M, O))), ca.vertcat(x**2, 2 * x * M, 2 * M + 2 * x * O))
    assert abs(dd.simulate(printed, 1.0)["O"][-1] - 16.0) > 1


def test_mixed_second_derivatives_are_a_tensor():
    """x1' = u x1 x2, x2' = 0: P_ijk is not a product of matrices, and is known."""
    m = dd.Model("mixed")
    x, u = m.state("x", 2, start=[1.0, 2.0]), m.input("u")
    m.equation(m.der(x), ca.vertcat(u * x[0] * x[1], 0))
    t, u0 = 0.7, 0.3
    sens = dd.sensitivities(m, t, order=2, wrt=("start", "inputs"), inputs={"u": u0}, rtol=1e-10, atol=1e-12)
    growth = np.exp(u0 * 2.0 * t)
    assert sens.P.shape == (2, 2, 1)
    np.testing.assert_allclose(sens.P[0, :, 0], [2 * t * growth, t * growth * (1 + 2 * u0 * t)], rtol=1e-7)
    np.testing.assert_allclose(sens.Q[0, 0, 0], (2 * t) ** 2 * growth, rtol=1e-7)
    assert not sens.at(0.0).O.any()
    assert not sens.at(0.0).P.any()
    assert not sens.at(0.0).Q.any()


@pytest.mark.document("001", "M off the unit sphere depends on how R(q) is written; M P does not", "`sens.projector`")
def test_off_the_unit_sphere_the_matrix_depends_on_how_the_rotation_is_written():
    found = []
    for height in (lambda q: q[0] ** 2 - q[1] ** 2 - q[2] ** 2 + q[3] ** 2, lambda q: 1 - 2 * (q[1] ** 2 + q[2] ** 2)):
        m = dd.Model("fall")
        q, v = m.state("q", 4, start=[0.6, 0.0, 0.8, 0.0]), m.state("v", start=0.0)
        m.equation(m.der(q), dd.quaternion_rate(q, ca.vertcat(0.3, -0.2, 0.5)))
        m.equation(m.der(v), 10 * height(q))
        found.append(dd.sensitivities(m, 1.0, wrt=("start",), rtol=1e-10, atol=1e-12).M)
    start = np.array([0.6, 0.0, 0.8, 0.0, 0.0])
    tangent = np.eye(5) - np.outer(start, start)
    assert np.abs(found[0] - found[1]).max() > 1
    np.testing.assert_allclose(found[0] @ tangent, found[1] @ tangent, atol=1e-7)


# -- document 002 ------------------------------------------------------------------------------------------------


def square():
    m = dd.Model("square")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x**2)
    return m


def test_differentiable_everywhere_is_not_lipschitz():
    """x² has a slope everywhere and no constant for all x: its solutions end in finite time."""
    found = dd.lipschitz(square(), {"x": (-np.inf, np.inf)})
    assert found.upper == np.inf
    assert not found.holds
    assert not dd.simulate(square(), 2.0).success


def test_the_lipschitz_bound_is_reached():
    """x' = 2 x: |f(a) - f(b)| = 2 |a - b|, so that a strict < holds for no constant that is the smallest."""
    m = dd.Model("linear")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), 2 * x)
    found = dd.lipschitz(m, {"x": (-1, 1)})
    assert found.lower == pytest.approx(2.0) == pytest.approx(found.upper)


def test_the_output_row_has_the_output_itself():
    """Δy = C Δx + D Δu, where document 002 prints Δy'."""
    m = dd.Model("first order")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), -x + u)
    m.output("y", 3 * x + 0.5 * u)
    lin = dd.linearise(m, at={"x": 0.0, "u": 0.0})
    tr = dd.simulate(m, 30.0, inputs={"u": 1.0})
    assert tr["y"][-1] == pytest.approx((lin.C @ [tr["x"][-1]] + lin.D @ [1.0])[0])
    assert abs(tr["x_dot"][-1]) < 1e-6  # the rate of y is zero there, y is not


def test_angles_map_from_the_body_to_the_world():
    """Columns of R are the body's axes in the world; document 002 prints the other direction in one place."""
    R = dd.rotation_from_rpy([0.0, 0.0, np.pi / 2])
    np.testing.assert_allclose(R @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    classical = dd.rotation_from_zyz([0.3, 0.8, -0.4])
    np.testing.assert_allclose(classical, dd.rot_z(0.3) @ dd.rot_y(0.8) @ dd.rot_z(-0.4), atol=1e-15)
    assert np.abs(classical - classical.T).max() > 0.1


@pytest.mark.document("004", "(13) has index 1 and is not directly solvable", "`dd.analyse`")
def test_not_every_dae_of_index_one_is_directly_solvable():
    """004's (13): index 1, and [∂F/∂x' ∂F/∂z] has no full rank."""
    report = dd.analyse(catalogue.load("small_dae", example="savin_13").model)
    assert report.index == 1
    assert not report.directly_solvable


def test_rate_times_axis_only_where_the_axis_is_fixed():
    def rotation(t):
        axis = np.array([np.cos(t), np.sin(t), 0.0])
        return dd.rotation_from_axis_angle(axis, 0.5 + t)

    step = 1e-5
    rate = (rotation(0.2 + step) - rotation(0.2 - step)) / (2 * step)
    spin = dd.unskew(rate @ rotation(0.2).T)
    axis = np.array([np.cos(0.2), np.sin(0.2), 0.0])
    assert np.abs(spin - 1.0 * axis).max() > 0.1


# -- document 003 ------------------------------------------------------------------------------------------------


@pytest.mark.document("003", "the first error of implicit Euler on E x' = A x + B u", '`method="implicit_euler"`')
def test_the_first_error_of_implicit_euler_has_a_matrix_e():
    """−(E − h A)⁻¹ E h²/2 x''; without the E it is another one."""
    E, A = np.array([[10.0, 1.0], [1.0, 3.0]]), -np.array([[3.0, 1.0], [1.0, 2.0]])
    m = dd.Model("descriptor")
    x = m.state("x", 2, start=[1.0, -2.0])
    m.equation(ca.mtimes(ca.DM(E), m.der(x)), ca.mtimes(ca.DM(A), x))
    h, start, flow = 0.01, np.array([1.0, -2.0]), np.linalg.solve(E, A)
    error = expm(h * flow) @ start - dd.simulate(m, h, method="implicit_euler", step=h)["x"][-1]
    second = flow @ flow @ start
    told = -np.linalg.solve(E - h * A, E @ second) * h**2 / 2
    printed = -np.linalg.solve(E - h * A, second) * h**2 / 2
    np.testing.assert_allclose(error, told, rtol=0.02)
    assert np.abs(error - printed).max() > 0.5 * np.abs(error).max()


@pytest.mark.document("003", "Lagrange mechanics with constraints, the sign of the multiplier", "`m.constraint`")
def test_one_sign_of_the_multiplier():
    """A hanging mass: +Gᵀλ is the force of the rod, upwards; 003's z of L = T − V − zᵀc is −λ."""
    m = dd.Model("hanging")
    p = m.coordinate("p", 2, start=[0.0, -2.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * 3.0 * ca.sumsqr(m.rate(p)))
    m.potential_energy(3.0 * 9.81 * p[1])
    m.constraint("rod", ca.sumsqr(p) - 4)
    force = 2 * np.array([0.0, -2.0]) * dd.simulate(m, 0.1)["rod"][0]
    np.testing.assert_allclose(force, [0.0, 3.0 * 9.81], atol=1e-9)


def cart_pendulum(coupling):
    m = dd.Model("cart")
    x = m.coordinate("x", start=0.0, rate=0.0)
    angle = m.coordinate("angle", start=0.0, rate=0.0)
    v, w = m.rate(x), m.rate(angle)
    m.kinetic_energy(0.5 * (2.0 + 1.0) * v**2 + 0.5 * w**2 + v * w * coupling(angle))
    m.potential_energy(-9.81 * ca.cos(angle))
    return m


def test_one_angle_for_both_energies_of_the_pendulum_on_a_cart():
    """Hanging, cart 2 kg, mass 1 kg, length 1 m: ω² = g (2 + 1)/2; with −sin in T the cart would not matter at all."""
    right, mixed = (
        np.abs(dd.linearise(cart_pendulum(coupling)).poles().imag).max()
        for coupling in (ca.cos, lambda angle: -ca.sin(angle))
    )
    assert right == pytest.approx(np.sqrt(9.81 * 1.5))
    assert mixed == pytest.approx(np.sqrt(9.81))


def test_the_action_is_stationary_and_not_minimal():
    """An oscillator beyond half a period: a neighbouring path with the same ends has less action."""
    m = dd.Model("oscillator")
    x = m.coordinate("x", start=0.0, rate=1.0)
    m.kinetic_energy(0.5 * m.rate(x) ** 2)
    m.potential_energy(0.5 * x**2)
    span = 4.0  # more than π
    t = np.linspace(0, span, 4001)
    tr = dd.simulate(m, span, save_at=t, rtol=1e-10, atol=1e-12)

    def action(share):
        bump = np.sin(np.pi * t / span)
        place = tr["x"] + share * bump
        speed = tr["x_dot"] + share * np.pi / span * np.cos(np.pi * t / span)
        return np.trapezoid(0.5 * speed**2 - 0.5 * place**2, t)

    assert abs(action(1e-4) - action(-1e-4)) < 1e-9  # stationary
    assert action(0.1) < action(0.0)


# -- found later -------------------------------------------------------------------------------------------------


def test_equal_start_values_leave_two_solutions():
    """x1' + x1 = u, (x1 − x2) x2' + x1 − x2 = 0 from x1 = x2 = 1 with u = 0: both x2 = x1 and x2 = 1 − t obey it."""
    t = np.linspace(0.0, 1.0, 11)
    x1 = np.exp(-t)
    for x2, rate in ((x1, -x1), (1 - t, -np.ones_like(t))):
        assert x2[0] == x1[0]
        assert np.allclose((x1 - x2) * rate + x1 - x2, 0.0)


def test_implicit_methods_do_not_need_index_one():
    """One step of Radau IIA on the pendulum as it is written, of index 3: stages exist and obey the constraint."""
    m = lectures.pendulum_3d()
    assert dd.analyse(m).index == 3
    s = dd.step(m, "radau5", [0.6, 0.0, -0.8, 0.0, 0.5, 0.0], 0.01)
    assert (s.points[:, :3] ** 2).sum(axis=1) == pytest.approx(1.0, abs=1e-10)


def test_the_matrix_of_a_step_is_regular_where_the_slope_by_z_is_not():
    """x' = z, 0 = x − sin t has ∂g/∂z = 0; [I − h F_x, −h F_z; G_x, G_z] is regular for every h > 0."""
    h = 0.1
    matrix = np.array([[1.0, -h], [1.0, 0.0]])
    assert np.linalg.matrix_rank(matrix) == 2
    assert np.linalg.matrix_rank(matrix[1:, 1:]) == 0


def test_the_slopes_by_all_derivatives_are_not_square():
    """F has as many rows as x and z together, x' is as long as x: ∂F/∂x' has no determinant."""
    system = lectures.pendulum_3d().freeze()
    slopes = ca.jacobian(system.residual, system.symbol("xdot"))
    assert slopes.shape == (7, 6)


def test_the_best_order_depends_on_the_tolerance():
    """Orders 3 to 6 are the best for tolerances of 2.6e-5 to 0.088 of the constant only."""
    assert all(3 <= dd.best_order(t, constant=1.0).order <= 6 for t in (3e-5, 1e-3, 0.08))
    assert dd.best_order(1e-8, constant=1.0).order > 6
    assert dd.best_order(0.5, constant=1.0).order < 3


def test_the_region_of_an_a_stable_method_may_be_larger_than_the_half_plane():
    R = dd.tableau("implicit_euler").stability_function
    assert R.is_a_stable
    assert abs(R(3.0)) <= 1


def test_angle_and_axis_are_not_unique():
    axis = np.array([0.0, 0.6, 0.8])
    one, two = dd.rotation_from_axis_angle(axis, 0.7), dd.rotation_from_axis_angle(-axis, -0.7)
    three = dd.rotation_from_axis_angle(axis, 0.7 - 2 * np.pi)
    assert one == pytest.approx(two)
    assert one == pytest.approx(three)


def test_smooth_is_not_lipschitz():
    """x' = x² is as smooth as can be, and its solution 1/(1 − t) ends at t = 1."""
    m = dd.Model("square")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x**2)
    tr = dd.simulate(m, 2.0)
    assert not tr.success
    assert tr.time[-1] == pytest.approx(1.0, abs=1e-3)


def test_the_force_of_the_rod_is_its_multiplier_times_its_length():
    """c = ½ (pᵀp − L²): the force is z p, its size |z| ‖p‖ and not |z|."""
    m = lectures.pendulum_3d()
    forces = next(step for step in dd.derive(m, "lagrange") if step.kind == "constraint forces").after
    force = ca.vertcat(*(line.right for line in forces))
    assert largest_difference(ca.sumsqr(force), m["z"] ** 2 * ca.sumsqr(m["p"])) < 1e-12


def test_the_convolution_has_the_input_at_the_inner_time():
    """x' = −x + u with u = t: ∫ e^{−(t−τ)} u(τ) dτ = t − 1 + e^{−t}; with u(t) it would be t (1 − e^{−t})."""
    found = dd.LTI([[-1.0]], [[1.0]], [[1.0]], [[0.0]]).respond([0.0, 1.0], inputs=lambda t: t)
    assert float(found.states[-1, 0]) == pytest.approx(np.exp(-1.0), abs=1e-6)


def test_a_solution_is_the_limit_of_picards_iteration():
    """x_{k+1}(t) = x0 + ∫ f(x_k): with a Lipschitz constant of 1 the k-th is off by less than t^(k+1) / (k+1)!."""
    m = dd.Model("slope")
    x = m.state("x", start=0.3)
    m.equation(m.der(x), ca.cos(x))
    t = np.linspace(0.0, 1.0, 2001)
    exact = dd.simulate(m, 1.0, rtol=1e-12, atol=1e-14, save_at=t)["x"]
    iterate, bound = np.full_like(t, 0.3), 1.0
    for k in range(1, 8):
        slope = np.cos(iterate)
        iterate = 0.3 + np.concatenate([[0.0], np.cumsum((slope[1:] + slope[:-1]) / 2 * np.diff(t))])
        bound /= k
        assert np.abs(iterate - exact).max() < bound + 1e-7
    assert np.abs(iterate - exact).max() < 1e-4


def test_row_13_of_b_is_a_row_of_the_unit_matrix():
    """With 2 q_k in row 13 it is not x13' = f13: rates off the sphere's tangent, which a solver tries, enter it."""
    q = np.array([0.5, -0.5, 0.5, 0.5])
    printed, unit = np.zeros(13), np.zeros(13)
    printed[3:7], printed[12], unit[12] = 2 * q, 1.0, 1.0
    tangent, off = np.zeros(13), np.zeros(13)
    tangent[3:7], off[3:7] = [0.5, 0.5, 0.5, -0.5], q
    assert printed @ tangent == unit @ tangent == 0.0
    assert printed @ off == pytest.approx(2.0)
    assert unit @ off == 0.0


def test_the_equation_of_mixed_second_derivatives_gives_their_rate():
    """x' = u x: P = t exp(u t). What is printed as P, (f_xx N + f_xu) M + f_x P, is its rate (1 + u t) exp(u t)."""
    m = dd.Model("growth")
    x, u = m.state("x", start=1.0), m.input("u")
    m.equation(m.der(x), u * x)

    def at(t):
        sens = dd.sensitivities(m, t, order=2, inputs={"u": 0.5}, rtol=1e-10)
        return float(sens.M[0, 0]), float(sens.P[0, 0, 0])

    M, P = at(1.0)
    assert pytest.approx(np.exp(0.5), rel=1e-7) == P
    printed = 1.0 * M + 0.5 * P  # f_xx = 0, f_xu = 1, f_x = u
    rate = (at(1.001)[1] - at(0.999)[1]) / 0.002
    assert printed == pytest.approx(rate, rel=1e-5)
    assert abs(printed - P) > 0.5


def test_what_is_called_fully_explicit_is_fully_implicit():
    m = dd.Model("general form")
    x1, x2 = m.state("x1", start=0.0), m.state("x2", start=1.0)
    m.equation(x1 - m.der(x1) + 1)
    m.equation(m.der(x1) * x2 + 2)
    assert dd.analyse(m).kind == "fully implicit DAE"


def test_the_state_is_the_operating_point_and_the_deviation():
    """x = x0 + Δx; Δx = x0 + Δx would ask for x0 = 0."""
    known = catalogue.load("cart_pendulum")
    point = dd.equilibrium(known.model, inputs={"force": 0.0}, guess={"angle": np.pi})
    lin = dd.linearise(known.model, at=point)
    size = 1e-4
    start = {"position": 0.0, "angle": np.pi + size, "position_dot": 0.0, "angle_dot": 0.0}
    tr = dd.simulate(known.model, 0.4, start=start, inputs={"force": 0.0}, rtol=1e-10)
    poles = lin.poles()
    swing = float(np.abs(poles.imag).max())
    deviation = size * np.cos(swing * 0.4)
    assert tr["angle"][-1] == pytest.approx(np.pi + deviation, abs=1e-9)
