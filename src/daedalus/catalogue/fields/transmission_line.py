"""A line between a source and a load of its own resistance: waves pass it once and nothing comes back.

    l i_k' = v_k - v_k+1 - r i_k,   c v_k' = i_k-1 - i_k,   i_-1 = (e(t) - v_0)/Z,   i_n-1 = v_n-1/Z

The whole line has 1 H, 1 F and 0.1 Ω, Z = 1 Ω, and the source e = sin 5t.

Reference (16 sections): the exponential of the matrix of v, i, sin 5t and cos 5t.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.catalogue.counted_option import counted_option
from daedalus.model.model import Model


def build(sections: Any = 16) -> KnownSystem:
    """A line of this many sections.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("transmission_line", sections=2000)
    >>> k.model.freeze().sizes["x"]
    3999
    """
    count = counted_option("sections", sections, 2, 16)
    m = Model("transmission_line")
    v = m.state("v", count, start=np.zeros(count), unit="V")
    i = m.state("i", count - 1, start=np.zeros(count - 1), unit="A")
    wave, resistance = m.parameter("wave_resistance", 1.0, unit="ohm"), m.parameter("resistance", 0.1, unit="ohm")
    capacitance, inductance = m.parameter("capacitance", 1.0, unit="F"), m.parameter("inductance", 1.0, unit="H")
    into, out = (ca.sin(5 * m.time) - v[0]) / wave, v[count - 1] / wave
    m.equation(m.der(v), count / capacitance * (ca.vertcat(into, i) - ca.vertcat(i, out)), name="charge")
    m.equation(m.der(i), (count * (v[:-1] - v[1:]) - resistance * i) / inductance, name="flux")
    return KnownSystem(
        m,
        span=(0.0, 2.0),
        reference=Reference(2.0, REFERENCE, 12, "exponential of the matrix") if count == 16 else None,
        source="O. Heaviside, Electromagnetic Theory (1893); lumped sections",
    )


REFERENCE: dict[str, object] = {
    "v": [
        -0.2532382146973556,
        -0.11316484088213871,
        0.03917014862541082,
        0.19839390992428146,
        0.3415598821409634,
        0.4543007459034928,
        0.5069857324466416,
        0.5102639261151989,
        0.4700292295642923,
        0.3892338021788329,
        0.26942044582578595,
        0.10771426576397969,
        -0.04233990129068663,
        -0.19180122571824182,
        -0.3380319226913115,
        -0.42837680984887383,
    ],
    "i": [
        -0.14437517700682234,
        0.014153451090717209,
        0.16448953544277256,
        0.28847711487099054,
        0.37936413185316736,
        0.4413482515651555,
        0.46511155286269773,
        0.4475929080499008,
        0.3673429943403321,
        0.26198530830491745,
        0.1366507980549512,
        -0.006189517923841842,
        -0.1465801600997801,
        -0.27736201017624224,
        -0.36815998250843895,
    ],
}
