"""The documentation site: its gallery runs, its pages are in its menu, its links lead somewhere."""

import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import daedalus as dd

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
    made = {"gallery/index.md", "reference/index.md"}
    broken = []
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#]+\.md)[^)]*\)", page.read_text(encoding="utf-8")):
            place = (page.parent / target).resolve()
            if not place.exists() and target not in made:
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_every_public_name_has_its_place_in_the_reference():
    listed = [
        name for _, names in runpy.run_path(str(DOCS / "reference_pages.py"))["topics"]().values() for name in names
    ]
    assert sorted(listed) == sorted(dd.__all__)


def test_the_reference_has_signatures_parameters_and_examples():
    pages = runpy.run_path(str(DOCS / "site_pages.py"))
    assert pages["title_and_text"](SCRIPTS[0])[0]
    reference = pages["reference_pages"]()
    assert "dd.simulate(\n    model, span, start=None, " in reference["reference/running.md"]
    assert "- `save_at`: " in reference["reference/running.md"]
    assert "## dd.Model.draw" in reference["reference/model.md"]
    assert "## dd.inertia.box" in reference["reference/geometry.md"]
    assert "## electrical.Resistor" in reference["reference/components.md"]
    for name in ("simulate", "analyse", "fit", "branch", "check_units"):
        page = next(page for page in reference.values() if f"## dd.{name} " in page.replace("\\_", "_"))
        section = page.replace("\\_", "_").split(f"## dd.{name} ")[1].split("\n## ")[0]
        assert ">>> import daedalus as dd" in section


STAGES = (
    *("index", "first_hour", "guide", "mechanics", "mechanisms", "parts", "switching", "understanding", "starting"),
    *("branches", "control", "linear", "ensembles", "large_models", "data", "sensitivities", "flow"),
    *("choosing_inputs", "receding_horizon", "fitting", "looking", "studio", "coming_from"),
    *("tutorial_control", "tutorial_robotics", "tutorial_circuits", "tutorial_chemistry", "tutorial_teaching"),
    *("tutorial_optimisation", "robots", "noise", "exchange", "derivations", "choosing_a_method"),
)


@pytest.mark.parametrize("name", STAGES)
def test_pages_have_pictures_that_exist(name):
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (DOCS / f"{name}.md").read_text(encoding="utf-8"))
    assert pictures
    assert [picture for picture in pictures if not (DOCS / picture).exists()] == []


def test_every_picture_is_used():
    texts = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *DOCS.glob("*.md")])
    assert [picture.name for picture in (DOCS / "pictures").iterdir() if f"pictures/{picture.name}" not in texts] == []


def test_pictures_come_from_the_block_above_them():
    drawn = runpy.run_path(str(DOCS / "make_pictures.py"))["pictures_of"]
    found = [picture for name in STAGES for picture, _ in drawn(DOCS / f"{name}.md")]
    assert len(found) >= 30
    assert len(set(found)) == len(found)


def test_formulas_are_typeset_and_code_is_left_alone():
    pytest.importorskip("latex2mathml")
    marked = runpy.run_path(str(DOCS / "site_pages.py"))["marked_formulas"]
    formulas: list[str] = []
    text = marked("$x^2$ and `$y` at 5 $\n\n```text\n$z$\n```\n\n$$a_1 = 1$$\n", formulas)
    assert text == "formula0x and `$y` at 5 $\n\n```text\n$z$\n```\n\nformula1x\n"
    assert formulas[0].startswith("<math")
    assert formulas[1].startswith('<span class="wide-formula"><math')
    assert "<msup>" in formulas[0]
    marked(r"$\dot x + \ddot{q} + \bar y$", formulas)
    assert formulas[2].count('<mover accent="true">') == 2


def test_captions_of_the_gallery_are_whole():
    pages = runpy.run_path(str(DOCS / "site_pages.py"))
    script = ROOT / "examples" / "gallery" / "crane_without_sway.py"
    assert " ".join(pages["title_and_text"](script)[1].split()) in pages["gallery_card"](script, False)
