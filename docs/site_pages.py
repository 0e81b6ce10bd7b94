"""Pages that are made when the site is built: the gallery, by running its scripts, and the reference."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import runpy
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
GALLERY = ROOT / "examples" / "gallery"


def on_files(files: Any, config: Any) -> Any:
    """Add the gallery and the reference to the files of the site (MkDocs calls this)."""
    from mkdocs.structure.files import File

    made: dict[str, str | bytes] = {"reference.md": reference_page()}
    cards = []
    for script in sorted(GALLERY.glob("*.py")):
        pages = gallery_pages(script)
        made.update(pages)
        cards.append(gallery_card(script, f"gallery/{script.stem}.png" in pages))
    made["gallery/index.md"] = gallery_index(cards)
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Searching from a file needs a small script of Material's; it lies beside the pages, not in a network."""
    depth = page.url.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", f"{'../' * depth}offline/iframe-worker.js")


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

    begin, printed = time.perf_counter(), io.StringIO()
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
    parts.append(f"*Run in {time.perf_counter() - begin:.1f} s when this page was built.*")
    pages[f"gallery/{script.stem}.md"] = "\n\n".join(parts)
    plt.close("all")
    return pages


def gallery_card(script: Path, has_picture: bool) -> str:
    """A card of the gallery."""
    title, text = title_and_text(script)
    picture = f"[![{title}]({script.stem}.png){{ width=300 }}]({script.stem}.md)" if has_picture else ""
    return f"**[{title}]({script.stem}.md)**<br>{text.splitlines()[0] if text else ''}\n\n{picture}"


def gallery_index(cards: list[str]) -> str:
    """The gallery's first page: as many cards beside each other as there is room for."""
    words = f"{len(cards)} short scripts, run when this site was built; they lie in `examples/gallery`."
    inside = "\n\n".join(f'<div markdown="1">\n\n{card}\n\n</div>' for card in cards)
    style = "display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1.5rem"
    return f'# Gallery\n\n{words}\n\n<div style="{style}" markdown="1">\n\n{inside}\n\n</div>\n'


# -- reference ---------------------------------------------------------------------------------------------------


def reference_page() -> str:
    """Every public name with its signature and its docstring."""
    import daedalus as dd

    parts = ["# Reference", "Every public name of `import daedalus as dd`, with its signature."]
    for name in dd.__all__:
        value = getattr(dd, name)
        if inspect.ismodule(value):
            members = [n for n, m in vars(value).items() if inspect.isfunction(m) and not n.startswith("_")]
            parts += [f"## dd.{name}", *_documented(value, f"dd.{name}")]
            for member in members:
                parts += [f"### dd.{name}.{member}", *_documented(getattr(value, member), f"dd.{name}.{member}")]
        else:
            parts += [f"## dd.{name}", *_documented(value, f"dd.{name}")]
            if inspect.isclass(value) and not issubclass(value, Exception):
                for method, member in sorted(vars_of(value).items()):
                    parts += [f"### dd.{name}.{method}", *_documented(member, method)]
    return "\n\n".join(parts)


def vars_of(cls: type) -> dict[str, Any]:
    """The public methods and properties of a class, those it inherits from the package too."""
    found = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("daedalus"):
            found.update(
                {
                    n: m
                    for n, m in vars(base).items()
                    if not n.startswith("_") and (callable(m) or isinstance(m, property))
                }
            )
    return found


def _documented(value: Any, name: str) -> list[str]:
    parts = []
    if callable(value):
        with contextlib.suppress(TypeError, ValueError):
            parts.append(f"```python\n{name}{inspect.signature(value)}\n```")
    text = inspect.getdoc(value)
    if text:
        parts.append(f"```text\n{text}\n```")
    return parts
