"""Formulas of the documentation in a browser: none is wider than a phone."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from page_measures import wider_than_the_page

DOCS = Path(__file__).parents[3] / "docs"


def test_no_formula_of_the_site_is_wider_than_a_phone(browser, tmp_path):
    pytest.importorskip("latex2mathml")
    site = runpy.run_path(str(DOCS / "site_pages.py"))
    formulas: list[str] = []
    for page in sorted(DOCS.glob("*.md")):
        site["marked_formulas"](page.read_text(encoding="utf-8"), formulas)
    assert len(formulas) > 25
    body = "".join(f"<p>By hand: {formula}.</p>" for formula in formulas)
    whole = f'<html><head><meta charset="utf-8"></head><body>{body}</body></html>'
    file = tmp_path / "formulas.html"
    file.write_text(site["on_post_page"](whole, SimpleNamespace(url="formulas.html"), None), encoding="utf-8")
    browser.window(360, 800)
    try:
        browser.open(file)
        assert wider_than_the_page(browser) == []
    finally:
        browser.window(1200, 800)
