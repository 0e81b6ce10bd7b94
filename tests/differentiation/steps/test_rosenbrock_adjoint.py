"""Exact derivatives of Rosenbrock steps, forward and reverse, and what takes the place of BDF in runs by "auto"."""

import casadi as ca
import numpy as np
import pytest
from differentiable_models import ball, diode_circuit, leaking_tank, linear, pendulum_by_position

import daedalus as dd
from daedalus import catalogue
from daedalus.integrators.tableaux.rosenbrock_coefficients import rosenbrock_coefficients

ALL = ("start", "inputs", "parameters")
ROSENBROCK = ["rodas4", "rodas5p"]


def stability(method, z):
    """R(z) of a Rosenbrock method by its definition: one step of x' = λ x with h λ = z."""
    numbers = rosenbrock_coefficients(method)
    k = np.zeros(len(numbers.alpha))
    for i in range(len(k)):
        k[i] = (z * (1 + numbers.a[i] @ k) + numbers.c[i] @ k) / (1 / numbers.gamma[0] - z)
    return 1 + numbers.end @ k


@pytest.mark.parametrize("method", ROSENBROCK)
def test_fixed_steps_of_a_linear_system_are_powers_of_the_stability_function(method):
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", -0.8)
    m.equation(m.der(x), k * x)
    step, count, z, h = 0.25, 8, -0.2, 1e-5
    sens = dd.sensitivities(m, step * count, by="discrete", order=2, method=method, step=step)
    np.testing.assert_allclose(sens.M[0, 0], stability(method, z) ** count, rtol=1e-13)
    # The matrix of the step contains k: leaving its derivative out would be wrong in the second digit.
    slope = (stability(method, z + h) ** count - stability(method, z - h) ** count) / (2 * h) * step
    np.testing.assert_allclose(sens.d("x", "k"), slope, rtol=1e-8)
    g = dd.gradient(m, step * count, final=x, wrt=ALL, method=method, step=step)
    np.testing.assert_allclose(g._columns, [sens.M[0, 0], float(sens.d("x", "k"))], rtol=1e-13)


@pytest.mark.parametrize("method", ROSENBROCK)
@pytest.mark.parametrize(
    ("model", "options", "exact"),
    [
        (diode_circuit, {"inputs": {"u": 1.0}, "grid": 3}, True),
        (lambda: catalogue.load("van_der_pol").model, {}, True),
        (linear, {"inputs": {"u": dd.signal([0, 1.2], [[0, 0], [1, 2]], "linear")}}, True),
        (linear, {"inputs": {"u": dd.signal([0, 0.4], [[0, 1], [1, 2]])}}, True),
        (lambda: catalogue.load("quadrotor").model, {"inputs": catalogue.load("quadrotor").inputs}, True),
        (ball, {}, False),
        (lambda: leaking_tank(drain=True), {}, False),
    ],
    ids=["no formulas, grid", "ODE", "linear table", "held table", "projection", "event", "no formulas, event"],
)
def test_four_ways_to_the_derivative_of_rosenbrock_steps(model, options, exact, method):
    options = {"method": method, "rtol": 1e-4, "atol": 1e-7, **options}
    sens = dd.sensitivities(model(), 1.2, by="discrete", **options)
    report = sens.verify()
    assert report.passed, report
    assert report["the adjoint"].error < 1e-12
    if exact:
        # At this tolerance the flow differs from the steps by far more.
        assert report["differences"].error < 1e-7
        assert abs((report["differences"].slope or 2.0) - 2) < 0.15
    flow = dd.sensitivities(model(), 1.2, **options)
    assert flow.verify().passed
    np.testing.assert_allclose(flow.M, sens.M, atol=1e-2 * np.abs(sens.M).max())


def test_second_order_of_the_steps():
    sens = dd.sensitivities(diode_circuit(), 1.0, inputs={"u": 1.0}, by="discrete", order=2, method="rodas5p")
    report = sens.verify()
    assert report.passed, report
    assert report["second derivatives"].error < 1e-5


