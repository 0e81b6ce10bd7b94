"""Newton's method on the stages of an implicit tableau: the numbers it finds, what it costs, and how it fails."""

import casadi as ca
import implicit_systems as systems
import numpy as np
import pytest
from implicit_models import implicit_model, integrate
from scipy.optimize import root

import daedalus as dd
from daedalus import _core
from daedalus.integrators.tableaux.core_tableau import core_implicit_tableau, core_tableau

# Two stages that need each other, one that needs both, one that needs all: groups 2, 1, 1, with a hole in each block.
MIXED = dd.Tableau(
    [[0.3, 0.1, 0, 0], [0.2, 0.3, 0, 0], [0.1, 0, 0.2, 0], [0.1, 0.2, 0.3, 0.25]], [0.2, 0.3, 0.1, 0.4], name="mixed"
)
# The fourth stage needs the second, which leads back to the first: one group of three after an explicit stage.
KNOT = dd.Tableau(
    [[0, 0, 0, 0], [0.1, 0.2, 0, 0.1], [0.1, 0.3, 0.1, 0], [0, 0.2, 0.3, 0.1]], [0.1, 0.4, 0.2, 0.3], name="knot"
)


def coupled() -> dd.Model:
    """Three states and two algebraic unknowns with a mass matrix that depends on the state, and a sparse pattern."""
    m = dd.Model("coupled")
    x, y, w = m.state("x"), m.state("y"), m.state("w")
    z, f = m.algebraic("z"), m.algebraic("f")
    m.equation((2 + ca.sin(y)) * m.der(x) + 0.3 * m.der(y), z - x)
    m.equation(m.der(y) * (1 + m.der(y) ** 2), ca.cos(m.time) - f)
    m.equation(m.der(w), f * w - w**3)
    m.equation(z + 0.1 * z**3, ca.exp(-(x**2)) + y)
    m.equation(f, z * w)
    return m


def stage_equations(F, T, h, x0):
    """The whole system of all stage derivatives and stage values, as the definition writes it."""

    def equations(unknowns):
        K, Z = unknowns[: 3 * T.stages].reshape(-1, 3), unknowns[3 * T.stages :].reshape(-1, 2)
        X = x0 + h * T.A @ K
        rows = [F(T.c[i] * h, K[i], X[i], Z[i], [], []).full().ravel() for i in range(T.stages)]
        return np.concatenate(rows)

    return equations


@pytest.mark.parametrize(
    "method",
    ["gauss3", "radau5", "sdirk3", "sdirk4", "trbdf2", "lobatto_iiia3", "lobatto_iiic3", "rk4", MIXED, KNOT],
    ids=lambda T: getattr(T, "name", T),
)
def test_one_step_solves_the_equations_of_its_definition(method):
    """All stages at once by SciPy's hybrid method, group by group by ours."""
    T = dd.tableau(method) if isinstance(method, str) else method
    m = coupled()
    system = m.freeze()
    letters = ("t", "xdot", "x", "z", "u", "p")
    F = ca.Function("F", [system.symbol(letter) for letter in letters], [system.residual])
    x0, h = np.array([0.4, -0.2, 0.7]), 0.3
    # Consistent z and x' at the start.
    begin = root(lambda v: F(0, v[:3], x0, v[3:], [], []).full().ravel(), np.ones(5), tol=1e-14).x
    guess = np.concatenate([np.tile(begin[:3], T.stages), np.tile(begin[3:], T.stages)])
    found = root(stage_equations(F, T, h, x0), guess, tol=1e-14).x
    K, Z = found[: 3 * T.stages].reshape(-1, 3), found[3 * T.stages :].reshape(-1, 2)
    end = x0 + h * T.b @ K
    after = root(lambda v: F(h, v[:3], end, v[3:], [], []).full().ravel(), np.append(K[-1], Z[-1]), tol=1e-14).x
    row = np.concatenate([end, Z[-1], K[-1]] if T.is_stiffly_accurate else [end, after[3:], after[:3]])

    run = integrate(implicit_model(m), core_implicit_tableau(T), h, [*x0, *begin[3:], *begin[:3]], step=h)
    assert run.status == "finished"
    assert run.x[-1] == pytest.approx(row, rel=1e-12, abs=1e-13)


def linear() -> tuple[_core.ImplicitModel, list[float]]:
    m = dd.Model("linear")
    x, v, z = m.state("x"), m.state("v"), m.algebraic("z")
    m.equation(m.der(x), v)
    m.equation(m.der(v), z - 0.1 * v)
    m.equation(z, -4 * x)
    return implicit_model(m), [1.0, 0.0, -4.0, 0.0, -4.0]


@pytest.mark.parametrize(
    ("method", "solves", "stages_solved"),
    [
        # One for the group, one for z and x' at the end of a step.
        ("gauss3", 2, 4),
        # Ends in its last stage.
        ("radau5", 1, 3),
        ("implicit_euler", 1, 1),
        ("sdirk3", 3, 3),
        # The explicit first stage costs one matrix at the start of the run only.
        ("trapezoidal", 1, 1),
        ("lobatto_iiia3", 1, 2),
    ],
)
def test_a_linear_model_costs_one_matrix_for_each_solve(method, solves, stages_solved):
    model, start = linear()
    run = integrate(model, core_tableau(dd.tableau(method)), 1.0, start, step=0.05)
    extra = 1 if method in ("trapezoidal", "lobatto_iiia3") else 0
    assert run.steps == 20
    assert run.newton == 20 * solves + extra
    assert run.factorisations == run.newton
    assert run.jacobians == 20 * stages_solved + extra
    # Residuals before and behind each correction.
    assert run.rhs_calls == 2 * run.jacobians
    assert run.newton_failures == 0


