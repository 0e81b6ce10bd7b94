"""Derivatives through clocks, schedules, conditions and discrete variables, against closed forms and other runs."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def sampled_loop():
    m = dd.Model("loop")
    x, v = m.state("x", start=0.3), m.state("v", start=0.0)
    k, u, integral = m.parameter("k", 2.0), m.discrete("u"), m.discrete("integral", start=0.1)
    m.equation(m.der(x), v)
    m.equation(m.der(v), u - 0.5 * v - x)
    m.every(0.1, {"u": k * (1 - x) + integral, "integral": integral + 0.1 * (1 - x)})
    m.output("effort", u**2)
    return m


def thermostat():
    m = dd.Model("room")
    T, on = m.state("T", start=20.0), m.discrete("on", start=1)
    low, heat = m.parameter("low", 18.0), m.parameter("heat", 10.0)
    m.equation(m.der(T), heat * on - 0.5 * (T - 10.0))
    m.when(T > 22, {"on": 0}, name="warm")
    m.when(low > T, {"on": 1}, name="cold")
    return m


def machine():
    """Modes compared by ==, a time kept in a discrete variable, conditions put together."""
    m = dd.Model("tank")
    h, mode, since = m.state("h", start=0.0), m.discrete("mode", start=0), m.discrete("since")
    a, d = m.parameter("a", 1.0), m.parameter("d", 0.5)
    m.equation(m.der(h), ca.if_else(mode == 0, a, ca.if_else(mode == 1, 0.1 * h, -2.0)))
    m.when(dd.all_of(mode == 0, h > 1), {"mode": 1, "since": m.time}, name="full")
    m.when(dd.all_of(mode == 1, m.time - since > d), {"mode": 2}, name="settled")
    m.when(dd.all_of(mode == 2, h < 0), {"mode": 0}, name="empty")
    return m


def algebraic_loop():
    """x' and z without formulas, a clock that assigns a state and reads z, an event that reads z."""
    m = dd.Model("dae")
    x, z, a, u = m.state("x", start=1.0), m.algebraic("z", start=0.5), m.parameter("a", 0.7), m.discrete("u", start=0.2)
    m.equation(m.der(x), -z + u)
    m.equation(z + 0.3 * z**3, a * x + u)
    m.every(0.25, {"u": -0.5 * z, "x": x + 0.1 * u * a})
    m.when(x < 0.4, {"x": x + 0.6 + z})
    return m


def bent():
    """A condition of the equations whose threshold a clock moves."""
    m = dd.Model("bent")
    x, u, c, level = (
        m.state("x", start=0.0),
        m.discrete("u", start=1.0),
        m.parameter("c", 0.5),
        m.discrete("th", start=0.3),
    )
    m.equation(m.der(x), ca.if_else(x > level, 2.0, c) * u)
    m.every(0.4, {"u": 1 - 0.3 * x, "th": level + 0.1 * c}, offset=0.4)
    return m


def differences(m, span, name, of, value, parameter=True, step=1e-5):
    def end(changed):
        given = {"parameters": {name: changed}} if parameter else {"start": {name: changed}}
        return float(dd.simulate(m, span, rtol=1e-11, atol=1e-13, **given).end[of])

    return (end(value + step) - end(value - step)) / (2 * step)


CASES = [
    (sampled_loop, 2.05, "x", [("k", 2.0, True), ("integral", 0.1, False), ("x", 0.3, False)]),
    (sampled_loop, 0.6, "integral", [("k", 2.0, True), ("integral", 0.1, False)]),
    (thermostat, 5.0, "T", [("low", 18.0, True), ("heat", 10.0, True), ("T", 20.0, False), ("on", 1.0, False)]),
    (machine, 4.5, "h", [("a", 1.0, True), ("d", 0.5, True)]),
    (algebraic_loop, 2.1, "z", [("a", 0.7, True), ("x", 1.0, False)]),
    (bent, 2.0, "x", [("c", 0.5, True), ("th", 0.3, False)]),
]


@pytest.mark.parametrize(("model", "span", "of", "varied"), CASES, ids=[f"{m.__name__} {of}" for m, _, of, _ in CASES])
def test_derivatives_are_those_of_runs_with_other_values(model, span, of, varied):
    m = model()
    sens = dd.sensitivities(m, span, rtol=1e-9)
    for name, value, parameter in varied:
        wanted = differences(m, span, name, of, value, parameter)
        assert float(sens.d(of, name)) == pytest.approx(wanted, rel=1e-6, abs=1e-7), name


