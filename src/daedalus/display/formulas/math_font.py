"""The font of formulas in pages that open offline.

`fonts/stix_two_math.woff` is STIX Two Math 2.0.2 with the letters and signs that formulas use (SIL Open Font License
1.1, see `fonts/OFL.txt`); its MATH table tells browsers how to build roots, fractions and brackets that grow.
"""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path

FAMILIES = '"Daedalus Math", "STIX Two Math", "Latin Modern Math", "Cambria Math", math, serif'


@cache
def math_style() -> str:
    """A style element that holds the font."""
    data = base64.b64encode((Path(__file__).parent / "fonts" / "stix_two_math.woff").read_bytes()).decode("ascii")
    return (
        '<style>@font-face { font-family: "Daedalus Math"; src: url("data:font/woff;base64,'
        f'{data}") format("woff"); }}</style>'
    )
