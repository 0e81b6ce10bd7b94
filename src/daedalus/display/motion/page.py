"""One HTML file that holds a viewer, its data and three.js: it opens offline and asks nothing of a network.

three.js lies in `three/` as its npm package ships it (three 0.170.0, MIT). The page holds it compressed: the browser
unpacks it, turns its list of exports into one object `THREE`, and starts the viewer.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
THREE_VERSION = "0.170.0"


def packed(values: np.ndarray) -> str:
    """Numbers as text: little-endian 32-bit floats in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")


def json_text(data: object) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c").replace("\u2028", "\\u2028")


@cache
def three_packed() -> str:
    """three.js as one script that defines `THREE`, compressed, in base64."""
    source = (HERE / "three" / "three.module.min.js").read_text(encoding="utf-8")
    body, _, names = source.rpartition("export{")
    pairs = [entry.split(" as ") for entry in names.rstrip().removesuffix(";").removesuffix("}").split(",")]
    exports = ",".join(f"{pair[-1]}:{pair[0]}" for pair in pairs)
    script = f"globalThis.THREE=(()=>{{{body}return{{{exports}}}}})();"
    return base64.b64encode(gzip.compress(script.encode("utf-8"), mtime=0)).decode("ascii")


def read_text(name: str) -> str:
    """A file that lies beside this one."""
    return (HERE / name).read_text(encoding="utf-8")


UNPACK = """
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}
"""


def viewer_scripts() -> str:
    """The script elements that every page with a viewer needs; `ready` is a promise that three.js is there."""
    return (
        f'<script type="text/plain" id="three-{THREE_VERSION}">{three_packed()}</script>\n'
        f"<script>{UNPACK}const ready = unpacked(document.getElementById('three-{THREE_VERSION}').textContent)"
        f".catch(() => null);</script>\n<script>{read_text('viewer.js')}</script>"
    )


def started_viewer(data: Mapping[str, Any], more: str = "", then: str = "") -> str:
    """The scripts that fill the element `viewer`: `more` of them before it is made, `then` when all of it is there."""
    return f"""{viewer_scripts()}{more}
<script type="application/json" id="data">{json_text(data)}</script>
<script>(() => {{
  const data = JSON.parse(document.getElementById("data").textContent);
  const viewer = new DaedalusViewer(document.getElementById("viewer"), data, ready);
  viewer.whole.then(() => {{ window.daedalus = viewer; {then} }});
}})();</script>"""


def whole_page(title: str, head: str, body: str) -> str:
    """A page that may hold viewers: what else belongs into its head, and what it shows."""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title><meta name="generator" content="Daedalus">
<style>{read_text("viewer.css")}</style>{head}</head><body>{body}</body></html>
"""


def page(title: str, data: Mapping[str, Any]) -> str:
    """A whole page with one viewer over the whole window."""
    style = "<style>html, body { margin: 0; height: 100%; } #viewer { height: 100%; }</style>"
    return whole_page(title, style, f'<main id="viewer"></main>\n{started_viewer(data)}')
