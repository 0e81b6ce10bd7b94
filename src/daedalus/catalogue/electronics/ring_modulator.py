"""A ring modulator: four diodes mix a signal of 1 kHz with one of 10 kHz; voltages y1..y7, currents y8..y15.

    C  y1' = y8 - y10/2 + y11/2 + y14 - y1/R          Lh y8'  = -y1,    Lh y9' = -y2
    C  y2' = y9 - y12/2 + y13/2 + y15 - y2/R          Ls2 y10' =  y1/2 - y3 - Rg2 y10
    Cs y3' =  y10 - q(D1) + q(D4)                     Ls3 y11' = -y1/2 + y4 - Rg3 y11
    Cs y4' = -y11 + q(D2) - q(D3)                     Ls2 y12' =  y2/2 - y5 - Rg2 y12
    Cs y5' =  y12 + q(D1) - q(D3)                     Ls3 y13' = -y2/2 + y6 - Rg3 y13
    Cs y6' = -y13 - q(D2) + q(D4)                     Ls1 y14' = -y1 + U1 - (Ri + Rg1) y14
    Cp y7' = -y7/Rp + q(D1) + q(D2) - q(D3) - q(D4)   Ls1 y15' = -y2 - (Rc + Rg1) y15

with q(D) = γ (exp(δ D) - 1), D1 = y3 - y5 - y7 - U2, D2 = -y4 + y6 - y7 - U2, D3 = y4 + y5 + y7 + U2 and
D4 = -y3 - y6 + y7 + U2; U1 = 0.5 sin(2000 π t), U2 = 2 sin(20000 π t). The tiny Cs makes oscillations of up to 1e9 per
second: some hundred thousand steps. With Cs = 0 it is a DAE of index 2: q cancels in y10 + y11 + y12 + y13 = 0.

Reference: the published end values for Cs = 2e-12, computed there by RADAU5 with tolerance 1e-12.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build(parasitic: float = 2e-12) -> KnownSystem:
    """The published run over one millisecond; `parasitic` is Cs in farad, 0 for the DAE.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("ring_modulator").index, catalogue.load("ring_modulator", parasitic=0.0).index
    (0, 2)
    """
    m = Model("ring_modulator")
    y = m.state("y", 15, start=np.zeros(15), nominal=[0.1] * 7 + [1e-3] * 8)
    u, i = y[:7], dict(zip(range(8, 16), ca.vertsplit(y[7:])))
    c, cp, lh, ls1, ls2, ls3 = 1.6e-8, 1e-8, 4.45, 0.002, 5e-4, 5e-4
    r, rp, rg1, rg2, rg3, ri, rc = 25e3, 50.0, 36.3, 17.3, 17.3, 50.0, 600.0
    signal, carrier = 0.5 * ca.sin(2000 * np.pi * m.time), 2 * ca.sin(20000 * np.pi * m.time)
    across = (
        u[2] - u[4] - u[6] - carrier,
        -u[3] + u[5] - u[6] - carrier,
        u[3] + u[4] + u[6] + carrier,
        -u[2] - u[5] + u[6] + carrier,
    )
    q1, q2, q3, q4 = (40.67286402e-9 * (ca.exp(17.7493332 * voltage) - 1) for voltage in across)
    flows = [
        (c, i[8] - 0.5 * i[10] + 0.5 * i[11] + i[14] - u[0] / r),
        (c, i[9] - 0.5 * i[12] + 0.5 * i[13] + i[15] - u[1] / r),
        (parasitic, i[10] - q1 + q4),
        (parasitic, -i[11] + q2 - q3),
        (parasitic, i[12] + q1 - q3),
        (parasitic, -i[13] - q2 + q4),
        (cp, -u[6] / rp + q1 + q2 - q3 - q4),
        (lh, -u[0]),
        (lh, -u[1]),
        (ls2, 0.5 * u[0] - u[2] - rg2 * i[10]),
        (ls3, -0.5 * u[0] + u[3] - rg3 * i[11]),
        (ls2, 0.5 * u[1] - u[4] - rg2 * i[12]),
        (ls3, -0.5 * u[1] + u[5] - rg3 * i[13]),
        (ls1, -u[0] + signal - (ri + rg1) * i[14]),
        (ls1, -u[1] - (rc + rg1) * i[15]),
    ]
    rate = m.der(y)
    for k, (storage, flow) in enumerate(flows):
        if storage:
            m.equation(rate[k], flow / storage, name=f"balance_{k + 1}")
        else:
            m.equation(flow, name=f"balance_{k + 1}")
    origin = "Test Set for Initial Value Problem Solvers, release 2.4"
    return KnownSystem(
        m,
        span=(0.0, 1e-3),
        index=0 if parasitic else 2,
        stiff=True,
        reference=Reference(1e-3, {"y": REFERENCE}, 8, origin) if parasitic == 2e-12 else None,
        source="E. H. Horneber, Analyse nichtlinearer RLCÜ-Netzwerke (1976); Test Set for IVP Solvers",
    )


REFERENCE = [
    -0.2339057358486745e-1,
    -0.7367485485540825e-2,
    0.2582956709291169,
    -0.4064465721283450,
    -0.4039455665149794,
    0.2607966765422943,
    0.1106761861269975,
    0.2939904342435596e-6,
    -0.2840029933642329e-7,
    0.7267198267264553e-3,
    0.7929487196960840e-3,
    -0.7255283495698965e-3,
    -0.7941401968526521e-3,
    0.7088495416976114e-4,
    0.2390059075236570e-4,
]
