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


def currents(sign, rows, slopes):
    """Into the ports at the start of ramps at the gates: of transistors of one circuit, (rows, slopes, ports)."""
    kind = "nmos" if sign > 0 else "pmos"
    card = CARD if sign > 0 else CARD.replace("vto=0.8", "vto=-0.8")
    text = f"oxide\nvb b 0 {-0.5 * sign}\n.model mm {kind}({card})\n"
    names = [[f"{row}_{k}" for k in range(len(slopes))] for row in range(len(rows))]
    for (gate, drain, *_), of_row in zip(rows, names):
        for name, slope in zip(of_row, slopes):
            ramp = f"pwl(0 {sign * gate} 1u {sign * (gate + 1e-6 * slope)})"
            text += f"vd{name} d{name} 0 {sign * drain}\nvg{name} g{name} 0 {ramp}\n"
            text += f"m{name} d{name} g{name} 0 b mm w=10u l=2u\n"
    tr = dd.simulate(dd.components.from_spice(text), 1e-12)
    ports = ("source", "drain", "bulk", "gate")
    return sign * np.array([[[tr[f"m{n}.{port}.current"][0] for port in ports] for n in of_row] for of_row in names])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("rows", [EVERYDAY, pytest.param(STORED, marks=pytest.mark.wide)], ids=["everyday", "all"])
def test_capacitances_are_those_of_ngspice(rows, sign):
    found = currents(sign, rows, (0.0, SLOPE))
    found, stored = (found[:, 1] - found[:, 0]) / SLOPE, np.array(rows)[:, 2:]
    np.testing.assert_allclose(-found[:, :3], stored, rtol=2e-6, atol=2e-21)
    np.testing.assert_allclose(found[:, 3], stored.sum(axis=1), rtol=2e-6)


def test_without_an_oxide_only_overlaps_are_left():
    part = dd.components.electrical.Mosfet("m", gain=1e-4, oxide_capacitance=None)
    assert part.values["oxide_capacitance"] is None
    part = dd.components.electrical.Mosfet("m", oxide_thickness=40e-9, width=10e-6, length=2e-6)
    assert part.values["oxide_capacitance"] == pytest.approx(1.726572e-14, rel=1e-6)
