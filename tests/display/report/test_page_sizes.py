"""Reports in a browser: no element is wider than the page, on a phone, a tablet, a desk and on paper."""

import pytest
from page_measures import wider_than_the_page

import daedalus as dd
from daedalus import catalogue

# One worker makes each report once.
pytestmark = pytest.mark.xdist_group("report pages")
SYSTEMS = ("delta_robot", "motor_lift", "robertson")


@pytest.fixture(scope="module", params=SYSTEMS)
def page(request, tmp_path_factory):
    k = catalogue.load(request.param)
    file = tmp_path_factory.mktemp("report") / "report.html"
    return dd.report(k.model, file, k.span, start=k.start, inputs=k.inputs)


def test_nothing_is_wider_than_its_page(page, browser):
    browser.open(page)
    for width in (360, 768, 1280):
        browser.window(width, 800)
        assert wider_than_the_page(browser) == []
    browser.window(1200, 800)
    assert browser.errors() == []


def test_the_printed_report_fits_the_paper(page, browser):
    browser.open(page)
    browser.window(718, 1000)  # A4 with margins of 1 cm at 96 dots an inch
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert wider_than_the_page(browser) == []
        wide = browser.ask("Math.max(...[...document.querySelectorAll('.dd-formula')].map(e => e.scrollWidth))")
        assert wide is None or wide <= 720
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
        browser.window(1200, 800)


def test_formulas_are_set_in_the_bundled_font(page, browser):
    browser.open(page)
    assert browser.ask("document.fonts.ready.then(() => document.fonts.check('16px \"Daedalus Math\"'))")
    family = browser.ask("(m => m ? getComputedStyle(m).fontFamily : 'Daedalus Math')(document.querySelector('math'))")
    assert "Daedalus Math" in family
