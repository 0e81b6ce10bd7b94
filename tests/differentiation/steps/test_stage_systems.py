"""Linear systems of all stages of a step against the full matrix, and gradients of fields by as many parameters."""

import tracemalloc

import casadi as ca
import numpy as np
import pytest
import scipy.sparse as sp

import daedalus as dd
from daedalus.algebra.sparse_factors import Iterated, SparseFactors
from daedalus.differentiation.steps.stage_systems import StageSystems, StepMatrix


def entries(matrix):
    coo = matrix.tocoo()
    return coo.row, coo.col, coo.data


def step_of(A, n, size, change, seed):
    """Slopes at the stages that differ by a share, and the whole matrix."""
    rng, h, slopes = np.random.default_rng(seed), 0.3, []
    rate = sp.vstack([sp.identity(n), sp.csr_matrix((size - n, n))]) @ sp.diags(rng.uniform(1, 2, n))
    state = sp.random(size, size, 4 / size, random_state=seed) + sp.diags(rng.uniform(2, 3, size))
    whole = np.zeros((len(A) * size, len(A) * size))
    for i in range(len(A)):
        own = sp.csr_matrix(state.multiply(1 + change * rng.normal(size=state.shape)))
        slopes.append((entries(sp.csc_matrix(rate)), entries(own)))
        rows = slice(i * size, (i + 1) * size)
        for j in range(len(A)):
            whole[rows, j * size : j * size + n] += h * A[i, j] * own.toarray()[:, :n]
        whole[rows, i * size : i * size + n] += rate.toarray()
        whole[rows, i * size + n : (i + 1) * size] += own.toarray()[:, n:]
    return StepMatrix(A, h, n, size, slopes), whole


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("method", "algebraic"), [("radau5", 0), ("radau9", 7), ("gauss3", 7), ("gauss2", 0), ("sdirk2", 7)]
)
def test_answers_are_those_of_the_whole_matrix(method, algebraic, transposed):
    A, n, size = np.array(dd.tableau(method).A, float), 40, 40 + algebraic
    for seed in range(4):
        systems = StageSystems(A, n, size)
        assert systems.possible
        matrix, whole = step_of(A, n, size, 0.05, seed)
        right = np.random.default_rng(seed).normal(size=(len(A), size))
        np.testing.assert_allclose(matrix.times(right).ravel(), whole @ right.ravel(), atol=1e-12)
        np.testing.assert_allclose(matrix.times(right, True).ravel(), whole.T @ right.ravel(), atol=1e-12)
        found = systems.solve(matrix, right, transposed)
        exact = np.linalg.solve(whole.T if transposed else whole, right.ravel())
        np.testing.assert_allclose(found.ravel(), exact, atol=1e-9 * np.abs(exact).max())


def test_slopes_that_differ_too_much_have_no_answer():
    A = np.array(dd.tableau("radau5").A, float)
    systems = StageSystems(A, 40, 40)
    matrix, _ = step_of(A, 40, 40, 3.0, 5)
    assert systems.solve(matrix, np.ones((3, 40)), False) is None


def test_tableaux_without_eigenvectors_are_left_to_factors_unless_they_are_triangular():
    assert StageSystems(np.array([[0.3, 0.0], [0.4, 0.3]]), 3, 3).possible
    assert not StageSystems(np.array([[0.4, 0.1], [-0.1, 0.2]]), 3, 3).possible


def test_singular_matrices_have_no_factors():
    factors = SparseFactors(2, np.array([0, 1]), np.array([0, 0]))
    assert not factors.factor(np.array([1.0, 1.0]))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("side", [16, 80])
def test_large_grids_are_solved_by_iteration_where_factors_would_cost_more(side, transposed):
    """Two species that flow round a torus, so that the transpose is another matrix; small grids are factored."""
    line, one = sp.diags([-1.2, -1.0, 2.3, -1.2, -1.0], [1 - side, -1, 0, 1, side - 1], (side, side)), sp.identity(side)
    grid = sp.kron(sp.identity(2), sp.kron(line, one) + sp.kron(one, line))
    grid = (grid + sp.kron([[0.0, 0.1], [0.2, 0.0]], sp.identity(side**2))).tocoo()
    size, cells = 2 * side**2, np.tile(np.arange(side**2), 2)
    factors = SparseFactors(size, grid.row, grid.col, iterated=Iterated(cells, 1e-9))
    assert factors.factor(grid.data)
    assert factors.iterates == (side == 80)
    right = np.random.default_rng(1).normal(size=size)
    rest = right - (grid.T if transposed else grid) @ factors.solve(right, transposed)
    assert np.linalg.norm(rest) <= 1e-8 * np.linalg.norm(right)


@pytest.mark.parametrize("method", ["radau5", "rodas5p"])
def test_a_field_with_a_parameter_in_each_cell(method):
    """u' = k ∇²u: all k moved together scale time, k of one cell by differences; no full matrix is made."""
    side, end = 32, 0.01
    x = (np.arange(side) + 0.5) / side
    m = dd.Model("plate")
    u = m.state("u", (side, side), start=np.outer(np.sin(np.pi * x), np.sin(np.pi * x)))
    k = m.parameter("k", np.ones((side, side)), shape=(side, side))
    m.equation(m.der(u), k * dd.laplacian(u, 1 / side, ("dirichlet", 0.0)))
    tight = {"method": method, "rtol": 1e-7, "atol": 1e-10}
    cost = ca.sumsqr(u)
    dd.gradient(m, end, final=cost, **tight)
    tracemalloc.start()
    g = dd.gradient(m, end, final=cost, **tight)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    rate = -8 * side**2 * np.sin(np.pi / 2 / side) ** 2
    np.testing.assert_allclose(g["k"].sum(), 2 * rate * end * g.value, rtol=1e-6)
    at, by = (13, 7), 1e-3
    moved = np.ones((side, side))
    ends = []
    for sign in (1, -1):
        moved[at] = 1 + sign * by
        tr = dd.simulate(m, end, parameters={"k": moved}, save_at=[end], **tight)
        ends.append((tr["u"][-1] ** 2).sum())
    np.testing.assert_allclose(g["k"][at], (ends[0] - ends[1]) / (2 * by), rtol=1e-4)
    assert most < 8 * side**4 / 2, most
