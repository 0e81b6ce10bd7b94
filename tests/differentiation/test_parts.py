"""Derivatives of mechanisms whose redundant constraints are chosen anew: those of the same motion by its angle."""

import re

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus.simulation.result.records_on_the_way import ConstraintsRechosen

SHARP = {"rtol": 1e-9, "atol": 1e-12}
TRIANGLE = ((0.0, 0.0), (1.0, 0.0), (0.5, 0.8))
IN_A_LINE = ((0.0, 0.0), (1.0, 0.0), (2.0, 0.0))


def plate(points=TRIANGLE):
    """A plate on three parallel cranks; any two keep it level, unless they lie on the line between them."""
    m = dd.Model("plate")
    q = m.coordinate("q", 2, start=[np.cos(1.0), np.sin(1.0)], rate=[-4 * np.sin(1.0), 4 * np.cos(1.0)])
    a, weight = m.coordinate("a", start=0.0, rate=0.0), m.parameter("weight", 2.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)) + 0.1 * m.rate(a) ** 2)
    m.potential_energy(weight * q[1])
    for k, (x, y) in enumerate(points):
        end = q + ca.vertcat(ca.cos(a) * x - ca.sin(a) * y, ca.sin(a) * x + ca.cos(a) * y) - ca.vertcat(x, y)
        m.constraint(f"crank{k}", (ca.sumsqr(end) - 1) / 2)
    return m


def by_angle():
    m = dd.Model("by_angle")
    b, w, weight = m.state("b", start=1.0), m.state("w", start=4.0), m.parameter("weight", 2.0)
    m.equation(m.der(b), w)
    m.equation(m.der(w), -weight * ca.cos(b))
    m.output("q", ca.vertcat(ca.cos(b), ca.sin(b)))
    return m


@pytest.fixture(autouse=True)
def few_calls(monkeypatch):
    """Each function is called some thousand times at most: compiling would take longer."""
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")


@pytest.fixture(scope="module")
def exact():
    return dd.sensitivities(by_angle(), 1.5, order=2, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("options", [{}, {"by": "discrete"}, {"method": "radau5"}], ids=str)
def test_first_order_is_that_of_the_angle(options, exact):
    sens = dd.sensitivities(plate(), 1.5, **SHARP, **options)
    assert len(records_of(sens, ConstraintsRechosen)) >= 3
    np.testing.assert_allclose(sens.d("q", "weight"), exact.d("q", "weight"), atol=1e-8)
    # A turn of all cranks is a change of the angle.
    turn = np.array([-np.sin(1.0), np.cos(1.0), 0, -4 * np.cos(1.0), -4 * np.sin(1.0), 0])
    np.testing.assert_allclose(sens.M[:2] @ turn, exact.d("q", "b"), atol=1e-8)
    times = np.linspace(0.1, 1.4, 9)
    np.testing.assert_allclose(sens.at(times).d("q", "weight"), exact.at(times).d("q", "weight"), atol=1e-8)
    assert sens.states.success
    assert max(sens.states.drift().values()) < 1e-12


@pytest.mark.wide
def test_multipliers_have_derivatives_throughout():
    """Each from the equations of the part that its time lies in, against differences of the smallest multipliers."""
    sens, times = dd.sensitivities(plate(), 1.5, **SHARP), np.linspace(0.05, 1.45, 8)
    near = [
        dd.simulate(plate(), 1.5, parameters={"weight": 2.0 + s * 1e-4}, rtol=1e-11, atol=1e-13).at(times)["crank1"]
        for s in (1, -1)
    ]
    np.testing.assert_allclose(sens.at(times).d("crank1", "weight"), (near[0] - near[1]) / 2e-4, atol=1e-5)


@pytest.mark.wide
def test_second_order_the_adjoint_and_verification(exact):
    sens = dd.sensitivities(plate(), 0.7, order=2, wrt=("q[0]", "weight"), **SHARP)
    assert records_of(sens, ConstraintsRechosen)
    np.testing.assert_allclose(sens.d("q", "weight", "weight"), exact.at(0.7).d("q", "weight", "weight"), atol=1e-8)
    report = sens.verify()
    assert report.passed, report
    assert report["the adjoint"].error < 1e-12
    assert report["second derivatives"].error < 1e-5
    g = dd.gradient(plate(), 1.5, final="q[0]", **SHARP)
    np.testing.assert_allclose(g["weight"], exact.d("q", "weight")[0], atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"method": "radau5"}], ids=str)
def test_events_beside_redundant_constraints_move_as_those_of_the_angle(options):
    watched, plain = plate(), by_angle()
    watched.event("passes", watched["q"][1] - 0.2, direction=-1)
    plain.event("passes", ca.sin(plain["b"]) - 0.2, direction=-1)
    events = [dd.sensitivities(m, 1.5, wrt=["weight"], **SHARP, **options).events for m in (watched, plain)]
    (event,), (exact,) = events
    assert event.time == pytest.approx(exact.time, abs=1e-8)
    assert event.time_derivative["weight"] == pytest.approx(exact.time_derivative["weight"], abs=1e-8)


def test_a_flow_keeps_its_choice():
    f = dd.flow(plate(), step=0.02, method="radau5", steps=5)
    x0, p = np.array(f.system.default_start), np.array(f.system.start["p"])
    near, exact = f(x0, [], p).full().ravel(), dd.simulate(by_angle(), 0.1, **SHARP)
    np.testing.assert_allclose(near[:2], exact["q"][-1], atol=1e-8)
    turn, h = np.array([-np.sin(1.0), np.cos(1.0), 0, 0, 0, 0]), 1e-6
    x = ca.MX.sym("x", 6)
    slope = ca.Function("slope", [x], [ca.jacobian(f(x, ca.DM(0, 1), p), x)])(x0).full() @ turn
    difference = (f(x0 + h * turn, [], p) - f(x0 - h * turn, [], p)).full().ravel() / (2 * h)
    np.testing.assert_allclose(slope, difference, atol=1e-8)


def test_a_singular_configuration_is_said_to_be_one():
    with pytest.raises(dd.SolverError) as refused:
        dd.sensitivities(plate(IN_A_LINE), 5.0)
    # At which of its dead centres a step sees it depends on the steps.
    assert re.sub(r"t = [\d.]+", "t = ...", str(refused.value)) == (
        "The derivatives of 'plate' cannot be continued from here.\n"
        "  the mechanism comes to a singular configuration at t = ...: crank0, crank2 no longer act in different "
        "directions there, and the motion may go on in more than one way\n"
        "  Because the motion is not smooth where constraints become dependent or independent.\n"
        "  Try: a model without redundant constraints (dd.analyse(m).redundant names them), or a shorter span"
    )
