"""The page of the source documents is what the marks on the tests say, and names nothing that is not there."""

import re
import runpy
from functools import cache
from pathlib import Path

import daedalus as dd

DOCS = Path(__file__).parent.parent / "docs"
SCRIPT = runpy.run_path(str(DOCS / "make_audit_page.py"))


@cache
def rows():
    """The statements, read from all test files once, by the worker that asks."""
    return SCRIPT["statements"]()


def test_the_committed_page_is_what_the_marks_say():
    assert (DOCS / "audit.md").read_text(encoding="utf-8") == SCRIPT["page"](), "run: python docs/make_audit_page.py"


def test_every_document_has_statements():
    counts = {document: sum(row.document == document for row in rows()) for document in SCRIPT["TITLES"]}
    assert len(rows()) >= 50
    assert min(counts.values()) >= 4
    assert {row.document for row in rows()} == set(SCRIPT["TITLES"])
    assert len({(row.document, row.text) for row in rows()}) == len(rows())


def test_what_is_named_exists():
    names = {name for row in rows() for name in re.findall(r"`dd\.(\w+)", row.where)}
    assert len(names) > 40
    assert [name for name in sorted(names) if not hasattr(dd, name)] == []
