"""Medical Akzo Nobel: radioactively marked antibodies enter a tissue; two substances on 200 points of a line.

    u' = u_xx - k u v,    v' = -k u v,    0 < x < ∞,    u(t, 0) = 2 for t <= 5 and 0 afterwards,    v(0, x) = 1

The line is mapped to 0 < ζ < 1 by ζ = x / (x + 4): u_j' = α_j (u_{j+1} - u_{j-1}) / 2Δ + β_j (u_{j-1} - 2 u_j +
u_{j+1}) / Δ² - k u_j v_j with α = 2 (ζ - 1)³ / 16, β = (ζ - 1)⁴ / 16, Δ = 1/200, ζ_j = j Δ; at the last point the
reaction is all that is left. The states are u_1, v_1, u_2, v_2, ... The supply stops within the run.

Reference: the published end values of twelve states (output `probe`), computed there by RADAU5 with tolerance 1e-14.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """The published run over 20 units of time.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("medical_akzo")
    >>> k.start["y"].shape, k.span, k.reference["probe"].shape
    ((400,), (0.0, 20.0), (12,))
    """
    points = 200
    m = Model("medical_akzo")
    y = m.state("y", 2 * points, start=np.tile([0.0, 1.0], points))
    k = m.parameter("k", 100.0)
    supply = ca.if_else(m.time <= 5, 2.0, 0.0)
    width = 1 / points
    antibody, tissue = ca.vertsplit(y[::2]), ca.vertsplit(y[1::2])
    change = []
    for j in range(points):
        place = (j + 1) * width - 1
        reaction = k * antibody[j] * tissue[j]
        spread = ca.SX(0)
        if j < points - 1:
            before, after = supply if j == 0 else antibody[j - 1], antibody[j + 1]
            spread = 2 * place**3 / 16 * (after - before) / (2 * width)
            spread += place**4 / 16 * (before - 2 * antibody[j] + after) / width**2
        change += [spread - reaction, -reaction]
    m.equation(m.der(y), ca.vertcat(*change), name="balance")
    m.output("probe", ca.vertcat(*(y[place - 1] for place in REFERENCE)))
    return KnownSystem(
        m,
        span=(0.0, 20.0),
        stiff=True,
        reference=Reference(
            20.0, {"probe": list(REFERENCE.values())}, 12, "Test Set for Initial Value Problem Solvers, release 2.4"
        ),
        source="R. van der Hout (1994), Akzo Nobel Research Laboratories; Test Set for Initial Value Problem Solvers",
    )


# The number of the state, from 1, and its value.
REFERENCE = {
    79: 0.2339942217046434e-3,
    101: 0.2970210308948898e-3,
    133: 0.3576835958481664e-3,
    171: 0.3085949832350532e-3,
    199: 0.1173741304462833e-3,
    203: 0.7740788649977313e-4,
    206: 0.3234526094359604e-1,
    208: 0.1548747348410801,
    210: 0.4026980529594953,
    212: 0.6649744834198490,
    214: 0.8409284546320647,
    222: 0.9957930123519514,
}
