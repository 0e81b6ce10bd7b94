"""Terms of one equation that disagree in dimension are found; what units do not tell is left alone."""

import casadi as ca
import pytest

import daedalus as dd
from daedalus import catalogue


def oscillator(wrong=False):
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0, unit="mm"), m.state("v", start=0.0, unit="m/s")
    mass, k = m.parameter("mass", 2.0, unit="kg"), m.parameter("k", 3.0, unit="N/m")
    f = m.input("f", unit="N")
    m.equation(m.der(x), v, name="rate")
    m.equation(m.der(v), (f - k * x) / (1 if wrong else mass), name="newton")
    m.output("energy", 0.5 * mass * v**2 + 0.5 * k * x**2, unit="J")
    return m


def test_terms_that_agree():
    found = dd.check_units(oscillator())
    assert found == []
    assert str(found) == "No terms of 2 equations disagree in dimension."


def test_terms_that_disagree_are_named():
    found = dd.check_units(oscillator(wrong=True))
    assert [conflict.equation for conflict in found] == ["newton"]
    assert str(found) == "newton: v_dot is in m/s^2, f - k*x is in kg*m/s^2"
    assert dd.check_units(oscillator(wrong=True).freeze()) == found


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (lambda x, t, a: x + a, "x is in m, a is in no unit"),
        (lambda x, t, a: ca.sin(x), "x is in m, the argument of sin is in no unit"),
        (lambda x, t, a: ca.exp(-x) * x, "the argument of exp"),
        (lambda x, t, a: ca.fmin(x, x**2), "x is in m, sq"),
        (lambda x, t, a: x**a, "x is in m, a base with a changing exponent"),
        (lambda x, t, a: ca.if_else(x > t, x, 0), "is in s"),
        (lambda x, t, a: ca.sqrt(x) + x, "m^1/2"),
    ],
)
def test_kinds_of_conflicts(expression, text):
    m = dd.Model("m")
    x, a, z = m.state("x", start=1.0, unit="m"), m.parameter("a", 1.0, unit="rad"), m.algebraic("z")
    m.equation(m.der(x), z)
    m.equation(z, expression(x, m.time, a), name="law")
    (conflict,) = dd.check_units(m)
    assert conflict.equation == "law"
    assert text in str(conflict) or "is in m^2" in str(conflict)


def test_numbers_and_variables_without_units_are_left_alone():
    m = dd.Model("m")
    x, v, k = m.state("x", start=1.0, unit="m"), m.state("v", start=1.0, unit="m/s"), m.parameter("k", 1.0)
    m.equation(m.der(x), v + 1.0)
    m.equation(m.der(v), -9.81 - k * x - 1000.0 * x + ca.cos(3.0 * m.time) + ca.sin(m.time))
    found = dd.check_units(m)
    assert found == []
    assert found.unknown == ("k",)
    assert "without a unit, so that nothing is said of terms with them: k" in str(found)


def test_an_output_whose_unit_is_another():
    m = oscillator()
    m.output("momentum", m["mass"] * m["v"], unit="J")
    assert str(dd.check_units(m)) == "output momentum: mass*v is in kg*m/s, its unit is in kg*m^2/s^2"


def test_a_label_of_several_units_is_not_their_product():
    """Reactions of joints are forces and torques, and their unit says so."""
    m = dd.Model("swing")
    m.gravity([0, 0, -9.81])
    rod = m.body("rod", 1.0, [0.1, 0.1, 0.1])
    m.joint("hinge", "revolute", dd.ground, rod, at_b=[0, 0, 0.4], axis_a=[0, 1, 0], coordinates="joint")
    assert m.freeze().output_units["hinge"] == "N, N*m"
    assert dd.check_units(m) == []
    assert not dd.units.is_known("N, N*m")
    with pytest.raises(dd.InputError):
        dd.units.convert(1.0, "N, N*m", "N**2*m")


# Ramps of circuits are the time itself, a volt a second written as nothing.
RAMPS = ("nand_gate", "two_bit_adder")


@pytest.mark.parametrize("name", [n for n in catalogue.names() if n not in RAMPS])
def test_known_systems_agree(name):
    assert dd.check_units(catalogue.load(name).model) == []


def test_units_shows_no_internals():
    assert dir(dd.units) == ["convert", "is_known"]


@pytest.mark.parametrize("offset", [0.5, 2.0])
def test_an_offset_that_looks_like_a_factor_is_told_as_one(offset):
    """k (x - 0.5 m), multiplied out: whether 0.5 is ½ or 0.5 m is nothing that a number tells."""
    m = dd.Model("spring")
    x, v = m.state("x", start=1.0, unit="m"), m.state("v", start=0.0, unit="m/s")
    mass, k = m.parameter("mass", 1.0, unit="kg"), m.parameter("k", 2.0, unit="N/m")
    m.equation(m.der(x), v)
    m.equation(mass * m.der(v), offset * k - k * x, name="newton")
    (conflict,) = dd.check_units(m)
    assert conflict.factors == (offset,)
    assert str(conflict).endswith(f"unless {offset:g} has a unit")
