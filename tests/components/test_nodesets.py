"""`.nodeset` leads to one of several operating points, also where the voltage of a node is no variable of the model."""

import pytest

import daedalus as dd

# The access transistors' gate capacitances are the states, and the voltages of q and qn follow from them.
CELL = """static memory cell
VDD vdd 0 3.3
VWL wl 0 0
MP1 q qn vdd vdd pm W=2u L=0.5u
MN1 q qn 0 0 nm W=4u L=0.5u
MP2 qn q vdd vdd pm W=2u L=0.5u
MN2 qn q 0 0 nm W=4u L=0.5u
MA1 0 wl q 0 nm W=3u L=0.5u
MA2 vdd wl qn 0 nm W=3u L=0.5u
C1 q 0 5f
C2 qn 0 5f
.nodeset {}
.model nm NMOS(VTO=0.6 KP=120u GAMMA=0.4 PHI=0.7 LAMBDA=0.05 CGSO=2e-10 CGDO=2e-10)
.model pm PMOS(VTO=-0.6 KP=40u GAMMA=0.4 PHI=0.7 LAMBDA=0.05 CGSO=2e-10 CGDO=2e-10)
.op
.end
"""


@pytest.mark.parametrize(
    ("told", "q", "qn"), [("V(q)=3.3 V(qn)=0", 3.3, 0.0), ("V(q)=0 V(qn)=3.3 V(vdd)=3.3", 0.0, 3.3)]
)
def test_nodesets_of_nodes_that_are_no_variables(told, q, qn):
    """Sources at the same node win over a nodeset."""
    text = CELL.format(told)
    found = dd.components.run_spice(text).op
    assert float(found["v_q"]) == pytest.approx(q, abs=1e-6)
    assert float(found["v_qn"]) == pytest.approx(qn, abs=1e-6)
    tr = dd.simulate(dd.components.from_spice(text), 1e-9)
    assert tr["v_q"][[0, -1]] == pytest.approx([q, q], abs=1e-6)
    assert float(tr["v_vdd"][0]) == 3.3
