"""BDF where errors reach algebraic variables through the equations: a transistor amplifier, written in two ways."""

import bdf_problems as problems
import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def amplifier_by_capacitors() -> dd.Model:
    """The amplifier of the catalogue with the voltages of its capacitors as states and all nodes algebraic."""
    m = dd.Model("amplifier")
    supply, resistor, saturation, thermal, gain = 6.0, 9000.0, 1e-6, 0.026, 0.99
    c = [m.state(f"c{k}", start=start) for k, start in enumerate([-3.0, 3.0, 3.0, 3.0, 6.0])]
    y = m.algebraic("y", 8, start=[0, 3, 3, 6, 3, 3, 6, 0])
    into = m.algebraic("into", 3, start=np.zeros(3))
    first, second = (saturation * (ca.exp((y[k] - y[k + 1]) / thermal) - 1) for k in (1, 4))
    for voltage, across in zip(c, [y[0] - y[1], y[2], y[3] - y[4], y[5], y[6] - y[7]], strict=True):
        m.equation(voltage, across)
    currents = [into[0], first - y[2] / resistor, into[1], second - y[5] / resistor, into[2]]
    for k, current in enumerate(currents):
        m.equation((k + 1) * 1e-6 * m.der(c[k]), current)
    m.equation((0.1 * ca.sin(200 * np.pi * m.time) - y[0]) / 1000.0, into[0])
    m.equation(into[0] + (supply - 2 * y[1]) / resistor, (1 - gain) * first)
    m.equation((supply - y[3]) / resistor, gain * first + into[1])
    m.equation(into[1] + (supply - 2 * y[4]) / resistor, (1 - gain) * second)
    m.equation((supply - y[6]) / resistor, gain * second + into[2])
    m.equation(into[2], y[7] / resistor)
    return m


@pytest.mark.parametrize(("rtol", "most"), [(1e-4, 3500), (1e-6, 7000), (1e-8, 13000)])
def test_two_stages_of_an_amplifier_do_not_hold_the_order_down(rtol, most):
    known = catalogue.load("transistor_amplifier")
    nodes = dd.simulate(known.model, known.span, method="bdf", rtol=rtol, atol=1e-3 * rtol)
    capacitors = dd.simulate(amplifier_by_capacitors(), 0.2, method="bdf", rtol=rtol, atol=1e-3 * rtol)
    wanted = np.asarray(known.reference["y"])
    for run in (nodes, capacitors):
        # With the differences alone: 4 600, 24 000 and 183 000 steps.
        assert run.work.steps < most
        assert run.work.rejected < 0.15 * run.work.steps
        assert np.max(np.abs(run["y"][-1] - wanted)) < 10 * rtol


def test_sensitivities_of_the_amplifier_do_not_hold_the_order_down_either():
    m = amplifier_by_capacitors()
    sens = dd.sensitivities(m, 0.1, method="bdf", rtol=1e-5, atol=1e-8, wrt="c1")
    other = dd.sensitivities(m, 0.1, method="radau5", rtol=1e-8, atol=1e-11, wrt="c1")
    np.testing.assert_allclose(sens.M, other.M, rtol=1e-4)
    # 4 000 steps and 1 100 more that were rejected, with the differences alone.
    assert sens.states.work.steps < 3000
    assert sens.states.work.rejected < 400


def test_algebraic_variables_keep_their_accuracy_between_steps():
    """z = sin 20 t rests on no state: only its own differences tell how long a step may be."""
    m = dd.Model("fast and slow")
    x, z = m.state("x", start=1.0), m.algebraic("z", start=0.0)
    m.equation(m.der(x), -0.01 * x)
    m.equation(z, ca.sin(20 * m.time))
    run = dd.simulate(m, 10.0, method="bdf", rtol=1e-6, atol=1e-6)
    # Nobody gave the slope of z at the start: the first step is found from x alone.
    times = np.linspace(run.time[2], 10, 2001)
    assert np.max(np.abs(run.at(times)["z"] - np.sin(20 * times))) < 1e-5


@pytest.mark.parametrize("atol", [1e-17, 1e-18, 1e-25])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_tolerances_below_what_rounding_leaves_do_not_stop_a_run(rtol, atol):
    """Robertson's third concentration is 1 - y1 - y2: it has 16 decimals, whatever is asked for."""
    problem = problems.published("robertson")
    plain = problem.integrate(rtol=rtol, atol=1e-14)
    run = problem.integrate(rtol=rtol, atol=atol)
    assert run.status == "finished"
    assert run.rejected < 0.1 * run.steps
    assert run.steps < 1.6 * plain.steps
    assert np.max(np.abs(run.x[-1, :3] / problem.exact - 1)) < 100 * rtol


def test_a_relative_tolerance_near_rounding():
    problem = problems.published("robertson")
    run = problem.integrate(rtol=1e-13, atol=1e-16)
    # 76 000 steps where differences below rounding are taken for errors.
    assert run.status == "finished"
    assert run.steps < 15000


def difference(scale):
    """z is a small difference of large states: its rounding errors are those of them."""
    m = dd.Model("difference")
    x, y, z = m.state("x", start=scale), m.state("y", start=scale), m.algebraic("z", start=0.0)
    m.equation(m.der(x), z + 1.0)
    m.equation(m.der(y), -z)
    m.equation(z**3 + z, y - x)
    return m


def test_an_answer_lost_in_rounding_errors_is_told():
    assert dd.simulate(difference(1e8), 1.0, method="bdf", rtol=1e-10, atol=1e-13).success
    run = dd.simulate(difference(1e12), 1.0, method="bdf", rtol=1e-12, atol=1e-15)
    assert run.status == "rounding"
    assert run.stop.what == f"rounding errors of z exceed its tolerance at t = {run.time[-1]:.6g}, whatever the step"
    assert dd.simulate(difference(1e12), 1.0, method="bdf", rtol=1e-12, atol={"z": 0.1}).success
