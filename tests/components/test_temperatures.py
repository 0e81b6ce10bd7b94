"""A bipolar transistor, a diode and a MOS transistor at three temperatures, beside ngspice's operating points."""

import casadi as ca
import pytest

import daedalus as dd

TEXT = """cold stage
VCC vcc 0 9
R1 vcc b 220k
RC vcc c 2.2k
RE e 0 220
Q1 c b e q1
D1 vcc d dx
RD d 0 1k
M1 g g 0 0 nm W=20u L=2u
RM vcc g 10k
.model q1 NPN(IS=7e-15 BF=300 VAF=75 IKF=0.08 ISE=7e-15 NE=1.26 XTB=1.5 RB=10 RC=1)
.model dx D(IS=3e-9 N=1.75 RS=0.6)
.model nm NMOS(VTO=0.8 KP=60u GAMMA=0.4 PHI=0.65 LAMBDA=0.02)
.temp {}
"""
# ngspice 39, reltol=1e-7 abstol=1e-15 vntol=1e-10, gmin=1e-12: volts of b, c, d, e, g.
POINTS = {
    0: (1.551616603567, 0.9894036072253, 8.277632244105, 0.808508022457, 2.209544842853),
    -40: (1.497646470342, 2.127278418797, 8.210921015944, 0.6947745111826, 2.118921604303),
    125: (1.345718706068, 0.984981766991, 8.494383173856, 0.8091561043789, 2.437522638133),
}


@pytest.mark.parametrize("celsius", POINTS)
def test_operating_points_at_temperatures(celsius):
    point = dd.equilibrium(dd.components.from_spice(TEXT.format(celsius)))
    system, letters = point.system, ("t", "xdot", "x", "z", "u", "p")
    nodes = ca.Function("nodes", [system.symbol(k) for k in letters], [ca.vertcat(*system.outputs.values())])
    volts = dict(zip(system.outputs, nodes(0, *(point.vectors[k] for k in letters[1:])).full().ravel()))
    assert [volts[f"v_{node}"] for node in "bcdeg"] == pytest.approx(POINTS[celsius], abs=1e-6)
