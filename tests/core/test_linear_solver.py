"""The linear solver of the core: dense and sparse, real and complex, against NumPy and exact counts."""

from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rings import examples

from daedalus import _core

Form = Literal["best", "dense", "sparse"]
FORMS: list[Form] = ["dense", "sparse"]
Matrix = NDArray[Any]


def solver_for(matrix: Any, form: Form = "best") -> tuple[_core.LinearSolver, Matrix]:
    """A solver with the pattern of a matrix, and the values in its order."""
    columns = sparse.csc_array(matrix)
    columns.sort_indices()
    solver = _core.LinearSolver(
        columns.shape[0], columns.indptr.tolist(), columns.indices.tolist(), np.iscomplexobj(columns.data), form
    )
    return solver, columns.data


def backward_error(matrix: Matrix, x: Matrix, b: Matrix) -> float:
    """max |b - A x| / (|A| |x| + |b|) over the rows; tiny rows against |A| max |x| (Arioli, Demmel, Duff 1989)."""
    size, whole = np.abs(matrix) @ np.abs(x) + np.abs(b), np.abs(matrix).sum(axis=1) * np.abs(x).max()
    size = np.where(size > 1000 * len(b) * np.finfo(float).eps * whole, size, size + whole)
    return float(np.max(np.abs(b - matrix @ x)[size > 0] / size[size > 0], initial=0.0))


@st.composite
def matrices(draw: st.DrawFn, complex_too: bool = True) -> Matrix:
    """Sparse to full matrices of 1 to 30 rows that are not structurally singular, diagonals mostly empty."""
    n = draw(st.integers(1, 30))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix: Matrix = generator.standard_normal((n, n)) * (generator.random((n, n)) < draw(st.floats(0, 1)))
    matrix[np.arange(n), generator.permutation(n)] = generator.uniform(0.5, 2, n)
    if complex_too and draw(st.booleans()):
        matrix = matrix * np.exp(2j * np.pi * generator.random((n, n)))
    return matrix


def chain(links: int, seed: int = 0) -> sparse.csc_array:
    """The KKT matrix [[M, G'], [G, 0]] of a plane chain: three coordinates a link, two constraints a joint."""
    generator = np.random.default_rng(seed)
    matrix = sparse.lil_array((5 * links, 5 * links))
    for link in range(links):
        for axis in range(3):
            matrix[5 * link + axis, 5 * link + axis] = 1 + generator.random()
        for axis in range(2):
            joint = 5 * link + 3 + axis
            gradient = [(5 * link + axis, 1.0), (5 * link + 2, generator.normal())]
            if link > 0:
                gradient += [(5 * link - 5 + axis, -1.0), (5 * link - 3, generator.normal())]
            for coordinate, value in gradient:
                matrix[joint, coordinate] = matrix[coordinate, joint] = value
    return sparse.csc_array(matrix)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(60), deadline=None)
@given(matrix=matrices(), seed=st.integers(0, 1000))
def test_agrees_with_numpy(form: Form, matrix: Matrix, seed: int) -> None:
    """The residual is at rounding level and the answer as good as the condition allows."""
    b = np.random.default_rng(seed).standard_normal(len(matrix))
    solver, values = solver_for(matrix, form)
    condition = np.linalg.cond(matrix)
    if condition > 1e12:
        return
    assert solver.factor(values)
    x = solver.solve(b)
    assert x.dtype == matrix.dtype
    assert backward_error(matrix, x, b) < 1e-13
    np.testing.assert_allclose(x, np.linalg.solve(matrix, b), rtol=0, atol=1e-14 * condition * np.abs(x).max())


