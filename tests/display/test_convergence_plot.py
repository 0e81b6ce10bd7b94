"""Plots of measured orders: every error is drawn, those left out hollow, beside a line of the expected slope."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import daedalus as dd
from daedalus.studies.convergence import convergence


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def measured():
    m = dd.Model("oscillator")
    x = m.state("x", start=1.0)
    v = m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x)
    return convergence(m, "rk4", 2.0 / 2.0 ** np.arange(3, 14, 2), span=2.0)


def test_lines_are_the_errors(measured):
    (ax,) = measured.plot().axes
    by_label = {line.get_label(): line for line in ax.lines}
    line = by_label[f"x: {measured.orders['x']:.2f}"]
    np.testing.assert_array_equal(line.get_ydata(), measured.errors["x"][measured.used["x"]])
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert ax.get_title() == f"rk4 on oscillator: order {measured.order:.2f}"


def test_the_expected_slope_is_drawn_as_a_line_of_that_slope(measured):
    (ax,) = measured.plot().axes
    (line,) = [line for line in ax.lines if line.get_label() == "slope 4, expected"]
    x, y = np.log(line.get_xdata()), np.log(line.get_ydata())
    assert (y[1] - y[0]) / (x[1] - x[0]) == pytest.approx(4.0)


def test_points_left_out_are_hollow(measured):
    (ax,) = measured.plot().axes
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "none" and len(line.get_xdata())]
    assert measured.steps[-1] in np.concatenate([line.get_xdata() for line in hollow])


def test_into_given_axes(measured):
    figure, ax = plt.subplots()
    assert measured.plot(ax=ax) is figure
