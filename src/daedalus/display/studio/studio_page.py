"""The one page of the studio: a form, the runs, and the viewer that all pages of the package have."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from daedalus.display.cards.card import STYLE
from daedalus.display.motion.page import read_text, viewer_scripts

HERE = Path(__file__).parent


@cache
def studio_page() -> str:
    """The page as text; it asks for everything else at its own address."""
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("studio.css", "studio.js"))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Daedalus studio</title><link rel="icon" href="data:,">
{STYLE}<style>{read_text("viewer.css")}{style}</style></head>
<body><aside id="desk" aria-label="values and runs"></aside><main id="stage" aria-label="what happens"></main>
{viewer_scripts()}
<script>{script}</script>
<script>window.studio = new DaedalusStudio(document.getElementById("desk"), document.getElementById("stage"));</script>
</body></html>
"""