@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize("turn", [1.0, 1j])
def test_every_small_size(n: int, turn: complex) -> None:
    """Up to 8 unknowns are eliminated densely in code of their own, whatever the pattern; kept pivots serve again."""
    generator = np.random.default_rng(n)
    matrix = np.diag(generator.uniform(0.5, 1, n)) + np.diag(np.full(n - 1, 2.0), -1)
    matrix = matrix * (turn if turn == 1.0 else 1 + turn)
    solver, values = solver_for(matrix)
    assert solver.dense == (n <= 8)
    for factor in (1.0, 0.5):
        assert solver.factor(factor * values)
        for _ in range(2):
            b = generator.standard_normal(n)
            assert backward_error(factor * matrix, solver.solve(b), b) < 1e-15
    assert solver.orderings == 1


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(30), deadline=None)
@given(seed=st.integers(0, 10**6), free=st.integers(2, 12), data=st.data())
def test_saddle_points(form: Form, seed: int, free: int, data: st.DataObject) -> None:
    """[[M, G'], [G, 0]] with an empty block on the diagonal."""
    generator = np.random.default_rng(seed)
    bound = data.draw(st.integers(1, free - 1))
    mass = np.diag(generator.uniform(1, 2, free))
    gradient = np.linalg.qr(generator.standard_normal((free, bound)))[0].T
    matrix = np.block([[mass, gradient.T], [gradient, np.zeros((bound, bound))]])
    b = generator.standard_normal(free + bound)
    solver, values = solver_for(matrix, form)
    assert solver.factor(values)
    np.testing.assert_allclose(matrix @ solver.solve(b), b, atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(40), deadline=None)
@given(matrix=matrices(), seed=st.integers(0, 1000))
def test_badly_scaled(form: Form, matrix: Matrix, seed: int) -> None:
    """Rows and columns over twenty orders of magnitude: small backward error in every row."""
    generator = np.random.default_rng(seed)
    if np.linalg.cond(matrix) > 1e8:
        return
    rows, columns = 10 ** generator.uniform(-10, 10, (2, len(matrix)))
    scaled = rows[:, None] * matrix * columns
    b = rows * generator.standard_normal(len(matrix))
    solver, values = solver_for(scaled, form)
    assert solver.factor(values)
    x = solver.solve(b)
    assert backward_error(scaled, x, b) < 1e-13
    np.testing.assert_allclose(
        columns * x, np.linalg.solve(matrix, b / rows), rtol=0, atol=1e-5 * np.abs(columns * x).max()
    )


