"""What is made when the site is built: the gallery, by running its scripts, the reference, and typeset formulas."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
GALLERY = ROOT / "examples" / "gallery"
MATH_FONT = ROOT / "src" / "daedalus" / "display" / "formulas" / "fonts" / "stix_two_math.woff"


def on_files(files: Any, config: Any) -> Any:
    """Add the gallery and the reference to the files of the site (MkDocs calls this)."""
    from mkdocs.structure.files import File

    made: dict[str, str | bytes] = dict(reference_pages())
    cards = []
    for script in sorted(GALLERY.glob("*.py")):
        pages = gallery_pages(script)
        made.update(pages)
        cards.append(gallery_card(script, f"gallery/{script.stem}.png" in pages))
    made["gallery/index.md"] = gallery_index(cards)
    made["offline/stix_two_math.woff"] = MATH_FONT.read_bytes()
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    return files


def reference_pages() -> dict[str, str]:
    """The pages of `reference_pages.py` by their place in the site."""
    pages: dict[str, str] = runpy.run_path(str(Path(__file__).parent / "reference_pages.py"))["reference_pages"]()
    return pages


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put a mark in the place of every formula, so that Markdown leaves it alone."""
    page.meta["formulas"] = formulas = []
    return marked_formulas(markdown, formulas)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Put the typeset formulas in the places of their marks."""
    for number, formula in enumerate(page.meta["formulas"]):
        html = html.replace(f"formula{number}x", formula)
    return html


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Take the font of formulas and the script for searching from the site itself, not from a network."""
    up = "../" * page.url.count("/")
    font = (
        f'<style>@font-face {{ font-family: "STIX Two Math"; src: url("{up}offline/stix_two_math.woff"); }} '
        'math { font-family: "STIX Two Math", math; font-size: 1.15em; } '
        ".wide-formula { display: inline-block; max-width: 100%; overflow: auto hidden; vertical-align: middle; } "
        '.wide-formula:has(math[display="block"]) { display: block; padding: 0.3em 0; }</style>'
    )
    output = output.replace("</head>", f"{font}</head>", 1)
    return output.replace("https://unpkg.com/iframe-worker/shim", f"{up}offline/iframe-worker.js")


# -- formulas ----------------------------------------------------------------------------------------------------

# Letters of TeX that may be wider than a phone.
LONG_FORMULA = 30
CODE = re.compile(r"(^```.*?^```|^ {4}.*?$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
DOTTED = re.compile(r"<mover>((?:<mrow>)?<mi>[^<]*</mi>(?:</mrow>)?<mo>&#x00(?:2D9|0A8);</mo>)")
FORMULA = re.compile(r"\$\$(?P<display>.+?)\$\$|(?<![\\\w$])\$(?P<inline>[^$\n]+?)\$(?![\w$])", re.DOTALL)


def marked_formulas(markdown: str, formulas: list[str]) -> str:
    """Replace `$...$` and `$$...$$` outside of code by marks; their MathML is added to the list."""
    from latex2mathml.converter import convert

    def mark(match: re.Match[str]) -> str:
        display = match["display"] is not None
        text = match["display"] or match["inline"]
        formula = convert(text, display="block" if display else "inline")
        # Dots keep the size of their letter; without this they are written as small as an exponent.
        formula = DOTTED.sub(r'<mover accent="true">\1', formula)
        # What may be wider than a phone scrolls by itself.
        wide = display or len(text) > LONG_FORMULA
        formulas.append(f'<span class="wide-formula">{formula}</span>' if wide else formula)
        return f"formula{len(formulas) - 1}x"

    pieces = CODE.split(markdown)
    return "".join(piece if number % 2 else FORMULA.sub(mark, piece) for number, piece in enumerate(pieces))


# -- gallery -----------------------------------------------------------------------------------------------------


def title_and_text(script: Path) -> tuple[str, str]:
    """The first line and the rest of a script's docstring."""
    title, _, text = (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or script.stem).partition("\n")
    return title.strip(), text.strip()


def gallery_pages(script: Path) -> dict[str, str | bytes]:
    """Run a script; its page, its picture and its motion, by their places in the site."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        found = runpy.run_path(str(script))
    title, text = title_and_text(script)
    pages: dict[str, str | bytes] = {}
    parts = [f"# {title}", text]
    if "film" in found:
        pages[f"gallery/{script.stem}.motion.html"] = found["film"].html()
        parts.append(
            f'<iframe src="{script.stem}.motion.html" style="width:100%;height:560px;border:1px solid #8884" '
            f'loading="lazy" title="{title}"></iframe>'
        )
    if "figure" in found:
        picture = io.BytesIO()
        found["figure"].savefig(picture, dpi=110)
        pages[f"gallery/{script.stem}.png"] = picture.getvalue()
        parts.append(f"![{title}]({script.stem}.png)")
    code = script.read_text(encoding="utf-8").split('"""\n', 1)[1].strip()
    parts.append(f"```python\n{code}\n```")
    if printed.getvalue().strip():
        parts.append(f"```text\n{printed.getvalue().strip()}\n```")
    pages[f"gallery/{script.stem}.md"] = "\n\n".join(parts)
    plt.close("all")
    return pages


def gallery_card(script: Path, has_picture: bool) -> str:
    """A card of the gallery."""
    title, text = title_and_text(script)
    picture = f"[![{title}]({script.stem}.png){{ width=300 }}]({script.stem}.md)" if has_picture else ""
    return f"**[{title}]({script.stem}.md)**<br>{' '.join(text.split())}\n\n{picture}"


def gallery_index(cards: list[str]) -> str:
    """The gallery's first page: as many cards beside each other as there is room for."""
    words = f"{len(cards)} short scripts from `examples/gallery`, with their results."
    inside = "\n\n".join(f'<div markdown="1">\n\n{card}\n\n</div>' for card in cards)
    style = "display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1.5rem"
    return f'# Gallery\n\n{words}\n\n<div style="{style}" markdown="1">\n\n{inside}\n\n</div>\n'
