"""A rod that cools down between ends of 0 °C: u' = κ u'' on cells.

    u_j' = κ (u_j-1 - 2 u_j + u_j+1) / h²,   u = 0 on the faces at both ends

Reference: the start sin(π x_j) is an eigenvector, u_j(t) = exp(-κ λ t) sin(π x_j) with λ = (4/h²) sin²(π h/2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.catalogue.counted_option import counted_option
from daedalus.model.fields import laplacian
from daedalus.model.model import Model

CONDUCTION, SPAN = 1.0, 0.1


def build(cells: Any = 16) -> KnownSystem:
    """A rod of this many cells.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("heat_rod", cells=1000)
    >>> k.model.freeze().sizes["x"], k.span
    (1000, (0.0, 0.1))
    """
    count = counted_option("cells", cells, 2, 16)
    x = (np.arange(count) + 0.5) / count
    m = Model("heat_rod")
    u = m.state("u", count, start=np.sin(np.pi * x), unit="K")
    conduction = m.parameter("conduction", CONDUCTION, unit="m^2/s")
    m.equation(m.der(u), conduction * laplacian(u, 1 / count, boundary=("dirichlet", 0.0)), name="conduction_law")
    slowest = 4 * count**2 * np.sin(np.pi / (2 * count)) ** 2
    end = np.exp(-CONDUCTION * slowest * SPAN) * np.sin(np.pi * x)
    return KnownSystem(
        m,
        span=(0.0, SPAN),
        stiff=count > 50,
        reference=Reference(SPAN, {"u": end}, 14, "closed form"),
        source="J. Fourier, Théorie analytique de la chaleur (1822); method of lines",
    )
