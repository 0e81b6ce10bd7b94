"""The drawn region is the region: shaded where |R| <= 1, the order star has p + 1 fingers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from daedalus.display.lectures.stability_plot import REGION, plot_stability
from daedalus.errors import InputError
from daedalus.integrators.tableaux.named_tableaux import tableau


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def shaded(ax, points):
    """Whether each point lies in the first filled area that was drawn."""
    region = ax.collections[0]
    paths = region.get_paths()
    inside = []
    for point in points:
        # Holes count: the number of closed rings around a point is odd inside.
        rings = [ring for path in paths for ring in path.to_polygons()]
        inside.append(sum(_winds(ring, point) for ring in rings) % 2 == 1)
    return inside


def _winds(ring, point):
    from matplotlib.path import Path

    return Path(ring).contains_point((point.real, point.imag))


@pytest.mark.parametrize("name", ["euler", "rk4", "dopri5", "implicit_euler", "radau5", "gauss3"])
def test_the_shaded_area_is_where_r_is_at_most_one(name):
    T = tableau(name)
    ax = T.plot_stability()
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    rng = np.random.default_rng(3)
    z = rng.uniform(left, right, 60) + 1j * rng.uniform(bottom, top, 60)
    size = np.abs(T.stability(z))
    z = z[np.abs(size - 1) > 0.1]
    assert shaded(ax, z) == (np.abs(T.stability(z)) <= 1).tolist()


def test_the_window_shows_the_whole_region_of_rk4():
    ax = tableau("rk4").plot_stability()
    assert ax.get_xlim()[0] < -2.79
    assert ax.get_ylim()[1] > 2.95
    assert ax.get_aspect() == 1.0


def test_it_draws_into_given_axes_and_windows():
    _, ax = plt.subplots()
    assert tableau("heun").plot_stability(ax=ax, window=(-3, 1, -2, 2)) is ax
    assert (ax.get_xlim(), ax.get_ylim()) == ((-3, 1), (-2, 2))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Re z", "Im z")
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("euler", "euler: order 1, stable on [-2, 0]"),
        ("rk4", "rk4: order 4, stable on [-2.785, 0] and ±2.828i"),
        ("gauss2", "gauss2: order 4, A-stable"),
        ("radau5", "radau5: order 5, L-stable"),
    ],
)
def test_titles(name, title):
    assert tableau(name).plot_stability().get_title() == title


@pytest.mark.parametrize("name", ["rk4", "gauss2", "radau5", "trapezoidal"])
def test_the_order_star_has_fingers_around_zero(name):
    # On a small circle |R(z) exp(-z)| - 1 changes sign 2(p + 1) times (Wanner, Hairer & Nørsett 1978).
    T = tableau(name)
    z = 0.3 * np.exp(1j * np.linspace(0, 2 * np.pi, 721)[:-1] + 0.001j)
    outside = np.abs(T.stability(z) * np.exp(-z)) > 1
    assert np.sum(outside != np.roll(outside, 1)) == 2 * (T.order + 1)
    ax = T.plot_stability(order_star=True)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["|R| ≤ 1", "|R| > |exp|", "zeros", *(["poles"] if not T.is_explicit else [])]


def test_colours_tell_region_and_star_apart():
    from matplotlib.colors import to_hex

    ax = plot_stability(tableau("gauss3"), order_star=True)
    assert to_hex(ax.collections[0].get_facecolor()[0]) == REGION
    assert len(ax.collections) == 4


@pytest.mark.parametrize("window", [(1, 0, 0, 1), (0, 1), "wide", (0, 1, np.nan, 1)])
def test_windows_that_cannot_be(window):
    with pytest.raises(InputError) as caught:
        tableau("rk4").plot_stability(window=window)
    assert str(caught.value).splitlines()[0] == "The window of the plot cannot be used."
    assert str(caught.value).splitlines()[3] == "  Try: window=(-4, 2, -4, 4)."
