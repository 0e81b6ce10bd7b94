"""Water in a network of 18 tubes between 13 nodes, two of them tanks, over 17 hours; index 2.

    (ρ L / A) φ' = p_from - p_to - friction(φ, λ)        flow φ in each tube
    0 = 1/√λ - 1.74 + 2 lg(2 k/d + 18.7 / (R √λ))        its resistance λ, R = |φ| d / (ν A), at least 2300
    0 = flow in - flow out                               at each node
    C p' = flow in - flow out                            at each tank

Friction is 32 μ L φ / (A d²) in laminar and λ ρ L φ² / (A² d) in turbulent flow; it jumps where R passes 2300.

Reference: the published end values, computed there by PSIDE with tolerance 1e-14.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model

TUBES = (
    *((1, 2), (2, 3), (2, 6), (3, 4), (3, 5), (4, 5), (5, 10), (6, 5), (7, 4)),
    *((7, 8), (8, 5), (8, 10), (9, 8), (11, 9), (11, 12), (12, 7), (12, 8), (13, 11)),
)
TANKS, NODES = (5, 8), (1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13)
VISCOSITY, GRAVITY, DENSITY, CRITICAL = 1.31e-6, 9.8, 1e3, 2.3e3
LENGTH, ROUGHNESS, DIAMETER, TANK_AREA = 1e3, 2e-4, 1.0, 200.0
AREA = np.pi * DIAMETER**2 / 4
LAMINAR, TURBULENT = 32 * VISCOSITY * DENSITY * LENGTH / (AREA * DIAMETER**2), DENSITY * LENGTH / (AREA**2 * DIAMETER)


def build() -> KnownSystem:
    """The published run.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("water_tube")
    >>> k.index, k.span, float(k.reference["tank"][0])
    (2, (0.0, 61200.0), 111126.8591478108)
    """
    m = Model("water_tube")
    flow = m.state("flow", 18, start=np.zeros(18), unit="m^3/s", nominal=1e-3)
    tank = m.state("tank", 2, start=[109800.0] * 2, unit="Pa", nominal=1e5)
    resistance = m.algebraic("resistance", 18, start=[0.0475194] * 18, nominal=0.05)
    pressure = m.algebraic("pressure", 11, start=[109800.0] * 11, unit="Pa", nominal=1e5)
    p = dict(zip((*TANKS, *NODES), ca.vertsplit(ca.vertcat(tank, pressure))))
    hours = m.time / 3600
    wave = 1 - ca.cos(ca.exp(-hours) - 1)
    balance = {node: ca.SX(0) for node in range(1, 14)}
    balance[1], balance[13] = wave / 200, wave / 80
    balance[10] = -(hours**2) * (3 * hours**2 - 92 * hours + 720) / 1e6
    for k, (begin, end) in enumerate(TUBES):
        balance[begin], balance[end] = balance[begin] - flow[k], balance[end] + flow[k]
        reynolds = ca.fabs(flow[k]) * DIAMETER / (VISCOSITY * AREA)
        turbulent, root = reynolds > CRITICAL, ca.sqrt(resistance[k])
        friction = ca.if_else(turbulent, TURBULENT * resistance[k] * flow[k] ** 2, LAMINAR * flow[k])
        wall = 2 * ROUGHNESS / DIAMETER + 18.7 / (ca.if_else(turbulent, reynolds, CRITICAL) * root)
        m.equation(DENSITY * LENGTH / AREA * m.der(flow[k]), p[begin] - p[end] - friction, name=f"tube_{k + 1}")
        m.equation(1 / root - 1.74 + 2 * ca.log10(wall), 0, name=f"wall_{k + 1}")
    m.equation(TANK_AREA / (DENSITY * GRAVITY) * m.der(tank), [balance[node] for node in TANKS], name="tanks")
    m.equation([balance[node] for node in NODES], name="nodes")
    ends = {"flow": END[:18], "resistance": END[18:36], "tank": END[36:38], "pressure": END[38:]}
    return KnownSystem(
        m,
        span=(0.0, 17 * 3600.0),
        index=2,
        stiff=True,
        reference=Reference(61200.0, ends, 11, "Test Set for Initial Value Problem Solvers, release 2.4"),
        source="Test Set for Initial Value Problem Solvers, release 2.4 (2008): water tube system",
    )


# fmt: off
END = [
    0.00229848829647743, 0.001188984650746585, 0.001109503645730845, 0.0001589620100314825, 0.001030022640715102,
    0.0008710606306836165, 0.003243571480903489, 0.001109503645730845, 0.0007120986206521341, 0.0006414613963833099,
    0.0009416978549524347, 0.003403428519096511, 0.002397639310739395, 0.002397639310739395, 0.00334858143045418,
    0.001353560017035444, 0.001995021413418736, 0.005746220741193575, 0.04751940452918529, 0.04751940452918529,
    0.04751940452918529, 0.04751940452918529, 0.04751940452918529, 0.04751940452918529, 0.04311196778792902,
    0.04751940452918529, 0.04751940452918529, 0.04751940452918529, 0.04751940452918529, 0.0424921743360116,
    0.04732336439609648, 0.04732336439609648, 0.04270002118868241, 0.04751940452918529, 0.04751940452918529,
    0.03651427026675656, 111126.8591478108, 111127.0045592387, 111127.1078730254, 111126.9851929858,
    111126.9255355337, 111126.9322658045, 111126.9221703983, 111127.0121140691, 111127.4419515807, 111125.5158881087,
    111127.8793439227, 111127.0995171642, 111129.8338971779,
]
# fmt: on
