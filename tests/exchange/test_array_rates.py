"""The right-hand side of a model in JAX and PyTorch: CasADi's own numbers, derivatives of any order, batches."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

LIBRARIES = ("jax", "torch")


@pytest.fixture(params=LIBRARIES)
def library(request):
    found = pytest.importorskip(request.param, reason=f"needs the extra `{request.param}`")
    if request.param == "jax":
        before = found.config.jax_enable_x64
        found.config.update("jax_enable_x64", True)
        yield request.param, found
        found.config.update("jax_enable_x64", before)
    else:
        yield request.param, found


def rates_of(library, m):
    return getattr(dd.exchange, library[0])(m)


def array(library, values):
    return library[1].numpy.asarray(values) if library[0] == "jax" else library[1].tensor(np.array(values))


def every_operation():
    m = dd.Model("every operation")
    a, b = m.state("a", start=0.3), m.state("b", start=0.7)
    p = m.parameter("p", 1.3)
    z = m.algebraic("z")
    smooth = ca.sin(a) * ca.cos(b) + ca.tan(a) + ca.asin(a) + ca.acos(b) + ca.atan(a) + ca.sinh(a) + ca.cosh(b)
    smooth += ca.tanh(a) + ca.asinh(a) + ca.acosh(1 + b) + ca.atanh(a) + ca.exp(a) + ca.log(b) + ca.sqrt(b) + ca.erf(a)
    smooth += ca.log1p(a) + ca.expm1(b) + ca.atan2(a, b) + ca.hypot(a, b) + b**p + a**3 + 1 / b
    kinks = ca.fabs(a - b) + ca.fmin(a, b) + ca.fmax(a, b) + ca.floor(3 * a) + ca.ceil(b) + ca.sign(a - b)
    kinks += ca.fmod(5 * a, b) + ca.remainder(5 * a, b) + ca.copysign(a, b - 1) + ca.if_else(a < b, a, 2 * b)
    kinks += ca.logic_and(a > 0, b > 0) + ca.logic_or(a > 1, b <= 0.7) + ca.logic_not(a >= b) + (a == b) + (a != b)
    m.equation(m.der(a), smooth + z)
    m.equation(m.der(b), kinks)
    m.equation(z, p * a + m.time)
    m.output("both", [a + z, m.der(a)])
    return m


def test_every_operation_is_casadis(library):
    m = every_operation()
    f, exact = rates_of(library, m), dd.exchange.casadi(m).rates
    for seed in range(5):
        x = np.random.default_rng(seed).uniform(0.1, 0.9, 2)
        xdot, z = (np.array(part).ravel() for part in exact(0.4, x, [], 1.1))
        given = (0.4, array(library, x), None, array(library, [1.1]))
        np.testing.assert_allclose(np.asarray(f(*given)), xdot, rtol=1e-13)
        np.testing.assert_allclose(np.asarray(f.algebraic(*given)), z, rtol=1e-14)
        np.testing.assert_allclose(np.asarray(f.outputs(*given)), [x[0] + z[0], xdot[0]], rtol=1e-13)
    assert f.labels["y"] == ("both[0]", "both[1]")


@pytest.mark.parametrize("name", ["quadrotor", "cart_pendulum", "hires", "pendulum_3d"])
def test_known_systems_with_batches(library, name):
    m = catalogue.load(name).model
    f = rates_of(library, m)
    solved = m if name != "pendulum_3d" else dd.reduce(m)
    exact = dd.exchange.casadi(solved).rates
    rng = np.random.default_rng(1)
    x = rng.uniform(0.2, 0.8, (3, 4, len(f.labels["x"])))
    u, p = rng.normal(size=len(f.labels["u"])), f.parameters
    found = np.asarray(f(0.0, array(library, x), array(library, u), array(library, p)))
    assert found.shape == x.shape
    for k in np.ndindex(3, 4):
        np.testing.assert_allclose(found[k], np.array(exact(0.0, x[k], u, p)[0]).ravel(), rtol=1e-11, atol=1e-12)


def test_derivatives_of_any_order():
    jax = pytest.importorskip("jax", reason="needs the extra `jax`")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    m = dd.Model("cubic")
    x, k = m.state("x", 2, start=[1.0, 2.0]), m.parameter("k", 3.0)
    m.equation(m.der(x), [k * x[0] ** 3, ca.sin(x[0]) * x[1]])
    f = dd.exchange.jax(m)
    point = np.array([0.5, 2.0])
    second = jax.jit(jax.hessian(lambda x: f(0.0, x)[1]))(point)
    np.testing.assert_allclose(second, [[-np.sin(0.5) * 2, np.cos(0.5)], [np.cos(0.5), 0]], rtol=1e-14)
    third = jax.grad(jax.grad(jax.grad(lambda a: f(0.0, jax.numpy.stack([a, 1.0]))[0])))(0.5)
    assert float(third) == pytest.approx(18.0)
    mapped = jax.vmap(f, in_axes=(None, 0))(0.0, np.array([[0.1, 0.2], [0.3, 0.4]]))
    np.testing.assert_allclose(mapped, f(0.0, np.array([[0.1, 0.2], [0.3, 0.4]])), rtol=1e-15)
    jax.config.update("jax_enable_x64", before)


def test_wrong_uses_are_told(library):
    f = rates_of(library, every_operation())
    with pytest.raises(
        dd.InputError, match=r"The last axis of the state has the wrong length\.\n  got \(3,\), expected"
    ):
        f(0.0, array(library, [1.0, 2.0, 3.0]))
    with pytest.raises(dd.InputError, match=r"Only runs take outputs= and options\."):
        getattr(dd.exchange, library[0])(every_operation(), outputs=["both"])
    implicit = dd.Model("implicit")
    x = implicit.state("x", start=1.0)
    implicit.equation(implicit.der(x) + ca.exp(implicit.der(x)), -x)
    with pytest.raises(dd.InputError, match=r"The right-hand side of 'implicit' has no formula\."):
        getattr(dd.exchange, library[0])(implicit)
