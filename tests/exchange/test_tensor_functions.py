"""Runs as functions of JAX and PyTorch: values of dd.simulate, derivatives of dd.sensitivities and of differences."""

import gc
import weakref

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.exchange.array_run import ArrayRun

TIMES = np.linspace(0.0, 1.0, 5)


def driven():
    """A vector input, a matrix parameter and an output that reads all of them."""
    m = dd.Model("driven")
    x, u = m.state("x", 2, start=[1.0, 0.0]), m.input("u", 2)
    K, g = m.parameter("K", [[1.0, -2.0], [0.5, 0.3]]), m.parameter("g", 0.7)
    m.equation(m.der(x), -K @ x + u)
    m.output("y", g * x[0] ** 2 + u[1])
    return m


def ball():
    m = dd.Model("ball")
    h, v, e = m.state("h", start=0.3), m.state("v", start=0.0), m.parameter("e", 0.8)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -e * v})
    return m


def numbers(run, seed=1):
    rng = np.random.default_rng(seed)
    given = [run.defaults[name] for name in ("start", "inputs", "parameters")]
    return given[0], given[1] + rng.normal(size=given[1].shape), given[2]


def value(run, *case):
    return run.values(*(a[None] for a in case))[0]


def test_values_and_slopes_against_differences():
    run = ArrayRun(
        driven(), TIMES, ["x", "y"], ("start", "inputs", "parameters"), {"rtol": 1e-10, "atol": 1e-12}, "JAX"
    )
    assert run.labels["y"] == ("x[0]", "x[1]", "y")
    assert run.labels["p"] == ("K[0,0]", "K[1,0]", "K[0,1]", "K[1,1]", "g")
    given = numbers(run)
    y, slopes = run.slopes(*given, wanted=("start", "inputs", "parameters"))
    np.testing.assert_allclose(y, value(run, *given), rtol=1e-8, atol=1e-9)
    h = 1e-5
    for place, name in enumerate(("start", "inputs", "parameters")):
        found = np.empty((*y.shape, given[place].size))
        for k in range(given[place].size):
            ends = []
            for sign in (1, -1):
                moved = [a.copy() for a in given]
                moved[place].flat[k] += sign * h
                ends.append(value(run, *moved))
            found[..., k] = (ends[0] - ends[1]) / (2 * h)
        np.testing.assert_allclose(slopes[name].reshape(found.shape), found, atol=2e-6)


def test_wrong_arguments_are_told():
    with pytest.raises(dd.InputError, match=r"times are at least two increasing numbers\."):
        ArrayRun(driven(), [0.0], None, ("start",), {}, "JAX")
    with pytest.raises(dd.InputError, match=r"wrt='K' is not an argument of the function\."):
        ArrayRun(driven(), TIMES, None, "K", {}, "JAX")
    with pytest.raises(dd.InputError, match=r"start= is not an option here\."):
        ArrayRun(driven(), TIMES, None, "start", {"start": {}}, "JAX")
    with pytest.raises(dd.InputError, match="has no variable 'energi'"):
        ArrayRun(driven(), TIMES, ["energi"], "start", {}, "JAX")


def test_without_the_library_the_remedy_is_named(monkeypatch):
    import sys

    for name in ("jax", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(dd.InputError) as caught:
            getattr(dd.exchange, name)(ball(), TIMES)
        assert str(caught.value).splitlines()[::2] == [
            f"{name} is not installed.",
            f'  Try: pip install "daedalus[{name}]"',
        ]


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax", reason="needs the extra `jax`")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="needs the extra `torch`")


def test_jax_transformations(jax):
    f = dd.exchange.jax(driven(), TIMES, outputs=["y"], rtol=1e-10, atol=1e-12)
    x0, u, p = numbers(f._run)

    def loss(x0, u, p):
        return (f(x0, u, p) ** 2).sum()

    value, slopes = jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2)))(x0, u, p)
    run = ArrayRun(driven(), TIMES, ["y"], ("start", "inputs", "parameters"), {"rtol": 1e-10, "atol": 1e-12}, "JAX")
    y, own = run.slopes(x0, u, p, wanted=("start", "inputs", "parameters"))
    assert float(value) == pytest.approx(float((y**2).sum()), rel=1e-8)
    for found, name in zip(slopes, ("start", "inputs", "parameters")):
        expected = np.tensordot(2 * y, own[name], axes=2)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    # Forward mode solves the variational equations, reverse mode is the adjoint of the steps: two ways to one number.
    forward, backward = (mode(lambda p: f(x0, u, p))(p) for mode in (jax.jacfwd, jax.jacrev))
    np.testing.assert_allclose(forward, backward, rtol=1e-9, atol=1e-10)
    many = np.stack([p, 1.1 * p])
    batch = jax.vmap(jax.grad(loss, argnums=2), in_axes=(None, None, 0))(x0, u, many)
    np.testing.assert_allclose(batch[1], jax.grad(loss, argnums=2)(x0, u, many[1]), rtol=1e-12)


