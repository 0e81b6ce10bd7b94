"""Derivatives of models as engineers write them, two ways each: a circuit, a crane, a thermostat, dry friction."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

ALL = ("start", "inputs", "parameters")


@pytest.fixture(autouse=True)
def few_calls(monkeypatch):
    """Each function is called some thousand times at most: compiling would take longer."""
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")


def rectifier():
    """A diode in series with a coil feeds a capacitor with a nonlinear load."""
    m = dd.Model("rectifier")
    v, i = m.state("v", start=0.0), m.state("i", start=0.0)
    drop, u = m.algebraic("drop", start=0.1), m.input("u", 2)
    R, C, L, G = m.parameter("R", 1.0), m.parameter("C", 1.0), m.parameter("L", 0.5), m.parameter("G", [0.1, 0.2])
    m.equation(L * m.der(i), u[0] - R * i - drop - v)
    m.equation(C * m.der(v), i - v * (G[0] + G[1] * v**2) + u[1])
    m.equation(i, 0.1 * (ca.exp(drop / 0.5) - 1))
    m.output("power", u[0] * i)
    m.output("both", ca.vertcat(v, i))
    return m


def test_a_circuit_has_every_derivative_by_name():
    options = {"inputs": {"u": [1.0, 0.1]}, "order": 2, "rtol": 1e-8, "atol": 1e-11}
    sens = dd.sensitivities(rectifier(), 2.0, **options)
    shapes = {
        ("v", "R"): (),
        ("drop", "u"): (2,),
        ("both", "G"): (2, 2),
        ("v", "L", "u"): (2,),
        ("power", "u", "u"): (2, 2),
    }
    assert {names: sens.d(*names).shape for names in shapes} == shapes
    assert sens.d("both", "G", "u").shape == (2, 2, 2)
    assert sens.verify().passed
    grid = dd.sensitivities(rectifier(), 2.0, grid=4, **options)
    assert (grid.N.shape, grid.P.shape, grid.Q.shape) == ((2, 4, 2), (2, 2, 4, 2), (2, 4, 2, 4, 2))
    np.testing.assert_allclose(grid.N.sum(axis=1), sens.N, atol=1e-7)
    np.testing.assert_allclose(grid.Q.sum(axis=(1, 3)), sens.Q, atol=1e-6)


def crane(constrained):
    """A trolley with a load on a rope: Cartesian with a constraint, or by the angle of the rope."""
    m = dd.Model("crane")
    L, trolley, load, F = m.parameter("L", 2.0), m.parameter("trolley", 3.0), m.parameter("load", 1.0), m.input("F")
    s = m.coordinate("s", start=0.0, rate=0.3)
    if constrained:
        p = m.coordinate("p", 2, start=[2 * np.sin(0.4), -2 * np.cos(0.4)], rate=[0.3, 0.0])
        v = m.rate(p)
        m.constraint("rope", (ca.sumsqr(p - ca.vertcat(s, 0)) - L**2) / 2)
    else:
        a = m.coordinate("a", start=0.4, rate=0.0)
        p = ca.vertcat(s + L * ca.sin(a), -L * ca.cos(a))
        v = m.der(p)
        m.output("p", p)
    m.kinetic_energy(0.5 * trolley * m.rate(s) ** 2 + 0.5 * load * ca.sumsqr(v))
    m.potential_energy(load * 9.81 * p[1])
    m.generalised_force(s, F)
    return m


def test_a_crane_with_a_constraint_is_that_by_its_angle():
    options = {"inputs": {"F": 1.5}, "order": 2, "rtol": 1e-10, "atol": 1e-12}
    one, other = (dd.sensitivities(crane(constrained), 3.0, **options) for constrained in (True, False))
    for name in ("F", "trolley", "load"):
        for of in ("s", "p"):
            np.testing.assert_allclose(one.d(of, name), other.d(of, name), atol=1e-8)
            np.testing.assert_allclose(one.d(of, name, name), other.d(of, name, name), atol=1e-8)
    np.testing.assert_allclose(one.M @ one.projector, one.M, atol=1e-12)
    assert one.metric == "mass matrix"
    # The rope stays as long as L: (p - s) · (dp - ds) = L.
    rope = one.value[1:3] - [one.value[0], 0.0]
    np.testing.assert_allclose(rope @ (one.d("p", "L") - [one.d("s", "L"), 0.0]), 2.0, rtol=1e-9)


def test_a_thermostat_through_a_dozen_events():
    m = dd.Model("thermostat")
    T, on = m.state("T", start=18.0), m.state("on", start=1.0)
    low, high, power = m.parameter("low", 19.0), m.parameter("high", 21.0), m.parameter("power", 3.0)
    m.equation(m.der(T), -0.1 * (T - 10) + power * on)
    m.equation(m.der(on), 0.0)
    m.event("turn_off", T - high, direction=1, reset={"on": 0.0})
    m.event("turn_on", T - low, direction=-1, reset={"on": 1.0})
    sens = dd.sensitivities(m, 20.0, rtol=1e-9, atol=1e-11)
    assert len(sens.events) == 13
    assert sens.verify().passed
    options = {"final": T, "running": on, "rtol": 1e-10, "atol": 1e-12}
    g = dd.gradient(m, 20.0, **options)
    near = [dd.gradient(m, 20.0, parameters={"high": 21 + s * 1e-5}, **options).value for s in (1, -1)]
    np.testing.assert_allclose(g["high"], (near[0] - near[1]) / 2e-5, rtol=1e-6)


def test_a_pendulum_with_dry_friction_and_a_constraint():
    m = dd.Model("friction")
    L, mu = m.parameter("L", 1.0), m.parameter("mu", 0.5)
    q = m.coordinate("q", 2, start=[0.8, -0.6], rate=[0.3, 0.4])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", (ca.sumsqr(q) - L**2) / 2)
    turning = q[0] * m.rate(q)[1] - q[1] * m.rate(q)[0]
    m.generalised_force(q, -mu * ca.sign(turning) * ca.vertcat(-q[1], q[0]))
    sens = dd.sensitivities(m, 2.0, rtol=1e-9, atol=1e-12)
    sharp = {"rtol": 1e-11, "atol": 1e-13}
    near = [dd.simulate(m, 2.0, parameters={"mu": 0.5 + s * 1e-5}, **sharp)["q"][-1] for s in (1, -1)]
    np.testing.assert_allclose(sens.d("q", "mu"), (near[0] - near[1]) / 2e-5, rtol=1e-5)
    g = dd.gradient(m, 2.0, final=q[0], wrt=ALL, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(g._columns, sens._slopes[0, 0], atol=1e-7)
