"""Write docs/audit.md: every statement of the source documents, where the package has it, and the test that shows it.

Tests carry the mark `@pytest.mark.document("002", "statement", "where")`; this reads the marks out of the files, so
that a row without a test cannot be. Run it after a change of the marks: python docs/make_audit_page.py. A test writes
the page again and compares.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "audit.md"
TITLES = {
    "001": "first- and second-order sensitivities of a quadrotor",
    "002": "a formula sheet on modelling and simulation (000 is its earlier edition)",
    "003": "lecture slides, DAE models in numerical optimal control",
    "004": "lecture slides, ODEs and DAEs",
}


class Statement(NamedTuple):
    """One row of the page."""

    document: str
    text: str
    where: str
    test: str


def statements() -> list[Statement]:
    """All marks of all tests, by document, then in the order of files."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "mark.document(" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                found += _of_test(node, str(path.relative_to(ROOT)))
    return sorted(found, key=lambda row: row.document)


def _of_test(node: ast.FunctionDef, path: str) -> list[Statement]:
    calls = [mark for mark in node.decorator_list if isinstance(mark, ast.Call)]
    marks = [c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "document"]
    return [Statement(*(ast.literal_eval(part) for part in mark.args), f"{path}::{node.name}") for mark in marks]


def page() -> str:
    """The text of the page."""
    lines = [
        "# The source documents, statement by statement",
        "",
        "Daedalus implements the equations of five documents. This table lists their statements, the function that",
        "implements each, and the test that checks it. [Corrections](corrections.md) lists their mistakes.",
    ]
    rows = statements()
    for document, title in TITLES.items():
        lines += ["", f"## Document {document}: {title}", "", "| statement | where | test |", "|---|---|---|"]
        for row in rows:
            if row.document == document:
                where = row.where if "`" in row.where else f"`{row.where}`"
                lines.append(f"| {row.text.replace('|', chr(92) + '|')} | {where} | `{row.test}` |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
