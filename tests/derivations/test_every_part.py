"""Every part of a derivation on models that no formula was tuned for: each step is checked and written."""

import casadi as ca
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.derivations.formula.formula_length import operations


def spring_pendulum():
    m = dd.Model("spring pendulum")
    r, theta = m.coordinate("r", start=1.2, rate=0.0), m.coordinate("theta", start=0.4, rate=0.0)
    mass, k, rest, g = (m.parameter(n, v) for n, v in (("m", 1.0), ("k", 40.0), ("l", 1.0), ("g", 9.81)))
    m.kinetic_energy(0.5 * mass * (m.rate(r) ** 2 + r**2 * m.rate(theta) ** 2))
    m.potential_energy(0.5 * k * (r - rest) ** 2 - mass * g * r * ca.cos(theta))
    m.dissipation(0.05 * m.rate(r) ** 2)
    return m


def masses_over_a_pulley():
    m = dd.Model("masses over a pulley")
    x = m.coordinate("x", 2, start=[0.0, 1.0], rate=[0.0, 0.0])
    a, b, J, r, g = (m.parameter(n, v) for n, v in (("m_1", 1.0), ("m_2", 2.0), ("J", 0.1), ("r", 0.1), ("g", 9.81)))
    v = m.rate(x)
    m.kinetic_energy(0.5 * (a + J / r**2) * v[0] ** 2 + 0.5 * b * v[1] ** 2)
    m.potential_energy(-g * (a * x[0] + b * x[1]))
    m.constraint("rope", x[0] + x[1] - 1.0)
    return m


def geared_load():
    R, m = dd.components.rotational, dd.Model("geared load")
    source = m.add(R.TorqueSource("source", torque=m.input("torque")))
    rotor, gear = m.add(R.Inertia("rotor", inertia=0.1)), m.add(R.Gear("gear", reduction=5.0))
    load, wall = m.add(R.Inertia("load", inertia=2.0)), m.add(R.Ground("wall"))
    brake = m.add(R.Damper("brake", damping=0.3))
    m.connect(source.shaft, rotor.shaft, gear.shaft_a)
    m.connect(gear.shaft_b, load.shaft, brake.shaft_a)
    m.connect(brake.shaft_b, wall.shaft)
    return m


def hanging_body():
    m = dd.Model("hanging body")
    m.gravity([0, -9.81])
    body = m.body("b", mass=2.0, inertia=0.3, orientation="planar", position=[0.5, 0])
    m.joint("pin", "revolute", dd.ground, body, at_b=[-0.5, 0])
    return m


def enzyme():
    m = dd.Model("enzyme")
    a, b, z = m.state("a", start=1.0), m.state("b", start=0.0), m.algebraic("z")
    m.equation(m.der(a), -a + m.input("q"))
    m.equation(m.der(b), a - 0.5 * z)
    m.equation(z * (2.0 + b), b)
    return m


MODELS = [spring_pendulum, masses_over_a_pulley, geared_load, hanging_body, enzyme]


@pytest.mark.parametrize("part", [None, "reduce", "start", "linearise", "first_order"])
@pytest.mark.parametrize("make", MODELS)
def test_every_step_is_checked_and_written(make, part):
    d = dd.derive(make(), part)
    assert d.check < 1e-9, [(step.kind, step.check) for step in d]
    assert all(step.text for step in d)
    latex = d.to_latex()
    assert latex.count(r"\begin{aligned}") == latex.count(r"\end{aligned}")


@pytest.mark.parametrize("name", ["four_bar", "cstr", "robertson", "slider_crank", "gyroscope", "rolling_disc"])
@pytest.mark.wide
def test_systems_of_the_catalogue_are_derived_with_every_step_checked(name):
    for part in (None, "start", "linearise"):
        d = dd.derive(catalogue.load(name).model, part)
        assert d.check < 1e-9, [(step.kind, step.check) for step in d]


def pairs_of_charges(count):
    """Charges on parallel wires that repel each other: equations of count² terms."""
    m = dd.Model("charges")
    x = m.coordinate("x", count, start=[float(k) for k in range(count)], rate=[0.0] * count)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(x)))
    m.potential_energy(sum(1 / ca.sqrt(1 + (x[j] - x[i]) ** 2) for i in range(count) for j in range(i + 1, count)))
    return m


