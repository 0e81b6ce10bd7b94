"""Conditions across which equations jump: which they are, and derivatives carried over them, four ways."""

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus import catalogue
from daedalus.differentiation.events.jumping_conditions import jumping_conditions
from daedalus.simulation.result.records_of_derivatives import EquationsJump, JumpNotDifferentiated

ALL = ("start", "inputs", "parameters")


@pytest.fixture(autouse=True)
def few_calls(monkeypatch):
    """Each function is called some thousand times at most: compiling would take longer."""
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")


def ramp():
    """x grows by 1 below k and by 3 above it: x(2) = 6 - 2 k + 3 x₀ from x₀ near 0."""
    m = dd.Model("ramp")
    x, k = m.state("x", start=0.0), m.parameter("k", 1.0)
    m.equation(m.der(x), ca.if_else(x < k, 1.0, 3.0))
    return m


def friction(mu=0.3):
    """A mass on a spring with dry friction, over turning points at which it does not stick."""
    m = dd.Model("friction")
    x, v = m.state("x", start=1.0), m.state("v", start=0.2)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -4 * x - m.parameter("mu", mu) * ca.sign(v))
    return m


def supply():
    """A supply that is switched off at a time that is a parameter."""
    m = dd.Model("supply")
    x, end, u = m.state("x", start=1.0), m.parameter("end", 0.3), m.input("u")
    m.equation(m.der(x), ca.if_else(m.time < end, 1.0, u - x))
    return m


def valve():
    """A tank behind an equation without formula, whose drain opens further below a level."""
    m = dd.Model("valve")
    x, z, k = m.state("x", start=1.0), m.algebraic("z", start=0.6), m.parameter("k", 0.5)
    m.equation(m.der(x), -z * ca.if_else(z > k, 1.0, 3.0))
    m.equation(z + z**3, x)
    return m


def mud():
    """A ball that bounces in a layer of mud."""
    m = dd.Model("mud")
    h, v, e = m.state("h", start=1.0), m.state("v", start=0.0), m.parameter("e", 0.8)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81 - ca.if_else(h > 0.5, 0.0, 2.0 * v))
    m.event("bounce", h, direction=-1, reset={"v": -e * v})
    return m


def test_jumps_are_told_from_corners():
    m = dd.Model("many")
    x, y, k = m.state("x", start=1.0), m.state("y", start=1.0), m.parameter("k", 0.3)
    smooth = ca.fabs(x) + ca.fmax(x, y) + ca.if_else(x > k, x - k, 0.0) + ca.if_else(m.time > 1, 2.0, 0.0)
    m.equation(m.der(x), smooth - ca.sign(y))
    m.equation(m.der(y), ca.if_else(x * y > 2, 1.0, x) + ca.if_else(m.time > k, 1.0, 0.0))
    assert jumping_conditions(m.freeze()) == ("y > 0", "y < 0", "x*y > 2", "k < t")


@pytest.mark.wide
@pytest.mark.parametrize("name", ["nand_gate", "medical_akzo"])
def test_large_systems_have_corners_alone(name):
    assert jumping_conditions(catalogue.load(name).model.freeze()) == ()


@pytest.mark.parametrize("by", ["variational", "discrete"])
@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "rodas5p"])
def test_a_ramp_with_a_bend_has_known_derivatives(method, by):
    sens = dd.sensitivities(ramp(), 2.0, method=method, by=by)
    np.testing.assert_allclose(sens.value, 4.0, rtol=1e-9)
    np.testing.assert_allclose(sens.M, [[3.0]], rtol=1e-9)
    np.testing.assert_allclose(sens.d("x", "k"), -2.0, rtol=1e-9)
    assert "the equations jump at t = 1, where k > x changes" in sens.notes
    np.testing.assert_allclose(sens.at([0.5, 1.5]).d("x", "k"), [0.0, -2.0], atol=1e-9)
    assert (sens.events, sens.states.events, sens.states.success) == ([], [], True)
    # As in a run alone, the moment of a switch has two rows.
    assert np.all(np.diff(sens.states.time) >= 0)
    g = dd.gradient(ramp(), 2.0, final="x", wrt=ALL, method=method)
    np.testing.assert_allclose(g._columns, [3.0, -2.0], rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (friction, {}),
        (friction, {"method": "radau5"}),
        (supply, {"inputs": {"u": 0.3}, "grid": 3}),
        (valve, {}),
        (mud, {}),
        (mud, {"method": "rodas5p"}),
    ],
    ids=["friction", "friction, radau5", "time of a parameter", "no formulas", "with an event", "event, rodas5p"],
)
def test_four_ways_across_jumps(model, options):
    options = {"rtol": 1e-7, "atol": 1e-10, **options}
    sens = dd.sensitivities(model(), 1.2, **options)
    report = sens.verify()
    assert report.passed, report
    assert report["differences"].error < 1e-6
    assert report["the adjoint"].error < 1e-12
    g = dd.gradient(model(), 1.2, final=sens.system.labels["x"][0], wrt=ALL, **options)
    np.testing.assert_allclose(g._columns, sens._slopes[0, 0], atol=1e-5)


