"""What needs no solve: known unknowns and the smaller system together solve the whole one; constraints stay in it."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd
from daedalus.reduction.forms.condensed_form import condensed, condensed_form
from daedalus.reduction.index.constraint_rows import constraint_rows
from daedalus.simulation.plant.solvable import solvable


@settings(max_examples=examples(40), deadline=None)
@given(size=st.integers(2, 12), density=st.floats(0.0, 0.5), seed=st.integers(0, 2**32 - 1))
def test_both_parts_solve_the_whole_system(size, density, seed):
    """Triangular parts of any depth, numbers and symbols mixed, in any order of rows and columns."""
    draw = np.random.default_rng(seed)
    numbers = np.where(draw.random((size, size)) < density, draw.uniform(0.5, 2, (size, size)), 0) + 4 * np.eye(size)
    numbers = numbers[draw.permutation(size)][:, draw.permutation(size)]
    factor, b = ca.SX.sym("factor"), ca.SX.sym("b", size)
    matrix = ca.SX(ca.sparsify(ca.DM(numbers)))
    for k in np.flatnonzero(draw.random(matrix.nnz()) < 0.2).tolist():
        matrix.nz[k] = matrix.nz[k] * factor
    form = condensed(matrix, b)
    assert sorted([*form.known.tolist(), *form.solved.tolist()]) == list(range(size))
    values, small, right = ca.Function("parts", [factor, b], [form.values, form.matrix, form.right])(
        1.5, np.arange(size)
    )
    found = np.zeros(size)
    found[form.known] = np.array(values).ravel()
    found[form.solved] = np.linalg.solve(np.array(small), np.array(right).ravel()) if len(form.solved) else []
    whole = np.array(ca.Function("whole", [factor], [matrix])(1.5))
    np.testing.assert_allclose(whole @ found, np.arange(size), atol=1e-10 * max(1, np.abs(found).max()))


def test_what_follows_from_known_unknowns_is_known_too():
    matrix = ca.sparsify(ca.SX([[1, 0, 0], [3, 2, 0], [1, 1, 4]]))
    form = condensed(matrix, ca.SX([1, 7, 7]))
    assert form.known.tolist() == [0, 1, 2]
    assert [float(form.values[k]) for k in range(3)] == [1, 2, 1]
    assert form.matrix.shape == (0, 0)


def test_a_coefficient_that_might_vanish_stays_in_the_matrix():
    p = ca.SX.sym("p")
    form = condensed(ca.diag(ca.vertcat(p, 2)), ca.SX([1, 1]))
    assert form.known.tolist() == [1]
    assert form.rows.tolist() == [0]


def test_two_rows_for_one_unknown_leave_the_second():
    matrix = ca.sparsify(ca.SX([[1, 0], [2, 0]]))
    form = condensed(matrix, ca.SX([1, 1]))
    assert form.known.tolist() == [0]
    assert form.rows.tolist() == [1]
    assert form.matrix.nnz() == 0


def test_rates_of_positions_are_known_and_constraints_are_not():
    system = solvable(dd.catalogue.load("rod_chain", rods=10).model)
    form, rows = condensed_form(system), constraint_rows(system)
    assert len(form.known) == 30
    assert {row for row, _ in (*rows.positions, *rows.velocities)} <= set(form.rows.tolist())


@pytest.mark.parametrize("locked", [0, 3])
def test_a_locked_coordinate_keeps_its_row(locked):
    """Its constraint, differentiated twice, has one unknown: without the row nothing would hold it."""
    n = 30
    m = dd.Model("sliders")
    q = m.coordinate("q", n, start=np.linspace(0, 1, n), rate=[0.5] * locked + [0.0] + [0.5] * (n - 1 - locked))
    v = m.rate(q)
    m.kinetic_energy(0.5 * ca.sumsqr(v) + 0.1 * ca.sumsqr(v[1:] - v[:-1]) + 0.05 * ca.sum1(ca.cos(q) * v) ** 2)
    m.potential_energy(2.0 * ca.sumsqr(q))
    m.constraint("lock", q[locked] - np.linspace(0, 1, n)[locked])
    tr = dd.simulate(m, 0.5, rtol=1e-6)
    assert tr.success
    assert np.abs(tr["q"][:, locked] - np.linspace(0, 1, n)[locked]).max() < 1e-14
