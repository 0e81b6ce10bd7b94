"""Pollution of the air: 25 reactions between 20 substances, the chemical part of a model of the lower atmosphere.

    y' = sum over the reactions j of r_j (products - educts),     r_j = k_j times the product of its educts

Rates are up to 4e11 apart: stiff. The published problem has concentrations without units and times in minutes.

Reference: the published end values, computed there by RADAU5 in quadruple precision with tolerance 1e-18.
"""

from __future__ import annotations

import casadi as ca

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model

# (k, educts, products) with substances counted from 1; an educt that is listed again as a product is a catalyst.
REACTIONS: tuple[tuple[float, tuple[int, ...], tuple[int, ...]], ...] = (
    (0.35, (1,), (2, 3)),
    (26.6, (2, 4), (1,)),
    (1.23e4, (5, 2), (6, 1)),
    (8.6e-4, (7,), (5, 5, 8)),
    (8.2e-4, (7,), (8,)),
    (1.5e4, (7, 6), (5, 8)),
    (1.3e-4, (9,), (10, 5, 8)),
    (2.4e4, (9, 6), (11,)),
    (1.65e4, (11, 2), (10, 1, 12)),
    (9e3, (11, 1), (13,)),
    (0.022, (13,), (11, 1)),
    (1.2e4, (10, 2), (14, 1)),
    (1.88, (14,), (7, 5)),
    (1.63e4, (1, 6), (15,)),
    (4.8e6, (3,), (4,)),
    (3.5e-4, (4,), (16,)),
    (0.0175, (4,), (3,)),
    (1e8, (16,), (6, 6)),
    (4.44e11, (16,), (3,)),
    (1.24e3, (17, 6), (5, 18)),
    (2.1, (19,), (2,)),
    (5.78, (19,), (1, 3)),
    (0.0474, (1, 4), (19,)),
    (1.78e3, (19, 1), (20,)),
    (3.12, (20,), (1, 19)),
)


def build() -> KnownSystem:
    """The published run over one hour.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("pollution")
    >>> k.span, k.stiff, float(k.reference["y"][0])
    ((0.0, 60.0), True, 0.05646255480022769)
    """
    m = Model("pollution")
    given = {2: 0.2, 4: 0.04, 7: 0.1, 8: 0.3, 9: 0.01, 17: 0.007}
    y = m.state("y", 20, start=[given.get(k, 0.0) for k in range(1, 21)])
    rate = m.parameter("rate", [k for k, _, _ in REACTIONS])
    change = [ca.SX(0)] * 20
    for j, (_, educts, products) in enumerate(REACTIONS):
        speed = rate[j]
        for k in educts:
            speed = speed * y[k - 1]
        for k in educts:
            change[k - 1] = change[k - 1] - speed
        for k in products:
            change[k - 1] = change[k - 1] + speed
    m.equation(m.der(y), change, name="reactions")
    return KnownSystem(
        m,
        span=(0.0, 60.0),
        stiff=True,
        reference=Reference(60.0, {"y": REFERENCE}, 14, "Test Set for Initial Value Problem Solvers, release 2.4"),
        source="J. G. Verwer, Gauss-Seidel iteration for stiff ODEs from chemical kinetics (1994)",
    )


REFERENCE = [
    0.5646255480022769e-01,
    0.1342484130422339e00,
    0.4139734331099427e-08,
    0.5523140207484359e-02,
    0.2018977262302196e-06,
    0.1464541863493966e-06,
    0.7784249118997964e-01,
    0.3245075353396018e00,
    0.7494013383880406e-02,
    0.1622293157301561e-07,
    0.1135863833257075e-07,
    0.2230505975721359e-02,
    0.2087162882798630e-03,
    0.1396921016840158e-04,
    0.8964884856898295e-02,
    0.4352846369330103e-17,
    0.6899219696263405e-02,
    0.1007803037365946e-03,
    0.1772146513969984e-05,
    0.5682943292316392e-04,
]
