"""`solve_dae` with thousands of unknowns: sparse mass matrices and Jacobians, and a refusal where there are none."""

import numpy as np
import pytest
import scipy.sparse

import daedalus as dd


def heat(n):
    """A rod whose ends are held by algebraic equations; f, M, the start and the exact solution of the grid."""
    width = 1 / (n - 1)

    def f(t, y):
        rate = np.empty_like(y)
        rate[0], rate[-1] = y[0], y[-1]
        rate[1:-1] = (y[2:] - 2 * y[1:-1] + y[:-2]) / width**2
        return rate

    inside = np.ones(n)
    inside[[0, -1]] = 0
    start = np.sin(np.pi * np.linspace(0, 1, n)) * inside
    decay = 4 / width**2 * np.sin(np.pi * width / 2) ** 2
    return f, scipy.sparse.diags(inside), start, lambda t: np.exp(-decay * t) * start


@pytest.mark.parametrize("method", [pytest.param("BDF", marks=pytest.mark.wide), "Radau"])
def test_more_unknowns_than_dense_matrices_serve(method):
    f, mass, start, exact = heat(3100)
    result = dd.solve_dae(f, (0, 0.05), start, mass=mass, method=method, rtol=1e-5, atol=1e-8)
    assert result.traced
    assert result.index == 1
    assert np.abs(result.y[:, -1] - exact(0.05)).max() < 1e-5


def test_dense_and_sparse_masses_give_the_same():
    f, mass, start, _ = heat(20)
    ends = [
        dd.solve_dae(f, (0, 0.05), start, mass=form, rtol=1e-8, atol=1e-10).y[:, -1]
        for form in (mass, mass.tocsr(), scipy.sparse.csc_array(mass), mass.toarray())
    ]
    assert all(np.array_equal(end, ends[0]) for end in ends)
    # Another matrix of the same pattern is another system.
    assert not np.array_equal(dd.solve_dae(f, (0, 0.05), start, mass=2 * mass, rtol=1e-8).y[:, -1], ends[0])


def test_a_sparse_mass_that_is_not_finite_is_named():
    f, _, start, _ = heat(3)
    with pytest.raises(ValueError, match=r"mass\[1, 1\] = nan"):
        dd.solve_dae(f, (0, 1), start, mass=scipy.sparse.diags([0.0, np.nan, 0.0]))


def test_a_large_function_that_cannot_be_traced_is_refused():
    f, mass, start, _ = heat(3100)
    calls = []

    def counted(t, y):
        calls.append(t)
        return f(t, y)

    with pytest.raises(ValueError) as error:
        dd.solve_dae(counted, (0, 1), start, mass=mass)
    assert str(error.value).splitlines() == [
        "`F` has 3100 unknowns and could not be traced.",
        "  it changes calls",
        "  Because a function that is called has dense Jacobians, which serve up to 3000 unknowns.",
        "  Try: a function that can be traced (NumPy on whole arrays, no side effects), or a dd.Model",
    ]
