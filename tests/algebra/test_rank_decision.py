"""Ranks: where the cut is, and that units do not move it."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_matrix
from tests.support.rings import examples

import daedalus as dd
from daedalus.algebra.rank_decision import (
    amplified,
    decide_rank,
    independent_rows,
    is_singular,
    largest_singular_value,
    leading_rows,
    null_space,
    range_of_projector,
    rank_of,
    singular_share,
    taking_part,
    weakest,
)


def test_the_cut_lies_at_the_widest_gap_within_the_doubt():
    values = np.array([1.0, 0.5, 3e-11, 1e-15])
    plain = decide_rank(values, (4, 4), 1.0, 1e-13, "E")
    assert (plain.rank, plain.smallest_kept, plain.largest_dropped) == (3, 3e-11, 1e-15)
    informed = decide_rank(values, (4, 4), 1.0, 1e-13, "E", amplification=1e4)
    assert (informed.rank, informed.gap) == (2, 0.5 / 3e-11)


def test_amplification_never_swallows_a_large_singular_value():
    assert decide_rank(np.array([1.0, 1e-3]), (2, 2), 1.0, 1e-13, "E", amplification=1e13).rank == 2


def test_all_kept_and_none_kept():
    full = decide_rank(np.array([1.0, 0.5]), (2, 2), 1.0, 1e-12, "E")
    assert (full.rank, full.largest_dropped, full.gap) == (2, 0.0, 0.5 / (2 * np.finfo(float).eps))
    none = decide_rank(np.array([1e-15]), (3, 1), 1.0, 1e-12, "A")
    assert (none.rank, none.smallest_kept, none.largest_dropped) == (0, 1.0, 1e-15)
    assert decide_rank(np.zeros(2), (2, 2), 0.0, 1e-12, "E").rank == 0


def test_amplification_is_the_worst_ratio_so_far():
    decision = decide_rank(np.array([1.0, 1e-3]), (2, 2), 1.0, 1e-12, "E")
    assert amplified(1.0, decision, 1.0) == 1e3
    assert amplified(1e5, decision, 1.0) == 1e5


def test_a_decision_in_words():
    decision = decide_rank(np.array([1.0, 1e-15]), (2, 2), 1.0, 1e-12, "E after 1 step")
    assert str(decision) == "E after 1 step (2 × 2) has rank 1, gap 1.0e+15"


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_size_of_a_matrix_is_near_its_largest_singular_value(rows, columns, seed):
    matrix = np.random.default_rng(seed).normal(size=(rows, columns))
    exact = np.linalg.norm(matrix, 2)
    assert 0.8 * exact < largest_singular_value(matrix) <= exact * (1 + 1e-12)
    assert largest_singular_value(np.zeros((rows, columns))) == 0.0


# -- ranks do not depend on units ------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(0, 2))
@settings(max_examples=examples(40), deadline=None)
def test_the_rank_of_a_matrix_does_not_depend_on_the_units_of_its_rows_and_columns(seed, size, lost):
    draw = np.random.default_rng(seed)
    rank = max(size - lost, 1)
    matrix = draw.uniform(0.5, 2.0, (size, rank)) @ draw.uniform(-1.0, 1.0, (rank, size))
    if rank == size:
        matrix += 3 * np.eye(size)
    units = 10.0 ** draw.integers(-12, 12, (2, size))
    scaled = units[0][:, None] * matrix * units[1]
    assert rank_of(scaled, "A").rank == rank
    assert is_singular(scaled) == (rank < size)
    basis, decision = null_space(scaled, "A")
    assert basis.shape == (size, size - decision.rank) == (size, size - rank)
    if rank == size - 1:  # several vectors may be parallel but for digits that these units do not hold
        assert np.all(np.abs(scaled @ basis) <= 1e-9 * np.linalg.norm(scaled, axis=1, keepdims=True))


@pytest.mark.parametrize("leak", [1e-6, 1e-9, 1e-12, 1e-15])
def test_a_floating_source_is_held_by_leaks_however_small(leak):
    """A source between two nodes, each with a conductance to ground and one of 1 S between: only leaks hold it."""
    matrix = np.array([[1, -1, 0, 0], [1, 0, -1, -1], [0, 0, -leak, 1], [0, -leak, 0, -1]])
    assert singular_share(matrix) > 0.01
    assert singular_share(csc_matrix(matrix)) > 0.01
    assert rank_of(matrix, "A").rank == 4
    without = np.where(np.abs(matrix) == leak, 0.0, matrix)
    assert rank_of(without, "A").rank == 3
    assert is_singular(without)


def test_large_sparse_matrices_are_judged_as_full_ones_are():
    draw = np.random.default_rng(3)
    full = np.diag(draw.uniform(1, 2, 250)) + np.diag(draw.uniform(-1, 1, 249), 1) * 0.3
    units = 10.0 ** draw.integers(-9, 9, (2, 250))
    assert not is_singular(csc_matrix(units[0][:, None] * full * units[1]))
    full[7] = 2 * full[8]
    assert is_singular(csc_matrix(units[0][:, None] * full * units[1]))


@pytest.mark.parametrize(("conductance", "capacitance"), [(1e-12, 1e-6), (1e-9, 1e-15), (1e-12, 1e-15)])
def test_small_conductances_and_capacitances_make_no_circuit_singular(conductance, capacitance):
    """A source that floats on two leaks, and a capacitor of femtofarads behind a resistor of a megaohm."""
    m = dd.Model("leaks")
    v, w = m.state("v", start=0.0), m.algebraic("w", 3)
    current = m.algebraic("current")
    m.equation(w[0] - w[1], ca.sin(m.time))
    m.equation(w[0] - w[2], current)
    m.equation(current, conductance * w[2] + (w[2] - v) * 1e-6)
    m.equation(-current, conductance * w[1])
    m.equation(capacitance * m.der(v), (w[2] - v) * 1e-6)
    report = dd.analyse(m)
    assert (report.index, report.solvable, report.degrees_of_freedom) == (1, True, 1)


def test_what_is_zero_but_for_rounding_does_not_count():
    """x sin(z) = 0 at z = π, to sixteen digits: nothing determines x there, though sin(π) is 1e-16 in numbers."""
    m = dd.Model("at π")
    x, z = m.algebraic("x", start=1.0), m.algebraic("z", start=np.pi)
    y = m.state("y", start=1.0)
    m.equation(m.der(y), -y)
    m.equation(z, np.pi)
    m.equation(x * ca.sin(z), 0.0)
    assert not dd.analyse(m).solvable


@pytest.mark.parametrize("seed", range(5))
def test_what_is_weakest_is_told_in_any_units(seed):
    """A direction that is lost by 1e-6 is lost by that in all units, and the same rows and columns take part."""
    draw = np.random.default_rng(seed)
    usual = draw.normal(size=(4, 4)) + 4 * np.eye(4)
    near = usual.copy()
    near[3] = near[2] + 1e-6 * near[3]
    rows, columns = (10.0 ** draw.integers(-9, 9, 4) for _ in range(2))
    plain, other = (
        weakest(near[None], usual),
        weakest((rows[:, None] * near * columns)[None], rows[:, None] * usual * columns),
    )
    assert 1e-8 < plain.values[0] < 1e-5
    assert 0.1 < other.values[0] / plain.values[0] < 10
    assert taking_part(plain.rows[0]).tolist() == taking_part(other.rows[0]).tolist() == [False, False, True, True]


def test_a_matrix_that_is_not_finite_has_no_weakest():
    matrices = np.array([np.eye(2), [[np.nan, 0.0], [0.0, 1.0]]])
    assert np.isnan(weakest(matrices, np.eye(2)).values).tolist() == [False, True]
    assert np.isnan(weakest(matrices, matrices[1]).values).all()
    assert not taking_part(np.zeros(3)).any()


def test_small_inertias_and_slow_parts_are_no_lost_rank():
    """Decisions behind the verbs do not depend on units: a light body beside a heavy one, slopes of 1e-12 and 1e6."""
    plant = dd.LTI.from_second_order(np.diag([1e-12, 1e6]), np.zeros((2, 2)), np.diag([1e-12, 1e6]))
    assert np.allclose(plant.A[2:, :2], -np.eye(2))
    with pytest.raises(dd.InputError, match="rank 1 of 2"):
        dd.LTI.from_second_order(np.array([[1e-12, 1e-3], [1e-3, 1e6]]), np.zeros((2, 2)), np.eye(2))
    history = dd.newton(lambda v: np.array([1e-12 * (v[0] - 1), 1e6 * (v[1] - 2)]), [0.0, 0.0], tolerance=1e-20)
    assert np.allclose(history.x, [1.0, 2.0])


def test_a_projector_has_the_range_of_its_rank():
    draw = np.random.default_rng(3)
    basis = draw.normal(size=(5, 2))
    across = draw.normal(size=(2, 5))
    oblique = basis @ np.linalg.solve(across @ basis, across) + 1e-9 * draw.normal(size=(5, 5))
    found = range_of_projector(oblique)
    assert found.shape == (5, 2)
    assert np.allclose(found @ (found.T @ basis), basis, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_rows_follow_from_others_whatever_their_units(seed):
    draw = np.random.default_rng(seed)
    basis, units = draw.normal(size=(3, 6)), 10.0 ** draw.uniform(-8, 8, (7, 1))
    rows = units * np.vstack([basis, draw.normal(size=(4, 3)) @ basis])
    order = draw.permutation(7)
    assert independent_rows(rows[order]) == [0, 1, 2]
    chosen, decision = leading_rows(rows[order], "rows")
    assert len(chosen) == decision.rank == 3
    assert decision.gap > 1e6
    assert np.linalg.matrix_rank((rows / units)[order][chosen]) == 3
