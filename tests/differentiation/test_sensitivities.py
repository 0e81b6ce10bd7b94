"""dd.sensitivities from the user's side: shapes, names, grids, labels, and what is refused in words."""

import casadi as ca
import numpy as np
import pytest
from differentiable_models import linear
from scipy.linalg import expm
from tests.support.records_of import records_of

import daedalus as dd
from daedalus import catalogue
from daedalus.simulation.result.records_of_models import StartCompleted

TIGHT = {"rtol": 1e-11, "atol": 1e-13}


def exact_linear(end, a=0.7, x0=(1.0, -0.5), u=(0.3, -0.2)):
    """x(end), M and N of the linear model, through the exponential of an extended matrix."""
    A, B = np.array([[-1.0, a], [0.0, -2.0]]), np.diag([1.0, 0.5])
    whole = expm(np.block([[A, B], [np.zeros((2, 4))]]) * end)
    M, N = whole[:2, :2], whole[:2, 2:]
    return M @ x0 + N @ u, M, N


@pytest.mark.parametrize("by", ["variational", "discrete"])
@pytest.mark.parametrize("method", ["auto", "tsit5", "dopri5", "bs3"])
def test_a_linear_system_has_the_matrix_exponential(by, method):
    rtol = 1e-8 if method == "bs3" else 1e-10
    options = {"inputs": {"u": [0.3, -0.2]}, "method": method, "rtol": rtol, "atol": 1e-12}
    sens = dd.sensitivities(linear(), 1.5, by=by, **options)
    x, M, N = exact_linear(1.5)
    step = 1e-6
    by_a = (exact_linear(1.5, 0.7 + step)[0] - exact_linear(1.5, 0.7 - step)[0]) / (2 * step)
    assert sens.how == by
    np.testing.assert_allclose(sens.value, x, rtol=0, atol=100 * rtol)
    np.testing.assert_allclose(sens.M, M, rtol=0, atol=100 * rtol)
    np.testing.assert_allclose(sens.N, N, rtol=0, atol=100 * rtol)
    np.testing.assert_allclose(sens.d("x", "a"), by_a, rtol=0, atol=100 * rtol + 1e-9)


def test_shapes_are_those_of_the_contract():
    known = catalogue.load("quadrotor")
    sens = dd.sensitivities(known.model, 0.5, order=2, wrt=("start", "inputs"), inputs=known.inputs)
    assert sens.value.shape == (13,)
    assert [getattr(sens, letter).shape for letter in "MN"] == [(13, 13), (13, 4)]
    assert [getattr(sens, letter).shape for letter in "OPQ"] == [(13, 13, 13), (13, 13, 4), (13, 4, 4)]
    assert sens.at([0.0, 0.2]).O.shape == (2, 13, 13, 13)
    np.testing.assert_array_equal(sens.at(0.0).M, np.eye(13))
    np.testing.assert_array_equal(sens.at(0.0).N, 0.0)
    np.testing.assert_array_equal(sens.at(0.0).O, 0.0)


def test_rates_at_the_start_are_given_by_the_model():
    sens = dd.sensitivities(linear(), 1.0, inputs={"u": [0.3, -0.2]})
    np.testing.assert_allclose(sens.at(0.0).M_dot, [[-1.0, 0.7], [0.0, -2.0]], atol=1e-15)
    np.testing.assert_allclose(sens.at(0.0).N_dot, [[1.0, 0.0], [0.0, 0.5]], atol=1e-15)


def test_outputs_feel_the_input_directly_too():
    sens = dd.sensitivities(linear(), 1.5, inputs={"u": [0.3, -0.2]}, **TIGHT)
    _, M, N = exact_linear(1.5)
    np.testing.assert_allclose(sens.d("sum", "x"), [1, 3] @ M, atol=1e-9)
    np.testing.assert_allclose(sens.d("sum", "u"), [1, 3] @ N + [1, 0], atol=1e-9)
    assert sens.d("x", "x[1]").shape == (2,)
    assert sens.d("sum", "u[1]").shape == ()


