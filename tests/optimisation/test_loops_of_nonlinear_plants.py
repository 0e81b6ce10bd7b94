"""Nonlinear plants in closed loop with final costs: one step a sample costs what whole searches do."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def plant(names, start, inputs, rates):
    m = dd.Model("plant")
    x = [m.state(name, start=value) for name, value in zip(names.split(), start)]
    u = [m.input(name) for name in inputs.split()]
    m.equation([m.der(s) for s in x], rates(*x, *u))
    return m, x, u


def rotors():
    """A flat quadrotor, tilted and off its place."""
    m, (x, z, a, v, w, s), (f, g) = plant(
        "x z a v w s", [2.0, -1.0, 0.8, 0.0, 0.0, 0.0], "f g",
        lambda x, z, a, v, w, s, f, g: [v, w, s, -(f + g) * ca.sin(a), (f + g) * ca.cos(a) - 9.81, 10 * (f - g)],
    )  # fmt: skip
    ocp = dd.OptimalControl(m, 1.0, 20)
    ocp.bound(f, 0.0, 10.0)
    ocp.bound(g, 0.0, 10.0)
    cost = 10 * (x**2 + z**2) + a**2 + v**2 + w**2 + 0.1 * s**2 + 0.1 * ((f - 4.905) ** 2 + (g - 4.905) ** 2)
    ocp.minimise(running=cost, final=50 * (x**2 + z**2) + 10 * (a**2 + v**2 + w**2) + s**2)
    return m, ocp, 0.05, 5.0, ca.Function("cost", [ca.vertcat(x, z, a, v, w, s), ca.vertcat(f, g)], [cost])


def crane():
    """A load under a trolley, with bounds on the speed and on the sway."""
    m, (x, v, a, w), (u,) = plant(
        "x v a w", [-2.0, 0.0, 0.3, 0.0], "u", lambda x, v, a, w, u: [v, u, w, -9.81 * ca.sin(a) - ca.cos(a) * u]
    )
    ocp = dd.OptimalControl(m, 2.0, 20)
    ocp.bound(u, -2.0, 2.0)
    ocp.bound("v", -1.0, 1.0)
    ocp.subject_to(a, lower=-0.6, upper=0.6)
    cost = x**2 + v**2 + 10 * a**2 + w**2 + 0.1 * u**2
    ocp.minimise(running=cost, final=20 * (x**2 + v**2) + 50 * (a**2 + w**2))
    return m, ocp, 0.1, 8.0, ca.Function("cost", [ca.vertcat(x, v, a, w), u], [cost])


@pytest.mark.parametrize("build", [rotors, crane], ids=lambda build: build.__name__)
def test_loops_cost_what_whole_searches_do(build):
    costs = []
    for mode in ("real_time", "full"):
        m, ocp, every, span, cost = build()
        controller = dd.Controller(ocp, every=every, mode=mode)
        loop = dd.closed_loop(m, controller, span)
        times = np.linspace(0.0, span, 401)[:-1] + 1e-9
        at = loop.at(times)
        states = np.array([at[name] for name in controller.labels["x"]])
        inputs = np.array([at[name] for name in controller.labels["u"]])
        costs.append(float(np.sum(cost.map(len(times))(states, inputs))) * span / len(times))
        assert controller.work.solved == controller.work.calls
        assert controller.notes == ()
        assert np.abs(states[:, -1]).max() < 0.02
    assert costs[0] == pytest.approx(costs[1], rel=5e-3)
