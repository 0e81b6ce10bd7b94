"""The frame of what a notebook shows: a heading, tables, formulas and small curves, readable in light and dark."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.display.curves import FLAT, settled
from daedalus.display.formulas.math_font import FAMILIES
from daedalus.display.look import COLOURS

STYLE = """<style>
.dd-card { font: 13px/1.45 system-ui, sans-serif; max-width: 960px; overflow-x: auto; }
.dd-card h4 { margin: 2px 0 6px; font-size: 15px; } .dd-card h5 { margin: 10px 0 3px; font-size: 13px; opacity: .75; }
.dd-card p:not(.dd-formula) { margin: 3px 0; } .dd-card table { border-collapse: collapse; margin: 4px 0; }
.dd-card td, .dd-card th { padding: 1px 12px 1px 0; text-align: left; vertical-align: top; border: none; }
.dd-card th { font-weight: 600; opacity: .75; } .dd-card .bad { color: #d55e00; font-weight: 600; }
.dd-card svg { vertical-align: middle; }
.dd-formula { margin: 6px 0; padding-left: 2em; text-indent: -2em; line-height: 2.2; overflow-x: auto;
  overflow-y: hidden; font-size: 15px; overflow-wrap: anywhere; }
.dd-formula math { font-family: __FAMILIES__; }
.dd-whole { max-height: 60vh; overflow: auto; border-left: 3px solid #8884; padding-left: 8px; }
.dd-long summary { cursor: pointer; }
.dd-scroll { overflow-x: auto; max-width: 100%; }
</style>""".replace("__FAMILIES__", FAMILIES)


def card(title: str, *pieces: str) -> str:
    """A card of some pieces of HTML."""
    return f'{STYLE}<div class="dd-card"><h4>{html.escape(title)}</h4>{"".join(pieces)}</div>'


def section(title: str, *pieces: str) -> str:
    """Pieces under a small heading; nothing where there are none."""
    inside = "".join(pieces)
    return f"<h5>{html.escape(title)}</h5>{inside}" if inside else ""


def paragraph(text: str, bad: bool = False) -> str:
    """A sentence, in colour where something is wrong."""
    return f"<p{' class=bad' if bad else ''}>{html.escape(text)}</p>" if text else ""


def listing(texts: Sequence[str], most: int = 12) -> str:
    """Sentences one below the other; further ones are counted."""
    rest = [f"… and {len(texts) - most} more"] if len(texts) > most else []
    return "".join(paragraph(text) for text in (*texts[:most], *rest))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], most: int = 24) -> str:
    """A table of texts; cells that begin with `<` are HTML already."""
    if not rows:
        return ""
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{cell_html(cell)}</td>" for cell in row) + "</tr>" for row in rows[:most])
    if len(rows) > most:
        body += f"<tr><td>… and {len(rows) - most} more</td></tr>"
    return f'<div class="dd-scroll"><table><tr>{head}</tr>{body}</table></div>'


def cell_html(cell: str) -> str:
    """A cell: what begins with `<svg` or `<math` is drawn, all else is text."""
    return cell if cell.startswith(("<svg", "<math")) else html.escape(cell)


def values_text(values: Any, digits: int = 6) -> str:
    """Numbers in a row, a long one cut in the middle."""
    flat = np.ravel(np.asarray(values, dtype=float))
    texts = [f"{value:.{digits}g}" for value in flat]
    if len(texts) > 8:
        texts = [*texts[:6], "…", texts[-1]]
    return texts[0] if np.ndim(values) == 0 else f"[{', '.join(texts)}]"


def small_curves(times: np.ndarray, columns: np.ndarray, width: int = 220, height: int = 44) -> str:
    """Curves without axes, in the colours of the package, as SVG; values that are no numbers leave gaps."""
    columns = settled(np.atleast_2d(columns.T).T)
    finite = columns[np.isfinite(columns)]
    if not len(finite) or times[0] == times[-1]:
        return ""
    low, high = np.quantile(finite, [0.002, 0.998])
    size = max(abs(low), abs(high))
    if high - low <= FLAT * size:
        low, high = low - (size or 1.0), high + (size or 1.0)
    x = 2 + (width - 4) * (times - times[0]) / (times[-1] - times[0])
    y = 2 + (height - 4) * (1 - (np.clip(columns, low, high) - low) / (high - low))
    lines = []
    for k in range(min(columns.shape[1], 8)):
        good = np.isfinite(columns[:, k])
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[good], y[good, k]))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[k]}" stroke-width="1.4"/>')
    return f'<svg width="{width}" height="{height}" role="img">{"".join(lines)}</svg>'
