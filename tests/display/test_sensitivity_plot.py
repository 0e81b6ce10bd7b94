"""Plots of sensitivities: the right curves and bands."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from differentiable_models import ball

import daedalus as dd


@pytest.fixture
def sens():
    m = dd.Model("decay")
    x, k = m.state("x", start=2.0), m.parameter("k", 0.5)
    m.equation(m.der(x), -k * x)
    return dd.sensitivities(m, 3.0, rtol=1e-9)


def test_curves_are_derivatives_times_sizes(sens):
    figure = sens.plot("x", "k")
    course, slopes = figure.axes
    t, y = slopes.lines[0].get_data()
    np.testing.assert_allclose(y, -0.5 * t * 2 * np.exp(-0.5 * t), atol=1e-7)
    assert slopes.lines[0].get_label() == "∂x/∂k"
    assert course.get_ylabel() == "x"
    band = course.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() > 2 * np.exp(-1.5)
    plt.close(figure)


def test_parameters_come_first_without_names():
    figure = dd.sensitivities(ball(), 1.0).plot()
    assert len(figure.axes) == 4
    assert {line.get_label() for line in figure.axes[1].lines if line.get_label().startswith("∂")} == {
        "∂h/∂e",
        "∂h/∂g",
    }
    plt.close(figure)


def test_into_a_given_panel(sens):
    figure, ax = plt.subplots()
    assert sens.plot("x", ["k", "x"], ax=ax) is figure
    assert len([line for line in ax.lines if line.get_label().startswith("∂")]) == 2
    plt.close(figure)


def test_parameters_of_no_value_widen_no_band():
    """Ten per cent of a drag that is zero is zero, however large its derivative."""
    m = dd.Model("decay")
    x, k, drag = m.state("x", start=2.0), m.parameter("k", 0.5), m.parameter("drag", 0.0)
    m.equation(m.der(x), -k * x - 1e6 * drag * x**2)
    course, slopes = dd.sensitivities(m, 3.0).plot().axes
    assert course.collections[0].get_paths()[0].vertices[:, 1].max() < 2.1
    assert [line.get_label() for line in slopes.lines if line.get_label().startswith("∂")] == ["∂x/∂k"]
    plt.close("all")