@pytest.mark.parametrize(("model", "span"), [(sampled_loop, 1.0), (thermostat, 3.0), (machine, 2.5), (bent, 2.0)])
def test_results_verify_themselves(model, span):
    found = dd.sensitivities(model(), span, rtol=1e-8).verify()
    assert found.passed, found
    assert {check.name for check in found.checks if check.ran} >= {"differences", "the adjoint"}


@pytest.mark.parametrize("method", ["tsit5", "radau5", "bdf", "rodas5p"])
def test_every_method_gives_the_same(method):
    wanted = dd.sensitivities(algebraic_loop(), 1.1, rtol=1e-9).d("x", "a")
    if method == "tsit5":
        found = dd.sensitivities(sampled_loop(), 1.0, rtol=1e-8, method=method).d("x", "k")
        wanted = dd.sensitivities(sampled_loop(), 1.0, rtol=1e-9).d("x", "k")
    else:
        found = dd.sensitivities(algebraic_loop(), 1.1, rtol=1e-8, method=method).d("x", "a")
    assert float(found) == pytest.approx(float(wanted), rel=1e-5)


@pytest.mark.parametrize(
    ("model", "span", "of", "name"), [(sampled_loop, 2.05, "x", "k"), (thermostat, 5.0, "T", "heat")]
)
def test_the_gradient_agrees(model, span, of, name):
    m = model()
    wanted = dd.sensitivities(m, span, rtol=1e-9)
    g = dd.gradient(m, span, final=of, wrt=("start", "parameters"), rtol=1e-9)
    assert g[name] == pytest.approx(float(wanted.d(of, name)), rel=1e-7)
    assert g.start.tolist() == pytest.approx(wanted.M[0].tolist(), rel=1e-7)
    running = dd.gradient(m, span, running=m[of] ** 2, rtol=1e-9)[name]
    step, own = 1e-5, float(m.parameters[name].start[0])
    given = {"running": m[of] ** 2, "rtol": 1e-10}
    ends = [dd.gradient(m, span, parameters={name: own + sign * step}, **given).value for sign in (1, -1)]
    assert running == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)


def test_a_sampled_scalar_loop_has_its_closed_form():
    """x' = u, u = -k x at every tick: x falls by 1 - k h a tick."""
    m = dd.Model("deadbeat")
    x, u, k = m.state("x", start=1.0), m.discrete("u"), m.parameter("k", 2.0)
    m.equation(m.der(x), u)
    m.every(0.1, {"u": -k * x})
    sens = dd.sensitivities(m, 1.0, rtol=1e-10)
    assert sens.value.tolist() == pytest.approx([0.8**10])
    assert sens.M.tolist() == [pytest.approx([0.8**10])]
    assert float(sens.d("x", "k")) == pytest.approx(-0.1 * 10 * 0.8**9)
    # The tick at the end is part of the run, and the one at the start has read the start.
    assert float(sens.d("u", "x")) == pytest.approx(-2.0 * 0.8**10)
    assert float(sens.d("x", "u")) == 0.0
    assert float(sens.at(0.0).d("u", "x")) == pytest.approx(-2.0)
    assert float(sens.at(0.55).d("x", "x")) == pytest.approx(0.8**5 * 0.9)


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_events_follow_the_clocks_that_brought_them_about_beside_large_states(method):
    """y = k t, and k more for what the tick sets, beside an oscillation whose errors are larger than that."""
    m = dd.Model("small beside large")
    a, b, y = m.state("a", start=1e8), m.state("b", start=0.0), m.state("y", start=0.0)
    d, k = m.discrete("d", start=0.0), m.parameter("k", 1.0)
    m.equation(m.der(a), 20 * b)
    m.equation(m.der(b), -20 * a * k - 1e-9 * a * a)
    m.equation(m.der(y), k)
    m.every(10.0, {"d": 0.001 * k}, offset=1.0)
    m.when(d > 0.0005, {"y": y + 1000 * d})
    assert float(dd.sensitivities(m, 2.0, rtol=1e-4, method=method).d("y", "k")) == pytest.approx(3.0, rel=1e-9)


def test_the_time_of_a_condition_moves():
    """T' = 10 - 0.5 (T - 10) from 20 reaches 22 after 2 ln(10 / 8)."""
    sens = dd.sensitivities(thermostat(), 1.0, rtol=1e-10)
    first = sens.events[0]
    assert first.name == "warm"
    assert first.time == pytest.approx(2 * np.log(10 / 8))
    assert first.time_derivative["T"] == pytest.approx(-2 / 10)


