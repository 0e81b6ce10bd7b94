"""What-if pages: sliders predict what re-runs give, inside the band that they show."""

import json
import re
from functools import partial
from itertools import combinations_with_replacement, product
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from page_measures import faint_texts, overlapping_texts, wider_than_the_page

import daedalus as dd
from daedalus import catalogue
from daedalus.display.what_if.what_if_page import ALONE, trusted_corners
from daedalus.display.what_if.what_if_page import _error as error_of


@pytest.fixture(scope="module")
def run():
    k = catalogue.load("pendulum_3d")
    return dd.simulate(k.model, 2.0, inputs=k.inputs, rtol=1e-9)


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    return run.what_if(["mass", "gravity"], tmp_path_factory.mktemp("page") / "page.html", curves=["position"])


def told(page):
    text = page.read_text()
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])["what_if"]


def test_the_band_is_checked_against_runs(page):
    band = told(page)["trusted"]
    # The motion of a pendulum does not depend on its mass; it does on gravity, and not all of that range is trusted.
    assert band[0] == pytest.approx([0.8, 1.2])
    assert band[1][0] < 9.81 < band[1][1]


def test_sliders_move_curves_and_motion_to_where_a_run_is(run, page, browser):
    gravity = told(page)["trusted"][1][1]
    browser.open(page)
    browser.wait("window.whatIf")
    browser.ask(f"whatIf.set(1, {gravity})")
    k = catalogue.load("pendulum_3d")
    truth = dd.simulate(k.model, 2.0, inputs=k.inputs, parameters={"gravity": gravity}, rtol=1e-9)
    for t in (0.5, 1.0, 2.0):
        browser.ask(f"daedalus.seek({t})")
        drawn = np.array(browser.ask("daedalus.pose('position')"))
        assert np.abs(drawn - truth.at(t)["position"]).max() < 0.05
        # Much closer than without the slider's derivatives.
    assert np.abs(run.at(2.0)["position"] - truth.at(2.0)["position"]).max() > 0.05
    line = browser.ask("whatIf.line()")
    m = k.model
    again = eval(line[:-1] + ", inputs=k.inputs)",
                 {"dd": dd, "m": m, "k": k})  # fmt: skip
    assert float(again._parameters.max()) == pytest.approx(gravity, rel=1e-6)
    assert browser.ask("whatIf.note.textContent").startswith("green: verified within 3 %")
    browser.ask("whatIf.set(1, 9.81 * 1.2)")
    assert browser.errors() == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((["position"], "page.html"), "not a scalar parameter"),
        (([], "page.html"), "needs a parameter"),
        ((["mass"], "page.html", 2.0), "between 0 and 1"),
        ((["weight"], "page.html"), "no variable 'weight'"),
    ],
)
def test_wrong_calls_are_refused(run, arguments, text):
    with pytest.raises(dd.InputError, match=text):
        run.what_if(*arguments)


def test_inputs_are_told_how_to_get_a_slider():
    m = dd.Model("decay")
    x, u, k = m.state("x", start=1.0), m.input("u"), m.parameter("k", [1.0, 2.0])
    m.equation(m.der(x), u - k[0] * k[1] * x)
    tr = dd.simulate(m, 1.0, inputs={"u": 0.0})
    with pytest.raises(dd.InputError) as told:
        tr.what_if(["u"], "page.html")
    assert str(told.value) == (
        "u is not a scalar parameter.\n  scalar parameters: none\n  Because a slider changes one number.\n"
        "  Try: m.parameter('u', value) in place of the input"
    )
    with pytest.raises(dd.InputError, match=r"Try: 'k\[0\]'"):
        tr.what_if(["k"], "page.html")


