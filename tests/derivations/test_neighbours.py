"""Derivations of systems that no formula was tuned for, against the equations that textbooks print."""

import json
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from tests.support import neighbour_models as neighbours
from tests.support.lecture_models import dc_motor

import daedalus as dd
from daedalus import catalogue
from daedalus.derivations.formula.agreement import largest_difference
from daedalus.derivations.formula.formula_length import operations
from daedalus.model.expressions import symbol_key

LONGER = 1.3
# Left sides of the equations of motion at random points by Kane's method: bodies and forces, no energies.
STORED = json.loads((Path(__file__).parents[1] / "support" / "neighbour_motions.json").read_text(encoding="utf-8"))


def motion(model):
    return next(step for step in dd.derive(model, "lagrange") if step.kind == "equations of motion")


def written_out(step):
    """The left sides of a step's lines with the parts that it named put in, and the operations of all of it."""
    rows = ca.vertcat(*(line.residual for line in step.after))
    length = operations(ca.vertcat(rows, *(line.right for line in step.where)))
    for line in reversed(step.where):
        rows = ca.substitute(rows, line.left, line.right)
    return rows, length


QUICK = (neighbours.two_masses, neighbours.planar_quadrotor, neighbours.ball_on_beam, neighbours.furuta_pendulum)


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, marks=() if make in QUICK else pytest.mark.wide) for make in neighbours.ALL],
    ids=lambda make: make.__name__,
)
def test_equations_of_motion_are_those_of_the_textbook_and_as_short(make):
    m, printed = make()
    found, length = written_out(motion(m))
    assert largest_difference(found, ca.vertcat(*printed)) < 1e-12
    assert length <= LONGER * operations(ca.vertcat(*printed))


