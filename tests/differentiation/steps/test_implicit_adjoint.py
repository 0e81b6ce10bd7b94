"""Gradients and exact derivatives of implicit steps: forward and reverse, through events, from few checkpoints."""

import numpy as np
import pytest
from differentiable_models import ball, diode_circuit, leaking_tank, linear, pendulum_by_position

import daedalus as dd
from daedalus import catalogue
from daedalus.differentiation.steps import implicit_adjoint, residual_pullback

ALL = ("start", "inputs", "parameters")


@pytest.mark.parametrize("method", ["implicit_euler", "trapezoidal", "gauss2", "gauss3", "radau5"])
def test_fixed_steps_of_a_linear_system_are_powers_of_the_stability_function(method):
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", -0.8)
    m.equation(m.der(x), k * x)
    step, count, z = 0.25, 8, -0.2
    R = dd.tableau(method).stability_function
    sens = dd.sensitivities(m, step * count, by="discrete", order=2, method=method, step=step)
    np.testing.assert_allclose(sens.M[0, 0], complex(R(z)).real ** count, rtol=1e-13)
    h = 1e-5
    slope = (complex(R(z + h)).real ** count - complex(R(z - h)).real ** count) / (2 * h) * step
    np.testing.assert_allclose(sens.d("x", "k"), slope, rtol=1e-8)
    g = dd.gradient(m, step * count, final=x, wrt=ALL, method=method, step=step)
    np.testing.assert_allclose(g._columns, [sens.M[0, 0], float(sens.d("x", "k"))], rtol=1e-13)


