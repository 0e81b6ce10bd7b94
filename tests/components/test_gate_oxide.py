"""Capacitances of a gate with an oxide are those of ngspice 39: @m1[cgs], @m1[cgd] and @m1[cgb] at operating points."""

import numpy as np
import pytest

import daedalus as dd

CARD = "level=1 vto=0.8 kp=50u lambda=0.02 gamma=0.4 phi=0.65 cgso=2e-10 cgdo=2e-10 tox=40n"
# Gate and drain in V, source at 0, bulk at -0.5; then the three capacitances in F, overlaps with them.
STORED = [
    (-1.0, 2.0, 2.000000e-15, 2.000000e-15, 1.726572e-14),
    (0.3, -1.0, 2.000000e-15, 1.351048e-14, 0.0),
    (0.3, 2.0, 2.000000e-15, 2.000000e-15, 1.610923e-14),
    (0.7, 0.01, 5.607869e-15, 4.558307e-15, 5.484174e-15),
    (0.7, 0.3, 6.198247e-15, 2.000000e-15, 5.484174e-15),
    (0.9, -1.0, 5.286120e-15, 1.323496e-14, 0.0),
    (0.9, 0.01, 1.169514e-14, 8.874737e-15, 1.716452e-16),
    (1.5, 0.3, 1.225010e-14, 8.357377e-15, 0.0),
    (1.5, 2.0, 1.351048e-14, 2.000000e-15, 0.0),
    (3.0, -1.0, 9.523679e-15, 1.156163e-14, 0.0),
    (5.0, 2.0, 1.219257e-14, 8.471760e-15, 0.0),
]
EVERYDAY = [STORED[3], STORED[5], STORED[7]]
SLOPE = 1e6  # V/s


def currents(sign, gate, drain, slope):
    """Into the ports at the start of a ramp at the gate."""
    kind = "nmos" if sign > 0 else "pmos"
    card = CARD if sign > 0 else CARD.replace("vto=0.8", "vto=-0.8")
    ramp = f"pwl(0 {sign * gate} 1u {sign * (gate + 1e-6 * slope)})"
    text = (
        f"oxide\nvd d 0 {sign * drain}\nvg g 0 {ramp}\nvb b 0 {-0.5 * sign}\n"
        f"m1 d g 0 b mm w=10u l=2u\n.model mm {kind}({card})\n"
    )
    tr = dd.simulate(dd.components.from_spice(text), 1e-12)
    return np.array([sign * tr[f"m1.{port}.current"][0] for port in ("source", "drain", "bulk", "gate")])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("row", [*EVERYDAY, *(pytest.param(row, marks=pytest.mark.wide) for row in STORED)])
def test_capacitances_are_those_of_ngspice(row, sign):
    gate, drain, *stored = row
    found = (currents(sign, gate, drain, SLOPE) - currents(sign, gate, drain, 0.0)) / SLOPE
    np.testing.assert_allclose(-found[:3], stored, rtol=2e-6, atol=2e-21)
    assert found[3] == pytest.approx(sum(stored), rel=2e-6)


def test_without_an_oxide_only_overlaps_are_left():
    part = dd.components.electrical.Mosfet("m", gain=1e-4, oxide_capacitance=None)
    assert part.values["oxide_capacitance"] is None
    part = dd.components.electrical.Mosfet("m", oxide_thickness=40e-9, width=10e-6, length=2e-6)
    assert part.values["oxide_capacitance"] == pytest.approx(1.726572e-14, rel=1e-6)
