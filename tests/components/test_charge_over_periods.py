"""The charge of a node that hangs on capacitors and junctions alone, over many periods, by every implicit method.

Charges that are linear in the voltages are kept to rounding. Radau takes the change of a junction's charge for the
current into it, and keeps that to rounding, too. What others lose is bounded by the tolerance, period by period.
"""

import numpy as np
import pytest

import daedalus as dd

METHODS = ("auto", "radau5", "radau9", "bdf", "rodas5p")
PERIOD, PERIODS = 1e-6, 20
LEFT_A_PERIOD = 10.0  # tolerances of the charge

CAPACITORS = """two capacitors hold a node
V1 s 0 SIN(0 2 1meg)
RS s a 50
C1 a f 10p
C2 f 0 22p
R1 a 0 1k
.ic v(f)=0.7
.tran 10n 20u uic
"""
JUNCTIONS = """a node between a diode, the base of a transistor and a capacitor
V1 s 0 PULSE(-1 2 0.1u 50n 50n 0.4u 1u)
RS s a 50
D1 f a dm
Q1 c f 0 qq
VC c 0 3
C2 f 0 5p
.options gmin=1e-30
.ic v(f)=-2 v(a)=-2 v(c)=3
.model dm D(IS=1e-28 CJO=10p VJ=0.8 M=0.45)
.model qq NPN(IS=1e-28 CJE=4p CJC=2p TF=0)
.tran 10n 20u uic
"""


def run(text, method, rtol, periods):
    end = periods * PERIOD
    tr = dd.simulate(dd.components.from_spice(text), end, method=method, rtol=rtol, save_at=np.linspace(0.0, end, 44))
    assert tr.success, tr.stop_reason
    return tr


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_the_charge_of_capacitors_is_kept_to_rounding(method, rtol):
    tr = run(CAPACITORS, method, rtol, 100)
    charge = 10e-12 * (np.array(tr["v_f"]) - np.array(tr["v_a"])) + 22e-12 * np.array(tr["v_f"])
    assert np.abs(charge - charge[0]).max() < 1e-12 * abs(charge[0])
    assert np.ptp(np.array(tr["v_f"])) > 0.1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-6, pytest.param(1e-8, marks=pytest.mark.wide)])
def test_the_charge_of_junctions_is_kept_within_the_tolerance_of_each_period(method, rtol):
    tr = run(JUNCTIONS, method, rtol, PERIODS)
    stored = ("d1.charge", "q1.emitter_charge", "q1.collector_charge")
    charge = sum((np.array(tr[name]) for name in stored), 5e-12 * np.array(tr["v_f"]))
    assert np.abs(charge - charge[0]).max() < LEFT_A_PERIOD * PERIODS * rtol * abs(charge[0])
    assert np.ptp(np.array(tr["d1.charge"])) > 0.2 * abs(charge[0])


@pytest.mark.parametrize("method", ["auto", "radau5"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-4])
@pytest.mark.parametrize("driven", [-2, -1, 0])
def test_radau_keeps_the_charge_of_junctions_at_any_tolerance(method, rtol, driven):
    """Also from starts behind which every edge of the source refuses three steps, since they were planned too long."""
    m = dd.components.from_spice(JUNCTIONS.replace("v(a)=-2", f"v(a)={driven}"))
    quiet = (np.arange(PERIODS) + 0.9) * PERIOD
    tr = dd.simulate(m, PERIODS * PERIOD, method=method, rtol=rtol, save_at=quiet)
    stored = ("d1.charge", "q1.emitter_charge", "q1.collector_charge")
    charge = sum((np.array(tr[name]) for name in stored), 5e-12 * np.array(tr["v_f"]))
    assert tr.success
    # 3e-4 and 8e-5 where voltages are discretised.
    assert np.abs(charge - charge[0]).max() < 1e-8 * abs(charge[0])
