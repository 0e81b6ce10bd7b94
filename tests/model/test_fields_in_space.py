"""Fields with three axes: arrays of symbols, whose operators, results, names and files keep their shape."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples
from scipy.ndimage import convolve

import daedalus as dd

BOUNDARIES = ["periodic", "neumann", ("neumann", 0.7), ("dirichlet", 1.5), (("dirichlet", 1.0), "neumann")]
STEPS = (0.1, 0.2, 0.3)


def values_of(array, u, numbers):
    """An array of symbols where u has these numbers."""
    flat = ca.vertcat(*np.ravel(array).tolist())
    at = ca.substitute(flat, ca.vertcat(*np.ravel(u).tolist()), ca.DM(np.ravel(numbers)))
    return ca.evalf(at).full().reshape(array.shape)


@settings(max_examples=examples(10), deadline=None)
@given(
    shape=st.tuples(*[st.integers(2, 4)] * 3),
    boundary=st.lists(st.sampled_from(BOUNDARIES), min_size=3, max_size=3),
    seed=st.integers(0, 1000),
)
def test_symbols_and_numbers_agree(shape, boundary, seed):
    generator = np.random.default_rng(seed)
    numbers, speed = generator.normal(size=(2, *shape))
    u = dd.Model().state("u", shape)
    for verb in (
        lambda f: dd.laplacian(f, STEPS, boundary),
        lambda f: dd.gradient_of(f, STEPS, boundary)[2],
        lambda f: dd.gradient_of(f, STEPS)[1],
        lambda f: dd.upwind(f, (f, speed, -2.0), STEPS, boundary),
        lambda f: np.roll(f, 1, axis=1)[::-1] * np.sin(f),
    ):
        assert verb(u).shape == shape
        np.testing.assert_allclose(values_of(verb(u), u, numbers), verb(numbers), atol=1e-11)


def test_symbols_beside_an_array_are_computed_with():
    m = dd.Model()
    u, k, row = m.state("u", (2, 3, 4)), m.parameter("k", 2.0), m.state("row", (3, 4))
    along = m.parameter("along", [1.0, 2.0, 3.0, 4.0])
    for whole in (k * u, u * k, u / k + k, k - u, u**k, row * u + k * row, np.sqrt(k * u) * ca.sin(k)):
        assert whole.shape == u.shape
    assert str((row + u)[1, 2, 3]) == "(row[2,3]+u[1,2,3])"
    assert str((k * u)[1, 2, 3]) == "(k*u[1,2,3])"
    assert str((along * u)[1, 2, 3]) == "(along[3]*u[1,2,3])"
    u += k
    assert str(u[0, 0, 0]) == "(u[0,0,0]+k)"


def test_faces_and_kernels_are_those_of_the_axes():
    generator = np.random.default_rng(1)
    numbers, kernel = generator.normal(size=(5, 4, 3)), generator.normal(size=(3, 3, 3))
    u = dd.Model().state("u", (5, 4, 3))
    periodic = values_of(dd.convolve(u, kernel), u, numbers)
    np.testing.assert_allclose(periodic, convolve(numbers, kernel, mode="wrap"), atol=1e-13)
    np.testing.assert_allclose(
        dd.convolve(numbers, kernel, 0.0), convolve(numbers, kernel, mode="constant"), atol=1e-13
    )
    face = generator.normal(size=(5, 4))
    edges = ["neumann", "neumann", (("dirichlet", face), "neumann")]
    found = values_of(dd.laplacian(u, 1.0, edges), u, numbers)
    plain = dd.laplacian(numbers, 1.0, ["neumann", "neumann", (("dirichlet", 0.0), "neumann")])
    np.testing.assert_allclose(found[:, :, 1:], plain[:, :, 1:], atol=1e-13)
    np.testing.assert_allclose(found[:, :, 0], plain[:, :, 0] + 2 * face, atol=1e-13)


def cube(n=4):
    """Heat in a box with cold faces, and what stays of a product of sines."""
    shape = (n, n + 1, n + 2)
    modes = [np.sin(np.pi * (np.arange(k) + 0.5) / k) for k in shape]
    start = modes[0][:, None, None] * modes[1][:, None] * modes[2]
    m = dd.Model("cube")
    u, k = m.state("u", shape, start=start), m.parameter("k", np.full(shape, 0.1))
    m.equation(m.der(u), k * dd.laplacian(u, [1 / n for n in shape], ("dirichlet", 0.0)))
    m.output("mean", np.mean(u))
    rate = sum(0.1 * (2 * n * np.sin(np.pi / (2 * n))) ** 2 for n in shape)
    return m, start, lambda t: start * np.exp(-rate * t)


@pytest.mark.parametrize("method", ["dop853", "bdf"])
def test_a_box_cools_as_its_formula_says(method, tmp_path):
    m, start, exact = cube()
    tr = dd.simulate(m, 0.5, method=method, rtol=1e-7, atol=1e-10, save_at=[0.0, 0.25, 0.5])
    assert tr["u"].shape == (3, *start.shape)
    for k, t in enumerate((0.0, 0.25, 0.5)):
        np.testing.assert_allclose(tr["u"][k], exact(t), atol=1e-6)
    np.testing.assert_allclose(tr["u[1,2,3]"], tr["u"][:, 1, 2, 3])
    np.testing.assert_allclose(tr["mean"], tr["u"].mean(axis=(1, 2, 3)))
    np.testing.assert_allclose(tr.to_dataframe()["u[3,0,4]"], tr["u"][:, 3, 0, 4])
    tr.save(tmp_path / "cube.nc")
    np.testing.assert_array_equal(dd.load(tmp_path / "cube.nc")["u"], tr["u"])
    assert tr.plot_field("u", 0.5).axes[0].get_title() == "cube: u[:, :, 3] at t = 0.5 s"
    np.testing.assert_allclose(tr.plot_field("u", 0.25).axes[0].images[0].get_array(), tr["u"][1, :, :, 3].T)


def test_values_and_derivatives_of_cells():
    m, start, exact = cube(2)
    other = 2 * start
    np.testing.assert_allclose(dd.simulate(m, 0.1, start={"u": other})["u"][-1], 2 * exact(0.1), rtol=1e-5)
    sens = dd.sensitivities(m, 0.1, wrt=["k"], rtol=1e-8, atol=1e-10)
    assert sens.d("u", "k").shape == (*start.shape, *start.shape)
    less, more = (dd.simulate(m, 0.1, parameters={"k": 0.1 + s}, rtol=1e-9, atol=1e-12)["u"][-1] for s in (-1e-3, 1e-3))
    np.testing.assert_allclose(sens.d("u", "k").sum(axis=(3, 4, 5)), (more - less) / 2e-3, atol=1e-5)
    assert m["u"].shape == m["u_dot"].shape == start.shape
    assert str(m["u[1,2,3]"]) == str(m["u"][1, 2, 3]) == "u[1,2,3]"


def test_events_sweeps_and_parts_keep_the_shape():
    m, start, exact = cube(2)
    m.event("one", m.time - 0.05, reset={"u[0,1,2]": 3.0})
    m.event("all", m.time - 0.1, reset={"u": 2 * m["u"]})
    whole = dd.Model("whole")
    whole.include("box", m)
    tr = dd.simulate(whole, 0.1)
    assert tr["box.u"].shape[1:] == whole["box.u"].shape == start.shape
    np.testing.assert_allclose(tr["box.u"][-1], 2 * tr["box.u"][-2])
    ends = dd.sweep(cube(2)[0], 0.1, over={"k[0,0,0]": [0.1, 0.2]}, outputs=["u"], save_at=[0.1])["u"]
    assert ends.dims[-3:] == ("u_index", "u_column", "u_layer")
    np.testing.assert_allclose(np.asarray(ends)[0, -1], exact(0.1), rtol=1e-4)


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda m, u: m.equation(m.der(u), u[:, :, :1]), "two sides of equation 'equation_1' have different shapes"),
        (lambda m, u: m.output("flow", u), "an array with 3 axes"),
        (lambda m, u: m.event("e", m.time - 1, reset={"u": np.ones((2, 2, 3))}), "an array with 3 axes"),
        (lambda m, u: dd.matrix_product(np.eye(2), u), "one or two axes"),
        (lambda m, u: m["u[1,1]"], "does not exist"),
        (lambda m, u: m["u[0,0,2]"], "u is a 2 × 3 × 2 field"),
    ],
)
def test_mistakes_are_named(write, text):
    m = dd.Model()
    with pytest.raises(dd.DaedalusError, match=text):
        write(m, m.state("u", (2, 3, 2)))
