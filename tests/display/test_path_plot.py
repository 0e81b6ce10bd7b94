"""Paths, phase plots, comparisons, poles and bands: what is drawn and how it is labelled."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def run():
    k = catalogue.load("pendulum_3d")
    return dd.simulate(k.model, 2.0, inputs=k.inputs)


def test_a_path_in_space_has_equal_scales(run):
    figure = run.plot_path("position")
    axes = figure.axes[0]
    assert axes.get_zlabel() == "position[2] [m]"
    spans = [np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())]
    assert spans[0] == pytest.approx(spans[1])
    assert spans[0] == pytest.approx(spans[2])


def test_a_path_needs_two_or_three_components(run):
    with pytest.raises(dd.InputError, match="tension is not a path"):
        run.plot_path("tension")
    with pytest.raises(dd.InputError, match="axes in space"):
        run.plot_path("position", ax=plt.subplots()[1])


def test_phase_plots_break_at_events():
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0, unit="m"), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    axes = dd.simulate(m, 1.5).plot_phase("h", "v").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("h [m]", "v")
    assert np.isnan(axes.lines[0].get_xdata()).sum() == 2


def test_phase_plots_take_scalars(run):
    with pytest.raises(dd.InputError, match="position is not a scalar"):
        run.plot_phase("position", "tension")


def test_runs_over_each_other(run):
    k = catalogue.load("pendulum_3d")
    moon = dd.simulate(k.model, 2.0, inputs=k.inputs, parameters={"gravity": 1.62})
    figure = dd.compare(run, moon, names=["position", "tension"], labels=["earth", "moon"])
    labels = ["position[0] [m]", "position[1] [m]", "position[2] [m]", "tension [N]"]
    assert [ax.get_ylabel() for ax in figure.axes] == labels
    assert [line.get_label() for line in figure.axes[0].lines] == ["earth", "moon"]
    _, ax = plt.subplots()
    assert dd.compare(run, moon, names="tension", ax=ax) is ax.figure


@pytest.mark.parametrize(
    ("arguments", "named", "text"),
    [(1, {}, "at least two runs"), (2, {"labels": ["a"]}, "one label"), (2, {"names": "w"}, "no variable 'w'")],
)
def test_wrong_comparisons_are_refused(run, arguments, named, text):
    with pytest.raises(dd.InputError, match=text):
        dd.compare(*[run] * arguments, **named)


def test_runs_of_different_models_share_what_they_have(run):
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    with pytest.raises(dd.InputError, match="no quantity in common"):
        dd.compare(run, dd.simulate(m, 1.0))


def test_constraint_drift_is_told(run):
    assert run.plot("tension").axes[0].get_title(loc="right").startswith("constraints kept within")


def test_a_blow_up_keeps_a_readable_scale():
    m = dd.Model("explosion")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x**2)
    tr = dd.simulate(m, 2.0)
    _, high = tr.plot("x").axes[0].get_ylim()
    assert high < 1e-3 * tr["x"].max()


def test_many_cases_are_bands():
    m = dd.Model("decay")
    x = m.state("x", 2, start=1.0, unit="m")
    k = m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x)
    en = dd.sweep(m, 1.0, over={"k": np.linspace(1, 2, 50)}, save_at=np.linspace(0, 1, 11))
    axes = en.plot("x[1]").axes[0]
    assert axes.get_ylabel() == "x[1] [m]"
    assert len(axes.collections) == 2
    np.testing.assert_allclose(axes.lines[0].get_ydata()[-1], np.median(np.exp(-np.linspace(1, 2, 50))), rtol=1e-4)
    assert len(en.plot("x[1]", bands=False).axes[0].lines) == 50
    with pytest.raises(dd.InputError, match="is not a scalar of the sweep"):
        en.plot("x[7]")


def test_poles_of_a_linear_system():
    system = dd.LTI([[0, 1], [-2, -3]], [0, 1], [3, 1])
    axes = system.plot().axes[0]
    assert axes.get_title() == "none of 2 poles in the right half-plane"
    crosses = next(line for line in axes.lines if line.get_label() == "poles")
    assert sorted(crosses.get_xdata()) == pytest.approx([-2, -1])
    _, ax = plt.subplots()
    k = catalogue.load("cart_pendulum")
    lin = dd.linearise(k.model, at={"angle": 0.0, "position": 0.0}, inputs={"force": 0.0})
    lin.plot(ax=ax)
    assert "1 of 4 poles in the right half-plane" in ax.get_title()


def test_the_incidence_goes_into_a_given_panel():
    _, ax = plt.subplots()
    assert dd.analyse(catalogue.load("mass_spring").model).plot(ax=ax) is ax.figure


def test_summaries_are_drawn_with_their_band():
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x)
    en = dd.sweep(
        m, 1.0, over={"k": np.linspace(1, 2, 30)}, save_at=np.linspace(0, 1, 11), summary=("mean", 0.05, 0.95)
    )
    axes = en.plot("x").axes[0]
    assert len(axes.collections) == 1
    assert [line.get_label() for line in axes.lines] == ["mean", "0.05", "0.95"]


def test_attractor_in_space_and_its_section():
    m = dd.Model("Lorenz")
    x, y, z = m.state("x", start=1.0), m.state("y", start=1.0), m.state("z", start=20.0)
    m.equation([m.der(x), m.der(y), m.der(z)], [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
    panel = dd.simulate(m, 10.0).plot_phase("x", "y", depth="z").axes[0]
    assert (panel.get_xlabel(), panel.get_ylabel(), panel.get_zlabel()) == ("x", "y", "z")
    section = dd.poincare(m, z - 27, 20)
    dots = section.plot_phase("x", "y", points=True).axes[0].lines
    assert [line.get_linestyle() for line in dots] == ["None"]
    assert len(dots[0].get_xdata()) == 20
    plt.close("all")
