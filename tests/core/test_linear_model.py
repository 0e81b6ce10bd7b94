"""Runs whose derivatives come from a linear solve: equal to formulas, exact work, solutions at points, clear stops."""

import casadi as ca
import numpy as np
import pytest
import tableaux

from daedalus import _core
from daedalus.compilation import compile_function

T, U, P = ca.SX.sym("t"), ca.SX.sym("u", 0), ca.SX.sym("p", 1)
EMPTY, ONE = np.zeros(0), np.ones(1)


def linear_model(x, matrix, right, states):
    """A LinearModel of expressions, and what keeps its code alive."""
    matrix = ca.sparsify(ca.SX(matrix))
    function = compile_function(ca.Function("matrix", [T, x, U, P], [matrix.nz[:], ca.densify(right)]))
    pattern = matrix.sparsity()
    return _core.LinearModel(function.core, states, pattern.size1(), pattern.colind(), pattern.row())


def oscillator(n=6):
    """A nonlinear chain of springs with a full-rank banded mass matrix, as a linear model and as a formula."""
    x = ca.SX.sym("x", 2 * n)
    q, v = x[:n], x[n:]
    mass = 2 * ca.SX.eye(n) + ca.diag(0.3 * ca.cos(q))
    for k in range(n - 1):
        mass[k, k + 1] = mass[k + 1, k] = 0.4 * ca.sin(q[k])
    force = -P[0] * q - 0.1 * q**3
    matrix = ca.diagcat(ca.SX.eye(n), mass)
    right = ca.vertcat(v, force)
    formula = compile_function(ca.Function("rhs", [T, x, U, P], [ca.densify(ca.vertcat(v, ca.solve(mass, force)))]))
    return linear_model(x, matrix, right, 2 * n), formula.core, np.linspace(0.5, 1.5, 2 * n)


def pendulum():
    """x'' = -2 λ x, y'' = -2 λ y - g, with λ from the second derivative of x² + y² = 1; g is the parameter."""
    x = ca.SX.sym("x", 4)
    q, v = x[:2], x[2:]
    matrix = ca.SX(5, 5)
    for k in range(4):
        matrix[k, k] = 1
    matrix[2:4, 4] = 2 * q
    matrix[4, 2:4] = 2 * q.T
    right = ca.vertcat(v, 0, -P[0], -2 * ca.dot(v, v))
    position, velocity = ca.dot(q, q) - 1, 2 * ca.dot(q, v)
    d = ca.SX.sym("d", 4)
    model = linear_model(x, matrix, right, 4)
    functions = [
        compile_function(ca.Function(name, arguments, [ca.densify(value)])).core
        for name, arguments, value in (
            ("positions", [T, x, U, P], position),
            ("velocities", [T, x, U, P], velocity),
            ("motion", [T, x, U, P, d], ca.vertcat(d[2:], 0, 0)),
        )
    ]
    projection = _core.Projection(model, functions[0], [4], functions[1], [4], functions[2], None, np.ones(4))
    return model, projection, x


@pytest.mark.parametrize("method", ["bs3", "tsit5", "dopri5", "dop853"])
def test_a_solve_gives_the_same_run_as_a_formula(method):
    model, formula, start = oscillator()
    # Fixed steps, so that rounding does not reach the length of a step.
    by_solve, by_formula = (
        _core.integrate(rhs, method, 0.0, 3.0, start, EMPTY, ONE, rtol=1e-14, step=0.05) for rhs in (model, formula)
    )
    assert by_solve.status == "finished"
    assert by_solve.rhs_calls == by_formula.rhs_calls
    np.testing.assert_allclose(by_solve.x, by_formula.x, rtol=0, atol=1e-13)
    for a, b in zip(by_solve.dense(), by_formula.dense()):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_every_evaluation_is_one_factorisation():
    model, _, start = oscillator()
    run = _core.integrate(model, "tsit5", 0.0, 3.0, start, EMPTY, ONE)
    assert run.factorisations == run.rhs_calls
    # First same as last: six new slopes a step, one at the start, one for the length of the first step.
    assert run.rhs_calls == 6 * (run.steps + run.rejected) + 2


def test_fixed_steps_have_the_order_of_their_tableau():
    model, _, start = oscillator(3)
    rk4 = tableaux.make("rk4")
    exact = _core.integrate(model, "dop853", 0.0, 1.0, start, EMPTY, ONE, rtol=1e-13, atol=np.array([1e-14])).x[-1]
    errors = [
        np.abs(_core.integrate(model, rk4, 0.0, 1.0, start, EMPTY, ONE, step=h).x[-1] - exact).max()
        for h in (0.1, 0.05, 0.025)
    ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 3.8)