def test_any_expression_can_be_differentiated():
    m = linear()
    x = m["x"]
    sens = dd.sensitivities(m, 1.5, order=2, inputs={"u": [0.3, -0.2]}, **TIGHT)
    value, M, _ = exact_linear(1.5)
    np.testing.assert_allclose(sens.d(x[0] * x[1], "x"), value[1] * M[0] + value[0] * M[1], atol=1e-9)
    second = np.outer(M[0], M[1]) + np.outer(M[1], M[0])
    np.testing.assert_allclose(sens.d(x[0] * x[1], "x", "x"), second, atol=1e-9)


def test_a_matrix_variable_keeps_its_shape():
    m = dd.Model("matrix")
    X, k = m.state("X", (2, 3), start=np.arange(6.0).reshape(2, 3)), m.parameter("k", np.ones((2, 3)))
    m.equation(m.der(X), -k * X)
    sens = dd.sensitivities(m, 1.0, order=2, **TIGHT)
    by_k = sens.d("X", "k")
    assert by_k.shape == (2, 3, 2, 3)
    expected = np.zeros((2, 3, 2, 3))
    for i in range(2):
        for j in range(3):
            expected[i, j, i, j] = -(3 * i + j) * np.exp(-1)
    np.testing.assert_allclose(by_k, expected, atol=1e-9)
    np.testing.assert_allclose(sens.d("X[1,2]", "k", "k")[1, 2, 1, 2], 5 * np.exp(-1), atol=1e-9)


def test_algebraic_variables_follow_by_the_chain_rule():
    m = dd.Model("tank")
    h, q, k = m.state("h", start=4.0), m.algebraic("q"), m.parameter("k", 0.5)
    m.equation(m.der(h), -q)
    m.equation(q, k * h)
    sens = dd.sensitivities(m, 1.0, order=2, **TIGHT)
    t, a, e = 1.0, 0.5, np.exp(-0.5)
    np.testing.assert_allclose(sens.d("q", "k"), 4 * e * (1 - a * t), atol=1e-9)
    np.testing.assert_allclose(sens.d("q", "h"), a * e, atol=1e-9)
    np.testing.assert_allclose(sens.d("q", "k", "k"), 4 * e * (-2 * t + a * t**2), atol=1e-9)
    np.testing.assert_allclose(sens.d("h_dot", "k"), -sens.d("q", "k"), atol=1e-14)


# -- grids ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["variational", "discrete"])
def test_blocks_of_a_grid_add_up_and_come_late(by):
    known = catalogue.load("quadrotor")
    options = {"inputs": known.inputs, "wrt": ("start", "inputs"), "by": by, **TIGHT}
    whole = dd.sensitivities(known.model, 1.0, **options)
    sens = dd.sensitivities(known.model, 1.0, grid=[0.0, 0.25, 0.6, 1.0], **options)
    assert sens.N.shape == (13, 3, 4)
    assert sens.d("quaternion", "thrust").shape == (4, 3, 4)
    np.testing.assert_allclose(sens.N.sum(axis=1), whole.N, atol=1e-8 * np.abs(whole.N).max())
    np.testing.assert_array_equal(sens.at(0.5).N[:, 2], 0.0)
    # Interval by interval: what the first interval did is carried on by M.
    first = dd.sensitivities(known.model, 0.25, **options)
    last = dd.sensitivities(known.model, (0.25, 1.0), start=first.states.at(0.25), **options)
    np.testing.assert_allclose(sens.N[:, 0], last.M @ first.N, atol=1e-8 * np.abs(whole.N).max())


def test_second_order_on_a_grid():
    known = catalogue.load("cart_pendulum")
    options = {"inputs": known.inputs, "start": known.start, "wrt": ("start", "inputs"), "order": 2, **TIGHT}
    whole = dd.sensitivities(known.model, 1.0, **options)
    sens = dd.sensitivities(known.model, 1.0, grid=3, **options)
    assert sens.P.shape == (4, 4, 3, 1)
    assert sens.Q.shape == (4, 3, 1, 3, 1)
    np.testing.assert_allclose(sens.P.sum(axis=2), whole.P, atol=1e-8)
    np.testing.assert_allclose(sens.Q.sum(axis=(1, 3)), whole.Q, atol=1e-8)


def test_runs_backwards_undo_runs_forwards():
    known = catalogue.load("double_pendulum")
    there = dd.sensitivities(known.model, 1.0, start=known.start, wrt="start", **TIGHT)
    back = dd.sensitivities(known.model, (1.0, 0.0), start=there.states.at(1.0), wrt="start", **TIGHT)
    np.testing.assert_allclose(back.M @ there.M, np.eye(4), atol=1e-8)


