"""The steady state of rectifiers by `dd.periodic` is where long runs end."""

import numpy as np
import pytest
from tests.components.by_ngspice import netlist

import daedalus as dd

SIX_PULSES = "\n".join(
    [
        "six-pulse rectifier",
        *(f"V{p} {p} 0 SIN(0 325 50 0 0 {-120 * k})" for k, p in enumerate("abc")),
        *(f"D{p}1 {p} p dm\nD{p}2 n {p} dm" for p in "abc"),
        "L1 p q 50m\nR1 q n 10\nR2 n 0 1meg",
        ".model dm D(IS=1e-12 RS=10m N=1.2 CJO=100p)\n",
    ]
)
CASES = {
    "half_wave_inductive": (lambda: netlist("half_wave_inductive"), 1 / 60, "b", 12),
    "six_pulses": (lambda: SIX_PULSES, 0.02, "q", 10),
}


@pytest.mark.wide
@pytest.mark.parametrize("name", sorted(CASES))
def test_the_steady_state_is_where_a_long_run_ends(name):
    text, period, node, count = CASES[name]
    m = dd.components.from_spice(text())
    orbit = dd.periodic(m, period=period)
    steady = np.array(orbit.trajectory[f"v_{node}"])
    late = dd.simulate(m, count * period, rtol=1e-7)
    assert steady[-1] == pytest.approx(steady[0], rel=1e-9)
    assert steady[0] == pytest.approx(float(late[f"v_{node}"][-1]), rel=1e-5)
