"""Factors and preconditioners of patterns that grids make, alone: against exact factors and by their iterations."""

import numpy as np
import pytest
import scipy.sparse as sp
from rings import examples

from daedalus import _core


def blocks(side, seed, turn):
    """Two unknowns a cell on a torus, coupled more inside of a cell than between cells; the cells of the unknowns."""
    rng, n = np.random.default_rng(seed), side**2
    where = np.arange(n).reshape(side, side)
    around = sp.csc_matrix((n, n))
    for axis in (0, 1):
        for by in (1, -1):
            around = around + sp.csc_matrix((np.ones(n), (where.ravel(), np.roll(where, by, axis).ravel())), (n, n))
    inside = sp.bmat([[sp.diags(rng.uniform(1, 2, n)), sp.diags(rng.uniform(20, 30, n))],
                      [sp.diags(rng.uniform(-30, -20, n)), sp.diags(rng.uniform(1, 2, n))]])  # fmt: skip
    whole = (inside + sp.block_diag([4.1 * sp.identity(n) - around] * 2)).tocsc() * turn
    whole.sort_indices()
    return whole, np.tile(np.arange(n), 2).tolist()


@pytest.mark.parametrize("turn", [1.0, 1 + 0.3j])
def test_blocks_of_a_cell_are_eliminated_together(turn):
    """Unknowns that are coupled in their cells alone: block factors are exact, those by entries are not."""
    needed = {}
    for form in ("krylov", "block_ilu"):
        matrix, cells = blocks(12, 3, turn)
        solver = _core.LinearSolver(288, matrix.indptr.tolist(), matrix.indices.tolist(), turn != 1.0, form, cells)
        assert solver.factor(matrix.data)
        b = matrix @ np.random.default_rng(2).normal(size=288)
        x = solver.solve(b)
        assert np.linalg.norm(matrix @ x - b) < 1e-8 * np.linalg.norm(b)
        assert not solver.gave_up
        needed[form] = solver.iterations
    assert needed["block_ilu"] < needed["krylov"]


@pytest.mark.parametrize("turn", [1.0, 2 - 1j])
@pytest.mark.parametrize(("below", "above"), [(1, 1), (0, 3), (4, 0), (7, 16), (20, 2)])
def test_factors_of_a_band_are_exact(below, above, turn):
    """One iteration where all entries are in the band, with small pivots on the diagonal too; else more."""
    rng, n = np.random.default_rng(below + 17 * above), 90
    offsets = range(-below, above + 1)
    matrix = sp.diags([rng.normal(size=n - abs(k)) for k in offsets], list(offsets), format="csc") * turn
    matrix = (matrix + sp.diags(np.where(np.arange(n) % 7, 6.0, 1e-9))).tocsc()
    matrix.sort_indices()
    dense = matrix.toarray()
    solver = _core.LinearSolver(n, matrix.indptr.tolist(), matrix.indices.tolist(), turn != 1.0, "banded")
    assert solver.factor(matrix.data)
    b = rng.normal(size=n) * turn
    x = solver.solve(b)
    assert np.abs(dense @ x - b).max() <= 1e-8 * (np.abs(dense) @ np.abs(x) + np.abs(b)).max()
    if max(below, above) <= 16:
        assert not solver.gave_up
        assert solver.iterations <= 2


def grid(side, weights, wind=0.0):
    """-(weights · ∇²) u + wind ∂u/∂x + u on a square, Dirichlet."""
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    drift = sp.diags([-1.0, 1.0], [-1, 0], shape=(side, side))
    one = sp.identity(side)
    whole = sp.kron(weights[0] * line + wind * drift, one) + sp.kron(one, weights[1] * line)
    return (whole * side**2 + sp.identity(side**2)).tocsc()


