"""Words of README, docs and the command line: phrases that nobody says, and bookkeeping that no reader needs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# The page about the source documents, and that of their mistakes, may number them.
ABOUT_DOCUMENTS = {"audit.md", "corrections.md"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = [ROOT / "src" / "daedalus" / name for name in ("command_line.py", "demo.py")]
PHRASES = {
    r"block on this page runs in the tests": "bookkeeping",
    r"of the time allowed": "bookkeeping",
    r"\bMostly: do not": "say what the default is",
    r"\bWho wants\b": "To ..., call ...",
    r"\bwithout end\b": "runaway, endless",
    r"\brefuses strangers\b": "accepts authenticated requests only",
    r"\ba (?:line|panel|row|column|curve|picture|slider) an? \w+": "one line per case",
    r"what is too much(?:,| or) ": "over- and under-determined",
    r"\bNothing of\b": "has no ...",
}


@pytest.mark.parametrize("page", [*PAGES, *COMMANDS], ids=lambda page: page.name)
def test_pages_are_free_of_phrases_that_nobody_says(page):
    text = page.read_text(encoding="utf-8")
    found = [(phrase, why) for phrase, why in PHRASES.items() if re.search(phrase, text)]
    assert found == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in ABOUT_DOCUMENTS], ids=lambda p: p.name)
def test_source_documents_are_numbered_on_their_own_page_alone(page):
    assert not re.search(r"\b[Dd]ocument 00\d", page.read_text(encoding="utf-8"))


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 200
