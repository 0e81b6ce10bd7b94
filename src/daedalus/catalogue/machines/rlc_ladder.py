"""A ladder of cells, each a resistor and an inductor along it and a capacitor across: a line of length n."""

from __future__ import annotations

from daedalus.catalogue.known_system import KnownSystem, Value
from daedalus.catalogue.reference import Reference
from daedalus.components import electrical
from daedalus.model.model import Model


def build(cells: int = 10) -> KnownSystem:
    """A step of 1 V into ten cells, or as many as one likes.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.load("rlc_ladder").index
    0
    """
    m = Model("rlc_ladder")
    source, ground = m.add(electrical.VoltageSource("source", voltage=1.0)), m.add(electrical.Ground("ground"))
    m.connect(source.minus, ground.pin)
    node = source.plus
    start: dict[str, Value] = {}
    for k in range(cells):
        r = m.add(electrical.Resistor(f"r{k}", resistance=1.0))
        coil = m.add(electrical.Inductor(f"l{k}", inductance=1e-3))
        c = m.add(electrical.Capacitor(f"c{k}", capacitance=1e-6))
        m.connect(node, r.plus)
        m.connect(r.minus, coil.plus)
        m.connect(coil.minus, c.plus)
        m.connect(c.minus, ground.pin)
        start |= {f"l{k}.current": 0.0, f"c{k}.voltage": 0.0}
        node = c.plus
    return KnownSystem(
        m,
        span=(0.0, 1e-3),
        start=start,
        reference=Reference(1e-3, REFERENCE, 9, "two methods at 1e-12 agree") if cells == 10 else None,
        source="a line in lumped cells, a textbook circuit; numbers chosen here",
    )


REFERENCE = {
    **dict(zip((f"l{k}.current" for k in range(10)), (
        -0.016741541390970, -0.022494947210897, -0.021517529197200, -0.015767382320271, -0.017271872163938,
        -0.020080381015610, -0.022616797156751, -0.023268846119749, -0.017128811353197, -0.008890434925912,
    ))),
    **dict(zip((f"c{k}.voltage" for k in range(10)), (
        1.01138598712531, 0.99406273028881, 1.00953911393297, 1.12662564859168, 1.14170569613329,
        0.96872690061582, 0.89678362546972, 1.04411943141752, 1.11183383476448, 1.27404200049845,
    ))),
}  # fmt: skip