@pytest.mark.parametrize("make", neighbours.ALL, ids=lambda make: make.__name__)
def test_the_printed_equations_are_those_of_kanes_method(make):
    """The formulas above are not taken from memory alone: SymPy has the same numbers from bodies and forces."""
    m, printed = make()
    rows = ca.vertcat(*printed)
    symbols, labels = ca.symvar(rows), m.written.labels()
    names = [labels[symbol_key(symbol)] for symbol in symbols]
    left = ca.Function("left", [ca.vertcat(*symbols)], [rows])
    for point in STORED["systems"][make.__name__]:
        found = left([point["values"][name] for name in names]).full().ravel()[: len(point["left"])]
        np.testing.assert_allclose(found, point["left"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "make", [pytest.param(neighbours.slider_crank, marks=pytest.mark.wide), neighbours.planar_quadrotor]
)
def test_every_step_of_the_whole_derivation_is_checked(make):
    d = dd.derive(make()[0])
    assert all(step.check < 1e-9 for step in d), [(step.kind, step.check) for step in d]


def test_equal_coefficients_and_inputs_are_taken_together():
    lines = [str(line) for line in motion(neighbours.two_masses()[0]).after]
    assert lines[0] == "m_1*x_1_ddot + k*(x_1 - x_2) + d*(x_1_dot - x_2_dot) = F"
    assert str(motion(neighbours.planar_quadrotor()[0]).after[0]) == "m*x_ddot = -sin(theta)*(f_1 + f_2)"


def test_denominators_stay_with_their_terms():
    """A gear divides twice: k (φ₁/n − φ₂)/n, and a drum adds J/r² to the mass; not over one denominator."""
    assert [str(line) for line in motion(neighbours.geared_drive()[0]).after] == [
        "J_1*phi_1_ddot + k*(phi_1/n - phi_2)/n + d*(phi_1_dot/n - phi_2_dot)/n = T",
        "J_2*phi_2_ddot + k*(phi_2 - phi_1/n) + d*(phi_2_dot - phi_1_dot/n) = 0",
    ]
    hoist = str(motion(neighbours.gantry_crane()[0]).after[1])
    assert hoist == "m*x_ddot*sin(theta) + l_ddot*(m + J/r^2) - m*l*theta_dot^2 - m*g*cos(theta) = tau/r"


def test_three_links_have_no_angle_of_the_first():
    """Sines and cosines of long sums go together: only q_2 and q_3 are left, in the matrices too."""
    steps = {step.kind: step for step in dd.derive(neighbours.three_link_arm()[0], "lagrange")}
    for kind in ("momenta", "rates of momenta", "equations of motion", "matrix form"):
        assert "sin(q_1" not in str(steps[kind]), kind
        assert "cos(q_1" not in str(steps[kind]), kind
        assert steps[kind].check < 1e-12


def test_two_poles_at_zero_are_on_the_edge():
    """Rounding moves them to ±2e-8: a free drive was called unstable."""
    text = dd.derive(neighbours.geared_drive()[0], "linearise")[-1].text
    assert text.endswith("0, 0; on the edge: the linearisation does not decide stability.")


def test_letters_of_the_derivation_give_way_to_names_of_the_model():
    """A length L beside the Lagrange function: two things with one letter."""
    d = dd.derive(neighbours.furuta_pendulum()[0], "lagrange")
    assert any(str(line).startswith("ℒ = ") for line in d[2].after)
    assert "\\mathcal{L}" in d.to_latex()
    assert str(dd.derive(neighbours.two_masses()[0], "lagrange")[2].after[0]).startswith("L = ")


def arm_of_bodies():
    m = dd.Model("arm")
    g, m1, m2, J, l = (m.parameter(name, value) for name, value in
                       (("g", 9.81), ("m_1", 1.0), ("m_2", 2.0), ("J", 0.1), ("l", 1.0)))  # fmt: skip
    m.gravity([0, -g])
    upper = m.body("upper", mass=m1, inertia=J, orientation="planar")
    lower = m.body("lower", mass=m2, inertia=J, orientation="planar")
    joint = {"start": 0.3, "rate": 0.0, "coordinates": "joint"}
    m.joint("shoulder", "revolute", dd.ground, upper, at_b=[-l / 2, 0], **joint)
    m.joint("elbow", "revolute", upper, lower, at_a=[l / 2, 0], at_b=[-l / 2, 0], **joint)
    return m


def test_bodies_in_joint_coordinates_have_their_energies():
    """The recursion along a tree brings no energy of its own: Lagrange takes those of the bodies."""
    m = arm_of_bodies()
    steps = {step.kind: step for step in dd.derive(m, "lagrange")}
    s, e = m["shoulder.angle"], m["elbow.angle"]
    sd, ed = m.rate(s), m.rate(e)
    g, m1, m2, J, l = (m[name] for name in ("g", "m_1", "m_2", "J", "l"))
    inertia = (m1 * l**2 / 4 + J) * sd**2 / 2 + J * (sd + ed) ** 2 / 2
    lower = l**2 * sd**2 + l**2 / 4 * (sd + ed) ** 2 + l**2 * ca.cos(e) * sd * (sd + ed)
    assert largest_difference(steps["kinetic energy"].after[0].right, inertia + m2 * lower / 2) < 1e-12
    height = m1 * g * l / 2 * ca.sin(s) + m2 * g * (l * ca.sin(s) + l / 2 * ca.sin(s + e))
    assert largest_difference(steps["potential energy"].after[0].right, height) < 1e-12
    assert all(step.check < 1e-9 for step in steps.values()), {kind: step.check for kind, step in steps.items()}
    assert "0.625" not in str(steps["kinetic energy"])


@pytest.mark.wide
@pytest.mark.parametrize("name", ["bricard", "flyball_governor"])
def test_trees_and_redundant_loops_are_checked(name):
    for part in ("lagrange", "reduce"):
        d = dd.derive(catalogue.load(name).model, part)
        assert d.check < 1e-9, [(step.kind, step.check) for step in d]


def doubly_held():
    """A mass on a line that two equal constraints hold."""
    m = dd.Model("doubly held")
    p = m.coordinate("p", 2, start=[1.0, 0.0], rate=[0.0, 1.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.constraint("a", p[0] - 1)
    m.constraint("b", 2 * p[0] - 2)
    return m


def test_redundant_constraints_are_named_in_the_reduction():
    d = dd.derive(doubly_held(), "reduce")
    hidden = next(step for step in d if step.kind == "hidden constraints")
    assert "follows from the others" in hidden.text
    assert "2 start values may be chosen freely" in hidden.text
    assert d.check < 1e-9


def bridge():
    E, m = dd.components.electrical, dd.Model("bridge")
    source, ground = m.add(E.VoltageSource("s", voltage=m.input("u"))), m.add(E.Ground("g"))
    a, b, c, d = (m.add(E.Resistor(name, resistance=k + 1.0)) for k, name in enumerate("abcd"))
    coil = m.add(E.Inductor("l", inductance=0.1))
    m.connect(source.plus, a.plus, c.plus)
    m.connect(a.minus, b.plus, coil.plus)
    m.connect(c.minus, d.plus, coil.minus)
    m.connect(b.minus, d.minus, source.minus, ground.pin)
    return m


def test_dividers_are_written_as_one_writes_them():
    """1/a + 1/b below a fraction is a b/(a + b)."""
    lines = {str(line) for line in dd.derive(bridge(), "first_order").equations}
    assert "b.voltage = b.resistance*(u - a.resistance*l.current)/(a.resistance + b.resistance)" in lines


def test_what_was_eliminated_is_told_with_the_equation_that_gives_it():
    d = dd.derive(dc_motor(), "parts")
    shared = next(step for step in d if step.kind == "eliminated by shared quantities")
    assert "what joined ports share (at " in shared.text
    assert "load.shaft.angle = motor.angle" in [str(line) for line in shared.after]
    laws = next(step for step in d if step.kind == "eliminated by laws")
    assert "motor.current out" in laws.text
    gone = [str(line.left) for step in d if step.kind.startswith("eliminated") for line in step.after]
    assert len(gone) == len(set(gone)) == 17


def test_equations_have_rates_on_the_left_and_inputs_on_the_right():
    lines = [str(line) for line in dd.derive(dc_motor(), "parts")[-1].after]
    assert lines[0].endswith("= u")
    reduced = [str(line) for line in dd.derive(neighbours.slider_crank()[0], "reduce")[-1].after]
    assert reduced[2] == "M*x_ddot = -z[0]"


def test_dummy_derivatives_are_named_as_in_the_textbook():
    text = dd.derive(neighbours.slider_crank()[0], "reduce", stabilise="dummy_derivatives")[-1].text
    assert "_rate" not in text
    assert "_ddot`" in text


def test_matrices_are_printed_in_rows_and_named_where_they_are_wide():
    text = str(dd.derive(neighbours.acrobot()[0], "lagrange")[-1])
    assert "[ M[0,0]            M[0,1] ] [ q_1_ddot ]   [ h[0] ]" in text
    assert text.count("where M[0,1] = ") == 1
    assert "where M[1,0]" not in text
    assert max(map(len, text.split("\n"))) <= 112


def test_poles_are_told_in_pairs_without_what_rounding_left():
    m = dd.Model("oscillator")
    x = m.coordinate("x", start=0.1, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(x) ** 2)
    m.potential_energy(2.0 * x**2)
    assert "Poles: ±2i;" in dd.derive(m, "linearise")[-1].text


def test_start_values_are_told_with_digits_one_reads():
    text = str(dd.derive(catalogue.load("slider_crank").model, "start"))
    assert "e-16" not in text.split("checked")[0]
    assert "at these values" in text


def test_solutions_are_not_divided_by_what_vanishes():
    """Elimination through sin α cos α would divide by zero for a load that hangs straight down."""
    m, _ = neighbours.quadrotor_with_load()
    lines = {str(line).split(" = ")[0]: line for line in dd.derive(m, "first_order").equations}
    for line in lines.values():
        symbols = ca.symvar(line.right)
        values = [0.0 if symbol.name().startswith("alpha") else 0.7 for symbol in symbols]
        assert np.isfinite(float(ca.Function("f", [ca.vertcat(*symbols)], [line.right])(values)))
