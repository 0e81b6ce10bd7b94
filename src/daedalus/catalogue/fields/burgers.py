"""Burgers' equation on a circle: a wave that steepens until viscosity holds it; the mean velocity is conserved.

    u' = -∂(u²/2)/∂x + ν ∂²u/∂x²,   with the flux (u_j² + u_j+1²)/4 through the face between two cells

Reference (24 cells): SciPy's DOP853 at a tolerance of 1e-13.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.catalogue.counted_option import counted_option
from daedalus.model.fields import laplacian
from daedalus.model.model import Model


def build(cells: Any = 24) -> KnownSystem:
    """A circle of this many cells.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("burgers", cells=100).conserved
    ('mean',)
    """
    count = counted_option("cells", cells, 3, 24)
    x = (np.arange(count) + 0.5) / count
    m = Model("burgers")
    u = m.state("u", count, start=0.5 + np.sin(2 * np.pi * x), unit="m/s")
    viscosity = m.parameter("viscosity", 0.02, unit="m^2/s")
    flux = (u**2 + np.roll(u, -1) ** 2) / 4
    m.equation(
        m.der(u), -count * (flux - np.roll(flux, 1)) + viscosity * laplacian(u, 1 / count, boundary="periodic"),
        name="momentum",
    )  # fmt: skip
    m.output("mean", ca.sum1(u) / count, unit="m/s")
    return KnownSystem(
        m,
        span=(0.0, 0.5),
        conserved=("mean",),
        stiff=count > 500,
        reference=Reference(0.5, REFERENCE, 12, "SciPy's DOP853 at 1e-13") if count == 24 else None,
        source="J. M. Burgers, Adv. Appl. Mech. 1 (1948); method of lines",
    )


REFERENCE: dict[str, object] = {
    "u": [
        0.16394733689007993,
        0.22416908380158185,
        0.28508311028514594,
        0.34643583760162194,
        0.40807201832335,
        0.46987400070434415,
        0.531739948723504,
        0.5935740291526346,
        0.6552804059085635,
        0.716758207058253,
        0.777895420509033,
        0.8385511871186491,
        0.8985001679839583,
        0.9578910963627287,
        1.0196257103279551,
        1.066990247089961,
        0.9806781209454629,
        0.6517096390523939,
        0.25407751125946626,
        0.02885068822342903,
        -0.023642360945041217,
        0.00023104878221658998,
        0.04874260978852116,
        0.10496493505218533,
    ],
}