@pytest.mark.parametrize(
    ("weights", "wind", "turn"),
    [((1, 1), 0, 1.0), ((1, 1e-3), 0, 1.0), ((1, 1), 20.0, 1.0), ((1, 1), 0, 1 + 0.5j), ((0, 1e-9), 0, 1.0)],
)
def test_multigrid_needs_about_as_many_iterations_on_finer_grids(weights, wind, turn):
    needed = []
    for side in (16, 32, 64):
        matrix = (grid(side, weights, wind) * turn).tocsc()
        matrix.sort_indices()
        solver = _core.LinearSolver(
            side**2, matrix.indptr.tolist(), matrix.indices.tolist(), np.iscomplexobj(matrix.data), "multigrid"
        )
        assert solver.factor(matrix.data)
        b = matrix @ np.random.default_rng(2).normal(size=side**2)
        x = solver.solve(b)
        assert np.linalg.norm(matrix @ x - b) < 1e-8 * np.linalg.norm(b)
        assert not solver.gave_up
        needed.append(solver.iterations)
    assert needed[-1] <= 2 * needed[0] + 6
    assert needed[-1] <= 30


def test_multigrid_for_rocks_of_different_conductivity():
    """Conductivities that jump by powers of ten from cell to cell: rows differ in size, the matrix is symmetric."""
    needed = []
    for side in (16, 32, 64):
        n, generator = side**2, np.random.default_rng(1)
        conducts, where = 10.0 ** generator.uniform(-2, 2, n), np.arange(n).reshape(side, side)
        matrix = sp.csc_matrix((n, n))
        for axis in (0, 1):
            here, there = where.ravel(), np.roll(where, -1, axis).ravel()
            flow = 2 * side**2 / (1 / conducts[here] + 1 / conducts[there])
            for row, column, sign in ((here, here, 1), (here, there, -1), (there, here, -1), (there, there, 1)):
                matrix = matrix + sp.csc_matrix((sign * flow, (row, column)), (n, n))
        matrix = (matrix + 20 * sp.identity(n)).tocsc()
        matrix.sort_indices()
        solver = _core.LinearSolver(n, matrix.indptr.tolist(), matrix.indices.tolist(), False, "multigrid")
        assert solver.factor(matrix.data)
        b = matrix @ generator.normal(size=n)
        assert np.linalg.norm(matrix @ solver.solve(b) - b) < 1e-8 * np.linalg.norm(b)
        assert not solver.gave_up
        needed.append(solver.iterations)
    assert needed[-1] <= 60
    assert needed[-1] <= 2 * needed[0] + 6


def test_multigrid_on_random_patterns_is_right_or_gives_way():
    """Of matrices that no multigrid was made for: iterations converge, or factors solve."""
    generator = np.random.default_rng(5)
    for _ in range(examples(12)):
        n = int(generator.integers(70, 300))
        matrix = sp.random(n, n, 4 / n, random_state=int(generator.integers(2**31)), format="csc")
        matrix = (matrix + sp.diags(generator.choice([0.0, 1.0, -1.0, 1e-6], n, p=[0.1, 0.5, 0.3, 0.1]))).tocsc()
        if sp.csgraph.structural_rank(matrix) < n:
            continue
        solver = _core.LinearSolver(n, matrix.indptr.tolist(), matrix.indices.tolist(), False, "multigrid")
        if not solver.factor(matrix.data):
            continue
        b = matrix @ np.ones(n)
        x = solver.solve(b)
        scale = abs(matrix) @ np.abs(x) + np.abs(b)
        assert np.abs(matrix @ x - b).max() <= 1e-6 * scale.max()


def krylov(matrix):
    n = len(matrix)
    columns = [np.flatnonzero(matrix[:, c]) for c in range(n)]
    solver = _core.LinearSolver(
        n,
        [0, *np.cumsum([len(c) for c in columns]).tolist()],
        np.concatenate(columns).tolist(),
        np.iscomplexobj(matrix),
        "krylov",
    )
    return solver, np.concatenate([matrix[rows, c] for c, rows in enumerate(columns)])


@pytest.mark.parametrize("turn", [1.0, 1 + 2j])
def test_gmres_solves_grids(turn):
    generator = np.random.default_rng(4)
    n = 200
    matrix = turn * (np.diag(np.full(n, 2.1)) + np.diag(np.full(n - 1, -1.0), 1) + np.diag(np.full(n - 1, -1.0), -1))
    matrix[np.arange(0, n - 20), np.arange(20, n)] = -0.05
    matrix *= 10.0 ** generator.uniform(-4, 4, n)[:, None]
    solver, values = krylov(matrix)
    assert solver.factor(values)
    b = matrix @ generator.normal(size=n)
    x = solver.solve(b)
    assert np.abs((matrix @ x - b) / np.abs(matrix).max(axis=1)).max() < 1e-7
    assert 0 < solver.iterations < 100
    assert not solver.gave_up


