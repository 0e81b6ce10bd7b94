"""A model with parts as a tree: what is inside what, parameters with units, and what is joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daedalus.model.assembly.joined_ports import joined_sets
from daedalus.model.printing import expression_text

if TYPE_CHECKING:
    from daedalus.model.notebook import Notebook

# Lists longer than this are cut off.
MOST = 60


def tree_text(book: Notebook) -> str:
    """The tree of the parts, then the connections of the model itself."""
    lines = [book.name]
    children: dict[str, list[str]] = {}
    for path in book.written.assembly.parts:
        children.setdefault(book.written.assembly.innermost(path.rpartition(".")[0]), []).append(path)
    _branch(book, "", children, "", lines)
    return "\n".join([*lines, *_joined(book)])


def _branch(book: Notebook, path: str, children: dict[str, list[str]], indent: str, lines: list[str]) -> None:
    own = children.get(path, [])
    for k, child in enumerate(own[:MOST]):
        last = k == len(own) - 1
        title = book.written.assembly.parts[child].title
        values = _parameters(book, child)
        text = f"{child[len(path) :].lstrip('.')}{f': {title}' if title else ''}{f'  ({values})' if values else ''}"
        lines.append(f"{indent}{'└─ ' if last else '├─ '}{text}")
        _branch(book, child, children, indent + ("   " if last else "│  "), lines)
    if len(own) > MOST:
        lines.append(f"{indent}└─ … and {len(own) - MOST} more")


def _parameters(book: Notebook, path: str) -> str:
    """The parameters of a part with their values and units."""
    found = []
    for name, variable in book.written.variables.items():
        if variable.kind == "parameter" and name.rpartition(".")[0] == path:
            values = ["?" if value is None else f"{value:g}" for value in variable.start]
            text = values[0] if len(values) == 1 else f"[{', '.join(values[:6])}]"
            unit = variable.unit
            found.append(f"{name[len(path) + 1 :]} {text}{f' {unit}' if unit else ''}")
    return ", ".join(found)


def _joined(book: Notebook) -> list[str]:
    """The nodes between parts of the model itself, and the signals."""
    written = book.written.assembly
    nodes = [[side.port for side in sides] for sides in joined_sets(written) if len(sides) > 1]
    top = [ports for ports in nodes if any(port.count(".") <= 1 for port in ports)]
    lines = [f"  {' – '.join(ports[:8])}{' – …' if len(ports) > 8 else ''}" for ports in top[:MOST]]
    if len(top) > MOST:
        lines.append(f"  … and {len(top) - MOST} more")
    labels = book.written.labels()
    for name, source in list(written.sources.items())[:MOST]:
        text = expression_text(source, labels, 60) if source.is_scalar() else "an expression"
        lines.append(f"  {text} → {name}")
    return ["joined:", *lines] if lines else []
