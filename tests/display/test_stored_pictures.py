"""Pictures of every kind look as they were stored: panels, legends, bands, marks and colours are where they were."""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
import pytest
from stored_pictures import MOST_OUTSIDE, check_stored, drawn, share_that_differs

import daedalus as dd
from daedalus import catalogue


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def known_run(name, until=None):
    k = catalogue.load(name)
    return dd.simulate(k.model, until or k.span, start=k.start, inputs=k.inputs, rtol=1e-8)


def thermostat():
    m = dd.Model("room")
    warmth, on = m.state("warmth", start=20.0, unit="degC"), m.discrete("on", start=1)
    m.equation(m.der(warmth), 10.0 * on - 0.5 * (warmth - 10.0))
    m.when(warmth > 22, {"on": 0})
    m.when(warmth < 18, {"on": 1})
    return dd.simulate(m, 4.0).plot()


def decay():
    m = dd.Model("decay")
    x = m.state("x", start=1.0, unit="m")
    rate, push = m.parameter("rate", 1.0, unit="1/s"), m.parameter("push", 0.1, unit="m/s")
    m.equation(m.der(x), push - rate * x)
    return m


def fit():
    times = np.linspace(0, 2, 30)
    data = np.exp(-0.7 * times) + 0.02 * np.sin(40.0 * times)
    return dd.fit(decay(), {"time": times, "x": data}, free="rate", parameters={"push": 0.0}, noise=0.02).plot()


def swept():
    return dd.sweep(decay(), 3.0, over={"rate": [0.5, 1.0, 2.0], "push": [0.0, 0.5]}).plot()


def banded():
    cases = dd.sample({"rate": dd.normal(1.0, 0.2)}, 64, kind="sobol")
    return dd.sweep(decay(), 3.0, over=cases).plot("x")


def importance():
    of = {"rate": dd.uniform(0.5, 1.5), "push": dd.uniform(0.0, 0.5)}
    return dd.importance(decay(), 1.0, of, 64).plot("x")


def plan():
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0, unit="m"), m.state("v", start=0.0, unit="m/s"), m.input("u", unit="m/s^2")
    m.equation([m.der(x), m.der(v)], [v, u])
    ocp = dd.OptimalControl(m, 1.0, intervals=10)
    ocp.start()
    ocp.finish({"x": 0.2, "v": 0.0})
    ocp.bound(u, -1.0, 1.0)
    ocp.minimise(running=u**2)
    return ocp.solve().plot()


def field():
    m = dd.Model("plate")
    x = (np.arange(12) + 0.5) / 12
    u = m.state("u", (12, 12), start=np.outer(np.sin(np.pi * x), x), unit="K")
    m.equation(m.der(u), 0.1 * dd.laplacian(u, 1 / 12, boundary="neumann"))
    return dd.simulate(m, 0.1).plot_field("u")


def portrait():
    m = dd.Model("pendulum")
    angle, rate = m.state("angle", unit="rad"), m.state("rate", unit="rad/s")
    m.equation([m.der(angle), m.der(rate)], [rate, -ca.sin(angle) - 0.2 * rate])
    return dd.phase_portrait(m, "angle", "rate", (-4.0, 4.0, -3.0, 3.0)).figure


def bode():
    return dd.LTI.from_transfer_function([4.0], [1.0, 3.0, 3.0, 1.0]).plot_bode().figure


def branch():
    m = dd.Model("fold")
    x, a = m.state("x", start=1.0), m.parameter("a", -1.0)
    m.equation(m.der(x), a + x**2)
    return dd.branch(m, "a", (-1.0, 0.5), start={"x": -1.0}).plot("x")


PICTURES = {
    "run": lambda: known_run("pendulum_3d").plot(),
    "circuit": lambda: known_run("bridge_rectifier").plot(),
    "modes": thermostat,
    "sweep": swept,
    "bands": banded,
    "fit": fit,
    "importance": importance,
    "sensitivities": lambda: dd.sensitivities(decay(), 3.0, wrt="parameters").plot(),
    "energies": lambda: known_run("heated_house").energy_balance().plot(),
    "powers": lambda: known_run("heated_house").energy_balance().plot("areas"),
    "plan": plan,
    "field": field,
    "portrait": portrait,
    "bode": bode,
    "branch": branch,
    "incidence": lambda: dd.analyse(catalogue.load("pendulum_3d").model).plot(),
    "stability": lambda: dd.plot_stability_regions(["euler", "rk4", "implicit_euler"]),
    "path": lambda: known_run("pendulum_3d").plot_path("position"),
    "steps": lambda: known_run("van_der_pol", 5.0).plot_steps(),
}
FAST = ("modes", "sweep", "powers", "bode")


@pytest.mark.parametrize("name", [n if n in FAST else pytest.param(n, marks=pytest.mark.wide) for n in PICTURES])
def test_pictures_look_as_stored(name):
    figure = PICTURES[name]()
    check_stored(name, getattr(figure, "figure", figure))


@pytest.mark.parametrize("change", ["curve", "legend", "colour", "title"])
def test_a_picture_that_changed_is_noticed(change):
    figure = thermostat()
    before = drawn(figure)
    panel = figure.axes[0]
    if change == "curve":
        panel.lines[0].set_ydata(panel.lines[0].get_ydata() + 0.5)
    elif change == "legend":
        panel.get_legend().remove()
    elif change == "colour":
        panel.lines[0].set_color("#d55e00")
    else:
        figure.suptitle("another system with a longer title")
    assert share_that_differs(drawn(figure), before) > MOST_OUTSIDE
