"""What-if pages: sliders predict what re-runs give, inside the band that they show."""

import json
import re

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


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
    assert browser.ask("whatIf.note.textContent").startswith("within 3")
    browser.ask("whatIf.set(1, 9.81 * 1.2)")
    assert browser.errors() == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((["position"], "page.html"), "no scalar parameter"),
        (([], "page.html"), "needs a parameter"),
        ((["mass"], "page.html", 2.0), "between 0 and 1"),
        ((["weight"], "page.html"), "no variable 'weight'"),
    ],
)
def test_wrong_calls_are_refused(run, arguments, text):
    with pytest.raises(dd.InputError, match=text):
        run.what_if(*arguments)


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