def test_inputs_as_tables_and_expressions():
    m = linear()
    held = dd.sensitivities(m, 1.0, inputs={"u": dd.signal([0.0, 0.5], [[0.3, 0.0], [0.1, 1.0]])}, **TIGHT)
    _, _, N = exact_linear(1.0)
    np.testing.assert_allclose(held.N, N, atol=1e-9)  # a constant added to whatever the input is
    closed = dd.sensitivities(m, 1.0, inputs={"u": ca.vertcat(m["a"] * m["x"][0], 0)}, **TIGHT)
    A = np.array([[-0.3, 0.7], [0.0, -2.0]])
    np.testing.assert_allclose(closed.M, expm(A), atol=1e-9)


# -- labels -----------------------------------------------------------------------------------------------------


def test_xarray_axes_carry_the_names():
    sens = dd.sensitivities(linear(), 1.0, order=2, inputs={"u": [0.3, -0.2]}, grid=2)
    data = sens.to_xarray([0.0, 0.5, 1.0])
    assert data["M"].dims == ("time", "x", "start")
    assert data["N"].dims == ("time", "x", "interval", "u")
    assert data["O"].dims == ("time", "x", "start", "start_2")
    assert data["P"].dims == ("time", "x", "start", "interval", "u")
    assert data["Q"].dims == ("time", "x", "interval", "u", "interval_2", "u_2")
    assert list(data["x"].values) == ["x[0]", "x[1]"]
    assert float(data["M"].sel(x="x[0]", start="x[1]")[-1]) == sens.M[0, 1]
    assert sens.labels == ["x[0]", "x[1]", "u[0] @ 0", "u[1] @ 0", "u[0] @ 1", "u[1] @ 1", "a"]


def test_states_are_a_trajectory():
    known = catalogue.load("quadrotor", form="plain")
    sens = dd.sensitivities(known.model, 2.0, inputs=known.inputs, by="discrete")
    plain = dd.simulate(known.model, 2.0, inputs=known.inputs)
    np.testing.assert_array_equal(sens.states.time, plain.time)
    np.testing.assert_array_equal(sens.states["position"], plain["position"])
    np.testing.assert_allclose(sens.states.at(1.234)["position"], plain.at(1.234)["position"], rtol=1e-14, atol=1e-15)
    assert sens.states["energy"].shape == plain["energy"].shape


# -- in words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda m: dd.sensitivities(m, 1.0, order=3), "order=3 is not supported."),
        (lambda m: dd.sensitivities(m, 1.0, by="adjoint"), "by='adjoint' is not a way to differentiate."),
        (lambda m: dd.sensitivities(m, 1.0, save_at=[1.0]), "save_at= is not an option of a run with derivatives."),
        (lambda m: run(m, method="bdf", by="discrete"), 'by="discrete" cannot be used with bdf.'),
        (lambda m: run(m, method="rattle", step=0.1), "The method 'rattle' has no derivatives."),
        (lambda m: run(m, method="radau"), "There is no method 'radau'."),
        (lambda m: run(m, parameters={"a": np.nan}), "a"),
        (lambda m: run(m, wrt="energy"), "has no variable 'energy'"),
        (lambda m: run(m, wrt=("x_dot",)), "x_dot cannot be varied."),
        (lambda m: run(m, wrt=()), "Nothing is varied."),
        (lambda m: run(m, grid=[0.0, 0.5]), "The grid does not cover the span."),
        (lambda m: run(m).O, "There are no second derivatives."),
        (lambda m: run(m, wrt="start").N, "The inputs were not varied."),
        (lambda m: run(m).d("x", "sum"), "Nothing can be differentiated by sum."),
        (lambda m: run(m).d("x", "x_dot"), "Nothing can be differentiated by x_dot."),
        (lambda m: run(m).d("x"), "sens.d takes one or two names"),
        (lambda m: run(m).at(2.0), "at() takes finite times within the run."),
        (lambda m: run(m).d(ca.SX.sym("foreign"), "a"), "The expression contains a foreign symbol."),
    ],
)
def test_requests_that_cannot_be_met_are_refused_in_words(call, text):
    with pytest.raises(dd.InputError) as refused:
        call(linear())
    assert text in str(refused.value)


