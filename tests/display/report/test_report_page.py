"""Reports: one file with every section, which says what it leaves out and why."""

import pytest

import daedalus as dd
from daedalus import catalogue


def test_a_report_has_all_its_sections(browser, tmp_path):
    k = catalogue.load("pendulum_3d")
    file = dd.report(k.model, tmp_path / "report.html", span=2.0, inputs=k.inputs)
    assert file.stat().st_size < 2_000_000
    browser.open(file)
    browser.wait("window.daedalus")
    headings = browser.ask("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    assert headings == ["Equations", "Verdict", "Start", "Motion", "Run", "Energy and constraints", "How it changes"]
    assert browser.ask("document.querySelectorAll('math').length") > 10
    assert browser.ask("document.querySelectorAll('pre.why').length") == 0
    browser.ask("daedalus.seek(1.0)")
    assert browser.ask("daedalus.pose('position').length") == 3
    assert browser.errors() == []


def test_what_cannot_be_made_is_told(tmp_path):
    k = catalogue.load("robertson")
    text = dd.report(k.model, tmp_path / "report.html", span=10.0, inputs=k.inputs).read_text()
    assert "no geometry to draw" in text
    assert "globalThis.THREE" not in text


@pytest.mark.parametrize(("path", "text"), [("report.pdf", "HTML file"), ("no/folder/r.html", "folder does not exist")])
def test_wrong_places_are_refused(path, text):
    with pytest.raises(dd.InputError, match=text):
        dd.report(catalogue.load("mass_spring").model, path)