def test_quadratic_convergence_on_a_nonlinear_model():
    system = systems.orbit(True)
    run = integrate(
        implicit_model(system.model), core_tableau(dd.gauss_legendre(2)), 6.0, system.exact(0.0).ravel(), step=0.05
    )
    # Two solves a step, the second one for z and x'; from a prolonged polynomial most take one correction to rounding.
    assert run.steps == 120
    assert 240 <= run.newton <= 360
    assert run.factorisations == run.newton


def test_the_variable_that_newton_cannot_find_is_named():
    """z² = 1 - t has no solution behind t = 1."""
    m = dd.Model("fold")
    x, y, z = m.state("x"), m.state("y"), m.algebraic("z")
    m.equation(m.der(x), -x)
    m.equation(m.der(y), z)
    m.equation(z**2, 1 - m.time)
    for method in ("gauss2", "sdirk2", "trapezoidal", "lobatto_iiic2"):
        run = integrate(implicit_model(m), core_tableau(dd.tableau(method)), 2.0, [1, 0, 1, -1, 1], step=0.03)
        assert run.status == "newton_failed"
        assert run.culprit == 2
        assert 0.9 < run.stop_time < 1
        assert run.newton_failures == 1
        assert np.isfinite(run.x).all()
    run = integrate(implicit_model(m), core_tableau(dd.tableau("trbdf2")), 2.0, [1, 0, 1, -1, 1], rtol=1e-6)
    assert run.status in {"newton_failed", "step_too_small", "singular"}
    assert run.culprit == 2
    assert run.stop_time == pytest.approx(1, abs=1e-6)


def test_a_far_start_is_reached_by_damping():
    """atan(8 (z - 5 - t)) = 0 from z = 0: undamped corrections overshoot and diverge."""
    m = dd.Model("far")
    x, z = m.state("x"), m.algebraic("z")
    m.equation(m.der(x), z)
    m.equation(ca.atan(8 * (z - 5 - m.time)), 0.0)
    run = integrate(implicit_model(m), core_tableau(dd.gauss_legendre(2)), 0.5, [0, 0, 0], step=0.1)
    assert run.status == "finished"
    assert run.x[-1, :2] == pytest.approx([0.5 * 5 + 0.125, 5.5], abs=1e-12)


@pytest.mark.parametrize("stages", [4, 6, 8, 12, 20])
def test_a_long_step_stays_on_its_branch(stages):
    """z² r⁶ = 1 has a negative solution too, and six steps an orbit are long: x must be as without z."""
    rows = []
    for algebraic in (True, False):
        system = systems.orbit(algebraic)
        method = core_tableau(dd.gauss_legendre(stages))
        run = integrate(implicit_model(system.model), method, 6.0, system.exact(0.0).ravel(), step=1.0)
        assert run.status == "finished"
        rows.append(run.x)
    assert (rows[0][:, 4] > 0).all()
    assert rows[0][:, :4] == pytest.approx(rows[1][:, :4], abs=1e-10)


@pytest.mark.parametrize("method", ["gauss2", "trapezoidal", "sdirk3", "radau5", "lobatto_iiic3"])
def test_inputs_that_jump_are_met_by_steps_of_their_own(method):
    """x' = z and z + z³ = u + u³ with u = 1, -2, 3: a step ends at each jump, and z follows it there."""
    m = dd.Model("driven")
    x, z, u = m.state("x"), m.algebraic("z"), m.input("u")
    m.equation(m.der(x), z)
    m.equation(z + z**3, u + u**3)
    table = _core.Table([0, 0.33, 0.7], [1, -2, 3], [0])
    start, nothing = np.array([0.0, 1.0, 1.0]), np.zeros(0)
    run = _core.integrate(
        implicit_model(m),
        core_tableau(dd.tableau(method)),
        0.0,
        1.0,
        start,
        np.zeros(1),
        nothing,
        step=0.1,
        tables=[table],
    )
    assert {0.33, 0.7} <= set(run.t)
    assert run.x[-1] == pytest.approx([0.33 - 2 * 0.37 + 3 * 0.3, 3, 3], abs=1e-12)


def test_a_model_that_leaves_its_domain_is_stopped_with_the_equation():
    m = dd.Model("root")
    x, y = m.state("x"), m.state("y")
    m.equation(m.der(x), 1.0)
    m.equation(m.der(y), -1 / ca.sqrt(1 - x))
    run = integrate(implicit_model(m), core_tableau(dd.tableau("implicit_euler")), 2.0, [0, 0, 1, -1], step=0.3)
    assert run.status == "newton_failed"
    assert run.culprit == 1
    assert run.stop_time == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"A": np.zeros((2, 3))}, "A must have 4 entries"),
        ({"b_hat": [1.0]}, "b_hat must have 2 entries"),
        ({"c": [0.0, np.inf]}, "the numbers of a tableau must be finite"),
        ({"x_dense": np.ones((2, 3))}, r"x_dense must be \(degree, 2\)"),
        ({"z_dense": np.ones((2, 2))}, r"z_dense must be \(degree, 3\)"),
        ({"order": 0}, "the order must be at least 1"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(change, text):
    parts = {"A": np.eye(2), "b": [0.5, 0.5], "c": [0.0, 1.0], "x_dense": np.ones((1, 2)), "z_dense": np.ones((1, 3))}
    with pytest.raises(ValueError, match=text):
        _core.ImplicitTableau(**(parts | change))


def test_a_method_without_a_pair_needs_a_step():
    model, start = linear()
    with pytest.raises(ValueError, match="a tableau without b_hat needs a step"):
        integrate(model, core_tableau(dd.gauss_legendre(2)), 1.0, start)
