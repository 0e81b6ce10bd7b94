"""Sweeps drawn: percentile bands with the numbers of NumPy, lines for few cases, statistics as they are."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import daedalus as dd


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def swept(**options):
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x)
    return dd.sweep(m, 1.0, save_at=[0.0, 0.5, 1.0], **{"over": {"k": np.linspace(0.5, 2.0, 60)}, **options})


def edges(band):
    """The lower and the upper edge of a band at the times."""
    corners = band.get_paths()[0].vertices
    return [[corners[corners[:, 0] == t, 1].min(), corners[corners[:, 0] == t, 1].max()] for t in (0.0, 0.5, 1.0)]


def test_many_cases_are_bands_of_percentiles():
    en = swept()
    ax = en.plot("x").axes[0]
    outer, inner = (edges(band) for band in ax.collections)
    np.testing.assert_allclose(outer, np.percentile(en["x"].values, [5, 95], axis=0).T)
    np.testing.assert_allclose(inner, np.percentile(en["x"].values, [25, 75], axis=0).T)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.median(en["x"].values, axis=0))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["5 to 95 %", "25 to 75 %", "median of 60 cases"]
    assert len(en.plot("x", bands=False).axes[0].lines) == 60


def test_failed_cases_are_left_out_of_bands_and_counted_in_the_title():
    rates = np.linspace(0.5, 2.0, 60)
    rates[[3, 7]] = np.nan
    ax = swept(over={"k": rates}).plot("x").axes[0]
    assert ax.get_title() == "decay: 2 of 60 cases failed"
    assert np.isfinite(edges(ax.collections[0])).all()


def test_statistics_are_drawn_as_they_are():
    en = swept(summary=("mean", 0.05, 0.95))
    ax = en.plot("x").axes[0]
    assert [line.get_label() for line in ax.lines] == ["mean", "0.05", "0.95"]
    np.testing.assert_allclose(edges(ax.collections[0]), en["x"].values[1:].T)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), en["x"].values[0])


@pytest.mark.parametrize("bands", [None, True])
def test_a_sweep_without_any_values_says_why(bands):
    """Bands of no case at all were an error of matplotlib."""
    m = dd.Model("rod")
    q, length = m.coordinate("q", 2, start=[0.6, -0.8], rate=[0.0, 0.0]), m.parameter("length", 1.0)
    m.kinetic_energy(0.5 * (m.rate(q)[0] ** 2 + m.rate(q)[1] ** 2))
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - length**2)
    en = dd.sweep(m, 1.0, over={"length": [1.5, 2.0]})
    assert "Because" not in en.failed[0][1]
    assert "Try: " in en.failed[0][1]
    with pytest.raises(dd.InputError) as refused:
        en.plot(bands=bands)
    assert str(refused.value).startswith("The sweep has no values to draw.\n  all 2 cases failed\n  rod (length = 1.5)")


def test_modes_come_last_as_steps():
    m = dd.Model("room")
    on, low = m.discrete("on", start=1), m.parameter("low", 18.0)
    warmth = m.state("warmth", 2, start=[20.0, 19.0])
    m.equation(m.der(warmth), [10.0 * on - 0.5 * (warmth[0] - 10.0), warmth[0] - warmth[1]])
    m.when(warmth[0] > 22, {"on": 0})
    m.when(warmth[0] < low, {"on": 1})
    figure = dd.sweep(m, 4.0, over={"low": [17.0, 18.0]}).plot()
    assert [panel.get_ylabel() for panel in figure.axes[:3]] == ["warmth[0]", "warmth[1]", "on"]
    assert [panel.lines[0].get_drawstyle() for panel in figure.axes[:3]] == ["default", "default", "steps-post"]
