"""A transistor amplifier of two stages: eight node voltages, five capacitors, a DAE of index 1.

Currents out of each node add up to zero; transistors carry g(v) = β (exp(v/UF) - 1) from base to emitter, α g(v) of it
through the collector. The source is Ue = 0.1 sin(200 π t):

    0 = (y1 - Ue)/R0 + C1 (y1' - y2')
    0 = y2/R1 + (y2 - Ub)/R2 + C1 (y2' - y1') + (1 - α) g(y2 - y3)
    0 = y3/R3 + C2 y3' - g(y2 - y3)
    0 = (y4 - Ub)/R4 + C3 (y4' - y5') + α g(y2 - y3)
    0 = y5/R5 + (y5 - Ub)/R6 + C3 (y5' - y4') + (1 - α) g(y5 - y6)
    0 = y6/R7 + C4 y6' - g(y5 - y6)
    0 = (y7 - Ub)/R8 + C5 (y7' - y8') + α g(y5 - y6)
    0 = y8/R9 + C5 (y8' - y7')

The two equations at each of C1, C3 and C5 add up to one without derivatives: three hidden constraints, which the
pattern does not show.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build() -> KnownSystem:
    """Twenty periods of the signal.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("transistor_amplifier")
    >>> k.index, k.span, k.start["y"].tolist()
    (1, (0.0, 0.2), [0.0, 3.0, 3.0, 6.0, 3.0, 3.0, 6.0, 0.0])
    """
    m = Model("transistor_amplifier")
    y = m.state("y", 8, start=[0.0, 3.0, 3.0, 6.0, 3.0, 3.0, 6.0, 0.0], unit="V")
    supply, thermal = m.parameter("Ub", 6.0, unit="V"), m.parameter("UF", 0.026, unit="V")
    gain, saturation = m.parameter("alpha", 0.99), m.parameter("beta", 1e-6, unit="A")
    r = m.parameter("R", [1000.0] + [9000.0] * 9, unit="ohm")
    c = m.parameter("C", [1e-6, 2e-6, 3e-6, 4e-6, 5e-6], unit="F")
    source = 0.1 * ca.sin(200 * np.pi * m.time)
    rate = m.der(y)
    first, second = (saturation * (ca.exp((y[b] - y[b + 1]) / thermal) - 1) for b in (1, 4))
    coupling = [c[k] * (rate[a] - rate[a + 1]) for k, a in ((0, 0), (2, 3), (4, 6))]
    m.equation(
        [
            (y[0] - source) / r[0] + coupling[0],
            y[1] / r[1] + (y[1] - supply) / r[2] - coupling[0] + (1 - gain) * first,
            y[2] / r[3] + c[1] * rate[2] - first,
            (y[3] - supply) / r[4] + coupling[1] + gain * first,
            y[4] / r[5] + (y[4] - supply) / r[6] - coupling[1] + (1 - gain) * second,
            y[5] / r[7] + c[3] * rate[5] - second,
            (y[6] - supply) / r[8] + coupling[2] + gain * second,
            y[7] / r[9] - coupling[2],
        ],
        name="currents",
    )
    return KnownSystem(
        m,
        span=(0.0, 0.2),
        index=1,
        reference=Reference(0.2, {"y": REFERENCE}, 13, "Test Set for Initial Value Problem Solvers, release 2.4"),
        source="P. Rentrop, M. Roche, G. Steinebach (1989); E. Hairer, G. Wanner, Solving Ordinary Differential "
        "Equations II, VI.1",
    )


REFERENCE = [
    -0.5562145012262709e-2,
    0.3006522471903042e1,
    0.2849958788608128e1,
    0.2926422536206241e1,
    0.2704617865010554e1,
    0.2761837778393145e1,
    0.4770927631616772e1,
    0.1236995868091548e1,
]