def test_a_schedule_does_not_move_and_its_values_do():
    m = dd.Model("motor")
    w, voltage, gain = m.state("w", start=0.0), m.discrete("voltage"), m.parameter("gain", 3.0)
    m.equation(m.der(w), voltage - w)
    m.schedule([1.0], {"voltage": 12.0 * gain})
    sens = dd.sensitivities(m, 2.0, rtol=1e-10)
    assert float(sens.d("w", "gain")) == pytest.approx(12.0 * (1 - np.exp(-1)))
    assert sens.at(0.5).d("w", "gain") == 0.0


def test_results_are_those_of_differential_variables():
    sens = dd.sensitivities(sampled_loop(), 0.5)
    assert sens.M.shape == (2, 2)
    assert sens.value.shape == (2,)
    assert sens.by_parameters.shape == (2, 1)
    assert sens.labels == ["x", "v", "u", "integral", "k"]
    assert sens.to_xarray([0.1, 0.2])["M"].shape == (2, 2, 2)
    assert sens.rank().names
    assert sens.states["u"].shape == sens.states.time.shape
    assert float(sens.d("effort", "k")) == pytest.approx(2 * sens.states.end["u"] * float(sens.d("u", "k")))
    again = pickle.loads(pickle.dumps(sens))
    assert again.M.tolist() == sens.M.tolist()
    assert float(again.at(0.3).d("x", "k")) == float(sens.at(0.3).d("x", "k"))


def test_constrained_motion_goes_through_clocks():
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.dot(m.rate(q), m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.dot(q, q) - 1)
    push, gain = m.discrete("push"), m.parameter("gain", -0.5)
    m.generalised_force(q, ca.vertcat(push, 0))
    m.every(0.25, {"push": gain * q[0]}, name="pusher")
    m.every(0.5, {"q_dot": 0.5 * m.rate(q)}, offset=0.3, name="brake")
    sens = dd.sensitivities(m, 0.7, rtol=1e-9)
    wanted = differences(m, 0.7, "gain", "q[0]", -0.5)
    assert float(sens.d("q[0]", "gain")) == pytest.approx(wanted, rel=1e-6)


def test_what_has_no_derivative_is_refused_in_words():
    coded = dd.Model("coded")
    x, u = coded.state("x", start=0.0), coded.discrete("u")
    coded.equation(coded.der(x), u)
    coded.every(0.1, call=lambda t, values, memory: ((1.0,), memory), writes=["u"], name="controller")
    with pytest.raises(dd.InputError) as error:
        dd.sensitivities(coded, 1.0)
    assert str(error.value) == (
        "A run cannot be differentiated through the Python code of controller.\n"
        "  Because Python code is called with numbers, and has no derivative.\n"
        "  Try: m.every(period, {name: formula}), with its memory in discrete variables"
    )
    with pytest.raises(dd.InputError, match="mode cannot be varied"):
        dd.sensitivities(machine(), 1.0, wrt="mode")
    with pytest.raises(dd.SolverError, match="Second derivatives through an instant are not supported"):
        dd.sensitivities(sampled_loop(), 1.0, order=2)
    grazing = dd.Model("grazing")
    h, v, n = grazing.state("h", start=0.0), grazing.state("v", start=1.0), grazing.discrete("n")
    grazing.equation(grazing.der(h), v)
    grazing.equation(grazing.der(v), -1.0)
    grazing.when(h >= 0.5 - 1e-14, {"n": n + 1})
    with pytest.raises(dd.SolverError, match=r"grazes|has no derivative"):
        dd.sensitivities(grazing, 1.5, rtol=1e-8)


@pytest.mark.parametrize("at", [1.0, 1.0 - 1e-9, 1.0 + 1e-9])
def test_a_condition_that_changes_where_a_clock_ticks_still_moves(at):
    """The tick at t = 1 does not make the change: x reaches k by itself, a little before or behind."""
    m = dd.Model("near")
    x, y, u, k = m.state("x", start=0.0), m.state("y", start=0.2), m.discrete("u", start=0.0), m.parameter("k", at)
    m.equation(m.der(x), 1.0)
    m.equation(m.der(y), ca.if_else(x > k, 3.0, 1.0) + u)
    m.every(0.5, {"u": 0.1 * m.time})
    # y(2) has 1 up to k and 3 from there on.
    assert float(dd.sensitivities(m, 2.0, wrt="k").d("y", "k")) == pytest.approx(-2.0)
    assert dd.gradient(m, 2.0, final="y", wrt="k")["k"] == pytest.approx(-2.0)
