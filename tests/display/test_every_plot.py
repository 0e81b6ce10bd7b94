"""Every plot of results on several systems: drawn, with units, a title and a legend, and no text over another."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from pictures import outside_texts, overlapping_texts

import daedalus as dd
from daedalus import catalogue
from daedalus.display.look import labelled, unit_text
from daedalus.display.power_plot import plot_areas


def first_and_wide(first, *others):
    """The first by default, all of them in `make test-all`."""
    return (first, *(pytest.param(name, marks=pytest.mark.wide) for name in others))


SYSTEMS = first_and_wide("cart_pendulum", "mass_spring", "van_der_pol", "lotka_volterra", "motor_lift")
OF_PARTS = first_and_wide("motor_lift", "motor_speed_loop", "bridge_rectifier", "heated_house", "elastic_transmission")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def check(figure):
    assert not overlapping_texts(figure)
    assert not outside_texts(figure)
    texts = [figure._suptitle.get_text() if figure._suptitle else "", *(ax.get_title() for ax in figure.axes)]
    assert any(texts), "no title"
    over_time = [ax.get_xlabel() for ax in figure.axes if ax.get_xlabel().startswith("time")]
    assert all(label == "time [s]" for label in over_time)


@pytest.mark.parametrize("name", SYSTEMS)
def test_sensitivities(name):
    k = catalogue.load(name)
    sens = dd.sensitivities(k.model, k.span, start=k.start, inputs=k.inputs, wrt=("parameters",))
    check(sens.plot())


@pytest.mark.parametrize("name", ["mass_spring", "cart_pendulum", "pendulum_3d", "robertson", "motor_lift"])
def test_incidences_have_room_for_their_names(name, recwarn):
    """Small systems with long names collapsed, with a warning of the layout."""
    figure = dd.analyse(catalogue.load(name).model).plot()
    FigureCanvasAgg(figure)
    check(figure)
    box = figure.axes[0].get_window_extent()
    assert min(box.width, box.height) > 1.5 * figure.dpi
    assert not [w for w in recwarn if "constrained_layout" in str(w.message)]


@pytest.mark.parametrize("name", SYSTEMS)
def test_ensembles_draw_every_output_and_both_swept_names(name):
    k = catalogue.load(name)
    parameters = [v for v in k.model.freeze().of_kind("parameter") if v.shape == ()][:2]
    over = {v.name: np.array([0.9, 1.0, 1.1]) * float(v.start[0]) for v in parameters}
    states = [v.name for v in k.model.freeze().of_kind("state") if v.shape == ()][:2]
    en = dd.sweep(k.model, k.span, over=over, start=k.start, inputs=k.inputs, outputs=states or None,
                  save_at=np.linspace(*k.span, 40))  # fmt: skip
    figure = en.plot(states or None)
    check(figure)
    panels = [ax for ax in figure.axes if len(ax.lines) >= 3]
    assert len(panels) == max(len(states), 1)
    if len(over) == 2:
        assert len({line.get_linestyle() for line in panels[0].lines}) == 3
        one, two = parameters
        entries = [text.get_text() for text in panels[0].get_legend().get_texts()]
        assert all(entry.startswith(f"{two.name} = ") and entry.endswith(unit_text(two.unit)) for entry in entries)
        assert [panel.get_ylabel() for panel in figure.axes if panel.get_label() == "<colorbar>"] == [
            labelled(one.name, one.unit)
        ]


@pytest.mark.parametrize("name", OF_PARTS)
def test_powers_and_energies(name):
    k = catalogue.load(name)
    tr = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs)
    check(plot_areas(tr.power()))
    check(tr.energy_balance().plot())


def test_areas_have_few_shades_that_differ():
    """Seven losses in shades of one red could not be told apart."""
    k = catalogue.load("bridge_rectifier")
    tr = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs)
    panel = tr.energy_balance().plot("areas").axes[0]
    check(panel.figure)
    _, labels = panel.get_legend_handles_labels()
    losses = [label for label in labels if label.endswith(" lost")]
    assert losses[-1] == "2 others lost"
    assert len(losses) == 5
    shades = {tuple(area.get_facecolor()[0]) for area in panel.collections if area.get_label() in losses}
    lightness = sorted(sum(shade[:3]) for shade in shades)
    assert min(np.diff(lightness)) > 0.25


@pytest.mark.wide
def test_small_shares_are_joined_and_rounding_is_zero():
    k = catalogue.load("ring_modulator_of_parts")
    balance = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs).energy_balance()
    figure = balance.plot()
    check(figure)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert len(texts) < 20
    assert any("others" in text for text in texts)
    assert any(text.endswith("numerical error 0 J") for text in texts) or abs(balance.error) > 1e-9 * balance.supplied


@pytest.mark.parametrize("count", first_and_wide(2, 1, 3))
def test_fits_have_data_model_band_and_residuals(count):
    m = dd.Model("decay")
    x = [m.state(f"x{j}", start=1.0, unit="m") for j in range(count)]
    k = m.parameter("k", 1.0)
    for j in range(count):
        m.equation(m.der(x[j]), -(j + 1) * k * x[j])
    t = np.linspace(0, 2, 30)
    rng = np.random.default_rng(1)
    data = {f"x{j}": np.exp(-(j + 1) * 0.7 * t) + 0.01 * rng.normal(size=30) for j in range(count)}
    fit = dd.fit(m, {"time": t, **data}, free="k", noise=dict.fromkeys(data, 0.01))
    figure = fit.plot()
    check(figure)
    assert len(figure.axes) == 2 * count
    assert [ax.get_ylabel() for ax in figure.axes[:2]] == ["x0 [m]", "residual [m]"]
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["x0: data", "x0: model", "± 2 σ"]
    check(fit.plot_residuals())


@pytest.mark.parametrize("count", first_and_wide(6, 1, 2))
def test_importance(count):
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    rates = [m.parameter(f"rate{j}", 1.0) for j in range(count)]
    m.equation(m.der(x), -sum(r * (j + 1) for j, r in enumerate(rates)) * x)
    imp = dd.importance(m, 1.0, {f"rate{j}": dd.uniform(0.5, 1.5) for j in range(count)}, 32)
    figure = imp.plot("x")
    check(figure)
    assert "t = 1 s" in figure.get_suptitle()


def test_importance_of_vectors_has_a_panel_for_each_element():
    m = dd.Model("decay")
    x = m.state("x", 3, start=[1.0, 2.0, 3.0])
    rate = m.parameter("rate", 1.0)
    m.equation(m.der(x), -rate * x)
    imp = dd.importance(m, 1.0, {"rate": dd.uniform(0.5, 1.5)}, 16)
    figure = imp.plot()
    check(figure)
    assert [panel.get_xlabel() for panel in figure.axes] == [f"share of the variance of x[{k}]" for k in range(3)]
    assert len(imp.plot("x[1]").axes) == 1
    with pytest.raises(dd.InputError, match=r"x has no element x\[3\]"):
        imp.plot("x[3]")
    with pytest.raises(dd.InputError, match="x has 3 elements, and ax= is one panel"):
        imp.plot("x", ax=figure.axes[0])


@pytest.mark.parametrize("name", SYSTEMS)
def test_comparisons(name):
    k = catalogue.load(name)
    runs = [dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs, rtol=r) for r in (1e-3, 1e-8)]
    figure = dd.compare(*runs, labels=["rough", "fine"])
    assert figure.axes[-1].get_xlabel() == "time [s]"
    assert not overlapping_texts(figure)


@pytest.mark.parametrize("depth", [None, "position"])
def test_phase_plots_tell_their_ends(depth):
    k = catalogue.load("cart_pendulum")
    tr = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs)
    figure = tr.plot_phase("angle", "angle_dot", depth=depth)
    check(figure)
    ends = [text.get_text() for text in figure.axes[0].get_legend().get_texts()][1:]
    assert ends == ["start, t = 0 s", "end, t = 4 s"]


def test_spikes_of_power_leave_the_rest_to_be_seen():
    """Switching a capacitor takes 12 kW for a nanosecond; the converter carries some 20 W."""
    k = catalogue.load("buck_converter")
    tr = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs)
    panel = plot_areas(tr.power()).axes[0]
    assert max(map(abs, panel.get_ylim())) < 1e3
    assert "spikes up to" in panel.get_title()


def wall(layers):
    """A wall of layers between two rooms, joined from parts: names of equations are longer than their marks."""
    thermal = dd.components.thermal
    m = dd.Model("wall")
    before = m.add(thermal.TemperatureSource("outside", temperature=263.0)).heat
    for k in range(layers):
        layer = m.add(thermal.Node(f"layer{k}", capacity=400.0))
        path = m.add(thermal.Conduction(f"conduction_into_layer{k}", conductance=25.0))
        m.connect(before, path.heat_a)
        m.connect(path.heat_b, layer.heat)
        before = layer.heat
    warm = m.add(thermal.TemperatureSource("inside_of_the_room", temperature=293.0))
    path = m.add(thermal.Conduction("conduction_from_the_room", conductance=25.0))
    m.connect(warm.heat, path.heat_a)
    m.connect(path.heat_b, before)
    return m


def test_long_names_of_equations_are_cut_and_stay_inside():
    """At another resolution letters are wider: names reached beyond the left edge."""
    m = wall(3)
    for figure in (dd.analyse(m).plot(), dd.plot_reduction(m)):
        FigureCanvasAgg(figure)
        for dpi in (60, 100):
            figure.set_dpi(dpi)
            assert not outside_texts(figure)
        rows = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert any(row.endswith(", …") for row in rows)
        assert max(map(len, rows)) <= 50


def test_a_source_that_takes_energy_is_told_so():
    balance = dd.simulate(wall(2), 100.0, start={"layer0.temperature": 290.0, "layer1.temperature": 290.0})
    texts = [text.get_text() for text in balance.energy_balance().plot().axes[0].texts]
    assert any(text.startswith("outside\ntaken up ") and text.endswith("kJ") for text in texts)


def epidemic():
    """Three groups whose sum is conserved."""
    m = dd.Model("epidemic")
    s, i, r = (m.state(name, start=start) for name, start in (("s", 0.99), ("i", 0.01), ("r", 0.0)))
    rate = m.parameter("rate", 0.5, unit="1/s")
    m.equation(m.der(s), -rate * s * i)
    m.equation(m.der(i), rate * s * i - 0.1 * i)
    m.equation(m.der(r), 0.1 * i)
    m.output("sum", s + i + r)
    return m


def test_what_is_conserved_has_no_panel_in_a_summary():
    over = {"rate": np.linspace(0.4, 0.6, 5)}
    en = dd.sweep(epidemic(), 20.0, over=over, summary=("mean", "std", 0.1, 0.9), save_at=np.linspace(0, 20, 20))
    assert [panel.get_ylabel() for panel in en.plot().axes] == ["s", "i", "r"]
    (panel,) = en.plot("sum").axes
    assert all(np.ptp(line.get_ydata()) == 0.0 for line in panel.lines)


def test_elements_of_a_field_are_chosen_evenly_and_the_rest_is_told():
    m = dd.Model("front")
    u = m.state("u", 60, start=np.where(np.arange(60) < 10, 1.0, 0.0))
    rate = m.parameter("rate", 5.0)
    m.equation(m.der(u), 1e-3 * dd.laplacian(u, 1 / 60, boundary="neumann") + rate * u * (1 - u))
    figure = dd.sweep(m, 1.0, over={"rate": [4.0, 5.0]}, save_at=np.linspace(0, 1, 9)).plot()
    check(figure)
    labels = [axes.get_ylabel() for axes in figure.axes if axes.get_label() != "<colorbar>"]
    places = np.array([int(label[2:-1]) for label in labels])
    assert len(labels) == 6
    assert np.ptp(np.diff(places)) <= 1
    assert figure._supxlabel.get_text().startswith("Not shown (54): u[")


def test_sensitivities_leave_out_what_nothing_moves():
    m = epidemic()
    still = m.state("still", start=1.0)
    m.equation(m.der(still), 0.0)
    figure = dd.sensitivities(m, 5.0, wrt=("parameters",)).plot()
    check(figure)
    assert [axes.get_ylabel() for axes in figure.axes[::2]] == ["s", "i", "r"]
    assert "Not shown (1): still." in figure._supxlabel.get_text()


def test_linear_responses_have_units_and_bode_begins_near_the_poles():
    m = dd.Model("trolley")
    x, v = m.state("x", start=0.0, unit="m"), m.state("v", start=0.0, unit="m/s")
    a, w = m.state("a", start=0.0, unit="rad"), m.state("w", start=0.0, unit="rad/s")
    push = m.input("push", unit="m/s^2")
    m.equation(m.der(x), v)
    m.equation(m.der(v), push)
    m.equation(m.der(a), w)
    m.equation(m.der(w), -(9.81 * np.sin(a) + push * np.cos(a)) / 2 - 0.1 * w)
    lin = dd.linearise(m, inputs={"push": 0.0})
    figure = lin.respond(np.linspace(0, 2, 30), inputs={"push": 1.0}).plot()
    check(figure)
    assert [axes.get_ylabel() for axes in figure.axes] == ["[m]", "[m/s]", "[rad]", "[rad/s]"]
    # The double pole at zero is rounding away from it, and no place of interest.
    figure = lin.plot_bode(output="a")
    check(figure)
    assert figure.axes[0].get_xlim()[0] > 1e-3