def test_differences_of_simulate_agree():
    """Three turning points: sign(v) is two conditions, which change together."""
    options = {"rtol": 1e-11, "atol": 1e-13}
    sens = dd.sensitivities(friction(), 4.0, rtol=1e-9, atol=1e-12)
    near = [dd.simulate(friction(), 4.0, parameters={"mu": 0.3 + s * 1e-5}, **options) for s in (1, -1)]
    np.testing.assert_allclose(sens.d("x", "mu"), (near[0]["x"][-1] - near[1]["x"][-1]) / 2e-5, rtol=1e-5)
    assert len(records_of(sens, EquationsJump)) == 3


def bent(jump=0.0, meet=1.0):
    """A spring that is three times as stiff on one side, and perhaps a force that jumps where it bends."""
    m = dd.Model("bent")
    x, v, k = m.state("x", start=2.0), m.state("v", start=0.0), m.parameter("k", 1.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -3 * ca.fabs(x) * k - x + jump * ca.if_else(meet * x + 0.5 * v * (1 - meet) > 0, -1.0, 1.5))
    return m


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("method", ["auto", "radau5", "rodas5p"])
@pytest.mark.parametrize("kind", [{}, {"jump": 1.0}, {"jump": 1.0, "meet": 2.0}, {"jump": 1.0, "meet": 0.7}])
def test_steps_are_differentiated_on_one_side_of_a_corner_each(kind, method, rtol):
    near = [dd.simulate(bent(**kind), 1.5, parameters={"k": k}, rtol=1e-12, atol=1e-13) for k in (1 + 1e-5, 1 - 1e-5)]
    wanted = (near[0]["x"][-1] - near[1]["x"][-1]) / 2e-5
    sens = dd.sensitivities(bent(**kind), 1.5, by="discrete", method=method, rtol=rtol)
    assert sens.d("x", "k") == pytest.approx(wanted, rel=1e-8 + 0.3 * rtol)
    g = dd.gradient(bent(**kind), 1.5, final="x", wrt=["k"], method=method, rtol=rtol)
    assert g["k"] == pytest.approx(wanted, rel=1e-8 + 0.3 * rtol)


def test_a_run_that_rests_on_a_corner_is_differentiated_over_it():
    m = dd.Model("rest")
    x, k = m.state("x", start=0.0), m.parameter("k", 1.0)
    y = m.state("y", start=1.0)
    m.equation(m.der(x), -ca.fabs(x))
    m.equation(m.der(y), -k * y)
    sens = dd.sensitivities(m, 1.0, by="discrete", rtol=1e-8)
    assert sens.d("y", "k") == pytest.approx(-np.exp(-1.0), rel=1e-6)
    assert dd.gradient(m, 1.0, final="y", wrt=["k"], rtol=1e-8)["k"] == pytest.approx(-np.exp(-1.0), rel=1e-6)


def test_what_cannot_be_located_is_noted():
    m = dd.Model("stairs")
    x = m.state("x", start=0.2)
    m.equation(m.der(x), 1.0 + ca.sqrt(3 * x - ca.floor(3 * x)))
    assert JumpNotDifferentiated("floor") in dd.sensitivities(m, 0.1).records


