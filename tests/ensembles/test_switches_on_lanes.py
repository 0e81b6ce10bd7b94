"""Conditions in equations in kernels: their modes turn where `dd.simulate` turns them, and steps end there."""

import casadi as ca
import numpy as np
import pytest
from tests.ensembles.test_events_on_lanes import compare, note

import daedalus as dd


def saturated():
    m = dd.Model("saturated")
    x, v, k = m.state("x", start=2.0), m.state("v", start=0.0), m.parameter("k", 4.0)
    force = ca.fmax(ca.fmin(-k * x - v, 1.0), -1.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), force)
    m.output("force", force)
    return m


def thrown():
    """Drag |v| v, whose condition turns at the top and where the floor sends the ball back."""
    m = dd.Model("thrown")
    h, v, k = m.state("h", start=0.0), m.state("v", start=5.0), m.parameter("k", 0.1)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81 - k * v * ca.fabs(v))
    m.event("floor", h, direction=-1, reset={"v": -0.8 * v})
    return m


def rubbing():
    """Dry friction, which holds the mass in the end: it slides along v = 0."""
    m = dd.Model("rubbing")
    x, v, k = m.state("x", start=2.0), m.state("v", start=0.5), m.parameter("k", 4.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -k * x - 0.8 * ca.sign(v))
    return m


def stairs():
    m = dd.Model("stairs")
    x, k = m.state("x", start=0.2), m.parameter("k", 1.0)
    m.equation(m.der(x), k - 0.1 * ca.floor(x))
    return m


def up_the_stairs(k, end):
    """x' = k − 0.1 floor(x) from 0.2, step by step."""
    t, x = 0.0, 0.2
    while True:
        slope = k - 0.1 * np.floor(x)
        needed = (np.floor(x) + 1 - x) / slope
        if t + needed >= end:
            return x + slope * (end - t)
        t, x = t + needed, np.floor(x) + 1


@pytest.mark.parametrize("method", ["auto", "tsit5"])
def test_saturated_springs_as_one_by_one(method):
    en = compare(saturated(), 10.0, "k", np.linspace(1.0, 9.0, 9), method=method)
    assert en.notes == note(9, "dop853" if method == "auto" else method)


def test_resets_take_conditions_with_them():
    assert compare(thrown(), 1.5, "k", np.linspace(0.05, 0.5, 9)).notes == note(9, "dop853")


def test_stairs_are_climbed_to_rounding():
    """The slope is constant between the steps: what is left is the rounding with which a whole number counts."""
    values = np.linspace(0.5, 1.5, 9)
    en = dd.sweep(stairs(), 8.0, over={"k": values}, save_at="end", on="cpu")
    assert en.notes == note(9, "dop853")
    expected = [up_the_stairs(k, 8.0) for k in values]
    np.testing.assert_allclose(en["x"].values[:, 0], expected, atol=1e-11)


def test_what_slides_is_left_to_the_core():
    en = compare(rubbing(), 6.0, "k", np.array([1.0, 4.0, 9.0]))
    assert en.notes == note(3, "dop853", left=3)


def test_conditions_on_time_are_told():
    m = dd.Model("pulse")
    x = m.state("x", start=1.0)
    k = m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x + ca.if_else(m.time > 0.5, 1.0, 0.0))
    en = dd.sweep(m, 1.0, over={"k": [1.0, 2.0]}, on="cpu")
    assert en.notes == ("2 cases one by one: the model has events at known times",)
