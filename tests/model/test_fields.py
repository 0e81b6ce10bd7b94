"""Differences of fields: orders by refinement, edges against formulas, symbols against numbers, refusals in words."""

import casadi as ca
import numpy as np
import pytest
import scipy.signal
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd

BOUNDARIES = [
    "periodic",
    "neumann",
    ("neumann", 0.7),
    ("dirichlet", 1.5),
    [(("dirichlet", 1.0), "neumann"), "periodic"],
]


def cells(n):
    return (np.arange(n) + 0.5) / n


@settings(max_examples=examples(20), deadline=None)
@given(
    shape=st.tuples(st.integers(2, 6), st.integers(2, 6)),
    boundary=st.sampled_from(BOUNDARIES),
    seed=st.integers(0, 1000),
)
def test_symbols_and_numbers_agree(shape, boundary, seed):
    numbers = np.random.default_rng(seed).normal(size=shape)
    velocity = np.random.default_rng(seed + 1).normal(size=(2, *shape))
    u = ca.SX.sym("u", *shape)
    for verb in (
        lambda f: dd.laplacian(f, (0.1, 0.3), boundary),
        lambda f: dd.gradient_of(f, (0.1, 0.3), boundary)[1],
        lambda f: dd.gradient_of(f, 0.2)[0],
        lambda f: dd.upwind(f, tuple(velocity), 0.2, boundary),
        lambda f: dd.upwind(f, (f, -f), 0.2, boundary),
    ):
        np.testing.assert_allclose(ca.Function("f", [u], [verb(u)])(numbers).full(), verb(numbers), atol=1e-12)


@pytest.mark.parametrize(
    ("boundary", "field", "second"),
    [
        ("periodic", lambda x: np.sin(2 * np.pi * x), lambda x: -((2 * np.pi) ** 2) * np.sin(2 * np.pi * x)),
        ("neumann", lambda x: np.cos(np.pi * x), lambda x: -(np.pi**2) * np.cos(np.pi * x)),
        (("dirichlet", 0.0), lambda x: np.sin(np.pi * x), lambda x: -(np.pi**2) * np.sin(np.pi * x)),
    ],
)
def test_the_laplacian_converges_with_order_two(boundary, field, second):
    """Measured through the solution of u_t = u_xx in one dimension, and inside the field in two."""
    errors = []
    for n in (16, 32, 64):
        x, y = np.meshgrid(cells(n), cells(n), indexing="ij")
        u = field(x) + 2 * field(y)
        error = dd.laplacian(u, 1 / n, boundary) - second(x) - 2 * second(y)
        errors.append(np.abs(error[1:-1, 1:-1]).max())
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (rates > 1.9).all()


def test_edges_follow_the_conditions():
    u = np.array([1.0, 4.0, 9.0])
    np.testing.assert_allclose(dd.laplacian(u, 1.0, "periodic"), [9 - 2 + 4, 1 - 8 + 9, 4 - 18 + 1])
    np.testing.assert_allclose(dd.laplacian(u, 1.0, "neumann"), [3, 2, -5])
    np.testing.assert_allclose(dd.laplacian(u, 2.0, ("neumann", 3.0)), [(3 + 6) / 4, 0.5, (-5 + 6) / 4])
    np.testing.assert_allclose(dd.laplacian(u, 1.0, ("dirichlet", 5.0)), [4 - 2 + 10 - 1, 2, 4 - 18 + 10 - 9])
    np.testing.assert_allclose(dd.laplacian(u, 1.0, [(("dirichlet", 5.0), "neumann")]), [11, 2, -5])
    # One value for each edge cell.
    square = np.arange(4.0).reshape(2, 2)
    edges = dd.laplacian(square, 1.0, [("dirichlet", [10.0, 20.0]), "neumann"])
    np.testing.assert_allclose(edges[0], [2 - 0 + 20 - 0 + 1, 3 - 2 + 40 - 1 - 1])


def test_diffusion_keeps_what_is_there():
    """No flow and no end: the sum of the Laplacian is zero, whatever the field."""
    u = np.random.default_rng(1).normal(size=(5, 7))
    for boundary in ("periodic", "neumann"):
        assert abs(dd.laplacian(u, 0.3, boundary).sum()) < 1e-11


