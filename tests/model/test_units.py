"""Units: conversion of numbers, arrays and symbols, and labels that stay labels."""

import math

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (1.0, "psi", "Pa", 6894.757293168),  # NIST SP 811, appendix B.8
        (1.0, "bar", "Pa", 1e5),
        (180, "deg", "rad", math.pi),
        (1.0, "rpm", "rad/s", math.pi / 30),
        (60.0, "L/min", "m^3/s", 1e-3),
        (0.0, "degC", "K", 273.15),
        (1.0, "inch", "mm", 25.4),
        (1.0, "N*m", "J", 1.0),
        (2.5, "m", "m", 2.5),
    ],
)
def test_numbers(value, source, target, expected):
    assert dd.units.convert(value, source, target) == pytest.approx(expected, rel=1e-9)
    assert dd.units.convert(expected, target, source) == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert dd.units.convert([value, value], source, target) == pytest.approx([expected] * 2, rel=1e-9)
    x = ca.SX.sym("x", 2)
    symbolic = ca.Function("f", [x], [dd.units.convert(x, source, target)])
    assert symbolic([value, value]).full().ravel() == pytest.approx([expected] * 2, rel=1e-9)


def test_shapes_are_kept():
    assert isinstance(dd.units.convert(np.float64(1), "m", "mm"), float)
    assert dd.units.convert(np.ones((2, 3)), "m", "mm").shape == (2, 3)


def test_symbols_of_a_model():
    m = dd.Model()
    angle = m.state("angle", unit="deg")
    m.output("radians", dd.units.convert(angle, "deg", "rad"))
    assert float(ca.Function("f", [angle], [m.outputs["radians"]])(90)) == pytest.approx(math.pi / 2)
    assert ca.is_equal(dd.units.convert(angle, "deg", "deg"), 1.0 * angle)


def test_conversions_that_are_refused():
    with pytest.raises(dd.InputError) as caught:
        dd.units.convert(1.0, "m", "s")
    assert str(caught.value) == (
        "Cannot convert 'm' to 's'.\n"
        "  Cannot convert from 'meter' ([length]) to 'second' ([time])\n"
        "  Because the two labels must be units of the same quantity, and the value a number.\n"
        '  Try: units such as "m/s", "N*m", "bar", "deg", "kg/m^3"'
    )
    for value, source, target in (
        (1.0, "furlongs_per_blink", "m"),
        ("a", "m", "mm"),
        (ca.SX.sym("x"), "m", "s"),
        (None, "m", "m"),
    ):
        with pytest.raises(dd.InputError, match="Cannot convert"):
            dd.units.convert(value, source, target)


def test_symbols_and_scales_that_are_not_straight():
    assert dd.units.convert(20.0, "dB", "dimensionless") == pytest.approx(100.0)
    with pytest.raises(dd.InputError) as caught:
        dd.units.convert(ca.SX.sym("x"), "dB", "dimensionless")
    assert str(caught.value) == (
        "Cannot convert an expression from 'dB' to 'dimensionless'.\n"
        "  0, 1, 2 dB are 1, 1.25893, 1.58489 dimensionless\n"
        "  Because the conversion is not a factor and an offset.\n"
        "  Try: write the formula with casadi.log or casadi.exp"
    )


def test_known_units():
    assert all(dd.units.is_known(u) for u in ("m", "N*m", "kg/m^3", "1/s", "deg", ""))
    assert not any(dd.units.is_known(u) for u in ("furlong_per_blink", "m/", "?"))


def test_an_unknown_label_warns_and_stays():
    m = dd.Model()
    with pytest.warns(dd.UnitWarning, match="x: 'bananas' is not a unit that dd.units knows"):
        m.state("x", unit="bananas")
    m.parameter("k", 1, unit="°")
    assert [v.unit for v in m.variables.values()] == ["bananas", "°"]