def test_derivatives_and_algebraic_variables_at_many_points():
    model, _, _ = pendulum()
    angles = np.linspace(0, 6, 7)
    speed = 0.3
    x = np.stack([np.sin(angles), -np.cos(angles), speed * np.cos(angles), speed * np.sin(angles)], axis=1)
    slopes, multipliers = model.evaluate_many(np.zeros((7, 1)), x, EMPTY, 9.81 * ONE)
    np.testing.assert_array_equal(slopes[:, :2], x[:, 2:])
    # The rod pulls with v² + g cos: 2 λ = v² + g cos(angle).
    np.testing.assert_allclose(2 * multipliers[:, 0], speed**2 + 9.81 * np.cos(angles), rtol=0, atol=1e-14)


def test_points_with_a_singular_matrix_are_not_numbers():
    model, _, _ = pendulum()
    slopes, multipliers = model.evaluate_many(np.zeros((2, 1)), np.array([[0.0] * 4, [1.0, 0, 0, 0]]), EMPTY, ONE)
    assert np.isnan(slopes[0]).all()
    assert np.isnan(multipliers[0]).all()
    assert np.isfinite(slopes[1]).all()


def test_the_projection_keeps_constraints_to_rounding_and_costs_no_evaluation():
    model, projection, _ = pendulum()
    start = np.array([1.0, 0.0, 0.0, 0.0])
    run = _core.integrate(model, "tsit5", 0.0, 10.0, start, EMPTY, 9.81 * ONE, rtol=1e-6, projection=projection)
    x = run.x
    assert np.abs(x[:, 0] ** 2 + x[:, 1] ** 2 - 1).max() < 1e-15
    assert np.abs(x[:, 0] * x[:, 2] + x[:, 1] * x[:, 3]).max() < 4e-15
    # The slope at the projected end serves the error test and the next step; that of the last stage the projection.
    assert run.rhs_calls == 6 * (run.steps + run.rejected) + 2
    assert run.factorisations == run.rhs_calls


def test_rates_that_need_no_solve_stay_out_of_the_matrix():
    """The pendulum with q' = v as two rows of the matrix, and beside it."""
    whole, _, x = pendulum()
    q, v = x[:2], x[2:]
    matrix = ca.SX(3, 3)
    matrix[0, 0] = matrix[1, 1] = 1
    matrix[:2, 2] = 2 * q
    matrix[2, :2] = 2 * q.T
    right = ca.vertcat(0, -P[0], -2 * ca.dot(v, v))
    function = compile_function(ca.Function("matrix", [T, x, U, P], [matrix.nz[:], right, v]))
    pattern = matrix.sparsity()
    less = _core.LinearModel(function.core, 4, 3, pattern.colind(), pattern.row(), [2, 3, 4], [0, 1])
    assert (whole.unknowns, less.unknowns) == (5, 3)
    points = np.random.default_rng(3).normal(size=(20, 4))
    expected = whole.evaluate_many(np.zeros((20, 1)), points, EMPTY, 9.81 * ONE)
    for mine, theirs in zip(less.evaluate_many(np.zeros((20, 1)), points, EMPTY, 9.81 * ONE), expected):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_a_projection_from_far_away_moves_positions_first_and_velocities_by_an_impulse():
    _, projection, _ = pendulum()
    (found,) = projection.evaluate_many(np.zeros((1, 1)), np.array([[3.0, 4.0, 1.0, 1.0]]), EMPTY, ONE)
    np.testing.assert_allclose(found[0, :2], [0.6, 0.8], atol=1e-15)
    # Unit masses: the velocity loses its part along the rod and nothing else.
    rod, velocity = np.array([0.6, 0.8]), np.array([1.0, 1.0])
    np.testing.assert_allclose(found[0, 2:], velocity - rod * (rod @ velocity), atol=1e-15)


def test_no_way_onto_the_constraints_gives_no_number():
    _, projection, _ = pendulum()
    (found,) = projection.evaluate_many(np.zeros((1, 1)), np.zeros((1, 4)), EMPTY, ONE)
    assert np.isnan(found).all()


