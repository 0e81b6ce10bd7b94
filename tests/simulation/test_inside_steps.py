"""Implicit methods notice what happens inside a step, where their error estimates do not look."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import wrightomega

import daedalus as dd

RESISTANCE, CAPACITY, LOAD, SATURATION, THERMAL = 10.0, 1e-3, 100.0, 1e-12, 0.025


def rectifier(law):
    """Mains over a diode and a resistance onto a capacitor with a load."""
    m = dd.Model("rectifier")
    voltage, current, drop = m.state("voltage", start=0.0), m.algebraic("current"), m.algebraic("drop")
    m.equation(CAPACITY * m.der(voltage), current - voltage / LOAD)
    m.equation(10 * ca.sin(100 * np.pi * m.time), drop + RESISTANCE * current + voltage)
    m.equation(current, law(drop))
    return m


def end_voltage(current):
    def slope(t, y):
        return (current(10 * np.sin(100 * np.pi * t) - y) - y / LOAD) / CAPACITY

    found = solve_ivp(slope, (0, 0.1), [0.0], "LSODA", rtol=1e-9, atol=1e-12, max_step=1e-4)
    return found.y[0, -1]


def exponential_current(over):
    # R i + T log(i / I + 1) = over, by Wright's omega function.
    scale = RESISTANCE * SATURATION / THERMAL
    return THERMAL / RESISTANCE * wrightomega(np.log(scale) + over / THERMAL + scale).real - SATURATION


@pytest.mark.parametrize("method", ["rodas4", "rodas5p", "radau3", "radau5", "radau9"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
def test_no_pulse_of_a_rectifier_is_stepped_over(method, rtol):
    """While the diode blocks, all equations are linear and met at the end of any step, however long it is."""
    tr = dd.simulate(
        rectifier(lambda v: SATURATION * (ca.exp(v / THERMAL) - 1)), 0.1, method=method, rtol=rtol, atol=1e-3 * rtol
    )
    assert tr.success
    assert tr["voltage"][-1] == pytest.approx(end_voltage(exponential_current), abs=20 * rtol)


@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
def test_no_pulse_is_lost_by_a_pair_of_a_tableau(rtol):
    """Of order 2, with an estimate of order 3: every step leaves an error of one sign, smaller where there are more."""
    model = rectifier(lambda v: SATURATION * (ca.exp(v / THERMAL) - 1))
    tr = dd.simulate(model, 0.1, method=dd.tableau("trbdf2"), rtol=rtol, atol=1e-3 * rtol)
    assert tr.success
    assert tr["voltage"][-1] == pytest.approx(end_voltage(exponential_current), abs=20 * rtol)


@pytest.mark.parametrize(("rtol", "method"), [(1e-3, "rodas5p"), (1e-5, "rodas5p"), (1e-6, "radau5"), (1e-8, "radau9")])
def test_what_auto_takes(rtol, method):
    model = rectifier(lambda v: SATURATION * (ca.exp(v / THERMAL) - 1))
    tr = dd.simulate(model, 0.1, rtol=rtol)
    assert tr.method == method
    assert tr["voltage"][-1] == pytest.approx(end_voltage(exponential_current), abs=20 * rtol)


@pytest.mark.parametrize("method", ["rodas5p", "radau3", "radau5", "radau9"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-6])
def test_conditions_that_are_not_located(method, rtol):
    tr = dd.simulate(
        rectifier(lambda v: ca.if_else(v > 0, v / 0.1, v / 1e6)), 0.1, method=method, rtol=rtol, atol=1e-3 * rtol,
        locate_switches=False,
    )  # fmt: skip
    exact = end_voltage(lambda over: over / np.where(over > 0, RESISTANCE + 0.1, RESISTANCE + 1e6))
    assert tr.success
    assert tr["voltage"][-1] == pytest.approx(exact, abs=20 * rtol)


@pytest.mark.parametrize("method", ["rodas4", "rodas5p", "radau3", "radau5", "radau9", "sdirk4"])
def test_an_algebraic_variable_that_moves_faster_than_the_states(method):
    m = dd.Model("slow and fast")
    x, z = m.state("x", start=1.0), m.algebraic("z")
    m.equation(m.der(x), -x)
    m.equation(z, ca.sin(50 * m.time) + 0.1 * x)
    tr = dd.simulate(m, 2.0, method=method, rtol=1e-6)
    times = np.linspace(0, 2, 2001)
    exact = np.sin(50 * times) + 0.1 * np.exp(-times)
    assert np.abs(tr.at(times)["z"] - exact).max() < 1e-5
    np.testing.assert_allclose(tr.at(times, project=True)["z"], exact, atol=1e-6)
    # Where nothing moves inside, nothing is held up.
    still = dd.Model("slow")
    y = still.state("y", start=1.0)
    still.equation(still.der(y), -y)
    assert dd.simulate(still, 2.0, method=method, rtol=1e-6).work.steps < 0.3 * tr.work.steps
