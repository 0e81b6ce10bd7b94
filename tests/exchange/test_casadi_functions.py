"""The functions of a model for code that is written with CasADi."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def test_functions_agree_with_a_run():
    m = dd.Model("driven")
    x, z, u = m.state("x", 2, start=[1.0, 0.5]), m.algebraic("z"), m.input("u")
    k = m.parameter("k", 2.0)
    m.equation(m.der(x), [x[1] * m.time, z])
    m.equation(z, u - k * x[0])
    m.output("both", 3 * x)
    m.output("sum", x[0] + z)
    f = dd.exchange.casadi(m)
    tr = dd.simulate(m, 1.0, inputs={"u": 0.3})
    at = (tr.time[-1], tr["x_dot"][-1], tr["x"][-1], tr["z"][-1], 0.3, 2.0)
    assert np.abs(f.residual(*at).full()).max() < 1e-12
    assert f.labels["y"] == ("both[0]", "both[1]", "sum")
    np.testing.assert_allclose(f.outputs(*at).full().ravel(), [*tr["both"][-1], tr["sum"][-1]], rtol=1e-13)
    rates, solved = f.rates(at[0], at[2], 0.3, 2.0)
    np.testing.assert_allclose(rates.full().ravel(), at[1], rtol=1e-12)
    assert float(solved) == pytest.approx(at[3], rel=1e-13)
    symbol = ca.SX.sym("x", 2)
    slope = ca.Function("slope", [symbol], [ca.jacobian(f.rates(0.5, symbol, 0.3, 2.0)[0], symbol)])
    assert slope([1.0, 2.0]).full().tolist() == [[0.0, 0.5], [-2.0, 0.0]]


def test_events_and_higher_index():
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    f = dd.exchange.casadi(m)
    point = (0.0, [0, 0], [0.25, -2.0], [], [], [])
    assert float(f.guards(*point)) == 0.25
    assert f.resets(*point).full().tolist() == [[0.25, 1.6]]
    pendulum = catalogue.load("pendulum_3d").model
    assert dd.exchange.casadi(pendulum).rates is None
    assert dd.exchange.casadi(dd.reduce(pendulum)).rates is not None
