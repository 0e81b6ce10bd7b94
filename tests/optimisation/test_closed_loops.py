"""Controllers in loops: on clocks, with noise, delay and estimators, on plants that are not their models."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def crane():
    m = dd.Model("crane")
    p = m.coordinate("p", 3, start=[0.6, 0.0, -0.8], rate=[0.0, 0.0, 0.0], unit="m")
    force, mass = m.input("force", 3, unit="N"), m.parameter("mass", 1.0)
    m.kinetic_energy(0.5 * mass * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * mass * p[2])
    m.constraint("cable", (ca.sumsqr(p) - 1.0) / 2)
    m.generalised_force(p, force)
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.bound(force, -6.0, 6.0)
    ocp.minimise(running=10 * ca.sumsqr(p[:2]) + ca.sumsqr(m.rate(p)) + 0.1 * ca.sumsqr(force))
    return m, ocp


def cart():
    m = dd.Model("cart")
    x, v, u, mass = m.state("x", start=1.0), m.state("v", start=0.0), m.input("u"), m.parameter("mass", 1.0)
    m.equation([m.der(x), m.der(v)], [v, u / mass])
    ocp = dd.OptimalControl(m, duration=2.0, intervals=20)
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(running=x**2 + v**2 + 0.1 * u**2)
    ocp.terminal("lqr")
    return m, ocp


def test_a_load_on_a_cable_comes_to_rest():
    m, ocp = crane()
    regulator = ocp.terminal("lqr")
    assert regulator.gain.shape == (3, 4)
    assert regulator.states == pytest.approx([0, 0, -1, 0, 0, 0], abs=1e-6)
    controller = dd.Controller(ocp, every=0.1)
    loop = dd.closed_loop(m, controller, 4.0, parameters={"mass": 1.1})
    assert loop.success
    assert loop["p"][-1] == pytest.approx([0, 0, -1], abs=5e-3)
    assert np.abs(loop["force"]).max() <= 6.0
    assert max(loop.violations().values()) < 1e-8
    assert controller.work.solved == controller.work.calls


def test_noise_and_delay():
    m, ocp = cart()
    controller = dd.Controller(ocp, every=0.1)
    plain = dd.closed_loop(m, controller, 6.0)
    late = dd.closed_loop(m, controller, 6.0, delay=0.05)
    later = dd.closed_loop(m, controller, 6.0, delay=0.13)
    noisy = dd.closed_loop(m, controller, 6.0, noise={"x": 0.01})
    for loop in (plain, late, later, noisy):
        assert abs(loop["x"][-1]) < 0.03
    assert np.abs(plain.at(0.04)["u"]) == pytest.approx(1.0, abs=1e-4)
    assert late.at(0.04)["u"] == 0.0
    assert np.abs(late.at(0.06)["u"]) == pytest.approx(1.0, abs=1e-4)
    assert later.at(0.02)["u"] == 0.0
    again = dd.closed_loop(m, controller, 6.0, noise={"x": 0.01})
    assert again["x"] == pytest.approx(noisy["x"], abs=1e-9)
    assert not np.allclose(noisy.at(2.0)["x"], plain.at(2.0)["x"], atol=1e-6)


def test_an_estimator_sees_what_no_sensor_does():
    m, ocp = cart()
    controller = dd.Controller(ocp, every=0.1)
    estimator = dd.Estimator(
        m, ["x"], start={"x": 0.9, "v": 0.0}, start_covariance=0.1, process_noise=1e-3, measurement_noise=1e-4,
        every=0.1, inputs={"u": 0.0},
    )  # fmt: skip
    loop = dd.closed_loop(m, controller, 4.0, noise=0.01, estimator=estimator, parameters={"mass": 1.05})
    assert abs(loop["x"][-1]) < 0.05
    assert estimator.state == pytest.approx([loop["x"][-1], loop["v"][-1]], abs=0.05)


def test_a_controller_on_a_clock_of_a_model():
    m, ocp = cart()
    n = dd.Model("sampled cart")
    x, v, u = n.state("x", start=1.0), n.state("v", start=0.0), n.discrete("u")
    n.equation([n.der(x), n.der(v)], [v, u])
    controller = dd.Controller(ocp, every=0.1)
    n.every(0.1, call=controller)
    tr = dd.simulate(n, 5.0)
    loop = dd.closed_loop(m, controller, 5.0)
    assert tr["x"][-1] == pytest.approx(loop["x"][-1], abs=1e-6)
    assert abs(tr["x"][-1]) < 0.05


def test_plants_that_do_not_fit_are_refused():
    _, ocp = cart()
    controller = dd.Controller(ocp, every=0.1)
    n = dd.Model("other")
    y, u = n.state("y", start=0.0), n.input("u")
    n.equation(n.der(y), u)
    with pytest.raises(dd.InputError, match="The plant has no x, v"):
        dd.closed_loop(n, controller, 1.0)
    n = dd.Model("without input")
    y = n.state("y", start=0.0)
    n.equation(n.der(y), -y)
    with pytest.raises(dd.InputError, match="u is not an input of 'without input'"):
        dd.closed_loop(n, controller, 1.0)
    with pytest.raises(dd.InputError, match="delay"):
        dd.closed_loop(n, controller, 1.0, delay=-1.0)


def test_regulators_at_targets_that_cannot_be_held_are_refused():
    m = dd.Model("drifting")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), x + 0 * u)
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.minimise(running=x**2 + u**2)
    with pytest.raises(dd.SolverError, match="no linear regulator at the target"):
        ocp.terminal("lqr")
    with pytest.raises(dd.InputError, match="is not known"):
        ocp.terminal("set")