def test_long_models_are_derived_without_simplifying_every_page():
    """Work is counted, not timed: what is simplified stops growing with the model."""
    from daedalus.derivations import reading

    seen = []
    whole = reading.shortest

    def counted(entry, wish):
        seen.append(operations(entry))
        return whole(entry, wish)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "shortest", counted)
        patch.setattr(reading, "MOST_WORK", 300)
        d = dd.derive(pairs_of_charges(5), "lagrange")
    assert d.check < 1e-9
    assert sum(length for length in seen if length > reading.GLANCE) <= 300
    assert all(str(line) for step in d for line in step.after)


def test_formulas_that_repeat_themselves_without_end_are_written_by_names():
    """x → sin(x) + x² twelve times: a page of two to the twelve terms, or twelve names."""
    m = dd.Model("nested")
    x = m.state("x", start=0.1)
    value = x
    for _ in range(12):
        value = ca.sin(value) + value**2 * value
    m.equation(m.der(x), -value)
    d = dd.derive(m, "first_order")
    assert d.check < 1e-9
    assert any(step.where for step in d)
    assert len(str(d)) < 20_000
    assert len(d.to_latex()) < 40_000


def test_stiff_rows_are_checked_beside_what_rounding_makes_of_differences():
    """A slope of one beside a stiffness of 1e10; a wrong slope is still found."""
    from daedalus.derivations.numbers_along import slope_residual

    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    row = 1e10 * ca.sin(x) + y**2
    assert slope_residual(row, [x, y], ca.gradient(row, ca.vertcat(x, y))) < 1e-9
    assert slope_residual(row, [x, y], ca.vertcat(1e10 * ca.cos(x), 2.01 * y)) > 1e-3
    assert slope_residual(row, [x, y], ca.vertcat(1.0001e10 * ca.cos(x), 2 * y)) > 1e-5


def test_formulas_that_are_defined_near_the_start_only_are_checked_there():
    m = dd.Model("narrow")
    x, y, z = m.state("x", start=40.0), m.state("y", start=41.0), m.algebraic("z", start=0.0)
    m.equation(m.der(x), z)
    m.equation(m.der(y), -z + ca.sqrt(x - 30.0))
    m.equation(ca.acos(x - 39.99), ca.acos(y - 41.0))
    d = dd.derive(m, "reduce")
    assert d.check < 1e-6, [(step.kind, step.check) for step in d]


def test_guesses_of_algebraic_variables_say_where_formulas_are_defined():
    """z is differentiated, so that it is a state of the plan: its guess is kept, and its rate has one symbol."""
    m = dd.Model("rail")
    x, v = m.state("x", start=0.5), m.state("v", start=0.3)
    z, f = m.algebraic("z", start=20.4), m.algebraic("f", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), f - x)
    m.equation(ca.sqrt(z - 20.0), x + 0.1 * ca.cos(z))
    m.equation(v * z, 0.3 * z)
    for part in ("reduce", "start", "linearise"):
        d = dd.derive(m, part)
        assert d.check < 1e-8, (part, [(step.kind, step.check) for step in d])


def test_slopes_that_rounding_hides_are_not_called_checked():
    from daedalus.derivations.numbers_along import slope_residual

    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    row = 1e40 * ca.sin(x) + y
    assert not slope_residual(row, [y], ca.SX(1)) < 1e-9
    assert not slope_residual(row, [y], ca.SX(2)) < 1e-9
    # The second row has narrow steps beside which long differences say nothing: other points show it.
    steep = ca.tanh(1e9 * (x - 0.9)) + y
    assert slope_residual(steep, [x, y], ca.gradient(steep, ca.vertcat(x, y))) < 1e-9
    assert slope_residual(steep, [x, y], ca.vertcat(1.0, 1.0)) > 1e-3


