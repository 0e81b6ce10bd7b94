"""Linear blocks solved through tearing variables: the same numbers, shorter formulas, larger blocks."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd
from daedalus.reduction.forms.explicit_form import SYMBOLIC_SOLVE, explicit_form, find_explicit_form
from daedalus.reduction.forms.no_form import FormObstacle, NoForm
from daedalus.reduction.forms.torn_solve import reduced_sample, solve_linear, torn


def pipes(count):
    """A tank that empties through pipes in a row: all pressures and the flow are coupled."""
    m = dd.Model("pipes")
    h, q, p = m.state("h", start=2.0), m.algebraic("q"), m.algebraic("p", count)
    m.equation(m.der(h), -q, name="tank")
    for k in range(count):
        m.equation(p[k], (p[k - 1] if k else h) - (0.01 + 0.001 * k) * q, name=f"pipe {k}")
    m.equation(q, 3 * p[count - 1], name="outlet")
    return m


def ladder(cells):
    m = dd.Model("ladder")
    c, v, i = m.state("c", start=1.0), m.algebraic("v", cells), m.algebraic("i", cells)
    m.equation(m.der(c), -i[0], name="charge")
    for k in range(cells):
        m.equation(i[k], (c if k == 0 else v[k - 1]) - v[k], name=f"series {k}")
        m.equation(i[k] - (i[k + 1] if k + 1 < cells else 0), v[k], name=f"shunt {k}")
    return m


def test_a_block_far_above_the_limit_has_formulas_through_one_unknown():
    m = pipes(70)
    system = m.freeze()
    assert system.sizes["z"] == 71 > SYMBOLIC_SOLVE
    matrix = ca.jacobian(system.residual, system.symbol("z"))[1:, :]
    cut = torn(matrix, np.array(ca.evalf(matrix).nonzeros()))
    assert torn(matrix, np.array(ca.evalf(matrix).nonzeros()), most=0) is None
    assert (len(cut.torn), len(cut.order)) == (1, 70)
    form = explicit_form(system)
    function = ca.Function("f", [system.symbol("x")], [form.xdot, form.z])
    assert function.n_instructions() < 7 * 71
    # The flow by hand: h = q (Σ r + 1/3).
    flow = 2.0 / (sum(0.01 + 0.001 * k for k in range(70)) + 1 / 3)
    rate, z = (part.full().ravel() for part in function(2.0))
    assert rate[0] == pytest.approx(-flow, rel=1e-14)
    exact = np.linalg.solve(ca.evalf(matrix).full(), -system.function(0, 0, 2.0, np.zeros(71), [], []).full()[1:, 0])
    assert np.abs(z - exact).max() < 1e-14


def test_the_torn_run_is_the_untorn_one():
    m = pipes(60)
    tr = dd.simulate(m, 1.0, method="dopri5", rtol=1e-10, atol=1e-13)
    other = dd.simulate(m, 1.0, method="radau5", rtol=1e-10, atol=1e-13)
    assert np.abs(tr["p"][-1] - other["p"][-1]).max() < 1e-9
    assert max(tr.drift().values()) < 1e-14


def test_where_errors_would_grow_numbers_are_solved_for_instead():
    m = ladder(40)
    found = find_explicit_form(m.freeze())
    assert isinstance(found, NoForm)
    assert found.obstacle is FormObstacle.LARGE
    assert max(dd.simulate(m, 1.0).drift().values()) < 1e-14


def test_a_short_ladder_is_solved_to_rounding():
    m = ladder(12)
    system = m.freeze()
    form = explicit_form(system)
    z = ca.Function("z", [system.symbol("x")], [form.z])(1.0).full().ravel()
    matrix = ca.evalf(ca.jacobian(system.residual, system.symbol("z"))[1:, :]).full()
    right = -system.function(0, 0, 1.0, np.zeros(24), [], []).full()[1:, 0]
    assert np.abs(z - np.linalg.solve(matrix, right)).max() < 1e-13


def test_parameters_and_states_are_not_divided_by():
    """A resistance may be zero: voltages follow from currents, never the other way round."""
    m = dd.Model("divider")
    x, r = m.state("x", start=1.0), m.parameter("r", 2.0, shape=2)
    i, v = m.algebraic("i", 2), m.algebraic("v", 2)
    m.equation(m.der(x), -i[0])
    m.equation([v[0] - r[0] * i[0], v[1] - r[1] * i[1], v[0] + v[1] - x, i[0] - i[1] - 0.1 * v[1]], name="circuit")
    assert dd.simulate(m, 1.0, parameters={"r": [0.0, 1.0]}).success


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(2, 9), st.integers(0, 10**6))
def test_random_systems(size, seed):
    rng = np.random.default_rng(seed)
    numbers = rng.uniform(-2, 2, (size, size)) * (rng.uniform(size=(size, size)) < 0.4) + np.diag(
        rng.uniform(2, 4, size)
    )
    symbol = ca.SX.sym("s", size, size)
    constant = rng.uniform(size=(size, size)) < 0.5
    matrix = ca.SX(size, size)
    for r, c in zip(*np.nonzero(numbers)):
        matrix[r, c] = numbers[r, c] if constant[r, c] else symbol[r, c]
    right = rng.normal(size=size)
    sample = numbers.T[numbers.T != 0]
    solution = solve_linear(matrix, ca.SX(right), sample)
    found = ca.Function("x", [symbol], [solution])(numbers).full().ravel()
    exact = np.linalg.solve(numbers, right)
    assert np.abs(found - exact).max() <= 1e-11 * np.linalg.cond(numbers) * np.abs(exact).max()
    cut = torn(matrix, sample)
    if cut.order and cut.torn:
        rows, columns = (list(side) for side in zip(*cut.order))
        follow = np.linalg.solve(numbers[np.ix_(rows, columns)], numbers[np.ix_(rows, cut.torn)])
        schur = numbers[np.ix_(cut.left, cut.torn)] - numbers[np.ix_(cut.left, columns)] @ follow
        assert np.allclose(reduced_sample(matrix.sparsity(), sample, cut), schur, rtol=1e-9, atol=1e-9)
