"""The viewer in a browser: values at the cursor, a legend that hides, zoom, keys, fit, and no overflow."""

import numpy as np
import pytest
from page_measures import faint_texts, overlapping_texts, wider_than_the_page

import daedalus as dd
from daedalus import catalogue


@pytest.fixture(scope="module")
def viewer(tmp_path_factory, chromium):
    """One page for all tests here: each sets what it looks at."""
    k = catalogue.load("slider_crank")
    file = tmp_path_factory.mktemp("viewer") / "run.html"
    dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs).animate(file)
    chromium.open(file)
    chromium.wait("window.daedalus")
    yield chromium
    chromium.open("about:blank")


def test_the_clock_has_a_unit(viewer):
    viewer.ask("daedalus.seek(0.4)")
    assert viewer.ask("document.querySelector('.dd-clock').textContent") == "t = 0.400 s"


def test_values_at_the_cursor_follow_the_time(viewer):
    read = "document.querySelector('.dd-value').textContent"
    viewer.ask("daedalus.seek(0.0)")
    first = viewer.ask(read)
    viewer.ask("daedalus.seek(0.37)")
    assert first.strip()
    assert viewer.ask(read) != first


def test_a_click_on_the_legend_hides_a_curve(viewer):
    assert viewer.ask("daedalus.curves.panels[0].series[0].hidden") in (None, False)
    viewer.ask("document.querySelector('.dd-key').click()")
    assert viewer.ask("daedalus.curves.panels[0].series[0].hidden") is True
    assert viewer.ask("document.querySelector('.dd-key').classList.contains('dd-off')")


def test_keys_work_without_a_click(viewer):
    viewer.ask("daedalus.seek(0.1)")
    viewer.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    assert viewer.ask("daedalus.now") > 0.1
    viewer.call("Input.dispatchKeyEvent", type="keyDown", key=" ")
    assert viewer.ask("daedalus.playing") is True
    viewer.call("Input.dispatchKeyEvent", type="keyDown", key=" ")
    assert viewer.ask("daedalus.playing") is False


def test_a_page_at_rest_draws_nothing(viewer):
    wait = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
    drawn = f"{wait}.then(() => daedalus.stage.frames)"
    viewer.ask("daedalus.seek(0.2)")
    before = viewer.ask(drawn)
    assert viewer.ask(drawn) == before
    viewer.ask("daedalus.stage.azimuth += 0.1")
    assert viewer.ask(drawn) > before


def test_ticks_are_finite_and_written_alike(viewer):
    """A conserved quantity made a page count for ever: the next tick was the same number."""
    assert viewer.ask("ticksOf(1000 - 1e-13, 1000 + 2e-13, 8)") == []
    assert viewer.ask("roomAround(1000, 1000 + 2e-13, 0.04).map(Math.round)") == [950, 1050]
    texts = "(low, high) => ticksOf(low, high, 4).map(([, text]) => text).join(' ')"
    assert viewer.ask(f"({texts})(0, 0.002)") == "0 0.5e-3 1.0e-3 1.5e-3 2.0e-3"
    assert viewer.ask(f"({texts})(-1, 1.2)") == "-1 0 1"
    assert viewer.ask(f"({texts})(1000, 1000.004)") == "1000.000 1000.001 1000.002 1000.003 1000.004"
    assert viewer.ask(f"({texts})(0, 3e6)") == "0 1e6 2e6 3e6"


def test_the_wheel_zooms_in_time_and_fit_shows_all(viewer):
    wheel = "new WheelEvent('wheel', {deltaY: -100, clientX: 300, cancelable: true})"
    viewer.ask(f"daedalus.curves.panels[0].canvas.dispatchEvent({wheel}), 0")
    begin, end = viewer.ask("daedalus.curves.span()")
    assert end - begin == pytest.approx(0.8)
    viewer.ask("document.querySelector('.dd-fit').click()")
    assert viewer.ask("daedalus.curves.view") is None
    assert viewer.errors() == []


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_page(viewer, width):
    viewer.window(width, 800)
    try:
        assert wider_than_the_page(viewer) == []
        assert overlapping_texts(viewer) == []
    finally:
        viewer.window(1200, 800)


@pytest.mark.parametrize("dark", [False, True])
def test_texts_are_read_by_day_and_by_night(viewer, dark):
    viewer.dark(dark)
    try:
        assert faint_texts(viewer) == []
    finally:
        viewer.dark(False)


def test_small_bodies_and_thin_rods_are_seen(browser, tmp_path):
    """A bob of a tenth of a millimetre on a hair of a metre is as many pixels as one can see, lines are two wide."""
    m = dd.Model("hair")
    a = m.state("angle", start=1.0, rate=0.0)
    m.equation(m.der(m.der(a)), -9.81 * np.sin(a))
    bob = [np.sin(a), -np.cos(a)]
    m.draw("rod", [0, 0], to=bob, radius=1e-5)
    m.draw("sphere", bob, radius=1e-4, name="bob")
    m.draw("trace", bob)
    dd.simulate(m, 1.0).animate(tmp_path / "run.html")
    browser.open(tmp_path / "run.html")
    browser.wait("window.daedalus")
    browser.ask("daedalus.seek(0.5), daedalus.stage.stale = true, daedalus.stage.render(), 0")
    factor = "(k => daedalus.stage.objects.find(o => o.userData.shape.kind === k).scale.x)"
    assert browser.ask(f"{factor}('sphere')") > 10
    assert browser.ask(f"{factor}('rod')") > 10
    pixels = """(() => { const s = daedalus.stage, o = s.objects.find(o => o.userData.shape.kind === 'sphere');
      const half = Math.tan(s.camera.fov * Math.PI / 360), away = o.position.distanceTo(s.camera.position);
      return 2 * o.scale.x * 1e-4 * daedalus.canvas.clientHeight / (2 * away * half); })()"""
    assert 4 <= browser.ask(pixels) <= 12
    trace = "daedalus.stage.objects.find(o => o.userData.shape.kind === 'trace')"
    assert browser.ask(f"{trace}.children.length") == 3
    assert browser.errors() == []
