"""An isothermal stirred tank with the reactions A <-> B -> C, the first in equilibrium.

    V'  = Fa - F
    CA' = Fa/V (CA0 - CA) - R1          0 = CA - CB/Keq
    CB' = -Fa/V CB + R1 - R2            0 = R2 - k2 CB
    CC' = -Fa/V CC + R2

The rate R1 of the fast reaction stands in no algebraic equation: it follows from the derivative of the equilibrium
condition, so that the index is 2 and not 1. With CA = CB/Keq the sum of the balances of A and B is the ODE

    (1 + 1/Keq) CB' = Fa/V (CA0 - (1 + 1/Keq) CB) - k2 CB

The reference is this ODE with constant feed and volume, which is linear and has a closed form.
"""

from __future__ import annotations

import math

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model

FEED, VOLUME, FEED_CONCENTRATION, EQUILIBRIUM, RATE, END = 0.5, 2.0, 3.0, 2.0, 0.4, 4.0


def build() -> KnownSystem:
    """A tank of constant volume that fills with B and C.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("cstr")
    >>> k.index, k.inputs
    (2, {'feed': 0.5, 'withdrawal': 0.5})
    """
    m = Model("cstr")
    volume = m.state("V", start=VOLUME, unit="m^3")
    a = m.state("CA", start=0.5, unit="mol/m^3")
    b = m.state("CB", start=1.0, unit="mol/m^3")
    c = m.state("CC", start=0.0, unit="mol/m^3")
    r1, r2 = m.algebraic("R1"), m.algebraic("R2")
    feed, withdrawal = m.input("feed", unit="m^3/s"), m.input("withdrawal", unit="m^3/s")
    entering = m.parameter("CA0", FEED_CONCENTRATION, unit="mol/m^3")
    equilibrium = m.parameter("Keq", EQUILIBRIUM)
    rate = m.parameter("k2", RATE, unit="1/s")
    m.equation(m.der(volume), feed - withdrawal, name="volume")
    m.equation(m.der(a), feed / volume * (entering - a) - r1, name="balance of A")
    m.equation(m.der(b), -feed / volume * b + r1 - r2, name="balance of B")
    m.equation(m.der(c), -feed / volume * c + r2, name="balance of C")
    m.equation(a - b / equilibrium, name="equilibrium")
    m.equation(r2 - rate * b, name="second reaction")
    return KnownSystem(
        m,
        span=(0.0, END),
        inputs={"feed": FEED, "withdrawal": FEED},
        index=2,
        reference=Reference(END, closed_form(END), 14, "closed form for constant feed and volume"),
        source="S. Gros, Numerical Optimal Control with DAEs, lecture slides (2016), isothermal CSTR",
    )


def closed_form(t: float) -> dict[str, float]:
    """The concentrations at a time; CC is the feed less A and B, all of which leave the tank alike."""
    flow, both = FEED / VOLUME, 1 + 1 / EQUILIBRIUM
    decay = flow + RATE / both
    rest = flow * FEED_CONCENTRATION / both / decay
    b = rest + (1.0 - rest) * math.exp(-decay * t)
    total = FEED_CONCENTRATION + (both - FEED_CONCENTRATION) * math.exp(-flow * t)
    return {"V": VOLUME, "CA": b / EQUILIBRIUM, "CB": b, "CC": total - both * b}
