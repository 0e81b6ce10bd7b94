"""The Brusselator with diffusion on a torus: two reacting substances on a square with periodic edges; stiff.

    u' = 1 + u² v - 4.4 u + α ∇²u + f,   v' = 3.4 u - u² v + α ∇²v

From t = 1.1 on f = 5 within the circle of radius 0.1 around (0.3, 0.6), zero elsewhere. Twice the side is four times as
many equations, each with the same few neighbours.

Reference (side 6): SciPy's Radau at a tolerance of 1e-12, both parts of the span.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.catalogue.counted_option import counted_option
from daedalus.model.fields import laplacian
from daedalus.model.model import Model


def build(side: Any = 6, diffusion: float = 10.0) -> KnownSystem:
    """A torus of side by side cells.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("brusselator_2d", side=32)
    >>> k.model.freeze().sizes["x"], k.span
    (2048, (0.0, 11.5))
    """
    count = counted_option("side", side, 3, 32)
    places = np.arange(count) / count
    x, y = np.meshgrid(places, places, indexing="ij")
    m = Model("brusselator_2d")
    u = m.state("u", (count, count), start=22 * y * (1 - y) ** 1.5)
    v = m.state("v", (count, count), start=27 * x * (1 - x) ** 1.5)
    alpha = m.parameter("diffusion", diffusion)
    inside = ca.DM(((x - 0.3) ** 2 + (y - 0.6) ** 2 <= 0.1**2).astype(float))
    fed = 5 * inside * ca.if_else(m.time >= 1.1, 1.0, 0.0)
    spread_u, spread_v = (alpha * laplacian(field, 1 / count, boundary="periodic") for field in (u, v))
    m.equation(m.der(u), 1 + u**2 * v - 4.4 * u + spread_u + fed, name="first")
    m.equation(m.der(v), 3.4 * u - u**2 * v + spread_v, name="second")
    known = (count, diffusion) == (6, 10.0)
    return KnownSystem(
        m,
        span=(0.0, 11.5),
        stiff=True,
        reference=Reference(11.5, REFERENCE, 12, "SciPy's Radau at 1e-12") if known else None,
        source="E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, IV.10 (1996)",
    )


REFERENCE: dict[str, object] = {
    "u": [
        [
            0.50691996887454,
            0.5067900848644351,
            0.50691996887454,
            0.5072432016391945,
            0.5075110179945095,
            0.5072432016391945,
        ],
        [
            0.5072432016391945,
            0.5070139569103727,
            0.5072432016391946,
            0.5079140920797265,
            0.5087776039592748,
            0.5079140920797265,
        ],
        [
            0.5075110179945096,
            0.5071659018919434,
            0.5075110179945096,
            0.508777603959275,
            0.5121551609364529,
            0.508777603959275,
        ],
        [
            0.5072432016391945,
            0.5070139569103727,
            0.5072432016391946,
            0.5079140920797265,
            0.5087776039592748,
            0.5079140920797265,
        ],
        [
            0.50691996887454,
            0.5067900848644351,
            0.50691996887454,
            0.5072432016391945,
            0.5075110179945095,
            0.5072432016391945,
        ],
        [
            0.5067900848644351,
            0.5066933291584955,
            0.506790084864435,
            0.5070139569103727,
            0.5071659018919434,
            0.5070139569103725,
        ],
    ],
    "v": [
        [
            4.863950163526323,
            4.863951214456235,
            4.863950163526324,
            4.863947827363654,
            4.863946365305965,
            4.8639478273636545,
        ],
        [
            4.863947827363654,
            4.8639493168969965,
            4.863947827363654,
            4.8639442593066295,
            4.863941514026644,
            4.8639442593066295,
        ],
        [
            4.863946365305966,
            4.86394822412066,
            4.863946365305965,
            4.863941514026644,
            4.86393651198899,
            4.863941514026644,
        ],
        [
            4.863947827363654,
            4.8639493168969965,
            4.863947827363654,
            4.8639442593066295,
            4.863941514026644,
            4.8639442593066295,
        ],
        [
            4.863950163526323,
            4.863951214456235,
            4.863950163526324,
            4.863947827363654,
            4.863946365305965,
            4.8639478273636545,
        ],
        [
            4.863951214456234,
            4.863952095783447,
            4.863951214456234,
            4.8639493168969965,
            4.86394822412066,
            4.8639493168969965,
        ],
    ],
}
