"""Traced functions take the road of every run: the same steps as `dd.simulate`, the same rules where a piece stops."""

import gc
import weakref

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.scipy_calls.called_model import CalledFunction, Shape, called_model


def pendulum(t, y, yp):
    x, h, vx, vy, force = y
    return [yp[0] - vx, yp[1] - vy, yp[2] + force * x, yp[3] + force * h + 9.81, x**2 + h**2 - 1]


def pendulum_model():
    m = dd.Model("pendulum")
    q, v = m.state("q", 2, start=[1.0, 0.0]), m.state("v", 2, start=[0.0, 0.0])
    force = m.algebraic("force")
    m.equation(m.der(q), v)
    m.equation(m.der(v), ca.vertcat(0, -9.81) - force * q)
    m.equation(ca.sumsqr(q) - 1)
    return m


def test_long_fixed_steps_go_on_with_a_jacobian_for_each_stage():
    def low(t, y, yp):
        return y[2]

    start, step = [1.0, 0, 0, 0, 0], 0.2
    found = dd.solve_dae(pendulum, (0, 2), start, method="radau5", step=step, dense_output=True, events=low)
    model = dd.simulate(pendulum_model(), 2.0, method="radau5", step=step)
    assert found.success
    assert found.reason.endswith(str(model.records[-1]))
    np.testing.assert_allclose(found.y[:4], np.hstack([model["q"], model["v"]]).T, atol=1e-9)
    np.testing.assert_allclose(found.sol(found.t), found.y, atol=1e-12)
    times = found.t_events[0]
    assert len(times) > 0
    np.testing.assert_allclose(found.sol(times)[2], 0, atol=1e-9)


@pytest.mark.parametrize("method", ["tsit5", "dop853", "radau5", "bdf"])
def test_the_work_is_that_of_simulate(method):
    m = dd.Model("oscillator")
    y = m.state("y", 2, start=[1.0, 0.0])
    m.equation(m.der(y), [y[1], -(y[0] ** 3)])
    options = {"method": method, "rtol": 1e-6, "atol": 1e-9}
    model = dd.simulate(m, 5.0, **options)
    found = dd.solve_ivp(lambda t, y: [y[1], -(y[0] ** 3)], (0, 5), [1.0, 0.0], **options)
    assert (found.nfev, found.njev, found.nlu) == (model.work.rhs, model.work.jacobians, model.work.factorisations)
    np.testing.assert_array_equal(found.t, model.time)
    np.testing.assert_array_equal(found.y.T, model["y"])


def test_many_unknowns_are_called_as_a_whole():
    def heat(t, y):
        return np.concatenate([[y[1] - 2 * y[0]], y[2:] - 2 * y[1:-1] + y[:-2], [y[-2] - 2 * y[-1]]])

    start = np.sin(np.linspace(0, np.pi, 402)[1:-1])
    found = dd.solve_ivp(heat, (0, 10), start, rtol=1e-6, atol=1e-9)
    assert found.traced
    slow = 2 - 2 * np.cos(np.pi / 401)
    np.testing.assert_allclose(found.y[:, -1], start * np.exp(-10 * slow), atol=1e-6)


# -- functions that cannot be traced ---------------------------------------------------------------------------------


def noting(function, seen):
    def noted(t, y, *args):
        seen.append(t)
        return function(t, y, *args)

    return noted


@pytest.mark.parametrize("method", ["tsit5", "radau5"])
@pytest.mark.parametrize("noted", [False, True])
def test_called_functions_take_the_steps_of_traced_ones(method, noted):
    seen = []
    # A product rounds alike in both: Python's y ** 3 differs in the last digit, and step lengths then by 3e-10.
    turning, zero = lambda t, y, k: [y[1], -k * (y[0] * y[0] * y[0])], lambda t, y, k: y[0]
    options = {"method": method, "rtol": 1e-7, "atol": 1e-10, "args": (2.0,)}
    traced = dd.solve_ivp(turning, (0, 5), [1.0, 0.0], events=zero, **options)
    event = noting(zero, seen) if noted else zero
    called = dd.solve_ivp(noting(turning, seen), (0, 5), [1.0, 0.0], events=[event], **options)
    assert (traced.traced, called.traced) == (True, False)
    if method == "tsit5":  # radau5 has Jacobians by differences
        assert (called.nfev, len(called.t)) == (traced.nfev, len(traced.t))
        np.testing.assert_allclose(called.y, traced.y, rtol=1e-12, atol=1e-13)
    assert len(called.t_events[0]) == len(traced.t_events[0]) > 0
    np.testing.assert_allclose(called.t_events[0], traced.t_events[0], rtol=1e-7)


@pytest.mark.parametrize("method", ["tsit5", "radau5"])
def test_a_called_function_may_solve_an_equation_of_the_same_size(method):
    seen = []

    def outer(t, y):
        seen.append(t)
        inside = dd.solve_ivp(noting(lambda t, y: -y, seen), (0, 1), [1.0, 2.0], rtol=1e-8, atol=1e-10, method=method)
        return -y * inside.y[0, -1]

    found = dd.solve_ivp(outer, (0, 0.2), [1.0, 2.0], rtol=1e-6, method=method)
    assert not found.traced
    np.testing.assert_allclose(found.y[:, -1], np.array([1.0, 2.0]) * np.exp(-0.2 * np.exp(-1)), rtol=1e-5)


def test_functions_of_one_shape_share_a_model_and_are_not_kept():
    seen, alive = [], []
    for rate in (1.0, 2.0, 3.0):
        decay = noting(lambda t, y, rate=rate: -rate * y, seen)
        alive.append(weakref.ref(decay))
        found = dd.solve_ivp(decay, (0, 1), np.ones(3), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(found.y[:, -1], np.exp(-rate), rtol=1e-6)
        del decay, found
    gc.collect()
    assert [ref() for ref in alive] == [None, None, None]


def test_fixed_steps_of_called_functions_go_on_with_a_jacobian_for_each_stage():
    start, step, seen = [1.0, 0, 0, 0, 0], 0.2, []
    traced = dd.solve_dae(pendulum, (0, 2), start, method="radau5", step=step)
    called = dd.solve_dae(noting(pendulum, seen), (0, 2), start, method="radau5", step=step)
    assert (traced.success, called.success, called.traced) == (True, True, False)
    np.testing.assert_allclose(called.y[:4, -1], traced.y[:4, -1], atol=1e-5)


def test_expressions_of_called_equations_have_values_and_slopes():
    called = CalledFunction(lambda t, y: np.array([y[1], -np.sin(y[0])]))
    system = called_model(Shape(2, 0)).system
    point = [0.0, [0.0, 0.0], [0.3, 1.0], [], called.input, []]
    np.testing.assert_allclose(system.function(*point).full().ravel(), [-1.0, np.sin(0.3)])
    symbols = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    slopes = ca.Function("slopes", symbols, [structure_of(system).slopes("x")])(*point).full()
    np.testing.assert_allclose(slopes, [[0, -1], [np.cos(0.3), 0]], atol=1e-6)