def run(m, **options):
    return dd.sensitivities(m, 1.0, inputs={"u": [0.0, 0.0]}, **options)


def test_second_order_of_a_model_with_corners_is_refused():
    m = dd.Model("drag")
    v, c = m.state("v", start=1.0), m.parameter("c", 0.3)
    m.equation(m.der(v), -c * ca.fabs(v) * v, name="friction")
    assert dd.sensitivities(m, 1.0).M.shape == (1, 1)
    with pytest.raises(dd.SolverError) as refused:
        dd.sensitivities(m, 1.0, order=2)
    assert str(refused.value) == (
        "The model has no second derivatives.\n"
        "  fabs in friction\n"
        "  Because at a corner or a jump a second derivative does not exist, and beside it, it misses the corner.\n"
        "  Try: order=1, or a smooth form such as sqrt(x**2 + epsilon**2) for fabs(x)"
    )


def test_python_functions_as_inputs_are_refused():
    m = linear()
    table = {0: [0.1, 0.2]}
    with pytest.raises(dd.InputError, match="does not accept Python functions"):
        dd.sensitivities(m, 1.0, inputs={"u": lambda t: np.array(table[int(t) * 0])})


def test_a_run_that_stops_early_raises():
    m = dd.Model("explosion")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x**2)
    with pytest.raises(dd.SolverError, match="with its derivatives stopped early"):
        dd.sensitivities(m, 2.0)


def test_samples_say_what_they_are():
    sens = dd.sensitivities(linear(), 1.0, inputs={"u": [0.3, -0.2]}, on_stop="raise")
    assert repr(sens.at(0.5)) == "Sensitivities('linear' at t = 0.5: 2 states by 5 quantities, order 1)"
    assert repr(sens.at([0.1, 0.5])) == "Sensitivities('linear' at 2 times: 2 states by 5 quantities, order 1)"
    with pytest.raises(dd.InputError, match="on_stop='return' cannot be used with derivatives"):
        dd.sensitivities(linear(), 1.0, inputs={"u": [0.3, -0.2]}, on_stop="return")


def test_start_values_that_were_left_open_follow_as_in_a_run():
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[0.6, None], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", (ca.sumsqr(q) - 1) / 2)
    run, sens = dd.simulate(m, 0.5), dd.sensitivities(m, 0.5)
    np.testing.assert_allclose(sens.states["q"][0], run["q"][0], atol=1e-12)
    assert records_of(sens, StartCompleted) == records_of(run, StartCompleted) != []
    assert sens.verify().passed
    body = dd.Model("body")
    body.body("b", mass=1.0, inertia=np.diag([1.0, 2.0, 3.0]), orientation="quaternion", angular_velocity=[0.2, 1, 0])
    turned = dd.sensitivities(body, 1.0, wrt="b.angular_velocity")
    np.testing.assert_array_equal(turned.states["b.quaternion"][0], [1, 0, 0, 0])


def test_a_terminal_event_is_verified_at_its_own_time():
    m = dd.Model("fill")
    x, k = m.state("x", start=0.0), m.parameter("k", 2.0)
    m.equation(m.der(x), k)
    m.event("full", x - 1, terminal=True)
    sens = dd.sensitivities(m, 5.0)
    np.testing.assert_allclose([sens.M[0, 0], sens.d("x", "k"), sens.events[0].time_derivative["k"]], [1, 0.5, -0.25])
    assert sens.verify().passed


@pytest.mark.wide
def test_a_run_that_ignites_is_verified_to_second_order():
    """A reactor whose rate doubles within a few kelvin: increments that suit other runs are too long for it."""
    m = dd.Model("reactor")
    c, T, r = m.state("c", start=1.0), m.state("T", start=350.0, nominal=300.0), m.algebraic("r", start=0.0)
    k0, E, cooling = m.parameter("k0", 7.2e10), m.parameter("E", 8750.0), m.input("cooling")
    m.equation(r, k0 * ca.exp(-E / T) * c)
    m.equation(m.der(c), 1 - c - r)
    m.equation(m.der(T), 350 - T + 209 * r + 2.09 * (cooling - T))
    sens = dd.sensitivities(m, 5.0, order=2, inputs={"cooling": 305.0}, rtol=1e-8)
    report = sens.verify()
    assert report.passed, report