def test_the_steps_are_those_of_simulate():
    m = diode_circuit()
    plain = dd.simulate(m, 2.0, inputs={"u": 1.0}, method="rodas5p", rtol=1e-5)
    sens = dd.sensitivities(m, 2.0, inputs={"u": 1.0}, method="rodas5p", rtol=1e-5, by="discrete")
    np.testing.assert_array_equal(sens.steps, plain.time)
    assert sens.states.work.factorisations == plain.work.factorisations


@pytest.mark.parametrize("final", ["v", "power"])
def test_the_gradient_by_auto_at_a_loose_tolerance(final):
    m, options = diode_circuit(), {"inputs": {"u": 1.0}, "rtol": 1e-4, "atol": 1e-7}
    g = dd.gradient(m, 2.0, final=final, wrt=ALL, **options)
    assert g.method == "rodas5p"
    tight = dd.gradient(m, 2.0, final=final, wrt=ALL, inputs={"u": 1.0}, rtol=1e-9, atol=1e-12)
    assert tight.method == "radau9"
    np.testing.assert_allclose(g._columns, tight._columns, atol=1e-2 * np.abs(tight._columns).max())
    # Exact for its own steps: differences of its own value agree to far more digits than those of the tolerance.
    step = 1e-3
    near = [dd.gradient(m, 2.0, final=final, parameters={"leak": 0.3 + s * step}, **options).value for s in (1, -1)]
    np.testing.assert_allclose(g["leak"], (near[0] - near[1]) / (2 * step), rtol=1e-3)


def many_cells(count=250):
    """Reaction and diffusion along a line, with an algebraic variable in each cell that has no formula."""
    m = dd.Model("cells")
    x = m.state("x", count, start=np.linspace(0.2, 1.0, count))
    z = m.algebraic("z", count, start=np.full(count, 0.5))
    k = m.parameter("k", 0.5)
    left, right = ca.vertcat(x[0], x[:-1]), ca.vertcat(x[1:], x[-1])
    m.equation(m.der(x), 5.0 * (left - 2 * x + right) - k * z)
    m.equation(z + z**3, x)
    return m


def test_auto_turns_from_bdf_to_a_method_with_steps_of_its_own(monkeypatch):
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")
    m = many_cells()
    assert dd.simulate(m, 0.05, rtol=1e-4).method == "bdf"
    g = dd.gradient(m, 0.05, final=m["x"][0], rtol=1e-4)
    assert g.method in ("radau5", "rodas5p")
    sens = dd.sensitivities(m, 0.05, wrt="k", by="discrete", rtol=1e-4)
    assert sens.states.method == g.method
    np.testing.assert_allclose(g["k"], sens.d("x[0]", "k"), rtol=1e-4)


def test_a_discrete_derivative_by_auto_does_not_follow_explicit_steps_into_stiffness():
    known = catalogue.load("hires")
    sens = dd.sensitivities(known.model, 100.0, start=known.start, rtol=1e-4, by="discrete")
    assert sens.how == "discrete"
    assert sens.states.method == "rodas5p"
    assert sens.states.work.steps < 200


def test_results_of_bdf_and_of_models_with_a_varying_mass_are_verified_by_radau():
    known = catalogue.load("hires")
    report = dd.sensitivities(known.model, 10.0, start=known.start, method="bdf", rtol=1e-6, atol=1e-10).verify()
    assert report.passed, report
    assert report["the steps differentiated"].detail == (
        "the result is variational by bdf, the steps are those of radau5"
    )
    assert dd.sensitivities(pendulum_by_position(), 1.0, method="rodas5p").verify().passed
    with pytest.raises(dd.InputError, match="does not fit this model"):
        dd.sensitivities(pendulum_by_position(), 1.0, method="rodas5p", by="discrete")