@pytest.mark.parametrize("form", FORMS)
def test_given_scales_do_not_change_the_answer(form: Form) -> None:
    """R A C is factored, A x = b is solved, also when the scales change by many orders."""
    matrix = chain(4).toarray()
    b = np.arange(1.0, len(matrix) + 1)
    solver, values = solver_for(matrix, form)
    for power in (0, 2, -3):
        scale = np.where(np.arange(len(matrix)) % 5 < 3, 1.0, 10.0**power)
        assert solver.factor(values, row_scale=scale, column_scale=1 / scale)
        np.testing.assert_allclose(matrix @ solver.solve(b), b, atol=1e-12)
    assert solver.factorisations == 3


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(40), deadline=None)
@given(matrix=matrices(), data=st.data())
def test_an_empty_line_is_refused(form: Form, matrix: Matrix, data: st.DataObject) -> None:
    """A row or a column of zeros, in the pattern or not: singular, and nothing can be solved."""
    line = data.draw(st.integers(0, len(matrix) - 1))
    solver, values = solver_for(matrix, form)
    columns = sparse.csc_array(matrix)
    of_line = (
        columns.indices == line
        if data.draw(st.booleans())
        else np.repeat(np.arange(len(matrix)), np.diff(columns.indptr)) == line
    )
    assert not solver.factor(np.where(of_line, 0, values))
    matrix[line] = 0
    solver, values = solver_for(matrix, form)
    assert not solver.factor(values)
    with pytest.raises(ValueError, match="no factorisation"):
        solver.solve(np.ones(len(matrix)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [3, 8, 15])
def test_dependent_rows_are_refused(form: Form, n: int) -> None:
    """A row that is a combination of two others, true to rounding only."""
    for seed in range(20):
        generator = np.random.default_rng(seed)
        matrix = np.linalg.qr(generator.standard_normal((n, n)))[0]
        matrix[seed % n] = 0.3 * matrix[seed % n - 1] + 0.7 * matrix[seed % n - 2]
        solver, values = solver_for(matrix, form)
        assert not solver.factor(values)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", FORMS)
def test_not_finite_is_refused_wherever_it_stands(form: Form, bad: float) -> None:
    """At the first factorisation and at a later one with kept pivots; good values work again."""
    matrix = chain(3)
    for place in range(matrix.nnz):
        solver, values = solver_for(matrix, form)
        spoiled = values.copy()
        spoiled[place] = bad
        assert not solver.factor(spoiled)
        assert solver.factor(values)
        assert not solver.factor(spoiled)
        assert solver.factor(values)


@pytest.mark.parametrize("form", FORMS)
def test_pivots_are_kept_and_chosen_again(form: Form) -> None:
    """Values that move a little keep the pivots; values that make them tiny do not, and the answer stays good."""
    generator = np.random.default_rng(3)
    matrix = chain(6).toarray()
    pattern = matrix != 0
    b = generator.standard_normal(len(matrix))
    solver, values = solver_for(matrix, form)
    for _ in range(10):
        assert solver.factor(values * generator.uniform(0.9, 1.1, len(values)))
        solver.solve(b)
    assert (solver.factorisations, solver.orderings) == (10, 1)
    moved = matrix.copy()
    moved[pattern] = generator.standard_normal(pattern.sum()) * 10 ** generator.uniform(-9, 3, pattern.sum())
    assert solver.factor(moved.T[pattern.T])
    x = solver.solve(b)
    assert solver.orderings == 2
    assert backward_error(moved, x, b) < 1e-13


def test_a_pivot_that_vanishes() -> None:
    """A large diagonal, kept as pivots, becomes exactly zero: other pivots, the right answer."""
    beside = np.diag([1.0, 2.0, 3.0], 1) + np.diag([3.0, 1.0, 2.0], -1)
    matrix = beside + 50 * np.eye(4)
    b = np.array([1.0, 2.0, 3.0, 4.0])
    for form in FORMS:
        solver, values = solver_for(matrix, form)
        assert solver.factor(values)
        assert solver.factor(beside.T[matrix.T != 0])
        np.testing.assert_allclose(beside @ solver.solve(b), b, atol=1e-14)
        assert solver.orderings == 2


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(40), deadline=None)
@given(matrix=matrices(), seed=st.integers(0, 10**6))
def test_many_factorisations_of_one_pattern(form: Form, matrix: Matrix, seed: int) -> None:
    """Whatever values come, kept pivots or not: small backward error, every time."""
    generator = np.random.default_rng(seed)
    solver, values = solver_for(matrix, form)
    columns = sparse.csc_array(matrix)
    b = generator.standard_normal(len(matrix))
    for spread in (0, 1, 3, 6):
        columns.data = values * 10 ** generator.uniform(-spread, spread, len(values))
        dense = columns.toarray()
        equilibrated = dense / np.abs(dense).max(axis=1, keepdims=True)
        if np.linalg.cond(equilibrated / np.abs(equilibrated).max(axis=0)) > 1e9:
            continue
        assert solver.factor(columns.data)
        for _ in range(2):
            assert backward_error(dense, solver.solve(b), b) < 1e-12


def test_a_chain_costs_as_much_as_it_is_long() -> None:
    """Fill and operations of the chain's KKT matrix: exact, and the same for every link."""
    counts = {}
    for links in (10, 20, 40, 400):
        matrix = chain(links)
        solver, values = solver_for(matrix)
        assert not solver.dense
        assert solver.factor(values)
        counts[links] = (solver.fill, solver.operations)
        b = np.ones(5 * links)
        assert np.abs(matrix @ solver.solve(b) - b).max() < 1e-10
    (fill_10, work_10), (fill_20, work_20) = counts[10], counts[20]
    assert (fill_10, work_10) == (268, 368)
    assert (fill_20 - fill_10, work_20 - work_10) == (290, 420)
    for links in (40, 400):
        assert counts[links] == (fill_10 + 29 * (links - 10), work_10 + 42 * (links - 10))