def test_derivations_of_circuits_without_explicit_formulas_are_checked_at_their_start():
    E, m = dd.components.electrical, dd.Model("clamp")
    source = m.add(E.VoltageSource("source", voltage=5.0))
    r, d, c = (
        m.add(E.Resistor("r", resistance=1e3)),
        m.add(E.Diode("d", saturation_current=1e-14)),
        m.add(E.Capacitor("c", capacitance=1e-6)),
    )
    ground = m.add(E.Ground("ground"))
    m.connect(source.plus, r.plus)
    m.connect(r.minus, d.plus)
    m.connect(d.minus, c.plus)
    m.connect(c.minus, source.minus, ground.pin)
    derivation = dd.derive(m)
    assert derivation.check < 1e-9, [(step.kind, step.check) for step in derivation]


def test_numbers_are_written_as_on_the_board():
    """Thirds as fractions, no numbers such as 1.5 that only a common factor brings, squares behind the function."""
    m = dd.Model("slender rods")
    q = m.coordinate("phi", 2, start=[0.5, 0.3], rate=[0.0, 0.0])
    l1, l2, m1, m2 = (m.parameter(n, 1.0) for n in ("l_1", "l_2", "m_1", "m_2"))
    w = m.rate(q)
    m.kinetic_energy(m1 * l1**2 * w[0] ** 2 / 6 + m2 * l1**2 * w[0] ** 2 / 2 + m2 * l2**2 * w[1] ** 2 / 6)
    m.kinetic_energy(m2 * l1 * l2 * w[0] * w[1] * ca.cos(q[0] - q[1]) / 2 + m2 * ca.sin(q[0]) ** 2 * w[0] ** 2 * 2 / 3)
    text, latex = str(dd.derive(m, "lagrange")), dd.derive(m, "lagrange").to_latex()
    assert "0.333" not in text
    assert "0.666" not in text
    assert "1.5" not in text
    assert "sin(phi[0])^2" in text
    assert "\\sin^{2}" in latex
    assert "l_{1}^{2}" in latex


@pytest.mark.wide
def test_wide_matrices_name_their_entries():
    m = dd.Model("arm")
    q = m.coordinate("q", 2, start=[0.3, 0.4], rate=[0.0, 0.0])
    l, g = m.parameter("l", 1.0), m.parameter("g", 9.81)
    w, one = m.rate(q), ca.vertcat(ca.sin(q[0]), -ca.cos(q[0]))
    two = l * one + l * ca.vertcat(ca.sin(q[0] + q[1]), -ca.cos(q[0] + q[1]))
    for p in (l * one, two):
        m.kinetic_energy(0.5 * ca.sumsqr(ca.jacobian(p, q) @ w))
        m.potential_energy(g * p[1])
    assert max(map(len, str(dd.derive(m)).split("\n"))) <= 112
    assert "0.5" not in dd.derive(m, "lagrange").to_html().replace("0.5em", "")
    step = next(step for step in dd.derive(m, "linearise") if step.kind == "A")
    names = [str(line.left) for line in step.where]
    assert names
    assert "A[2,0]" in str(step.after[0])
    assert any("A[2,0] = " in str(line) for line in step.where)


def test_implicit_equations_are_called_what_they_are():
    m = dd.Model("loop")
    x, z = m.state("x", start=1.0), m.algebraic("z", start=0.5)
    m.equation(m.der(x), -z)
    m.equation(z + ca.exp(z), 2 * x, name="valve")
    text = str(dd.derive(m, "first_order"))
    assert "z follows from valve. This equation is nonlinear; a run solves it by Newton's method." in text


def test_sparse_slopes_are_checked_a_group_of_columns_at_a_time():
    """A chain of 60 rows takes as many differences as one of 6; a wrong slope anywhere is found."""
    from daedalus.derivations import numbers_along

    asked = []
    plain = numbers_along._differences

    def counted(value, point, directions, step):
        asked.append(len(directions))
        return plain(value, point, directions, step)

    x, unused = ca.SX.sym("x", 60), ca.SX.sym("unused")
    rows = ca.sin(x[1:]) * x[:-1]
    by = [*ca.vertsplit(x), unused]
    right = ca.jacobian(rows, ca.vertcat(*by))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbers_along, "_differences", counted)
        assert numbers_along.slope_residual(rows, by, right) < 1e-9
    assert max(asked) <= 3
    for row, column in ((30, 30), (30, 31), (58, 59), (30, 33), (0, 60)):
        wrong = ca.SX(ca.densify(right))
        wrong[row, column] += 0.01
        assert numbers_along.slope_residual(rows, by, wrong) > 1e-3
