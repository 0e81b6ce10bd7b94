"""Draw the pictures of the documentation pages from the code above them: `python docs/make_pictures.py [page ...]`.

A picture belongs to the last code block before it, if that block assigns `figure`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
PIECE = re.compile(
    r"^```python\n(?P<code>.*?)^```|^!\[[^\]]*\]\((?P<picture>pictures/[\w.]+)\)", re.MULTILINE | re.DOTALL
)
LONGEST_SIDE = 7.5  # inches
DOTS_PER_INCH = 90


def pictures_of(page: Path) -> list[tuple[str, list[str]]]:
    """The pictures that a page's code draws, each with all code blocks up to it."""
    codes: list[str] = []
    found = []
    for piece in PIECE.finditer(page.read_text(encoding="utf-8")):
        if piece["code"] is not None:
            codes.append(piece["code"])
        elif codes and re.search(r"^figure\b[^=]*= ", codes[-1], re.MULTILINE):
            found.append((piece["picture"], list(codes)))
    return found


def draw(page: Path) -> list[Path]:
    """Run a page once and save the figure of each picture; the files that were written."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    namespace: dict[str, Any] = {}
    done, written = 0, []
    for name, codes in pictures_of(page):
        with contextlib.redirect_stdout(io.StringIO()):
            for code in codes[done:]:
                exec(compile(code, page.name, "exec"), namespace)
        done = len(codes)
        figure = _figure(namespace["figure"])
        figure.set_dpi(DOTS_PER_INCH)
        width, height = figure.get_size_inches()
        share = min(1.0, LONGEST_SIDE / max(width, height))
        figure.set_size_inches(width * share, height * share)
        written.append(DOCS / name)
        figure.savefig(written[-1], dpi=DOTS_PER_INCH, metadata={"Software": None})
        plt.close("all")
    return written


def _figure(drawn: Any) -> Any:
    """The figure itself, where a function returned axes or a list of them."""
    while not hasattr(drawn, "savefig"):
        drawn = drawn.figure if hasattr(drawn, "figure") else drawn[0]
    return drawn


def main(names: list[str]) -> None:
    """Draw the pictures of the named pages, or of all."""
    pages = [DOCS / name for name in names] or sorted(DOCS.glob("*.md"))
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for page in pages:
            for path in draw(page.resolve() if page.is_absolute() else Path(here) / page):
                print(path.relative_to(DOCS))
        os.chdir(here)


if __name__ == "__main__":
    main(sys.argv[1:])
