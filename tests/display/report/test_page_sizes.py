"""Reports in a browser: every section, and nothing wider than the page on a phone, a tablet, a desk and on paper."""

import re

import pytest
from page_measures import faint_texts, overlapping_texts, wider_than_the_page

import daedalus as dd
from daedalus import catalogue

# Of all kinds: mechanisms and robots, circuits, machines, switching, fields, kinetics.
OTHERS = ("delta_robot", "motor_lift", "robertson", "bridge_rectifier", "buck_converter", "heat_rod", "brusselator_2d",
          "quadrotor", "heated_house", "slider_crank")  # fmt: skip
WITHOUT_CONSTRAINTS = ("heat_rod", "brusselator_2d", "heated_house")
SYSTEMS = ("pendulum_3d", *(pytest.param(name, marks=pytest.mark.wide) for name in OTHERS))


@pytest.fixture(scope="module", params=SYSTEMS)
def page(request, tmp_path_factory, chromium):
    """A report that is open in the browser; tests change the window only."""
    k = catalogue.load(request.param)
    file = tmp_path_factory.mktemp("report") / "report.html"
    dd.report(k.model, file, k.span, start=k.start, inputs=k.inputs)
    chromium.open(file)
    if 'id="viewer"' in file.read_text():
        chromium.wait("window.daedalus")
    yield chromium
    chromium.window(1200, 800)
    chromium.open("about:blank")


def test_nothing_is_wider_than_its_page(page):
    for width in (360, 768, 1280):
        page.window(width, 800)
        assert wider_than_the_page(page) == []
        assert overlapping_texts(page) == []
    assert page.errors() == []


@pytest.mark.parametrize("dark", [False, True])
def test_texts_are_read_by_day_and_by_night(page, dark):
    page.dark(dark)
    try:
        assert faint_texts(page) == []
        back = page.ask("getComputedStyle(document.body).backgroundColor")
        assert (max(map(int, re.findall(r"\d+", back))) < 60) == dark
    finally:
        page.dark(False)


def test_the_printed_report_fits_the_paper(page):
    page.window(718, 1000)  # A4 with margins of 1 cm at 96 dots an inch
    page.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert wider_than_the_page(page) == []
        wide = page.ask("Math.max(...[...document.querySelectorAll('.dd-formula')].map(e => e.scrollWidth))")
        assert wide is None or wide <= 720
    finally:
        page.call("Emulation.setEmulatedMedia", media="")


def test_formulas_are_set_in_the_bundled_font(page):
    assert page.ask("document.fonts.ready.then(() => document.fonts.check('16px \"Daedalus Math\"'))")
    family = page.ask("(m => m ? getComputedStyle(m).fontFamily : 'Daedalus Math')(document.querySelector('math'))")
    assert "Daedalus Math" in family


def test_a_report_has_all_its_sections(page):
    headings = page.ask("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    name = page.ask("document.querySelector('h1').textContent")
    kept = [] if name in WITHOUT_CONSTRAINTS else ["Energy and constraints"]
    # Where nothing can be drawn, the section says why.
    moving = page.ask("Boolean(window.daedalus)")
    expected = ["Equations", "Analysis", "Start", "Motion", "Run", *kept, "Sensitivities"]
    assert [heading for heading in headings if not heading.startswith("Appendix")] == expected
    assert page.ask("document.querySelectorAll('math').length") > 10
    assert page.ask("document.querySelectorAll('pre.why').length") == 0
    assert page.ask("document.body.textContent.includes('has no geometry to draw')") != moving
    assert page.errors() == []