@pytest.mark.parametrize("method", ["gauss2", "radau5"])
def test_the_derivative_of_the_steps_is_that_of_the_flow(method):
    """Steps by the core of dd.simulate against the implicit function theorem of dd.flow, first and second order."""
    known = catalogue.load("quadrotor")
    step, count = 10.0 / 240, 3
    options = {"inputs": known.inputs, "wrt": ("start", "inputs"), "order": 2, "method": method, "step": step}
    sens = dd.sensitivities(known.model, step * count, by="discrete", **options)
    flow = dd.flow(known.model, step=step, method=method, steps=count)
    p = np.array(flow.system.start["p"])
    value, first, second = flow.core.tensors(flow.system.default_start, known.inputs["thrust"], p)
    np.testing.assert_allclose(sens.value, value, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(np.hstack([sens.M, sens.N]), first, atol=1e-13 * np.abs(first).max())
    np.testing.assert_allclose(sens.P, second[:, :13, 13:], atol=1e-12 * np.abs(second).max())


def test_the_steps_are_those_of_simulate():
    known = catalogue.load("hires")
    plain = dd.simulate(known.model, 50.0, start=known.start, method="radau5", rtol=1e-5)
    sens = dd.sensitivities(known.model, 50.0, start=known.start, method="radau5", rtol=1e-5, by="discrete")
    np.testing.assert_array_equal(sens.steps, plain.time)
    np.testing.assert_allclose(sens.value, plain._x[-1, :8], rtol=1e-5)
    assert sens.states.work.factorisations == plain.work.factorisations


def test_a_loose_run_is_differentiated_as_it_is():
    """With long steps the map is far from the flow; the discrete derivative follows the map, to second order."""
    m = catalogue.load("van_der_pol").model
    discrete = dd.sensitivities(m, 2.0, by="discrete", order=2, method="implicit_euler", step=0.05)
    report = discrete.verify()
    assert report.passed, report
    assert report["differences"].error < 1e-7
    assert report["the adjoint"].error < 1e-12
    assert report["the steps differentiated"].error < 1e-12
    assert report["second derivatives"].error < 1e-5
    tight = dd.sensitivities(m, 2.0, rtol=1e-9, atol=1e-12)
    assert np.abs(tight.M - discrete.M).max() > 1e-2 * np.abs(tight.M).max()


def test_invariants_hold_to_rounding_with_the_projection_differentiated():
    sens = dd.sensitivities(pendulum_by_position(), 2.0, by="discrete", method="radau5", rtol=1e-4)
    q, v, Q, V = sens.value[:2], sens.value[2:], sens.M[:2], sens.M[2:]
    scale = np.abs(sens.M).max()
    np.testing.assert_allclose(q @ Q, 0.0, atol=1e-13 * scale)
    np.testing.assert_allclose(q @ V + v @ Q, 0.0, atol=1e-12 * scale)


@pytest.mark.parametrize(
    ("model", "options", "final"),
    [
        (diode_circuit, {"inputs": {"u": 1.0}, "grid": 3}, "power"),
        (lambda: leaking_tank(drain=True), {}, "z"),
        (ball, {"method": "radau5"}, "h"),
        (pendulum_by_position, {"method": "gauss3", "step": 0.02}, "rod"),
        (linear, {"method": "radau5", "inputs": {"u": dd.signal([0, 1.2], [[0, 0], [1, 2]], "linear")}}, "sum"),
        (
            linear,
            {"method": "trapezoidal", "step": 0.05, "inputs": {"u": dd.signal([0, 0.4], [[0, 1], [1, 2]])}},
            "sum",
        ),
    ],
    ids=["no formulas", "no formulas, event", "event", "multiplier", "linear table", "held table"],
)
def test_the_gradient_is_the_derivative_of_the_steps(model, options, final):
    options = {"rtol": 1e-6, "atol": 1e-9, **options}
    sens = dd.sensitivities(model(), 1.2, by="discrete", **options)
    g = dd.gradient(model(), 1.2, final=final, wrt=ALL, **options)
    forward = sens._followed(final).first(sens._point, sens._seeds)[0, 0]
    # Segments begin anew, so that the steps of the two differ a little where they are chosen by the error.
    allowed = 1e-12 if "step" in options else 3e-5
    np.testing.assert_allclose(g._columns, forward, atol=allowed * max(1.0, np.abs(forward).max()))
    np.testing.assert_allclose(g.value, float(sens.states[final][-1]), rtol=1e-5)


def test_a_stiff_gradient_turns_to_an_implicit_method_by_itself():
    known = catalogue.load("hires")
    options = {"start": known.start, "rtol": 1e-6, "atol": 1e-10}
    g = dd.gradient(known.model, 100.0, final=known.model["y"][0], **options)
    assert g.steps < 500
    sens = dd.sensitivities(known.model, 100.0, method="radau5", wrt="parameters", **options)
    np.testing.assert_allclose(g.parameters, sens.by_parameters[0], atol=1e-4 * np.abs(sens.by_parameters[0]).max())


def test_running_terms_and_many_parameters():
    m = diode_circuit()
    options = {"inputs": {"u": 1.0}, "rtol": 1e-9, "atol": 1e-12}
    g = dd.gradient(m, 2.0, final=m["v"], running=m["v"] * m["i"], wrt=ALL, **options)
    step = 1e-5
    values = [
        dd.gradient(m, 2.0, final=m["v"], running=m["v"] * m["i"], parameters={"leak": 0.3 + s * step}, **options).value
        for s in (1, -1)
    ]
    np.testing.assert_allclose(g["leak"], (values[0] - values[1]) / (2 * step), rtol=1e-6)


@pytest.mark.parametrize("method", ["rk4", "radau5"])
def test_checkpoints_grow_like_the_square_root_with_events_too(method):
    counts = {}
    for step in (1.5e-3, 1.5e-3 / 16):
        g = dd.gradient(ball(), 1.5, final="h", wrt=ALL, method=method, step=step)
        counts[g.steps] = g.checkpoints
    (few, at_few), (many, at_many) = counts.items()
    assert many > 15 * few
    # Sixteen times the steps, four times the checkpoints; each event adds one.
    assert at_many < 4.5 * at_few
    sens = dd.sensitivities(ball(), 1.5, by="discrete", method=method, step=1.5e-3)
    g = dd.gradient(ball(), 1.5, final="h", wrt=ALL, method=method, step=1.5e-3)
    np.testing.assert_allclose(g._columns, sens._slopes[0, 0], atol=1e-8 * np.abs(sens._slopes).max())


def test_methods_without_steps_of_their_own_are_refused_in_words():
    with pytest.raises(dd.InputError) as refused:
        dd.gradient(leaking_tank(), 1.0, final="z", method="bdf")
    assert str(refused.value) == (
        "dd.gradient cannot be used with bdf.\n"
        "  Because a step of BDF depends on those before it.\n"
        '  Try: method="auto" or method="radau5"; by="variational" for sensitivities with this method'
    )


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (diode_circuit, {"inputs": {"u": 1.0}, "grid": 3, "method": "radau9"}),
        (linear, {"method": "radau5", "inputs": {"u": dd.signal([0, 1.2], [[0, 0], [1, 2]], "linear")}}),
        (lambda: leaking_tank(drain=True), {"method": "radau5"}),
        (pendulum_by_position, {"method": "gauss3", "step": 0.02}),
    ],
    ids=["no formulas, grid", "linear table", "event", "projection"],
)
def test_sparse_stages_pull_back_like_full_ones(model, options, monkeypatch):
    full = dd.gradient(model(), 1.2, final=model().freeze().labels["x"][0], wrt=ALL, rtol=1e-5, **options)
    monkeypatch.setattr(implicit_adjoint, "FULL_MATRIX", 0)
    monkeypatch.setattr(residual_pullback, "FULL_IN_LOOPS", 0)
    sparse = dd.gradient(model(), 1.2, final=model().freeze().labels["x"][0], wrt=ALL, rtol=1e-5, **options)
    np.testing.assert_allclose(sparse._columns, full._columns, atol=1e-12 * np.abs(full._columns).max())
