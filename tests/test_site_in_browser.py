"""The built site in a browser, at the widths of a phone, a tablet and a desk: nothing is wider, nothing overlaps."""

import subprocess
import sys
from pathlib import Path

import pytest
from browser import Browser, find_browser
from page_measures import overlapping_texts, wider_than_the_page

ROOT = Path(__file__).parent.parent
WIDTHS = (360, 768, 1280)


@pytest.mark.long
@pytest.mark.skipif(find_browser() is None, reason="no Chromium on this machine")
def test_every_page_of_the_site_fits_three_widths(tmp_path):
    pytest.importorskip("mkdocs")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    subprocess.run(build, cwd=ROOT, check=True)
    pages = sorted(page for page in (tmp_path / "site").rglob("*.html") if page.name != "404.html")
    pages = [page for page in pages if page.parent.name != "gallery" or page.name == "index.html"]
    assert len(pages) > 80
    wrong = {}
    with Browser() as browser:
        for page in pages:
            for width in WIDTHS:
                browser.window(width, 900)
                browser.open(page)
                found = [*overlapping_texts(browser), *wider_than_the_page(browser)]
                if found:
                    wrong[str(page.relative_to(tmp_path)), width] = found
    assert wrong == {}