def test_backwards_in_time():
    m = dd.Model("ramp")
    x, k = m.state("x", start=4.0), m.parameter("k", 1.0)
    m.equation(m.der(x), ca.if_else(x < k, 1.0, 3.0))
    sens = dd.sensitivities(m, (2.0, 0.0))
    np.testing.assert_allclose([sens.value[0], sens.M[0, 0], sens.d("x", "k")], [0.0, 1 / 3, 2 / 3], atol=1e-9)
    assert sens.verify().passed


def test_conditions_inside_each_other_and_at_one_time():
    """x(2) = k + 2 (t₂ - k + x₀) + 4 (2 - t₂) with t₂ = 1.3 - y₀."""
    m = dd.Model("inside")
    x, y, k = m.state("x", start=0.0), m.state("y", start=0.0), m.parameter("k", 1.0)
    m.equation(m.der(x), ca.if_else(x > k, ca.if_else(y > 1.3, 4.0, 2.0), 1.0))
    m.equation(m.der(y), 1.0)
    sens = dd.sensitivities(m, 2.0)
    np.testing.assert_allclose(sens.d("x", "start"), [2.0, 2.0], rtol=1e-9)
    np.testing.assert_allclose(sens.d("x", "k"), -1.0, rtol=1e-9)
    both = dd.Model("both")
    x, k = both.state("x", start=0.0), both.parameter("k", 1.0)
    both.equation(both.der(x), 1 + ca.if_else(x > k, 1.0, 0.0) + ca.if_else(x > 1.0, 1.0, 0.0))
    (jump,) = records_of(dd.sensitivities(both, 2.0), EquationsJump)
    assert {jump.condition, *jump.at_once} == {"x > k", "x > 1"}
    assert str(jump) == (
        f"the equations jump at t = 1, where {jump.condition} changes; {jump.at_once[0]} changes at the same time, and "
        "the derivative depends on which comes first"
    )


@pytest.mark.parametrize("rate", [1.0, -1.0, 1e9])
def test_conditions_at_one_time_that_do_not_meet_have_the_derivative_of_each(rate):
    """a' jumps from 1 to 3 at a = 1, b' from 2 to 1 at b = 2: ∂a/∂a₀ = 3, ∂b/∂b₀ = 1/2, in seconds and nanoseconds."""
    m = dd.Model("side by side")
    a, b = m.state("a", start=0.0), m.state("b", start=0.0)
    m.equation(m.der(a), rate * ca.if_else(a > 1, 3.0, 1.0))
    m.equation(m.der(b), rate * ca.if_else(b > 2, 1.0, 2.0))
    sens = dd.sensitivities(m, (0.0, 1.5 / rate))
    np.testing.assert_allclose(sens.M, [[3.0, 0.0], [0.0, 0.5]], rtol=1e-6, atol=1e-9)
    assert {jump.condition for jump in records_of(sens, EquationsJump)} == {"a > 1", "b > 2"}
    assert not any(jump.at_once for jump in records_of(sens, EquationsJump))


def test_a_condition_on_a_condition_changes_where_that_one_does():
    m = dd.Model("switch")
    x, late = m.state("x", start=0.1), m.parameter("late", 0.4)
    closed = m.time > late
    m.equation(m.der(x), ca.if_else(closed > 0.5, -x, 1.0) + ca.if_else((x > 0.3) > 0.5, 1.0, 0.0))
    assert jumping_conditions(m.freeze()) == ("x > 0.3", "late < t")
    report = dd.sensitivities(m, 1.0, wrt=ALL[:1] + ALL[2:], rtol=1e-9).verify()
    assert report.passed, report


def test_jumps_and_corners_of_one_model_are_verified_together():
    m = dd.Model("diode behind a switch")
    x, on, k = m.state("x", start=-0.5), m.parameter("on", 0.2), m.parameter("k", 2.0)
    m.equation(m.der(x), ca.if_else(m.time > on, 3.0, -1.0) - k * ca.fmax(x, 0))
    report = dd.sensitivities(m, 1.0, rtol=1e-9).verify()
    assert all(check.passed for check in report.checks), report
