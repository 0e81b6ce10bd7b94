"""Derivatives through events: the time of the event moves, guards and resets are differentiated."""

import casadi as ca
import numpy as np
import pytest
from differentiable_models import ball, ball_at, central_differences
from tests.support.records_of import records_of

import daedalus as dd
from daedalus.simulation.result.records_of_derivatives import NearlyGrazes, NearlyHappens
from daedalus.simulation.result.records_on_the_way import Touched

POINT = np.array([1.0, 0.2, 0.8, 9.81])


@pytest.mark.parametrize("by", ["variational", "discrete"])
@pytest.mark.parametrize("end", [0.3, 0.9, 1.5, 2.6])
def test_the_ball_is_exact_through_its_bounces(by, end):
    sens = dd.sensitivities(ball(), end, rtol=1e-9, by=by)
    expected = central_differences(lambda p: ball_at(*p, end), POINT)
    found = np.concatenate([sens.M, sens.by_parameters], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-8 * max(1.0, np.abs(expected).max()))
    np.testing.assert_allclose(sens.value, ball_at(*POINT, end), atol=1e-9)


def test_the_time_of_an_event_has_a_derivative():
    sens = dd.sensitivities(ball(), 0.6, rtol=1e-9)
    first = sens.events[0]
    assert first.name == "bounce"
    flight = lambda p: np.array([(p[1] + np.sqrt(p[1] ** 2 + 2 * p[3] * p[0])) / p[3]])  # noqa: E731
    expected = central_differences(flight, POINT)[0]
    np.testing.assert_allclose([first.time_derivative[k] for k in ("h", "v", "e", "g")], expected, atol=1e-9)


def test_guards_depend_on_time_algebraic_variables_and_parameters():
    """A guard in z(x, p) and t, with a reset that contains both; against runs with other values."""

    def model():
        m = dd.Model("switch")
        x, y, z = m.state("x", start=1.0), m.state("y", start=0.0), m.algebraic("z")
        k, level = m.parameter("k", 1.5), m.parameter("level", 0.4)
        m.equation(m.der(x), -k * x)
        m.equation(m.der(y), z)
        m.equation(z, x**2 * k)
        m.event("down", z - level - 0.1 * m.time, direction=-1, reset={"x": x + level * m.time + z, "y": 0.5 * y})
        return m

    m = model()

    def end(p):
        run = dd.simulate(
            m, 1.0, start={"x": p[0], "y": p[1]}, parameters={"k": p[2], "level": p[3]}, rtol=1e-12, atol=1e-14
        )
        return run._x[-1]

    expected = central_differences(end, np.array([1.0, 0.0, 1.5, 0.4]), 1e-5)
    for by in ("variational", "discrete"):
        sens = dd.sensitivities(m, 1.0, rtol=1e-10, atol=1e-12, by=by)
        assert len(sens.events) >= 1
        found = np.concatenate([sens.M, sens.by_parameters], axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        report = sens.verify()
        assert report.passed, report


def test_a_constrained_motion_restarts_consistently():
    """A pendulum that is hit at the bottom: the reset leaves the constraints, the projection brings it back."""
    m = dd.Model("hit")
    q = m.coordinate("q", 2, start=[0.8, -0.6], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", (ca.sumsqr(q) - 1.0) / 2)
    k = m.parameter("k", 0.3)
    m.event("bottom", q[0], direction=-1, reset={"q_dot": (1 - k) * m.rate(q)})
    run = lambda k: dd.simulate(m, 0.9, parameters={"k": k}, rtol=1e-12, atol=1e-14)._x[-1]  # noqa: E731
    expected = (run(0.3 + 1e-5) - run(0.3 - 1e-5)) / 2e-5
    for by in ("variational", "discrete"):
        sens = dd.sensitivities(m, 0.9, rtol=1e-10, atol=1e-12, by=by)
        assert len(sens.events) == 1  # the projection at the event does not make it happen twice
        np.testing.assert_allclose(sens.by_parameters[:, 0], expected, atol=1e-6)
        np.testing.assert_allclose(sens.value[:2] @ sens.M[:2], 0.0, atol=1e-13)


def test_an_event_without_reset_changes_nothing():
    m = dd.Model("watched")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    plain = dd.sensitivities(m, 2.0, rtol=1e-10)
    m.event("half", x - 0.5)
    watched = dd.sensitivities(m, 2.0, rtol=1e-10, order=2)
    np.testing.assert_allclose(watched.M, plain.M, rtol=1e-9)
    np.testing.assert_allclose(dd.sensitivities(m, 2.0, rtol=1e-10).M, plain.M, rtol=1e-9)


def test_a_terminal_event_ends_the_run_with_its_time_derivative():
    m = dd.Model("fall")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -10.0)
    m.event("ground", h, direction=-1, terminal=True)
    sens = dd.sensitivities(m, 5.0, rtol=1e-10)
    assert sens.states.status == "event"
    np.testing.assert_allclose(sens.events[0].time_derivative["h"], 1 / np.sqrt(20), rtol=1e-9)


# -- in words ---------------------------------------------------------------------------------------------------


def test_second_order_through_a_reset_is_refused():
    assert dd.sensitivities(ball(), 0.3, order=2).O.shape == (2, 2, 2)
    for by in ("variational", "discrete"):
        with pytest.raises(dd.SolverError) as refused:
            dd.sensitivities(ball(), 1.0, order=2, by=by)
        assert str(refused.value) == (
            "Second derivatives through an event are not supported.\n"
            "  bounce resets the state within the span\n"
            "  Because the second derivative of the time of the event enters, with derivatives of f on both sides.\n"
            "  Try: order=1, or a span that ends before the event"
        )


def swing(level):
    m = dd.Model("swing")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x)
    m.event("touch", x + level, reset={"v": -0.5 * v})
    return m