def test_an_arrow_does_not_fill() -> None:
    """A full first row and column and a diagonal: Markowitz keeps the arrow for last, nothing fills."""
    n = 200
    matrix = np.eye(n) * 3
    matrix[0], matrix[:, 0] = 1, 1
    matrix[0, 0] = 100
    solver, values = solver_for(matrix)
    assert solver.factor(values)
    assert (solver.dense, solver.fill, solver.operations) == (False, 3 * n - 2, 2 * (n - 1))


def test_dense_or_sparse() -> None:
    """Small and full patterns are dense, chains are sparse; a dense one counts n^3 / 3."""
    assert solver_for(np.ones((4, 4)))[0].dense
    assert solver_for(np.ones((40, 40)))[0].dense
    assert not solver_for(chain(10))[0].dense
    assert not solver_for(sparse.random_array((1000, 1000), density=0.2, rng=1) + sparse.eye_array(1000))[0].dense
    solver, values = solver_for(np.eye(5) + 1)
    assert solver.factor(values)
    assert (solver.fill, solver.operations) == (25, 40)


def test_empty_and_single() -> None:
    """No unknown, and one."""
    empty = _core.LinearSolver(0, [0], [])
    assert empty.factor([])
    assert empty.solve([]).shape == (0,)
    for form in FORMS:
        solver = _core.LinearSolver(1, [0, 1], [0], False, form)
        assert solver.factor([4.0])
        assert solver.solve([2.0]) == [0.5]
        assert not solver.factor([0.0])


def test_patterns_are_checked() -> None:
    """What is not a pattern is refused in words."""
    for n, colind, rows in [(1, [0], []), (1, [0, 2], [0]), (2, [0, 2, 1], [0]), (-1, [0], [])]:
        with pytest.raises(ValueError, match="colind"):
            _core.LinearSolver(n, colind, rows)
    with pytest.raises(ValueError, match="at least 0 and less than n"):
        _core.LinearSolver(1, [0, 1], [1])
    with pytest.raises(ValueError, match="increase"):
        _core.LinearSolver(2, [0, 2, 2], [1, 1])
    with pytest.raises(ValueError, match="one value for each nonzero"):
        _core.LinearSolver(1, [0, 1], [0]).factor([1.0, 2.0])


def test_timing_repeats_the_last_work() -> None:
    """Timing factors and solves as often as asked."""
    solver, values = solver_for(chain(3))
    assert solver.factor(values)
    assert solver.time_factor(10) > 0
    assert solver.time_solve(np.ones(15), 10) > 0
    assert (solver.factorisations, solver.orderings) == (11, 1)


def grid(side: int, seed: int = 0) -> sparse.csc_array:
    """A five-point pattern with random values: its factors have long rows, those of a chain short ones."""
    line = sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(side, side))
    matrix = sparse.csc_array(sparse.kron(line, sparse.eye_array(side)) + sparse.kron(sparse.eye_array(side), line))
    matrix.data = np.random.default_rng(seed).uniform(0.5, 1.5, matrix.nnz)
    return sparse.csc_array(matrix + 6 * sparse.eye_array(side * side))


@pytest.mark.parametrize("turn", [1.0, 1j])
@pytest.mark.parametrize(("pattern", "short"), [(chain(60), True), (grid(40), False)])
def test_short_and_long_factors_solve_on_kept_pivots(pattern: sparse.csc_array, short: bool, turn: complex) -> None:
    solver, values = solver_for(pattern * turn, "sparse")
    generator = np.random.default_rng(5)
    for _ in range(4):
        changed = values * generator.uniform(0.8, 1.2, len(values))
        solver.factor(changed)
        matrix = sparse.csc_array(pattern * turn)
        matrix.sort_indices()
        matrix.data = changed
        for b in generator.standard_normal((2, pattern.shape[0])) * turn:
            assert backward_error(matrix.toarray(), solver.solve(b), b) < 1e-13
    assert solver.orderings <= 2
    # So many multiplications an entry decide which of the two ways is taken.
    assert (solver.operations <= 8 * solver.fill) == short