def test_a_model_without_geometry_has_its_curves(browser, tmp_path):
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 2.0)
    m.equation(m.der(x), -k * x)
    dd.simulate(m, 2.0).what_if(["k"], tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    browser.wait("window.whatIf")
    assert browser.ask("daedalus.stage") is None
    assert browser.ask("getComputedStyle(document.querySelector('.dd-scene')).display") == "none"
    assert browser.errors() == []


def spring():
    m = dd.Model("spring")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    stiffness, mass = m.parameter("stiffness", 4.0), m.parameter("mass", 1.0)
    m.equation([m.der(x), m.der(v)], [v, -stiffness / mass * x])
    return m, ["stiffness", "mass"], 4.0


def damped():
    m = dd.Model("damped")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    k, c, s = m.parameter("k", 9.0), m.parameter("c", 0.4), m.parameter("s", 0.7)
    m.equation([m.der(x), m.der(v)], [v, -k * ca.sin(x) - c * v + s])
    return m, ["k", "c", "s"], 3.0


def kinetics():
    m = dd.Model("kinetics")
    a, b = m.state("a", start=1.0), m.state("b", start=0.2)
    p = [m.parameter(f"k{i}", value) for i, value in enumerate((1.0, 2.5, 0.7, 1.4))]
    m.equation([m.der(a), m.der(b)], [-p[0] * a * b - p[1] * a, p[1] * a - p[2] * b**2 + p[3] * 0.1])
    return m, ["k0", "k1", "k2", "k3"], 3.0


def driven(seed):
    """Oscillators with random couplings, driven in one frequency of the parameters."""
    random, m = np.random.default_rng(seed), dd.Model("driven")
    n, count = int(random.integers(2, 4)), int(random.integers(2, 4))
    x = m.state("x", n, start=random.normal(size=n).tolist())
    p = [m.parameter(f"p{k}", float(random.uniform(0.5, 2))) for k in range(count)]
    A, B = random.normal(size=(n, n)), random.normal(size=(n, count))
    coupled = ca.mtimes(ca.DM(2 * (A - A.T) - 0.6 * np.eye(n)), x) * p[0]
    m.equation(m.der(x), coupled - 0.2 * p[1] * x**3 + ca.mtimes(ca.DM(B), ca.vertcat(*p)) * ca.sin(2 * p[-1] * m.time))
    m.output("size", ca.sumsqr(x) * p[0])
    return m, [f"p{k}" for k in range(count)], 2.0


def sampled():
    """A clock that ticks at the start: what it assigns depends on the sliders there, too."""
    m = dd.Model("sampled")
    x, u = m.state("x", start=0.3), m.discrete("u", start=0.0)
    gain, aim = m.parameter("gain", 1.5), m.parameter("aim", 1.0)
    m.equation(m.der(x), -0.5 * x + u)
    m.every(0.25, {"u": gain * (aim - x)})
    return m, ["aim", "gain"], 2.1


def errors(m, names, span, curves, changes):
    """How far the predictions of second order for changes are from re-runs, in ranges of the curves."""
    times = np.linspace(0.0, span, 41)
    base = dd.simulate(m, span, rtol=1e-9, save_at=times)
    sens = dd.sensitivities(m, span, order=2, wrt=names, rtol=1e-9).at(times)
    values = np.array([float(m.variables[name].start[0]) for name in names])
    first = {curve: np.array([sens.d(curve, n) for n in names]) for curve in curves}
    second = {}
    for curve, (i, j) in product(curves, combinations_with_replacement(range(len(names)), 2)):
        second[curve, i, j] = second[curve, j, i] = sens.d(curve, names[i], names[j])
    found = []
    for change in changes:
        truth = dd.simulate(m, span, rtol=1e-9, save_at=times, parameters=dict(zip(names, values + change)))
        worst = 0.0
        for curve in curves:
            y = base[curve] + change @ first[curve]
            for i, j in np.ndindex(len(names), len(names)):
                y = y + 0.5 * change[i] * change[j] * second[curve, i, j]
            size = max(np.ptp(truth[curve]), np.ptp(base[curve]))
            worst = max(worst, np.abs(y - truth[curve]).max() / size)
        found.append(worst)
    return np.array(found)


@pytest.mark.parametrize("make", [spring, damped, kinetics, *(partial(driven, seed) for seed in range(3))])
def test_what_is_trusted_together_is_within_the_error(make, tmp_path):
    m, names, span = make()
    curves = [*m.freeze().labels["x"], *m.freeze().outputs]
    page = dd.simulate(m, span, rtol=1e-9).what_if(names, tmp_path / "page.html", curves=curves)
    corners, random = np.array(told(page)["corners"]), np.random.default_rng(1)
    assert len(corners)
    changes = [random.uniform(0, 1, len(names)) * corner for corner in corners[random.integers(0, len(corners), 12)]]
    assert errors(m, names, span, curves, [*changes, *corners[:6]]).max() < 0.0305


def test_models_that_switch_are_predicted_by_first_derivatives(tmp_path):
    """They were refused, with the advice to take order=1, which the call does not know."""
    m, names, span = sampled()
    page = dd.simulate(m, span, rtol=1e-9).what_if(names, tmp_path / "page.html", curves=["x"], spread=0.1)
    found = told(page)
    assert found["order"] == 1
    # The motion is linear in the aim, so that all of its range is trusted.
    assert found["trusted"][0] == pytest.approx([0.9, 1.1])
    times, random = np.linspace(0.0, span, 41), np.random.default_rng(2)
    base = dd.simulate(m, span, rtol=1e-9).at(times)["x"]
    sens = dd.sensitivities(m, span, wrt=names, rtol=1e-9).at(times)
    for corner in found["corners"]:
        change = random.uniform(0, 1, 2) * corner
        values = dict(zip(names, (np.array([1.0, 1.5]) + change).tolist()))
        truth = dd.simulate(m, span, rtol=1e-9, parameters=values).at(times)["x"]
        assert np.abs(base + change @ [sens.d("x", n) for n in names] - truth).max() < 0.031 * np.ptp(truth)


def test_corners_that_are_off_are_not_trusted(tmp_path):
    """Stiffness and mass against each other change the frequency most, with each other not at all."""
    m, names, span = spring()
    page = dd.simulate(m, span, rtol=1e-9).what_if(names, tmp_path / "page.html", curves=["x", "v"])
    corners, reach = np.array(told(page)["corners"]), np.array(told(page)["reach"])

    def trusted(shares):
        change = np.array(shares) * reach
        return any(np.all(change * c >= 0) and np.all(np.abs(change) <= np.abs(c) + 1e-12) for c in corners)

    assert errors(m, names, span, ["x", "v"], [np.array([1.0, -1.0]) * reach])[0] > 0.05
    assert not trusted([1.0, -1.0])
    assert trusted([0.2, 0.2])
    assert told(page)["trusted"][0][0] < 4.0 < told(page)["trusted"][0][1]


def test_bands_follow_the_other_sliders(browser, tmp_path):
    m, names, span = spring()
    dd.simulate(m, span, rtol=1e-9).what_if(names, tmp_path / "page.html", curves=["x", "v"])
    browser.open(tmp_path / "page.html")
    browser.wait("window.whatIf")
    alone = browser.ask("whatIf.room(0)")
    browser.ask("whatIf.set(1, 0.8)")
    together = browser.ask("whatIf.room(0)")
    assert together is None or together[1] < alone[1]
    browser.ask("whatIf.set(0, 4.8)")
    assert browser.ask("whatIf.note.textContent").startswith("beyond")
    browser.ask("whatIf.set(0, 4.0); whatIf.set(1, 1.0)")
    assert browser.ask("whatIf.note.textContent").startswith("green: verified within 3 %")
    assert browser.errors() == []


def test_constant_curves_units_and_a_range_that_is_empty(tmp_path, browser):
    m = dd.Model("steep")
    x, y = m.state("x", start=1.0, unit="m"), m.state("y", start=5.0)
    k = m.parameter("k", 30.0, unit="1/s")
    m.equation(m.der(x), 30 * ca.sin(k * k * x))
    m.equation(m.der(y), 0 * x)
    page = dd.simulate(m, 3.0).what_if(["k"], tmp_path / "page.html")
    browser.open(page)
    browser.wait("window.whatIf")
    assert browser.ask("document.querySelector('#sliders output').textContent") == "30 1/s"
    assert "no verified range" in browser.ask("document.querySelector('#sliders em').textContent")
    assert browser.ask("daedalus.curves.panels.every((panel) => panel.fixed && panel.series[0].ghost)")
    before = browser.ask("daedalus.curves.panels[0].fixed")
    browser.ask("whatIf.set(0, 30.5)")
    assert browser.ask("daedalus.curves.panels[0].fixed") == before
    assert browser.errors() == []


def test_predictions_that_grow_without_bound_leave_the_axes_readable(tmp_path, browser):
    m = dd.Model("weather in a box")
    x, y, z = (m.state(name, start=start) for name, start in (("x", 1.0), ("y", 1.0), ("z", 20.0)))
    rho = m.parameter("rho", 28.0)
    m.equation([m.der(x), m.der(y), m.der(z)], [10 * (y - x), x * (rho - z) - y, x * y - 8 / 3 * z])
    tr = dd.simulate(m, 4.0)
    browser.open(tr.what_if(["rho"], tmp_path / "page.html", curves=["z"]))
    browser.wait("window.whatIf")
    low, high = browser.ask("daedalus.curves.panels[0].fixed")
    height = tr["z"].max() - tr["z"].min()
    assert low > tr["z"].min() - 1.5 * height
    assert high < tr["z"].max() + 1.5 * height


def epidemic():
    """Long names with units."""
    m = dd.Model("epidemic")
    s, i = m.state("susceptible_share", start=0.99), m.state("infected_share", start=0.01)
    contact, recovery = m.parameter("contact_rate_of_people", 0.5, unit="1/s"), m.parameter("recovery", 0.1, unit="1/s")
    m.equation([m.der(s), m.der(i)], [-contact * s * i, contact * s * i - recovery * i])
    return dd.simulate(m, 80.0)


def hares():
    """A slider whose range is empty and says why."""
    m = dd.Model("hares and lynx")
    x, y = m.state("hares", start=10.0), m.state("lynx", start=5.0)
    birth, catch = m.parameter("birth", 1.1), m.parameter("catch", 0.4)
    m.equation([m.der(x), m.der(y)], [birth * x - catch * x * y, 0.1 * x * y - 0.4 * y])
    return dd.simulate(m, 20.0)


@pytest.mark.parametrize(("make", "names"), [
    pytest.param(epidemic, ["contact_rate_of_people", "recovery"], marks=pytest.mark.wide), (hares, ["birth"]),
])  # fmt: skip
def test_sliders_fit_the_page_and_no_text_lies_over_another(make, names, tmp_path, browser):
    browser.open(make().what_if(names, tmp_path / "page.html"))
    try:
        for width in (360, 768, 1280):
            browser.window(width, 800)
            assert wider_than_the_page(browser) == []
            assert overlapping_texts(browser) == []
        browser.dark()
        assert faint_texts(browser) == []
    finally:
        browser.window(1200, 800)
        browser.dark(False)


def test_curves_of_rounding_do_not_count():
    """The current of a ground pin, 1e-5 of those beside it, left no slider of a circuit a verified range."""
    times, rounding = np.linspace(0, 1, 11), np.random.default_rng(0).normal(size=(2, 11)) * 1e-5
    base = {"load": np.sin(times), "ground": rounding[0]}
    prediction = SimpleNamespace(parts=lambda label: (base[label], [], {}), at=lambda change: base)
    run = SimpleNamespace(success=True, at=lambda times: {"load": base["load"] + 0.01, "ground": rounding[1]})
    assert error_of(lambda: run, prediction, np.zeros(1), [["load", "ground"]], times) == pytest.approx(
        0.01 / np.sin(1)
    )
    assert error_of(lambda: run, prediction, np.zeros(1), [["load"], ["ground"]], times) > 0.5


def test_the_smallest_change_that_is_told_was_tried(tmp_path):
    """With four sliders a quarter of the range was called off, and half of it was the smallest that was tried."""
    for count in (1, 2, 3, 4):
        tried: list[np.ndarray] = []
        trusted_corners(lambda shares, tried=tried: bool(tried.append(shares)), count)
        for row in np.eye(count):
            assert any(np.array_equal(shares, min(ALONE) * row) for shares in tried)
