"""Reports: one file, which says what it leaves out and why."""

import pytest

import daedalus as dd
from daedalus import catalogue


def test_what_cannot_be_made_is_told(tmp_path):
    k = catalogue.load("robertson")
    text = dd.report(k.model, tmp_path / "report.html", span=10.0, inputs=k.inputs).read_text()
    assert "no geometry to draw" in text
    assert "globalThis.THREE" not in text


@pytest.mark.parametrize(("path", "text"), [("report.pdf", "HTML file"), ("no/folder/r.html", "folder does not exist")])
def test_wrong_places_are_refused(path, text):
    with pytest.raises(dd.InputError, match=text):
        dd.report(catalogue.load("mass_spring").model, path)
