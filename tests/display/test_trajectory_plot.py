"""Plots of trajectories: the right panels, lines and labels."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import daedalus as dd


@pytest.fixture
def run():
    m = dd.Model("two units")
    x = m.state("x", 2, start=[1.0, 0.0], unit="m")
    v = m.state("v", start=1.0, unit="m/s")
    m.equation(m.der(x), [x[1], -x[0]])
    m.equation(m.der(v), -v)
    m.event("half", v - 0.5, direction=-1, reset={"v": 1.0})
    m.output("sum", x[0] + x[1])
    return dd.simulate(m, 2.0)


def test_a_panel_for_each_unit(run):
    figure = run.plot()
    assert [ax.get_ylabel() for ax in figure.axes] == ["x [m]", "v [m/s]", "sum"]
    assert [line.get_label() for line in figure.axes[0].lines[:2]] == ["x[0]", "x[1]"]
    plt.close(figure)


def test_curves_are_the_dense_output(run):
    figure = run.plot("x[0]")
    line = figure.axes[0].lines[0]
    np.testing.assert_allclose(line.get_ydata(), np.cos(line.get_xdata()), atol=1e-4)
    assert len(line.get_xdata()) > 5 * len(run.time)
    plt.close(figure)


def test_into_given_axes(run):
    figure, ax = plt.subplots()
    assert run.plot(["x", "v"], ax=ax) is figure
    assert len([line for line in ax.lines if not line.get_label().startswith("_")]) == 3
    plt.close(figure)


def test_a_failed_run_says_so_in_its_title():
    m = dd.Model("explosion")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x**2)
    figure = dd.simulate(m, 2.0).plot()
    assert "step size fell below" in figure._suptitle.get_text()
    plt.close(figure)


def test_unknown_names_are_refused(run):
    with pytest.raises(dd.InputError, match="no variable 'w'"):
        run.plot("w")


def test_discrete_variables_are_drawn_as_steps_and_modes_as_bands():
    m = dd.Model("room")
    T, on, _level = m.state("T", start=20.0), m.discrete("on", start=1), m.discrete("level", start=0.25)
    m.equation(m.der(T), 10.0 * on - 0.5 * (T - 10.0))
    m.when(T > 22, {"on": 0})
    m.when(T < 18, {"on": 1})
    m.every(0.5, {"level": 0.1 * T})
    figure = dd.simulate(m, 5.0).plot()
    temperature, steps, bands = figure.axes
    assert temperature.lines[0].get_drawstyle() == "default"
    assert steps.lines[0].get_drawstyle() == "steps-post"
    assert steps.get_ylabel() == "level"
    assert bands.get_ylabel() == "on"
    assert len(bands.patches) > 3
    assert bands.texts[0].get_text() == "1"