def test_jax_through_events_and_constraints(jax):
    f = dd.exchange.jax(ball(), np.linspace(0.0, 0.7, 4), outputs=["h"], rtol=1e-10, atol=1e-12)
    slope = jax.grad(lambda e: f(parameters=e)[-1, 0])(np.array([0.8]))
    h = 1e-6
    ends = [float(f(parameters=np.array([0.8 + s * h]))[-1, 0]) for s in (1, -1)]
    assert float(slope[0]) == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5)
    known = catalogue.load("pendulum_3d")
    m, span = known.model, 0.5
    f = dd.exchange.jax(m, [0.0, span], rtol=1e-9, atol=1e-11)
    found = jax.jacrev(lambda p: f(parameters=p)[-1])(f.parameters)
    given = {"start": dict(zip(f.labels["x"], f.start)), "inputs": {"force": [0.0] * 3}}
    sens = dd.sensitivities(m, span, wrt="parameters", rtol=1e-9, atol=1e-11, **given)
    np.testing.assert_allclose(found, sens.by_parameters, rtol=1e-9, atol=1e-9)


def test_jax_wrong_shapes_are_told(jax):
    f = dd.exchange.jax(driven(), TIMES)
    with pytest.raises(dd.InputError, match=r"got \(3,\), expected \(2,\)"):
        f(np.zeros(3))


def test_torch_gradients_and_batches(torch):
    f = dd.exchange.torch(driven(), TIMES, outputs=["y"], rtol=1e-10, atol=1e-12)
    x0, u, p = (torch.tensor(a, requires_grad=True) for a in numbers(f._run))
    (f(x0, u, p) ** 2).sum().backward()
    y, own = f._run.slopes(*numbers(f._run), wanted=("start", "inputs", "parameters"))
    for tensor, name in zip((x0, u, p), ("start", "inputs", "parameters")):
        expected = np.tensordot(2 * y, own[name], axes=2)
        np.testing.assert_allclose(tensor.grad.numpy(), expected, rtol=1e-8, atol=1e-8)
    many = torch.stack([p.detach(), 1.1 * p.detach()])
    batch = f(x0.detach(), u.detach(), many)
    assert tuple(batch.shape) == (2, 5, 1)
    np.testing.assert_allclose(batch[1], f(x0.detach(), u.detach(), many[1]), rtol=1e-12)
    mapped = torch.func.vmap(lambda q: f(x0.detach(), u.detach(), q))(many)
    np.testing.assert_allclose(mapped, batch, rtol=1e-12)
    _, moved = torch.func.jvp(lambda q: f(x0.detach(), u.detach(), q), (p.detach(),), (torch.ones_like(p),))
    np.testing.assert_allclose(moved.detach(), own["parameters"].sum(axis=-1), rtol=1e-8, atol=1e-9)


def test_torch_jacobians_and_second_derivatives(torch):
    f = dd.exchange.torch(ball(), np.linspace(0.0, 0.7, 4), rtol=1e-9)
    e = torch.tensor([0.8], dtype=torch.float64, requires_grad=True)
    backward = torch.func.jacrev(lambda e: f(parameters=e))(e.detach())
    forward = torch.func.jacfwd(lambda e: f(parameters=e))(e.detach())
    np.testing.assert_allclose(backward, forward, rtol=1e-12, atol=1e-12)
    assert abs(backward).max() > 1.0
    (slope,) = torch.autograd.grad((f(parameters=e) ** 2).sum(), e, create_graph=True)
    with pytest.raises(dd.DaedalusError, match="Second derivatives through an event"):
        slope.sum().backward()