@pytest.mark.parametrize("method", ["tsit5", "dop853"])
def test_a_matrix_that_becomes_singular_ends_the_run_there(method):
    x = ca.SX.sym("x", 2)
    model = linear_model(x, ca.diag(ca.vertcat(1, ca.fmax(0.5 - T, 0))), ca.vertcat(1, 0), 2)
    run = _core.integrate(model, method, 0.0, 2.0, np.zeros(2), EMPTY, ONE)
    assert run.status == "singular"
    assert run.stop_time == pytest.approx(0.5, abs=1e-9)
    assert np.isfinite(run.x).all()


def test_guards_and_resets_may_use_the_solution():
    model, projection, x = pendulum()
    w = ca.SX.sym("w", 5)
    guard = compile_function(ca.Function("guard", [T, x, U, P, w], [w[4] - 5.0]))
    reset = compile_function(ca.Function("reset", [T, x, U, P, w], [ca.vertcat(x[:2], x[2:] * w[4] / 10)]))
    start = np.array([1.0, 0.0, 0.0, 0.0])
    options = {"guards": guard.core, "resets": reset.core, "actions": [2], "directions": [1]}
    run = _core.integrate(
        model, "tsit5", 0.0, 5.0, start, EMPTY, 9.81 * ONE, rtol=1e-9, projection=projection, **options
    )
    assert run.status == "event"
    ((_, time, before, after),) = run.events
    multiplier = model.evaluate_many(np.array([[time]]), before[None], EMPTY, 9.81 * ONE)[1][0, 0]
    assert multiplier == pytest.approx(5.0, abs=1e-12)
    np.testing.assert_allclose(after[2:], before[2:] / 2, atol=1e-12)


def test_a_reset_off_the_constraints_is_brought_back_onto_them():
    model, projection, x = pendulum()
    guard = compile_function(ca.Function("guard", [T, x, U, P], [x[0]]))
    reset = compile_function(ca.Function("reset", [T, x, U, P], [ca.vertcat(1.3 * x[:2], x[2] + 1, x[3] + 1)]))
    options = {"guards": guard.core, "resets": reset.core, "actions": [2]}
    start = np.array([1.0, 0.0, 0.0, 0.0])
    run = _core.integrate(
        model, "tsit5", 0.0, 5.0, start, EMPTY, 9.81 * ONE, rtol=1e-9, projection=projection, **options
    )
    ((_, _, before, after),) = run.events
    # At the lowest point the rod is vertical: the jump of the height speed is taken by it.
    np.testing.assert_allclose(after[:2], before[:2], atol=1e-12)
    np.testing.assert_allclose(after[2:], [before[2] + 1, 0.0], atol=1e-9)


def test_exceptions_of_python_functions_come_through():
    function = _core.Function("matrix", [1, 1, 0, 1], [1, 1])

    def fails(t, x, u, p):
        if t[0] > 0.5:
            raise KeyError("gone")
        return [np.ones(1), -x]

    function.set_python(fails)
    model = _core.LinearModel(function, 1, 1, [0, 1], [0])
    with pytest.raises(KeyError, match="gone"):
        _core.integrate(model, "tsit5", 0.0, 1.0, np.ones(1), EMPTY, ONE)
    with pytest.raises(KeyError, match="gone"):
        model.evaluate_many(np.ones((1, 1)), np.ones((1, 1)), EMPTY, ONE)


def test_what_does_not_fit_is_refused():
    function = _core.Function("matrix", [1, 2, 0, 1], [2, 2])
    model = _core.LinearModel(function, 2, 2, [0, 1, 2], [0, 1])
    for arguments, words in (
        ((function, 3, 2, [0, 1, 2], [0, 1]), "more states"),
        ((function, 2, 2, [0, 1, 2], [0, 7]), "compressed columns"),
        ((function, 2, 2, [0, 1], [0]), "compressed columns"),
        ((function, 1, 2, [0, 1, 2], [0, 1]), "must map"),
        ((function, 2, 2, [0, 1, 2], [0, 1], [0, 2], []), "each once"),
        ((function, 2, 2, [0, 1, 2], [0, 1], [0, 1], [2]), "what is known"),
    ):
        with pytest.raises(ValueError, match=words):
            _core.LinearModel(*arguments)
    with pytest.raises(ValueError, match=r"must have the sizes \(2, 0, 1\), not \(3, 0, 1\)"):
        _core.integrate(model, "tsit5", 0.0, 1.0, np.ones(3), EMPTY, ONE)
    with pytest.raises(ValueError, match="positions need"):
        _core.Projection(model, None, [0], None, [], None, None, np.ones(2))
    with pytest.raises(ValueError, match="nominal"):
        _core.Projection(model, None, [], None, [], None, None, np.zeros(2))
