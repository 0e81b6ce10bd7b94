"""Cards of all kinds on one page in a browser: none is wider than a phone, and no text lies over another."""

import numpy as np
import pytest
from page_measures import overlapping_texts, wider_than_the_page

import daedalus as dd
from daedalus import catalogue


def decay():
    m = dd.Model("decay")
    x, rate, drive = (
        m.state("x", start=1.0, unit="m"),
        m.parameter("rate", 0.7, unit="1/s"),
        m.input("drive", unit="m/s"),
    )
    m.equation(m.der(x), -rate * x + drive)
    return m


def things():
    """A fit, a plan, a sweep, derivatives, linear systems, a robot, a circuit that switches, a field."""
    m = decay()
    t = np.linspace(0, 2, 20)
    yield dd.fit(m, {"time": t, "x": np.exp(-0.5 * t)}, free="rate", noise={"x": 0.01}, inputs={"drive": 0.0})
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.start(x=1.0)
    ocp.finish(x=0.0)
    ocp.minimise(running=m["drive"] ** 2)
    yield ocp
    yield ocp.solve()
    yield dd.sweep(m, 1.0, over={"rate": [0.5, 1.0]}, inputs={"drive": 0.0})
    yield dd.sensitivities(m, 1.0, inputs={"drive": 0.0})
    yield dd.linearise(m, at={"x": 0.0}, inputs={"drive": 0.0})
    yield dd.prepare(m, 1.0, inputs={"drive": 0.0})
    for name in ("delta_robot", "buck_converter", "heat_rod"):
        k = catalogue.load(name)
        yield k.model
        yield dd.analyse(k.model)
        yield dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs)


@pytest.mark.wide
def test_cards_fit_a_phone_a_tablet_and_a_desk(tmp_path, browser):
    page = tmp_path / "cards.html"
    cards = "\n".join(f"<div>{thing._repr_html_()}</div>" for thing in things())
    page.write_text(f"<!doctype html><meta charset=utf-8><body>{cards}</body>", encoding="utf-8")
    browser.open(page)
    try:
        for width in (360, 768, 1280):
            browser.window(width, 800)
            assert wider_than_the_page(browser) == []
            assert overlapping_texts(browser) == []
    finally:
        browser.window(1200, 800)
