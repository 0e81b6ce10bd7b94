"""Derivatives by inputs that functions and expressions drive, and of models with one state and several parameters."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

FIXED = {"implicit_euler", "trapezoidal", "gauss2", "sdirk2", "lobatto_iiic3"}
IMPLICIT = sorted(m.name for m in dd.methods() if not m.explicit and m.family != "lobatto" and m.order < 10)


def one_state():
    m = dd.Model("one state")
    x, a, b, c = m.state("x", start=1.0), m.parameter("a", 1.0), m.parameter("b", 2.0), m.parameter("c", 0.1)
    m.equation(m.der(x), -a * x + b + c * m.time)
    return m


def driven():
    m = dd.Model("driven")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    u, w, a = m.input("u"), m.input("w", 2), m.parameter("a", 1.5)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -a * x + u + w[0] * x - w[1] * v)
    m.output("power", u * v)
    return m


def by_a():
    """∂x(1)/∂a of x' = -a x + b + c t with a = 1, by differences of the closed form."""

    def end(a, b=2.0, c=0.1):
        steady = b / a - c / a**2
        return steady + c / a + (1.0 - steady) * np.exp(-a)

    return (end(1.0 + 1e-6) - end(1.0 - 1e-6)) / 2e-6


@pytest.mark.parametrize("method", IMPLICIT)
@pytest.mark.parametrize("by", ["variational", "discrete"])
def test_one_state_and_several_parameters_by_every_implicit_method(method, by):
    if (method, by) == ("bdf", "discrete"):
        pytest.skip("a step of BDF depends on those before it")
    options = {} if dd.methods()[method].adaptive else {"step": 0.01}
    sens = dd.sensitivities(one_state(), 1.0, method=method, by=by, **options)
    assert sens.d("x", "a") == pytest.approx(by_a(), abs=0.02 if method == "implicit_euler" else 1e-4)
    assert sens.by_parameters.shape == (1, 3)


@pytest.mark.parametrize("method", ["radau5", "rodas5p"])
def test_second_derivatives_of_one_state(method):
    sens = dd.sensitivities(one_state(), 1.0, method=method, order=2, rtol=1e-9)
    assert sens.d("x", "a", "b") == pytest.approx(-1 + 2 / np.e, abs=1e-6)


def test_radau9_may_change_its_order_between_events():
    m = dd.Model("van der Pol")
    x, v, mu = m.state("x", start=2.0), m.state("v", start=0.0), m.parameter("mu", 100.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), mu * (1 - x**2) * v - x)
    m.event("through_zero", x, direction=0)
    sens = dd.sensitivities(m, 300.0, method="radau9", by="discrete", rtol=1e-3, atol=1e-6)
    assert np.all(np.isfinite(sens.at([10.0, 100.0, 290.0]).M))


def differences(m, **inputs):
    """∂x(1)/∂c for a constant c added to the input u, as `inputs` say it."""

    def end(c):
        given = {name: value(c) for name, value in inputs.items()}
        return float(dd.simulate(m, 1.0, inputs=given, rtol=1e-11, atol=1e-13)["x"][-1])

    return (end(1e-4) - end(-1e-4)) / 2e-4


@pytest.mark.parametrize("by", ["variational", "discrete"])
@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_inputs_given_as_functions_have_their_columns(method, by):
    m = driven()
    inputs = {"u": np.sin, "w": [0.1, 0.2]}
    sens = dd.sensitivities(m, 1.0, inputs=inputs, method=method, by=by, rtol=1e-9)
    assert sens.N.shape == (2, 3)
    expected = differences(m, u=lambda c: lambda t: np.sin(t) + c, w=lambda c: [0.1, 0.2])
    assert sens.N[0, 0] == pytest.approx(expected, abs=1e-7)
    assert sens.d("x", "u") == pytest.approx(expected, abs=1e-7)
    np.testing.assert_allclose(sens.states["u"], np.sin(sens.states.time), atol=1e-15)
    numbers = dd.sensitivities(m, 1.0, inputs={"u": ca.sin(m.time), "w": lambda t: np.array([0.1, 0.2])}, rtol=1e-9)
    np.testing.assert_allclose(numbers.N, sens.N, atol=1e-7)
    on_grid = dd.sensitivities(m, 1.0, inputs=inputs, grid=4, method=method, by=by, rtol=1e-9).N
    np.testing.assert_allclose(on_grid.sum(axis=1), sens.N, atol=1e-7)


def test_what_is_added_to_a_feedback():
    m = driven()
    feedback = -0.5 * m["x"] - 0.1 * m["v"]
    sens = dd.sensitivities(m, 1.0, inputs={"u": feedback, "w": 0.0}, rtol=1e-9)
    assert sens.N[0, 0] == pytest.approx(differences(m, u=lambda c: feedback + c, w=lambda c: 0.0), abs=1e-7)
    assert sens.verify().passed
    g = dd.gradient(m, 1.0, final="x", inputs={"u": feedback, "w": 0.0}, wrt="inputs", rtol=1e-9)
    assert g["u"] == pytest.approx(sens.N[0, 0], abs=1e-7)


def test_an_input_that_is_an_expression_of_another():
    m = driven()
    inputs = {"u": m["w"][0], "w": lambda t: np.array([np.sin(t), 0.2])}
    moved = {**inputs, "w": lambda t: np.array([np.sin(t) + 1e-4, 0.2])}
    values = [float(dd.simulate(m, 1.0, inputs=own, rtol=1e-11)["x"][-1]) for own in (inputs, moved)]
    sens = dd.sensitivities(m, 1.0, inputs=inputs, rtol=1e-9)
    assert sens.d("x", "w")[0] == pytest.approx((values[1] - values[0]) / 1e-4, abs=1e-3)
    with pytest.raises(dd.InputError, match="The expressions for the inputs u, w depend on each other"):
        dd.simulate(m, 1.0, inputs={"u": m["w"][0], "w": ca.vertcat(m["u"], 0)})


def test_an_input_that_constraints_differentiate_has_no_columns_and_says_so():
    m = dd.Model("follower")
    x, force, u = m.state("x"), m.algebraic("force"), m.input("u")
    size = m.parameter("size", 1.0)
    m.equation(m.der(m.der(x)), force)
    m.equation(x, u)
    sens = dd.sensitivities(m, 1.0, inputs={"u": size * ca.sin(m.time)}, start={"x": 0.0, "x_dot": 1.0})
    with pytest.raises(dd.InputError, match="There is no derivative by the input u") as caught:
        _ = sens.N
    assert "the constraints differentiate it" in str(caught.value)


def test_a_grid_without_inputs_divides_nothing():
    assert dd.sensitivities(one_state(), 1.0, grid=4, method="radau5").M.shape == (1, 1)
    assert dd.gradient(one_state(), 1.0, final="x", grid=4, method="radau5")["a"] == pytest.approx(by_a(), abs=1e-5)
