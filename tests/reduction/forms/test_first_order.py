"""Derivatives of higher order as states with names: the same motion, events and outputs included."""

import casadi as ca
import numpy as np
import pytest
from reduced_models import text_of

import daedalus as dd


def ball():
    m = dd.Model("ball")
    y = m.state("y", start=1.0, rate=0.0, unit="m")
    m.equation(m.der(m.der(y)), -9.81, name="fall")
    m.event("bounce", y, direction=-1, reset={"y_dot": -0.8 * m.der(y)})
    m.output("speed", m.der(y))
    return m


def test_a_bouncing_ball():
    one, two = dd.simulate(ball(), 1.5, rtol=1e-10), dd.simulate(dd.to_first_order(ball()), 1.5, rtol=1e-10)
    assert len(one.events) == len(two.events) == 2
    assert one["y"][-1] == pytest.approx(two["y"][-1], abs=1e-9)
    assert two["speed"][-1] == pytest.approx(two["y_rate"][-1], abs=1e-12)
    assert dd.to_first_order(ball()).variables["y_rate"].unit == "m/s"


def test_third_order():
    m = dd.Model("jerk")
    y = m.state("y", start=0.0, rate=0.0)
    m.equation(m.der(m.der(m.der(y))), 6.0, name="jerk")
    n = dd.to_first_order(m)
    assert list(n.variables) == ["y", "y_rate", "y_rate2"]
    assert n.equations == {
        "jerk": ["y_rate2_dot - 6 = 0"],
        "rate of y": ["y_dot - y_rate = 0"],
        "rate of y_rate": ["y_rate_dot - y_rate2 = 0"],
    }
    assert dd.simulate(n, 2.0)["y"][-1] == pytest.approx(8.0, abs=1e-6)


def test_elements_of_different_order():
    m = dd.Model("mixed")
    x = m.state("x", 2, start=[1.0, 1.0], rate=[0.0, None])
    m.equation([m.der(m.der(x[0])) + x[0], m.der(x[1]) + x[1]], name="both")
    n = dd.to_first_order(m)
    assert n.variables["x_rate"].shape == (1,)
    assert n.variables["x_rate"].start == (0.0,)
    tr = dd.simulate(n, 1.0, rtol=1e-10, atol=1e-12)
    assert np.abs(tr["x"][-1] - [np.cos(1.0), np.exp(-1.0)]).max() < 1e-8


def test_first_order_stays():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    n = dd.to_first_order(m)
    assert n is not m
    assert n.freeze() == m.freeze()


def test_old_expressions_stay_valid():
    m = dd.Model("oscillator")
    y = m.state("y", start=1.0, rate=0.0)
    speed = m.der(y)
    m.equation(m.der(speed), -y)
    n = dd.to_first_order(m)
    n.output("speed", speed)
    assert dd.simulate(n, 1.0, rtol=1e-9)["speed"][-1] == pytest.approx(-np.sin(1.0), abs=1e-7)


def test_a_taken_name_is_avoided():
    m = dd.Model("taken")
    y, other = m.state("y", start=1.0), m.state("y_rate", start=1.0)
    m.equation([m.der(m.der(y)), m.der(other)], [0.0, ca.sin(y)], name="both")
    assert list(dd.to_first_order(m).variables) == ["y", "y_rate", "y_rate_"]


def test_no_record_of_a_reduction():
    text = text_of(lambda: dd.to_first_order(ball()).reduction, dd.ModelError)
    assert text.startswith("The model 'ball' was not reduced.")
