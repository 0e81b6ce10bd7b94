"""The pages of the methods are what the script writes from the tableaux, and everything on them works."""

import re
import runpy
from functools import cache
from pathlib import Path

import pytest

import daedalus as dd

DOCS = Path(__file__).parent.parent / "docs"
FILES = sorted(path.name for path in (DOCS / "methods").glob("*.md"))
LARGEST_PICTURE = 25_000


@cache
def script():
    """What the script that writes the pages defines."""
    return runpy.run_path(str(DOCS / "make_method_pages.py"))


@cache
def pages():
    """The text of every page by its file."""
    return script()["pages"]()


@pytest.mark.parametrize("file", FILES)
def test_the_committed_page_is_what_the_script_writes(file):
    page = DOCS / "methods" / file
    assert page.exists(), "run: python docs/make_method_pages.py"
    assert page.read_text(encoding="utf-8") == pages()[file], "run: python docs/make_method_pages.py"


def test_there_is_a_page_for_every_method_and_no_other():
    wanted = {"index", *(m.name for m in dd.methods()), *dd.tableau_names()}
    assert {path.stem for path in (DOCS / "methods").glob("*.md")} == wanted


def test_every_tableau_has_a_small_picture_and_there_are_no_others():
    pictures = {path.stem: path for path in (DOCS / "methods").glob("*.png")}
    assert set(pictures) == set(dd.tableau_names())
    for path in pictures.values():
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) < LARGEST_PICTURE, path.name


@pytest.mark.parametrize("file", FILES)
def test_links_lead_somewhere(file):
    for target in re.findall(r"\]\(([^)]+)\)", pages()[file]):
        assert (DOCS / "methods" / target).exists(), target


def test_what_the_pages_recommend_runs():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    # The same curve as mechanics: x'' = x begins with x' = -x.
    swing = dd.Model("unstable")
    y = swing.coordinate("x", start=1.0, rate=-1.0)
    swing.kinetic_energy(0.5 * swing.rate(y) ** 2)
    swing.potential_energy(-0.5 * y**2)
    momenta = {f"{method.name}.md" for method in dd.methods() if method.family == "lobatto"}
    calls = [
        (block, swing if file in momenta else m)
        for file, text in pages().items()
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    ]
    assert len(calls) == len(pages()) - 1
    for call, model in calls:
        result = eval(call, {"dd": dd, "m": model})
        if isinstance(result, dd.Trajectory):
            assert result["x"][-1] == pytest.approx(0.3679, abs=0.01)


def test_facts_on_some_pages():
    assert "| order | 4 |" in pages()["rk4.md"]
    assert "| stable on the real axis | [-2.785, 0] |" in pages()["rk4.md"]
    assert "| stability function R(z) | (1 + 1/3 z) / (1 - 2/3 z + 1/6 z²) |" in pages()["radau3.md"]
    assert "| order | 12 |" in pages()["gauss6.md"]
    assert "| L-stable | yes |" in pages()["sdirk3.md"]
    assert "| symplectic | yes |" in pages()["gauss1.md"]
    assert "| stage order | 2 |" in pages()["trapezoidal.md"]
    assert "Also called `implicit_midpoint`." in pages()["gauss1.md"]
    assert "| [rk4](rk4.md) | 4 | yes | no | 4 |" in pages()["index.md"]
    assert "| [dopri5](dopri5.md) | 7 | 5(4) | 1 | explicit | no | no | 3.307 |" in pages()["index.md"]


def test_a_new_picture_can_be_drawn(tmp_path):
    script()["draw"]("heun", tmp_path / "heun.png")
    assert 1000 < (tmp_path / "heun.png").stat().st_size < LARGEST_PICTURE
