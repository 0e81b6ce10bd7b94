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
