"""Derivations as a lecturer reads them: further mechanisms, rolling, and how lines, laws and steps are written."""

import casadi as ca
import pytest
from tests.support import textbook_mechanisms as mechanisms

import daedalus as dd
from daedalus import catalogue
from daedalus.derivations.formula.agreement import largest_difference
from daedalus.derivations.formula.formula_length import operations
from daedalus.derivations.formula.simplify import simplified

LONGER = 1.3
QUICK = (mechanisms.elastic_pendulum, mechanisms.half_car, mechanisms.rolling_coin, mechanisms.governor)


def step_of(m, kind, part="lagrange", **options):
    return next(step for step in dd.derive(m, part, **options) if step.kind == kind)


def lines(step):
    return [str(line) for line in step.after]


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, marks=() if make in QUICK else pytest.mark.wide) for make in mechanisms.ALL],
    ids=lambda make: make.__name__,
)
def test_every_part_is_that_of_the_textbook_and_as_short(make):
    m, printed = make()
    d = dd.derive(m)
    assert all(step.check < 1e-9 for step in d), [(step.kind, step.check) for step in d]
    step = next(step for step in d if step.kind == "equations of motion")
    found = ca.vertcat(*(line.residual for line in step.after))
    length = operations(ca.vertcat(found[: len(printed)], *(line.right for line in step.where)))
    for line in reversed(step.where):
        found = ca.substitute(found, line.left, line.right)
    assert largest_difference(found[: len(printed)], ca.vertcat(*printed)) < 1e-12
    assert length <= LONGER * operations(ca.vertcat(*printed))


