"""Matrices that are well conditioned, and whose entries grow in elimination: answers are right, or none."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rings import examples
from test_linear_solver import FORMS, Form, backward_error, solver_for

Matrix = NDArray[Any]
Generator = np.random.Generator

# Hairer and Wanner's SDIRK4, whose stages hang together by entries up to 8.5 times as large as its diagonal.
SDIRK4 = np.array(
    [
        [1 / 4, 0, 0, 0, 0],
        [1 / 2, 1 / 4, 0, 0, 0],
        [17 / 50, -1 / 25, 1 / 4, 0, 0],
        [371 / 1360, -137 / 2720, 15 / 544, 1 / 4, 0],
        [25 / 24, -49 / 48, 125 / 16, -85 / 12, 1 / 4],
    ]
)


def stages_of_cells(generator: Generator, cells: int) -> Matrix:
    """(δ_ij I - h a_ij J_i) for all stages of a step: two quantities that react in every cell of a line and diffuse."""
    h, reaction, diffusion = 10 ** generator.uniform([-2, -1, -1], [2.5, 2, 3])
    line = scipy.linalg.toeplitz([-2.0, 1.0] + [0.0] * (cells - 2))
    reactions = scipy.linalg.block_diag(*generator.normal(size=(cells, 2, 2)))
    spread = diffusion * np.kron(line, np.diag(generator.uniform(0, 1, 2)))
    n = 2 * cells
    matrix = np.eye(5 * n)
    for i in range(5):
        jacobian = reaction * (1 + 0.3 * generator.normal()) * reactions + spread
        for j in range(i + 1):
            matrix[i * n : i * n + n, j * n : j * n + n] -= h * SDIRK4[i, j] * jacobian
    return matrix


def shots(generator: Generator, cells: int) -> Matrix:
    """x_k+1 = E x_k closed to a boundary value problem (S. J. Wright, SIAM J. Sci. Comput. 14, 1993)."""
    flow = scipy.linalg.expm(np.array([[-1 / 6, 1], [1, -1 / 6]]) * generator.uniform(0.1, 1))
    matrix = np.eye(2 * cells) - np.kron(np.eye(cells, k=-1), flow * generator.uniform(0.5, 1.5))
    matrix[:2, -2:] = np.eye(2) * generator.uniform(0.5, 2)
    return matrix


def ring(generator: Generator, cells: int) -> Matrix:
    """x_k = a_k x_k-1 with |a_k| up to 9, closed to a ring."""
    matrix = np.eye(2 * cells)
    matrix[np.arange(1, 2 * cells), np.arange(2 * cells - 1)] = generator.uniform(-9, 9, 2 * cells - 1)
    matrix[0, -1] = generator.uniform(0.5, 2)
    return matrix


def staircase(generator: Generator, cells: int) -> Matrix:
    """J. H. Wilkinson's matrix, which doubles its last column in every step of elimination by columns."""
    matrix = np.tril(-np.ones((cells, cells)), -1) + np.eye(cells)
    matrix[:, -1] = 1
    return matrix * generator.uniform(0.5, 2)


MEMBERS = [stages_of_cells, shots, ring, staircase]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("member", MEMBERS)
@settings(max_examples=examples(12), deadline=None)
@given(seed=st.integers(0, 10**6), transposed=st.booleans(), turn=st.sampled_from([1.0, 1 + 0.5j]))
def test_growth_is_seen(form: Form, member: Any, seed: int, transposed: bool, turn: complex) -> None:
    """Plain, transposed and complex, for right-hand sides of which the first ones tell nothing."""
    generator = np.random.default_rng(seed)
    matrix = member(generator, int(generator.integers(15, 30 if form == "dense" else 60))) * turn
    if transposed:
        matrix = np.ascontiguousarray(matrix.T)
    n = len(matrix)
    if np.linalg.cond(matrix) > 1e11 or (form == "dense" and n > 300):
        return
    solver, values = solver_for(matrix, form)
    assert solver.factor(values)
    for b in [np.zeros(n), np.eye(n)[generator.integers(n)], *generator.standard_normal((3, n))]:
        x = solver.solve(b)
        error = np.abs(b - matrix @ x).max()
        assert error <= 1e-11 * (np.abs(matrix) @ np.abs(x) + np.abs(b)).max()


def test_kept_pivots_that_let_entries_grow() -> None:
    """Values that change from step to step, from harmless to growing and back: every answer of every one is right."""
    generator = np.random.default_rng(12)
    solver: Any = None
    for a in (0.1, 3.0, 8.0, 0.1, 8.0):
        n = 300
        matrix = sparse.lil_array((n, n))
        matrix.setdiag(1.0)
        matrix.setdiag(a * generator.uniform(0.9, 1.1, n - 1), -1)
        matrix[0, n - 1] = 1.0
        columns = sparse.csc_array(matrix)
        columns.sort_indices()
        if solver is None:
            solver, _ = solver_for(columns, "sparse")
        assert solver.factor(columns.data)
        for b in [np.zeros(n), *generator.standard_normal((3, n))]:
            assert backward_error(columns.toarray(), solver.solve(b), b) < 1e-13


def test_a_step_of_750_unknowns() -> None:
    """Fields of cells whose stages are solved together: the answers by reflections, which let nothing grow."""
    generator = np.random.default_rng(0)
    for _ in range(2):
        matrix = stages_of_cells(generator, 75)
        solver, values = solver_for(matrix)
        Q, R = np.linalg.qr(matrix)
        assert solver.factor(values)
        for b in generator.standard_normal((2, 750)):
            x = scipy.linalg.solve_triangular(R, Q.T @ b)
            np.testing.assert_allclose(solver.solve(b), x, rtol=0, atol=1e-8 * np.abs(x).max())
