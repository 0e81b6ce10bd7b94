"""Matrices of chains: a narrow band, however their unknowns are numbered, factored without lists of places."""

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples
from test_linear_solver import backward_error, solver_for

SIZE = 600  # smaller ones are ordered by their values


def band(half: int, seed: int, turn: complex = 1.0, size: int = SIZE) -> sparse.csc_array:
    """Random entries up to `half` places off a diagonal that outweighs them."""
    generator = np.random.default_rng(seed)
    offsets = range(-half, half + 1)
    full = [
        generator.uniform(-1, 1, size - abs(k)) * np.exp(1j * generator.uniform(0, 6, size - abs(k))) for k in offsets
    ]
    matrix = sparse.diags_array([part if turn != 1 else part.real for part in full], offsets=list(offsets))
    return sparse.csc_array(matrix + (2 * half + 1) * sparse.eye_array(size) * turn)


@settings(max_examples=examples(20), deadline=None)
@given(half=st.integers(1, 6), seed=st.integers(0, 10**6), shuffled=st.booleans(), turn=st.sampled_from([1.0, 1j]))
def test_bands_are_solved_in_any_order(half: int, seed: int, shuffled: bool, turn: complex) -> None:
    generator = np.random.default_rng(seed)
    matrix = band(half, seed, turn)
    if shuffled:
        order = generator.permutation(SIZE)
        matrix = sparse.csc_array(matrix[order][:, order])
    solver, values = solver_for(matrix, "sparse")
    for again in range(2):
        changed = values * generator.uniform(0.9, 1.1, len(values))
        matrix.sort_indices()
        matrix.data = changed
        assert solver.factor(changed, *([2.0 ** generator.integers(-3, 4, SIZE)] * 2 if again else ()))
        for b in generator.standard_normal((2, SIZE)) * turn:
            assert backward_error(matrix.toarray(), solver.solve(b), b) < 1e-13
    assert (solver.orderings, solver.fill, solver.operations) == (1, SIZE * (2 * half + 1), SIZE * half * (half + 1))


@pytest.mark.parametrize("bad", ["zero", "small", "growing"])
def test_pivots_that_fail_are_chosen_by_value(bad: str) -> None:
    """A diagonal that vanishes, nearly vanishes, or lets entries grow: the right answer all the same."""
    matrix = sparse.lil_array(band(1, 3))
    at = SIZE // 2
    matrix[at, at] = {"zero": 0.0, "small": 1e-13, "growing": 1e-8}[bad]
    matrix[at, at - 1] = 0.0 if bad != "growing" else 1e-9
    matrix = sparse.csc_array(matrix)
    pattern = sparse.csc_array(band(1, 3))
    pattern.sort_indices()
    values = np.asarray(matrix.todense())[pattern.indices, np.repeat(np.arange(SIZE), np.diff(pattern.indptr))]
    solver, first = solver_for(pattern, "sparse")
    assert solver.factor(first)
    assert solver.factor(values)
    b = np.ones(SIZE)
    assert backward_error(matrix.toarray(), solver.solve(b), b) < 1e-12


def test_a_singular_chain_is_refused_and_the_next_one_is_solved() -> None:
    pattern = band(2, 1)
    solver, values = solver_for(pattern, "sparse")
    nothing = values.copy()
    nothing[pattern.indptr[7] : pattern.indptr[8]] = 0
    assert not solver.factor(nothing)
    assert not solver.factor(np.full_like(values, np.nan))
    assert solver.factor(values)
    b = np.arange(SIZE, dtype=float)
    assert backward_error(pattern.toarray(), solver.solve(b), b) < 1e-13


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=st.integers(0, 10**6), weight=st.sampled_from([0.0, 1.0, 1.9, 2.0, 3.0, 1e6]), turn=st.sampled_from([1.0, 1j])
)
def test_every_answer_of_three_diagonals_is_good(seed: int, weight: float, turn: complex) -> None:
    """Whether diagonals dominate, so that no answer is measured, or not."""
    generator = np.random.default_rng(seed)
    matrix = sparse.csc_array(band(1, seed, turn) + (weight - 3) * sparse.eye_array(SIZE) * turn)
    matrix.sort_indices()
    solver, values = solver_for(matrix, "sparse")
    for _ in range(2):
        assert solver.factor(values)
        for size in (1.0, 1e-9, 1e200):
            b = size * turn * generator.standard_normal(SIZE) * 10.0 ** generator.uniform(-9, 9, SIZE)
            assert backward_error(matrix.toarray(), solver.solve(b), b) < 1e-12


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_refused_wherever_it_stands(bad: float) -> None:
    for half in (1, 2):
        pattern = band(half, 4)
        solver, values = solver_for(pattern, "sparse")
        b = np.cos(np.arange(SIZE))
        assert solver.factor(values)
        good = solver.solve(b)
        for place in (0, 1, 2, len(values) // 2, len(values) // 2 + 1, len(values) - 2, len(values) - 1):
            changed = values.copy()
            changed[place] = bad
            assert not solver.factor(changed)
            assert solver.factor(values)
            np.testing.assert_array_equal(solver.solve(b), good)
        assert solver.orderings == 1


def test_what_is_no_chain_is_factored_as_before() -> None:
    """A ring has a band of two in the order that folds it; a star and a grid have none."""
    ring = sparse.lil_array(band(1, 2))
    ring[0, SIZE - 1] = ring[SIZE - 1, 0] = 1.0
    star = sparse.lil_array(3.0 * sparse.eye_array(SIZE))
    star[0] = star[:, [0]] = 1.0
    star[0, 0] = 2.0 * SIZE
    for matrix, fill in ((ring, 5 * SIZE), (star, 3 * SIZE - 2)):
        columns = sparse.csc_array(matrix)
        solver, values = solver_for(columns, "sparse")
        assert solver.factor(values)
        b = np.ones(SIZE)
        assert backward_error(columns.toarray(), solver.solve(b), b) < 1e-13
        assert solver.fill == fill