def saddle(side, seed, turn):
    """Velocities on a square with a pressure that keeps their sums, each in a row of its own without a diagonal."""
    generator, n = np.random.default_rng(seed), side**2
    line = sp.diags_array([-1.0, 2.2, -1.0], offsets=[-1, 0, 1], shape=(side, side))
    spread = sp.kron(line, sp.eye_array(side)) + sp.kron(sp.eye_array(side), line)
    slope = sp.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(side, side))
    slopes = sp.hstack([sp.kron(slope, sp.eye_array(side)), sp.kron(sp.eye_array(side), slope)])
    whole = sp.block_array([[sp.block_diag([turn * spread] * 2), slopes.T], [slopes, None]]).toarray()
    # In any order: pressures stand between velocities.
    order = generator.permutation(3 * n)
    return whole[np.ix_(order, order)]


@pytest.mark.parametrize("turn", [1.0, 1 + 2j])
def test_rows_without_a_diagonal_come_last_in_incomplete_factors(turn):
    matrix = saddle(8, 5, turn)
    solver, values = krylov(matrix)
    assert solver.factor(values)
    b = matrix @ np.random.default_rng(6).normal(size=len(matrix))
    assert np.linalg.norm(matrix @ solver.solve(b) - b) < 1e-8 * np.linalg.norm(b)
    assert 0 < solver.iterations < 60
    assert not solver.gave_up


def test_factors_that_cost_more_give_way_to_iterations():
    """What factors would take is known by structure; a matrix that multigrid was not made for is factored after all."""
    matrix = grid(40, (1, 1))
    matrix.sort_indices()
    shape = (1600, matrix.indptr.tolist(), matrix.indices.tolist(), False, "chosen")
    b = matrix @ np.random.default_rng(3).normal(size=1600)
    direct, iterating = _core.LinearSolver(*shape), _core.LinearSolver(*shape, dearer=1e-3)
    for solver in (direct, iterating):
        assert solver.factor(matrix.data)
        assert np.linalg.norm(matrix @ solver.solve(b) - b) < 1e-8 * np.linalg.norm(b)
    assert (direct.iterations, direct.gave_up) == (0, False)
    assert iterating.iterations > 0
    assert not iterating.gave_up
    rough = sp.random(1600, 1600, 4 / 1600, random_state=7, format="csc")
    rough = (rough + sp.diags(np.where(np.arange(1600) % 2, 0.1, -0.1))).tocsc()
    rough.sort_indices()
    shape = (1600, rough.indptr.tolist(), rough.indices.tolist(), False, "chosen")
    solver = _core.LinearSolver(*shape, dearer=1e-3)
    assert solver.factor(rough.data)
    b = rough @ np.ones(1600)
    x = solver.solve(b)
    assert np.abs(rough @ x - b).max() <= 1e-6 * (abs(rough) @ np.abs(x) + np.abs(b)).max()
    assert solver.gave_up


def test_iterations_that_turn_out_dearer_give_way_to_factors():
    """Nobody asked for them: behind a few factorisations the work of both ways is known."""
    matrix = grid(40, (1, 1))
    matrix.sort_indices()
    shape = (1600, matrix.indptr.tolist(), matrix.indices.tolist(), False)
    b = matrix @ np.random.default_rng(3).normal(size=1600)
    chosen, asked = _core.LinearSolver(*shape, "chosen", dearer=1e-3), _core.LinearSolver(*shape, "multigrid")
    for solver in (chosen, asked):
        for _ in range(8):
            assert solver.factor(matrix.data)
            assert np.linalg.norm(matrix @ solver.solve(b) - b) < 1e-8 * np.linalg.norm(b)
        assert solver.iterations > 0
    assert chosen.gave_up
    assert not asked.gave_up


def test_a_pattern_without_a_diagonal_is_factored():
    matrix = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 3.0]])
    matrix = np.kron(np.eye(8), matrix)
    solver, values = krylov(matrix)
    assert solver.factor(values)
    b = np.arange(24.0)
    np.testing.assert_allclose(matrix @ solver.solve(b), b, atol=1e-12)
    assert solver.gave_up