def test_gradients_are_exact_for_parabolas():
    x, y = np.meshgrid(np.arange(6.0), np.arange(5.0) * 0.5, indexing="ij")
    along_x, along_y = dd.gradient_of(x**2 + 3 * y**2 + x * y, (1.0, 0.5))
    np.testing.assert_allclose(along_x, 2 * x + y, atol=1e-12)
    np.testing.assert_allclose(along_y, 6 * y + x, atol=1e-12)
    np.testing.assert_allclose(dd.gradient_of([1.0, 3.0], 0.5), [4.0, 4.0])


def test_upwind_looks_against_the_flow():
    u = np.array([0.0, 1.0, 5.0, 2.0])
    np.testing.assert_allclose(dd.upwind(u, 2.0, 1.0), 2 * (u - np.roll(u, 1)))
    np.testing.assert_allclose(dd.upwind(u, -2.0, 0.5), -4 * (np.roll(u, -1) - u))
    mixed = np.array([1.0, -1.0, 0.0, 2.0])
    back, forward = u - np.roll(u, 1), np.roll(u, -1) - u
    np.testing.assert_allclose(dd.upwind(u, mixed, 1.0), np.where(mixed > 0, mixed * back, mixed * forward))


def test_upwind_makes_no_switch_of_every_cell():
    """Velocities that depend on the field turn over without events."""
    m = dd.Model("Burgers")
    u = m.state("u", 20, start=np.sin(2 * np.pi * cells(20)))
    m.equation(m.der(u), -dd.upwind(u, u, 1 / 20) + 0.01 * dd.laplacian(u, 1 / 20))
    tr = dd.simulate(m, 0.5)
    assert tr.success
    assert not any("switch" in note for note in tr.notes)
    assert np.abs(tr["u"][-1] + tr["u"][-1][::-1]).max() < 1e-5


@pytest.mark.parametrize("shape", [(7,), (6, 5)])
def test_convolution_as_in_scipy(shape):
    generator = np.random.default_rng(2)
    u = generator.normal(size=shape)
    kernel = generator.normal(size=(3,) if len(shape) == 1 else (3, 5))
    if len(shape) == 1:
        expected = np.convolve(u, kernel, "same")
    else:
        expected = scipy.signal.convolve2d(u, kernel, "same")
        np.testing.assert_allclose(dd.convolve(u, kernel), scipy.signal.convolve2d(u, kernel, "same", "wrap"))
    np.testing.assert_allclose(dd.convolve(u, kernel, 0.0), expected)


def test_a_field_keeps_its_shape_from_the_model_to_the_result():
    m = dd.Model("plate")
    start = np.outer(np.sin(np.pi * cells(8)), np.ones(6))
    u = m.state("u", (8, 6), start=start)
    assert u.shape == (8, 6)
    m.equation(m.der(u), dd.laplacian(u, 1 / 8, [("dirichlet", 0.0), "neumann"]))
    m.output("mean", ca.sum1(ca.sum2(u)) / 48)
    tr = dd.simulate(m, 0.05, save_at=[0.0, 0.05], rtol=1e-8)
    assert tr["u"].shape == (2, 8, 6)
    np.testing.assert_allclose(tr["u"][0], start)
    # The first mode of the scheme decays by itself: lambda = -(2 - 2 cos(pi h)) / h^2.
    rate = -(2 - 2 * np.cos(np.pi / 8)) * 64
    np.testing.assert_allclose(tr["u"][1], start * np.exp(rate * 0.05), rtol=1e-6)
    assert tr.at(0.02)["u"].shape == (8, 6)
    np.testing.assert_allclose(tr["u[2,3]"], tr["u"][:, 2, 3])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda u: dd.laplacian(u, 0.1, "dirichlet"), "boundary condition of a field is not known"),
        (lambda u: dd.laplacian(u, 0.1, ["periodic"]), "boundary condition"),
        (lambda u: dd.laplacian(u, 0.1, [("periodic", "neumann"), "neumann"]), "boundary condition"),
        (lambda u: dd.laplacian(u, -0.1), "spacing h"),
        (lambda u: dd.laplacian(u, (0.1, 0.1, 0.1)), "spacing h"),
        (lambda u: dd.upwind(u, 1.0, 0.1), "velocity of dd.upwind"),
        (lambda u: dd.upwind(u, (1.0, [1.0, 2.0]), 0.1), "velocity of dd.upwind"),
        (lambda u: dd.convolve(u, [[1.0, 1.0]]), "kernel of a convolution"),
        (lambda u: dd.convolve(u, [[1.0]], "neumann"), "boundary condition"),
        (lambda u: dd.gradient_of(u[0, 0], 0.1), "field of one to three axes"),
    ],
)
def test_mistakes_are_named(call, text):
    for u in (ca.SX.sym("u", 4, 3), np.ones((4, 3))):
        with pytest.raises(dd.InputError, match=text):
            call(u)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "array", "dense", "dm"])
