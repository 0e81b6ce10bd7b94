"""The documentation site: its gallery runs, its pages are in its menu, its links lead somewhere."""

import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
LONG = ("a_million_magnetic_pendulums",)


def marked(script):
    marks = [pytest.mark.long] if script.stem in LONG else []
    return pytest.param(script, id=script.stem, marks=marks)


@pytest.mark.parametrize("script", [marked(script) for script in SCRIPTS])
def test_gallery_scripts_run(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = runpy.run_path(str(script))
    assert "figure" in found or "film" in found
    if "film" in found:
        assert found["film"].html().startswith("<!DOCTYPE html>")
    plt.close("all")


def test_the_gallery_has_something_to_show():
    assert len(SCRIPTS) >= 25
    assert sum("film = " in script.read_text() for script in SCRIPTS) >= 10


def test_every_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [page.name for page in DOCS.glob("*.md") if f" {page.name}" not in menu]
    assert missing == []


def test_links_between_pages_lead_somewhere():
    made = {"gallery/index.md", "reference.md"}
    broken = []
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#]+\.md)[^)]*\)", page.read_text(encoding="utf-8")):
            place = (page.parent / target).resolve()
            if not place.exists() and target not in made:
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_generated_pages_have_titles_and_signatures():
    pages = runpy.run_path(str(DOCS / "site_pages.py"))
    assert pages["title_and_text"](SCRIPTS[0])[0]
    reference = pages["reference_page"]()
    assert "## dd.simulate" in reference
    assert "### dd.Model.draw" in reference
    assert "### dd.inertia.box" in reference