def test_an_event_that_grazes_is_refused():
    with pytest.raises(dd.SolverError) as refused:
        dd.sensitivities(swing(1.0 - 1e-12), 5.0, rtol=1e-9)
    text = str(refused.value)
    assert text.startswith("The event 'touch' grazes.\n  at t = 3.1415")
    assert "so there is no derivative." in text


def test_an_event_that_nearly_grazes_or_nearly_happens_is_noted():
    nearly = dd.sensitivities(swing(1.0 - 1e-8), 5.0, rtol=1e-10)
    assert [told.event for told in records_of(nearly, NearlyGrazes)] == ["touch"]
    missed = dd.sensitivities(swing(1.0 + 1e-10), 5.0, rtol=1e-10)
    assert [told.name for told in records_of(missed, NearlyHappens)] == ["touch"]
    clear = dd.sensitivities(swing(0.5), 2.5, rtol=1e-10)
    assert not records_of(clear, NearlyGrazes)
    assert not records_of(clear, NearlyHappens)


def test_a_guard_on_a_tabulated_input_is_refused():
    m = dd.Model("relay")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), 1.0)
    m.event("on", x - u, reset={"x": 0.0})
    assert dd.sensitivities(m, 1.0, inputs={"u": 0.5}).N.shape == (1, 1)
    with pytest.raises(dd.InputError, match="depends on an input that a table drives"):
        dd.sensitivities(m, 1.0, inputs={"u": dd.signal([0.0, 0.5], [1.0, 0.2])})


@pytest.mark.parametrize(("away", "touches"), [(2e-10, True), (3e-9, False)])
def test_a_run_and_its_derivatives_tell_of_the_same_touches(away, touches):
    """Within ten tolerances of its largest size a guard touches zero: here between 1e-9 and 3e-9 it no longer does."""
    ran = dd.simulate(swing(1.0 + away), 5.0, rtol=1e-10)
    derived = dd.sensitivities(swing(1.0 + away), 5.0, rtol=1e-10)
    told = [(each.event, each.time) for each in records_of(ran, Touched)]
    assert len(told) == touches
    found = [(each.name, each.time) for each in records_of(derived, NearlyHappens)]
    assert [name for name, _ in found] == [name for name, _ in told]
    assert [t for _, t in found] == pytest.approx([t for _, t in told], abs=1e-3)


@pytest.mark.parametrize("by", ["variational", "discrete"])
def test_a_guard_that_its_reset_leaves_at_zero_is_no_event_that_nearly_happens(by):
    """Behind a bounce the height is zero to rounding, and rises."""
    m = dd.Model("ball")
    y, v, e = m.state("y", start=1.0), m.state("v", start=0.0), m.parameter("e", 0.8)
    m.equation(m.der(y), v)
    m.equation(m.der(v), -9.81)
    m.event("hit", y, direction=-1, reset={"v": -e * v})
    assert not records_of(dd.sensitivities(m, 2.0, by=by), NearlyHappens)
