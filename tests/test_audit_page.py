"""The page of the source documents is what the marks on the tests say, and names nothing that is not there."""

import re
import runpy
from pathlib import Path

import pytest

import daedalus as dd

DOCS = Path(__file__).parent.parent / "docs"
SCRIPT = runpy.run_path(str(DOCS / "make_audit_page.py"))
ROWS = SCRIPT["statements"]()


def test_the_committed_page_is_what_the_marks_say():
    assert (DOCS / "audit.md").read_text(encoding="utf-8") == SCRIPT["page"](), "run: python docs/make_audit_page.py"


def test_every_document_has_statements():
    counts = {document: sum(row.document == document for row in ROWS) for document in SCRIPT["TITLES"]}
    assert len(ROWS) >= 50
    assert min(counts.values()) >= 4
    assert {row.document for row in ROWS} == set(SCRIPT["TITLES"])
    assert len({(row.document, row.text) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("name", sorted({n for row in ROWS for n in re.findall(r"`dd\.(\w+)", row.where)}))
def test_what_is_named_exists(name):
    assert hasattr(dd, name)