@pytest.mark.parametrize(
    ("make", "row", "text"),
    [
        (mechanisms.elastic_pendulum, 0, "m*r_ddot + k*(r - l_0) - m*r*theta_dot^2 - m*g*cos(theta) = 0"),
        (mechanisms.cylinder_in_cylinder, 0, "3*m*theta_ddot*(R - r)^2/2 + m*g*(R - r)*sin(theta) = 0"),
        (mechanisms.swinging_atwood, 0, "r_ddot*(M + m) + g*(M - m*cos(theta)) - m*r*theta_dot^2 = 0"),
        (mechanisms.half_car, 0, "M*z_ddot + k_r*(b*theta + z - w_r) + k_f*(z - a*theta - w_f) "
         "+ c_r*(b*theta_dot + z_dot) + c_f*(z_dot - a*theta_dot) = 0"),
        (mechanisms.governor, 1, "phi_ddot*(I + 2*m*l^2*sin(theta)^2) + 4*m*l^2*theta_dot*phi_dot*sin(theta)*cos(theta)"
         " = T"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_brackets_stay_where_they_are_shorter(make, row, text):
    """A spring's own length, squares of sums, forces in brackets, common numbers, and sines before cosines."""
    assert lines(step_of(make()[0], "equations of motion"))[row] == text


def test_rates_that_constraints_give_are_put_in_and_differentiated():
    """A rolling disk: "nothing has to be differentiated" was said, and the first-order form ended in a raw error."""
    m, _ = mechanisms.rolling_coin()
    d = dd.derive(m, "reduce")
    assert d[0].text.startswith("The index is 2")
    assert "To be differentiated: a once, b once." in d[0].text
    assert lines(d[1])[2:] == [
        "x_ddot = R*(phi_ddot*cos(theta) - theta_dot*phi_dot*sin(theta))",
        "y_ddot = R*(phi_ddot*sin(theta) + theta_dot*phi_dot*cos(theta))",
    ]
    assert "2 written constraints and no hidden one" in d[2].text
    assert "6 start values may be chosen freely" in d[2].text
    # Bloch, 1.4: (I + m R²) φ'' = the torque, and the forces of the plane.
    forms = {str(line).split(" = ")[0]: line.right for line in dd.derive(m, "first_order").equations}
    R, mass, inertia, torque = (m[name] for name in ("R", "m", "I", "tau_phi"))
    theta, turn, roll = m["theta"], m.rate(m["theta"]), m.rate(m["phi"])
    spin = torque / (inertia + mass * R**2)
    assert largest_difference(forms["d/dt phi_dot"], spin) < 1e-12
    push = mass * R * (spin * ca.cos(theta) - turn * roll * ca.sin(theta))
    assert largest_difference(forms["a"], push) < 1e-12


def test_the_record_of_a_reduction_names_what_was_put_in():
    n = dd.reduce(mechanisms.rolling_coin()[0])
    assert n.reduction.differentiated == {"a": 1, "b": 1}
    assert "a, b differentiated once" in str(n.reduction)


@pytest.mark.parametrize("stabilise", ["baumgarte", "ggl", "dummy_derivatives", None])
def test_every_stabilisation_of_a_rolling_disk_is_checked(stabilise):
    d = dd.derive(mechanisms.rolling_coin()[0], "reduce", stabilise=stabilise)
    assert d.check < 1e-9, [(step.kind, step.check) for step in d]


def test_the_law_stands_before_the_equations():
    step = step_of(mechanisms.damped_cart()[0], "equations of motion")
    text = str(step)
    assert "d/dt dL/dx_dot - dL/dx + dD/dx_dot = Q_x\n" in text
    assert "d/dt dL/dtheta_dot - dL/dtheta + dD/dtheta_dot = 0\n" in text
    assert "d/dt dL/dphi_dot - dL/dphi = F_phi" in str(step_of(mechanisms.rolling_disk()[0], "equations of motion"))
    d = dd.derive(mechanisms.damped_cart()[0], "lagrange")
    assert "L = T - V" in str(d)
    for page in (d.to_latex(), d.to_markdown()):
        assert "\\frac{\\partial D}{\\partial \\dot{x}} = Q_{x}" in page.replace("&=", "=")


def test_forces_have_names_that_no_variable_has():
    """An input tau_theta stood on both sides of "tau_theta = tau_theta"."""
    assert lines(step_of(mechanisms.rolling_coin()[0], "applied forces")) == ["Q_theta = tau_theta", "Q_phi = tau_phi"]


def test_baumgarte_stands_as_in_the_textbook():
    last = dd.derive(mechanisms.pulled_pendulum()[0], "reduce", stabilise="baumgarte", alpha="alpha")[-1]
    assert lines(last)[-1] == (
        "p[0]*p_ddot[0] + p[1]*p_ddot[1] + p_dot[0]^2 + p_dot[1]^2 + 2*alpha*(p[0]*p_dot[0] + p[1]*p_dot[1]) "
        "+ alpha^2*(p[0]^2 + p[1]^2 - l^2)/2 = 0"
    )
    assert lines(last)[0] == "m*p_ddot[0] = rod*p[0] + F[0]"


def test_states_are_listed_in_their_order():
    left = [str(line).split(" = ")[0] for line in dd.derive(mechanisms.elastic_pendulum()[0], "first_order").equations]
    assert left == ["d/dt r", "d/dt theta", "d/dt r_dot", "d/dt theta_dot"]


def test_guards_of_a_division_are_left_out():
    """cos²θ < 1e-20 keeps roll, pitch and yaw from dividing by zero; nobody writes it on a board."""
    m = dd.Model("rigid body")
    inertia = m.parameter("I", [1.0, 2.0, 3.0], shape=3)
    m.body("b", mass=1.0, inertia=ca.diag(inertia), orientation="rpy")
    d = dd.derive(m)
    assert " if " not in str(d)
    assert d.check < 1e-9
    rates = lines(next(step for step in d if step.kind == "kinematics"))
    assert rates[5] == (
        "b.rpy_dot[2] = (b.angular_velocity[1]*sin(b.rpy[0]) + b.angular_velocity[2]*cos(b.rpy[0]))/cos(b.rpy[1])"
    )
    euler = lines(next(step for step in d if step.kind == "Euler"))
    assert euler[0] == "I[0]*b.angular_velocity_dot[0] = b.angular_velocity[1]*b.angular_velocity[2]*(I[1] - I[2])"


def test_sines_and_cosines_below_a_fraction_are_taken_together():
    a, b, c = (ca.SX.sym(name) for name in "abc")
    below = ca.cos(a) ** 2 * ca.cos(b) ** 2 + ca.sin(a) ** 2 * ca.sin(b) ** 2
    below += ca.cos(a) ** 2 * ca.sin(b) ** 2 + ca.sin(a) ** 2 * ca.cos(b) ** 2
    assert str(simplified(c / below)) == "c"
    assert str(simplified(c * ca.sqrt(ca.sin(a) ** 2 + ca.cos(a) ** 2))) == "c"
    assert operations(simplified(1 / (1 - ca.cos(a) ** 2))) == 3
    assert operations(simplified(b / (c + b * ca.sin(a) ** 2))) == 5


@pytest.mark.wide
@pytest.mark.parametrize("name", ["flyball_governor", "bricard"])
def test_files_have_all_of_a_long_formula(name):
    """Start equations of joints in space were cut with dots in LaTeX."""
    latex = dd.derive(catalogue.load(name).model, "start").to_latex(document=True)
    assert "\\dots" not in latex
    assert "s_{20}" in latex


def test_equations_that_depend_on_each_other_are_said_to():
    m = dd.Model("singular")
    x, a, b = m.state("x", start=0.0), m.algebraic("a"), m.algebraic("b")
    m.equation(m.der(x), a - b)
    m.equation(a - b, x)
    m.equation(2 * a - 2 * b, 2 * x)
    text = dd.derive(m, "first_order")[1].text
    assert "linear and depend on each other, so that they have no unique solution" in text


def test_combined_equations_are_told():
    m = dd.Model("fully implicit")
    x, z, u = m.state("x", 2, start=[1.0, 1.0]), m.algebraic("z"), m.input("u")
    m.equation(m.der(x[0]) + m.der(x[1]) + x[0], u)
    m.equation(m.der(x[0]) - z, x[1])
    m.equation(x[0] + x[1], 2.0)
    text = dd.derive(m, "reduce")[0].text
    assert "equation_1 combined with equation_3, which contains fewer derivatives" in text


def test_numbers_are_halves_and_are_taken_out_once():
    m = dd.Model("diode")
    v, i = m.state("v", start=0.0), m.algebraic("i")
    saturation, thermal = m.parameter("I_s", 1e-9), m.parameter("V_t", 0.025)
    m.equation(m.der(v), 1.5 * i)
    m.equation(i, saturation * (ca.exp(v / thermal) - 1) - 1e-3 * i)
    found = [str(line) for line in dd.derive(m, "first_order").equations]
    assert found[1] == "i = 0.999000999001*I_s*(exp(v/V_t) - 1)"
    assert "3*i/2" in str(dd.derive(m, "start"))
