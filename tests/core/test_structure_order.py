"""Large sparse matrices: ordered by their structure, factored in fronts, checked by numbers."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples
from scipy.sparse.linalg import splu

from daedalus import _core


def solver_for(matrix: Any) -> tuple[_core.LinearSolver, sparse.csc_array]:
    columns = sparse.csc_array(matrix)
    columns.sort_indices()
    solver = _core.LinearSolver(
        columns.shape[0], columns.indptr.tolist(), columns.indices.tolist(), np.iscomplexobj(columns.data), "sparse"
    )
    return solver, columns


def backward_error(matrix: Any, x: Any, b: Any) -> float:
    """max |b - A x| / (|A| |x| + |b|) over the rows; tiny rows against |A| max |x|."""
    size, whole = abs(matrix) @ np.abs(x) + np.abs(b), np.asarray(abs(matrix).sum(axis=1)).ravel() * np.abs(x).max()
    size = np.where(size > 1000 * len(b) * np.finfo(float).eps * whole, size, size + whole)
    return float(np.max(np.abs(b - matrix @ x)[size > 0] / size[size > 0], initial=0.0))


def torus(side: int) -> sparse.csc_array:
    """Five points on a torus."""
    line = sparse.lil_array(sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(side, side)))
    line[0, -1] = line[-1, 0] = 1
    one = sparse.eye_array(side)
    return sparse.csc_array(sparse.kron(one, line) + sparse.kron(line, one))


def two_species(side: int, gamma: float, seed: int = 0) -> sparse.csc_array:
    """I - gamma J of two quantities that diffuse on a torus and react in every cell."""
    generator = np.random.default_rng(seed)
    laplacian, cells = 10.0 * side**2 * torus(side), side * side
    reaction = [[sparse.diags_array(generator.normal(size=cells)) for _ in range(2)] for _ in range(2)]
    jacobian = sparse.block_array(
        [[laplacian + reaction[0][0], reaction[0][1]], [reaction[1][0], laplacian + reaction[1][1]]]
    )
    return sparse.csc_array(sparse.eye_array(2 * cells) - gamma * jacobian)


def test_the_order_depends_on_the_structure_alone() -> None:
    """Fill and work of a grid, pinned; the same at every step length, where orders by value are nine times as
    costly."""
    for gamma in (1e-10, 1e-5, 1e-2, 1.0, 100.0):
        solver, matrix = solver_for(two_species(24, gamma))
        assert solver.factor(matrix.data)
        b = np.cos(np.arange(matrix.shape[0]))
        assert backward_error(matrix, solver.solve(b), b) < 1e-14
        assert (solver.fill, solver.operations, solver.orderings) == (68560, 2605152, 1)


def test_fill_grows_as_the_theory_of_grids_says() -> None:
    """n log n entries and n^1.5 operations: no more than 5.2 and 9.5 times as many where a side doubles."""
    counts = []
    for side in (16, 32, 64):
        solver, matrix = solver_for(two_species(side, 0.01))
        assert solver.factor(matrix.data)
        counts.append((solver.fill, solver.operations))
    for small, large in pairwise(counts):
        assert large[0] < 6.5 * small[0]
        assert large[1] < 13 * small[1]


@st.composite
def structures(draw: st.DrawFn) -> sparse.csc_array:
    """Saddle points, arrows, grids, upwind grids and random patterns of 500 to 1500 unknowns."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["saddle", "arrow", "grid", "upwind", "random", "permuted"]))
    side = draw(st.integers(23, 32))
    n = side * side
    if kind == "saddle":
        mass = 4 * sparse.eye_array(n) - 0.5 * torus(side)
        rows = sparse.csr_array(sparse.random_array((n // 3, n), density=3 / n, rng=generator))
        rows = rows + sparse.csr_array(
            (generator.uniform(1, 2, n // 3), (np.arange(n // 3), 3 * np.arange(n // 3))), (n // 3, n)
        )
        return sparse.csc_array(sparse.block_array([[mass, rows.T], [rows, None]]))
    if kind == "arrow":
        full = sparse.lil_array(3 * sparse.eye_array(n) - 0.3 * torus(side))
        full[0], full[:, 0], full[0, 0] = 1, 1, 2 * n
        return sparse.csc_array(full)
    if kind == "grid":
        return sparse.csc_array(generator.uniform(0.1, 3) * sparse.eye_array(n) - torus(side))
    if kind == "upwind":
        line = sparse.diags_array([-1.0, 1.5], offsets=[-1, 0], shape=(side, side))
        return sparse.csc_array(sparse.kron(line, sparse.eye_array(side)) + sparse.kron(sparse.eye_array(side), line))
    matrix = sparse.csc_array(sparse.random_array((n, n), density=4 / n, rng=generator, data_sampler=generator.normal))
    matrix = matrix + sparse.diags_array(generator.uniform(2, 4, n))
    if kind == "permuted":
        matrix = sparse.csc_array(matrix)[generator.permutation(n)]
    return sparse.csc_array(matrix)


@settings(max_examples=examples(20, 6), deadline=None)
@given(matrix=structures(), turn=st.sampled_from([1.0, 1 + 2j]), seed=st.integers(0, 1000))
def test_agrees_with_superlu(matrix: sparse.csc_array, turn: complex, seed: int) -> None:
    """Backward error at rounding level, and the answer of another factorisation."""
    generator = np.random.default_rng(seed)
    solver, matrix = solver_for(matrix * turn)
    b = generator.standard_normal(matrix.shape[0])
    for _ in range(2):
        assert solver.factor(matrix.data)
        x = solver.solve(b)
        assert backward_error(matrix, x, b) < 1e-13
        other = splu(matrix).solve(b.astype(matrix.dtype))
        np.testing.assert_allclose(x, other, rtol=0, atol=1e-7 * np.abs(other).max())
        matrix.data = matrix.data * generator.uniform(0.9, 1.1, len(matrix.data))


def flow(side: int) -> sparse.csc_array:
    """Velocities on the faces of square cells, pressures within them; the divergence is zero."""
    line, one = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side)), sparse.eye_array(side)
    viscous = sparse.kron(one, line) + sparse.kron(line, one)
    change = sparse.diags_array([-1.0, 1.0], offsets=[-1, 0], shape=(side, side))
    across, up = sparse.kron(one, change), sparse.kron(change, one)
    blocks = [[viscous, None, across.T], [None, viscous, up.T], [across, up, None]]
    return sparse.csc_array(sparse.block_array(blocks))


@pytest.mark.parametrize("turn", [1.0, 1 + 0.4j])
def test_pressures_wait_for_all_velocities_around_them(turn: complex) -> None:
    """Pressures that wait for one velocity get a pivot of zero. The second order is one of the structure too, whatever
    the unknowns are called: its fill is that of SuperLU within a factor of two."""
    for side in (14, 28):
        matrix = flow(side) * turn
        names = np.random.default_rng(side).permutation(matrix.shape[0])
        solver, matrix = solver_for(matrix[names][:, names])
        b = np.cos(np.arange(matrix.shape[0]))
        for _ in range(2):
            assert solver.factor(matrix.data)
            assert backward_error(matrix, solver.solve(b), b) < 1e-13
            matrix.data = matrix.data * np.random.default_rng(1).uniform(0.9, 1.1, len(matrix.data))
        assert solver.orderings == 2
        assert solver.fill < 2 * splu(matrix).nnz


@pytest.mark.parametrize("small", [0.0, 1e-14])
def test_diagonals_that_vanish_are_left_to_pivots_by_value(small: float) -> None:
    """A diagonal is in the pattern, but its value is no pivot: the order by structure is given up, the answer is
    good."""
    matrix = sparse.lil_array(4 * sparse.eye_array(900) - torus(30))
    swapped = np.arange(0, 900, 7)
    for i in swapped:
        matrix[i, i] = small
    for turn in (1.0, 1j):
        solver, columns = solver_for(sparse.csc_array(matrix) * turn)
        b = np.sin(np.arange(900.0))
        for _ in range(2):
            assert solver.factor(columns.data)
            assert backward_error(columns, solver.solve(b), b) < 1e-13


def test_a_kept_order_is_given_up_where_values_need_another() -> None:
    """Good diagonals first, then zeros on them: two orders, and both answers are good."""
    matrix = sparse.csc_array(9 * sparse.eye_array(900) + torus(30))
    solver, matrix = solver_for(matrix)
    b = np.ones(900)
    assert solver.factor(matrix.data)
    assert solver.orderings == 1
    line = np.repeat(np.arange(900), np.diff(matrix.indptr))
    matrix.data = np.where(matrix.indices == line, 1e-13, matrix.data)
    # Rows apart in value, so that the matrix stays regular.
    matrix.data = matrix.data * np.random.default_rng(0).uniform(0.5, 2, matrix.nnz)
    assert solver.factor(matrix.data)
    assert backward_error(matrix, solver.solve(b), b) < 1e-13
    assert solver.orderings == 2


def test_a_singular_matrix_is_refused() -> None:
    """An empty row, and a sum of rows that is zero."""
    for matrix in (torus(30), 4 * sparse.eye_array(900) - torus(30)):
        solver, columns = solver_for(matrix)
        if matrix is not columns and columns.diagonal()[0] > 0:
            columns.data = np.where(columns.indices == 17, 0, columns.data)
        assert not solver.factor(columns.data)


def test_entries_below_the_smallest_numbers_are_zeros() -> None:
    """Tiny entries that lose their last digits in elimination do not slow or spoil it."""
    matrix = two_species(24, 1e-300)
    solver, matrix = solver_for(matrix)
    assert solver.factor(matrix.data)
    b = np.arange(1.0, 1 + matrix.shape[0])
    np.testing.assert_allclose(solver.solve(b), b, rtol=1e-15)


@pytest.mark.parametrize("turn", [1.0, 1 + 0.3j])
def test_threads_do_not_change_a_bit(turn):
    """Subtrees of fronts side by side: the same factors with any number of threads, and several do work."""
    side = 180
    numbers = np.random.default_rng(7)
    matrix = sparse.csc_array(torus(side) - 0.5 * sparse.eye_array(side**2))
    matrix.data = matrix.data * numbers.uniform(0.9, 1.1, matrix.nnz) * turn
    b, answers = numbers.normal(size=side**2) * turn, []
    try:
        for threads in (1, 2, 3, 4):
            _core.set_factor_threads(threads)
            solver, columns = solver_for(matrix)
            assert solver.factor(columns.data)
            answers.append(solver.solve(b))
    finally:
        _core.set_factor_threads(0)
    assert solver.operations > 5e7
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0])
    assert backward_error(columns, answers[0], b) < 1e-13