def test_products_with_matrices(form):
    generator = np.random.default_rng(3)
    full = np.where(generator.random((7, 5)) < 0.4, generator.normal(size=(7, 5)), 0.0)
    matrix = {
        "csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_matrix, "coo": scipy.sparse.coo_matrix,
        "array": scipy.sparse.csr_array, "dense": np.asarray, "dm": ca.DM,
    }[form](full)  # fmt: skip
    u = ca.SX.sym("u", 5)
    values = generator.normal(size=5)
    found = ca.Function("f", [u], [dd.matrix_product(matrix, u)])(values)
    np.testing.assert_allclose(np.ravel(found), full @ values, atol=1e-14)
    np.testing.assert_allclose(dd.matrix_product(matrix, values), full @ values, atol=1e-14)
    pairs = generator.normal(size=(5, 3))
    np.testing.assert_allclose(dd.matrix_product(matrix, pairs), full @ pairs, atol=1e-14)
    wide = ca.SX.sym("w", 5, 3)
    np.testing.assert_allclose(
        ca.Function("f", [wide], [dd.matrix_product(matrix, wide)])(pairs), full @ pairs, atol=1e-14
    )
    with pytest.raises(dd.InputError, match="does not fit the field"):
        dd.matrix_product(matrix, ca.SX.sym("v", 6))


def test_a_matrix_of_one_column_takes_one_symbol_or_number():
    m = dd.Model("driven")
    x, u = m.state("x", 2, start=[1.0, 0.0]), m.input("u")
    m.equation(m.der(x), dd.matrix_product([[0, 1], [-1, 0]], x) + dd.matrix_product([[0], [1]], u))
    assert dd.simulate(m, 1.0, inputs={"u": 1.0})["x"][-1] == pytest.approx([1.0, 0.0], abs=1e-6)
    assert dd.matrix_product([[2.0], [3.0]], 2.0).tolist() == [[4.0], [6.0]]


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "lil", "bsr"])
@pytest.mark.parametrize("make", [scipy.sparse.random, scipy.sparse.random_array])
def test_sparse_matrices_stand_left_and_right_of_symbols(form, make):
    shape = {"m": 5, "n": 7} if make is scipy.sparse.random else {"shape": (5, 7)}
    matrix = make(**shape, density=0.4, format=form)
    full, values = matrix.toarray(), np.random.default_rng(2).normal(size=(7, 3))
    for kind in (ca.SX, ca.MX):
        u, w = kind.sym("u", 7, 3), kind.sym("w", 5)
        found = ca.Function("f", [u, w], [matrix @ u, matrix @ u[:, 0] + 1, matrix.T @ w, w.T @ matrix])
        products = [found(values, values[:5, 1])[k].full() for k in range(4)]
        expected = [full @ values, full @ values[:, :1] + 1, full.T @ values[:5, 1:2], values[:5, 1:2].T @ full]
        for product, exact in zip(products, expected, strict=True):
            np.testing.assert_allclose(product, exact, atol=1e-13)
    np.testing.assert_allclose(matrix @ values, full @ values)


def test_only_products_of_sparse_matrices_take_symbols_as_one():
    A, u = scipy.sparse.identity(4, format="csr"), ca.SX.sym("u", 4)
    with pytest.raises(dd.InputError, match="written with @"):
        A * u
    with pytest.raises(dd.InputError, match="does not fit the field"):
        A @ ca.SX.sym("u", 3)
    for refused in (lambda: np.asarray(u), lambda: np.array([u, u]), lambda: scipy.sparse.csr_matrix(u)):
        with pytest.raises((TypeError, ValueError)):
            refused()