def pendulum():
    """A pendulum of index 3, whose runs have projections."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[0.6, -0.8])
    v, length, g = m.rate(q), m.parameter("length", 1.0), m.parameter("g", 9.81)
    m.kinetic_energy(0.5 * (v[0] ** 2 + v[1] ** 2))
    m.potential_energy(g * q[1])
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - length**2)
    return m


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_torch_second_derivatives(torch, method):
    f = dd.exchange.torch(driven(), TIMES, outputs=["y"], rtol=1e-10, atol=1e-12, method=method)
    given = [torch.tensor(a) for a in numbers(f._run)]

    def loss(*arguments):
        return (f(*arguments) ** 2).sum()

    h = 1e-4
    for place, point in enumerate(given):

        def along(value, place=place):
            return loss(*(value if k == place else a for k, a in enumerate(given)))

        slope = torch.func.grad(along)
        found = torch.func.hessian(along)(point).reshape(point.numel(), point.numel())
        for k in range(point.numel()):
            moved = torch.zeros_like(point)
            moved.view(-1)[k] = h
            differences = (slope(point + moved) - slope(point - moved)) / (2 * h)
            np.testing.assert_allclose(found[k], differences.reshape(-1), rtol=1e-4, atol=1e-5)
        twice = torch.autograd.functional.hessian(along, point).reshape(found.shape)
        np.testing.assert_allclose(twice, found, rtol=1e-7, atol=1e-7)


def test_torch_second_derivatives_between_arguments_and_in_batches(torch):
    f = dd.exchange.torch(driven(), TIMES, outputs=["y"], rtol=1e-10, atol=1e-12)
    x0, u, p = (torch.tensor(a) for a in numbers(f._run))
    batch = torch.stack([p, 1.1 * p]).requires_grad_(True)
    start = x0.clone().requires_grad_(True)
    (by_start,) = torch.autograd.grad(f(start, u, batch)[..., -1, 0].sum(), start, create_graph=True)
    (mixed,) = torch.autograd.grad(by_start[0], batch)
    h = 1e-5
    for case in range(2):
        for k in range(p.numel()):
            ends = []
            for sign in (1, -1):
                moved = batch.detach()[case].clone()
                moved[k] += sign * h
                begin = x0.clone().requires_grad_(True)
                ends.append(torch.autograd.grad(f(begin, u, moved)[-1, 0], begin)[0][0])
            assert float(mixed[case, k]) == pytest.approx(float(ends[0] - ends[1]) / (2 * h), rel=1e-4, abs=1e-6)


def test_torch_second_derivatives_along_constraints(torch):
    m = pendulum()
    f = dd.exchange.torch(m, np.linspace(0.0, 0.4, 3), outputs=["q[0]"], wrt=("parameters",), rtol=1e-10, atol=1e-12)
    point = f.parameters
    place = f.labels["p"].index("g")
    found = torch.func.hessian(lambda p: f(parameters=p)[-1, 0])(point)[place, place]
    sens = dd.sensitivities(m, 0.4, order=2, wrt=["g"], rtol=1e-10, atol=1e-12)
    assert float(found) == pytest.approx(float(sens.d("q", "g", "g")[0]), rel=1e-6)


def test_torch_tells_where_derivatives_end(torch):
    f = dd.exchange.torch(driven(), TIMES, outputs=["y"])
    p = f.parameters.requires_grad_(True)
    (one,) = torch.autograd.grad((f(parameters=p) ** 2).sum(), p, create_graph=True)
    (two,) = torch.autograd.grad((one**2).sum(), p, create_graph=True)
    with pytest.raises(dd.InputError, match=r"Third derivatives of a run are not available in PyTorch\."):
        (two**2).sum().backward()
    m = dd.Model("many")
    x = m.state("x", start=1.0)
    weights = m.parameter("w", np.ones(201))
    m.equation(m.der(x), -x * weights[0])
    g = dd.exchange.torch(m, TIMES, wrt=("parameters",))
    with pytest.raises(dd.InputError) as caught:
        torch.func.hessian(lambda w: g(parameters=w).sum())(g.parameters)
    assert str(caught.value).splitlines()[:2] == [
        "There are too many second derivatives.",
        "  201 numbers are differentiated by (parameters), at most 200",
    ]


def test_torch_wrong_shapes_are_told(torch):
    with pytest.raises(dd.InputError, match=r"The parameters of the function have the wrong shape\."):
        dd.exchange.torch(ball(), TIMES)(parameters=[1.0, 2.0])


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_a_function_that_nobody_holds_goes_with_its_run(library):
    """JAX's caches kept each function with its model for good, 168 kB each."""
    tensors = pytest.importorskip(library)
    f = getattr(dd.exchange, library)(driven(), TIMES[:2])
    if library == "jax":
        back = tensors.vjp(f, *map(tensors.numpy.asarray, (f.start, f.inputs, f.parameters)))[1]
    else:
        start = f.start.requires_grad_()
        back = f(start).sum()
    seen = weakref.ref(f._run)
    del f
    gc.collect()
    assert seen() is not None
    # What was recorded goes back without the function.
    assert np.isfinite(back(tensors.numpy.ones((2, 2)))[0]).all() if library == "jax" else back.backward() is None
    del back
    gc.collect()
    assert seen() is None
