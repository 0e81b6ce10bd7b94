"""Gradients by the adjoint: exact for the steps taken, at any number of parameters, from few checkpoints."""

import casadi as ca
import numpy as np
import pytest
from differentiable_models import ball, linear, pendulum_by_position

import daedalus as dd
from daedalus import catalogue
from daedalus.differentiation.steps import adjoint
from daedalus.differentiation.steps.adjoint import SEGMENT

ALL = ("start", "inputs", "parameters")


def test_final_and_running_terms_of_a_linear_system():
    m = dd.Model("decay")
    x, k = m.state("x", start=1.5), m.parameter("k", 2.0)
    m.equation(m.der(x), -k * x)
    g = dd.gradient(m, 1.0, final=k * x**2, running=x**2, wrt=("start", "parameters"), rtol=1e-11, atol=1e-13)
    e = np.exp(-4.0)
    value = 1.5**2 * (2.0 * e + (1 - e) / 4)
    np.testing.assert_allclose(g.value, value, rtol=1e-9)
    np.testing.assert_allclose(g["x"], 2 * value / 1.5, rtol=1e-9)
    by_k = 1.5**2 * (e - 2 * 2.0 * e + (4 * 2 * e - 2 * (1 - e)) / 16)
    np.testing.assert_allclose(g["k"], by_k, rtol=1e-9)
    assert list(g) == ["x", "k"]


@pytest.mark.parametrize("name", ["quadrotor", "pendulum_3d", "cstr", "lotka_volterra"])
def test_the_gradient_is_that_of_the_sensitivities(name):
    known = catalogue.load(name)
    options = {"start": known.start, "inputs": known.inputs, "rtol": 1e-9, "atol": 1e-12}
    span = (0.0, 0.3 * known.span[1])
    sens = dd.sensitivities(known.model, span, **options)
    final = ca.sumsqr(sens.system.symbol("x"))
    g = dd.gradient(known.model, span, final=final, wrt=ALL, **options)
    expected = 2 * sens.value @ sens._slopes[0]
    np.testing.assert_allclose(g._columns, expected, atol=1e-6 * np.abs(expected).max())


def test_a_constrained_start_is_varied_along_its_constraints():
    m = pendulum_by_position()
    sens = dd.sensitivities(m, 1.0, by="discrete", rtol=1e-8)
    g = dd.gradient(m, 1.0, final=m["q"][0], wrt=("start", "parameters"), rtol=1e-8)
    np.testing.assert_allclose(g.start, sens.M[0], atol=1e-9)
    np.testing.assert_allclose(g["length"], sens.d("q[0]", "length"), atol=1e-9)
    np.testing.assert_allclose(g.start @ sens.projector, g.start, atol=1e-13)


@pytest.mark.parametrize("method", ["euler", "rk4", "tsit5", "dopri5", "bs3", "dop853"])
def test_it_is_the_transpose_of_the_discrete_derivative(method):
    known = catalogue.load("double_pendulum")
    options = {"start": known.start, "method": method, "step": 0.05}
    sens = dd.sensitivities(known.model, 1.0, by="discrete", **options)
    x = sens.system.symbol("x")
    for k in range(4):
        g = dd.gradient(known.model, 1.0, final=x[k], wrt=ALL, **options)
        np.testing.assert_allclose(g._columns, sens._slopes[0, k], rtol=1e-11, atol=1e-13)
        assert g.steps == 20


def test_inputs_on_a_grid():
    m = linear()
    options = {"inputs": {"u": [0.3, -0.2]}, "grid": [0.0, 0.2, 1.0], "rtol": 1e-10, "atol": 1e-12}
    sens = dd.sensitivities(m, 1.0, **options)
    g = dd.gradient(m, 1.0, final="sum", wrt=ALL, **options)
    assert g.inputs.shape == (2, 2)
    np.testing.assert_allclose(g.inputs, sens.d("sum", "u"), atol=1e-9)
    np.testing.assert_allclose(g["u"], sens.d("sum", "u"), atol=1e-9)
    linear_table = {"u": dd.signal([0.0, 1.0], [[0.0, 0.0], [1.0, 2.0]], "linear")}
    driven = dd.gradient(m, 1.0, final="sum", wrt=ALL, inputs=linear_table, rtol=1e-10)
    forward = dd.sensitivities(m, 1.0, inputs=linear_table, rtol=1e-10)
    np.testing.assert_allclose(driven.inputs, forward.d("sum", "u"), atol=1e-8)


