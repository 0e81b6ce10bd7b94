"""The order that one step is expected to have is that which is measured, at every index."""

import casadi as ca
import pytest

import daedalus as dd


def index_1():
    m = dd.Model("index 1")
    x, z = m.state("x", 2, start=[1.0, 0.5]), m.algebraic("z", start=0.5)
    m.equation(m.der(x), [-z + x[1], -x[0] * z])
    m.equation(z + 0.3 * z**3, x[0] + ca.sin(x[1]))
    return m


def index_2():
    m = dd.Model("index 2")
    x, force = m.state("x", 2, start=[1.0, 0.0]), m.algebraic("force")
    speed = 1 + 0.3 * ca.sin(m.time + x[0])
    m.equation(m.der(x), [-x[1] * speed + force * x[0], x[0] * (1 + 0.2 * x[1]) + force * x[1]])
    m.equation(ca.sumsqr(x), 1)
    return m


def index_3():
    m = dd.Model("index 3")
    x, v, force = m.state("x", 2, start=[0.8, -0.6]), m.state("v", 2, start=[0.6, 0.8]), m.algebraic("force")
    m.equation(m.der(x), v)
    m.equation(m.der(v), [force * x[0] - 0.1 * v[0], force * x[1] - 9.81])
    m.equation(ca.sumsqr(x), 1)
    return m


def mixed_states():
    """One combination of the states has a derivative, another one is algebraic."""
    m = dd.Model("mixed states")
    a, b = m.state("a", start=1.0), m.state("b", start=1.0)
    m.equation(m.der(a) + 2 * m.der(b), -a * b)
    m.equation(a**2 + b, 2.0)
    return m


EXPECTED = {
    (mixed_states, "radau5"): 6,
    (mixed_states, "radau3"): 4,
    (mixed_states, "trapezoidal"): 3,
    (mixed_states, "gauss1"): 2,
    (mixed_states, "gauss2"): 3,
    (mixed_states, "gauss3"): 4,
    (index_1, "radau5"): 6,
    (index_1, "sdirk3"): 4,
    (index_2, "radau3"): 4,
    (index_2, "sdirk3"): 3,
    (index_2, "trbdf2"): 3,
    (index_2, "rk4"): 5,
    (index_3, "radau5"): 3,
    (index_3, "radau3"): 2,
    (index_3, "implicit_euler"): 1,
    (index_3, "lobatto_iiic3"): 2,
    (index_3, "rk4"): 5,
}


@pytest.mark.parametrize(("write", "method"), EXPECTED, ids=lambda own: getattr(own, "__name__", own))
def test_the_error_of_one_step(write, method):
    found = dd.step_error(write(), method, 0.1)
    assert found.expected == EXPECTED[write, method]
    assert found.order == pytest.approx(found.expected, abs=0.3)


@pytest.mark.parametrize(("method", "order"), [("gauss1", 2), ("gauss2", 2), ("gauss3", 4), ("radau3", 3)])
def test_the_order_over_a_run_of_mixed_states(method, order):
    """E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, VI.1, theorem 1.1."""
    found = dd.convergence(mixed_states(), method, [0.1, 0.05, 0.025])
    assert found.expected == order
    assert found.order == pytest.approx(order, abs=0.15)