def test_through_events():
    sens = dd.sensitivities(ball(), 1.5, rtol=1e-9, by="discrete")
    g = dd.gradient(ball(), 1.5, final="h", wrt=ALL, rtol=1e-9)
    np.testing.assert_allclose(g._columns, sens._slopes[0, 0], rtol=1e-10)


def test_checkpoints_grow_like_the_square_root_of_the_steps():
    m = dd.Model("turn")
    x, w = m.state("x", 2, start=[1.0, 0.0]), m.parameter("w", 1.0)
    m.equation(m.der(x), [w * x[1], -w * x[0]])
    for steps in (1000, 16000):
        g = dd.gradient(m, 10.0, final=x[0], method="rk4", step=10.0 / steps)
        assert g.steps == steps
        # k segments of 16, 32, ... steps: 8 k (k + 1) steps; the longest has 16 k.
        assert g.checkpoints == np.ceil((-1 + np.sqrt(1 + 4 * steps / (SEGMENT / 2))) / 2)
        np.testing.assert_allclose(g["w"], -10 * np.sin(10.0), rtol=1e-6)


def test_many_parameters_cost_one_pull_back():
    m = dd.Model("weights")
    count = 300
    x, c = m.state("x", start=0.5), m.parameter("c", np.linspace(-1, 1, count) / count)
    m.equation(m.der(x), sum(c[k] * ca.sin((k + 1) * x) for k in range(count)) - x)
    g = dd.gradient(m, 1.0, final=x**2, rtol=1e-8)
    sens = dd.sensitivities(m, 1.0, wrt=("c[7]", "c[250]"), rtol=1e-8, by="discrete")
    expected = 2 * sens.value[0] * sens.by_parameters[0]
    np.testing.assert_allclose(np.asarray(g["c"])[[7, 250]], expected, rtol=1e-4)


def test_a_second_call_compiles_nothing():
    from daedalus.compilation import counts

    m = linear()
    x = m["x"]
    call = lambda a: dd.gradient(m, 1.0, running=x[0] ** 2, inputs={"u": [a, 0.0]})  # noqa: E731
    call(0.0)
    before = counts()
    call(1.0)
    after = counts()
    assert after == before


# -- in words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "There is nothing to differentiate."),
        ({"final": "x"}, "final= is one number."),
        ({"running": ca.SX.sym("foreign")}, "The expression contains a foreign symbol."),
        ({"final": [1, 2]}, "final= is an expression or a name."),
    ],
)
def test_what_is_no_scalar_of_the_trajectory_is_refused(options, text):
    with pytest.raises(dd.InputError, match=text):
        dd.gradient(linear(), 1.0, inputs={"u": [0.0, 0.0]}, **options)


def test_a_name_that_was_not_varied_is_refused():
    g = dd.gradient(linear(), 1.0, final="sum", inputs={"u": [0.0, 0.0]})
    with pytest.raises(dd.InputError, match="x was not varied"):
        g["x"]


def test_a_terminal_event_is_refused():
    m = dd.Model("fall")
    h = m.state("h", start=1.0)
    m.equation(m.der(h), -1.0)
    m.event("ground", h, terminal=True)
    with pytest.raises(dd.SolverError, match="ended at a terminal event"):
        dd.gradient(m, 5.0, final=h, wrt="start")


@pytest.mark.parametrize("method", ["tsit5", "radau5"])
def test_a_gradient_looks_at_the_clock_while_it_steps(method, monkeypatch):
    """A run of 1e7 s with time_limit=2 took 13 s of the processor: nothing looked between its first and last step."""
    asked = []
    monkeypatch.setattr(adjoint, "poll", asked.append)
    m = dd.Model("oscillator")
    x, v, k = m.state("x", start=1.0), m.state("v", start=0.0), m.parameter("k", 1.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -k * x)
    dd.gradient(m, 30.0, final=x, method=method)
    # Segments grow by SEGMENT steps each.
    steps = dd.simulate(m, 30.0, method=method).work.steps
    assert asked.count("the steps to differentiate") >= np.sqrt(steps / SEGMENT) > 2
