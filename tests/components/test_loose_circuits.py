"""Circuits at loose tolerances: which method runs them, and steps over the voltage at which a junction conducts."""

import numpy as np
import pytest
from tests.components.by_ngspice import netlist, sample_times, watched

import daedalus as dd
from daedalus.simulation.result.records_of_methods import ImplicitChosen
from daedalus.simulation.run import road


@pytest.mark.parametrize("rtol", [1e-2, 1e-3, 1e-4])
def test_a_thyristor_fires_at_loose_tolerances(rtol):
    """No step ends at volts that no junction has, with a tolerance of volts because of that."""
    text = netlist("thyristor_dimmer")
    times = sample_times(text)[:21]
    m = dd.components.from_spice(text)
    exact = np.array(dd.simulate(m, times[-1], rtol=1e-8, method="radau5", save_at=times)[f"v_{watched(text)}"])
    tr = dd.simulate(m, times[-1], rtol=rtol, method="rodas5p", save_at=times)
    assert tr.success, tr.stop_reason
    assert np.abs(np.array(tr[f"v_{watched(text)}"]) - exact).max() < 3 * rtol * np.abs(exact).max()
    assert max(np.abs(np.array(tr[f"x1.q{k}.emitter_drive"])).max() for k in (1, 2)) < 1000.0


@pytest.mark.parametrize(("rtol", "method"), [(1e-3, "radau5"), (1e-4, "radau5"), (1e-6, "radau5"), (1e-8, "radau9")])
def test_the_method_of_a_circuit_with_charges_fits_the_tolerance(rtol, method):
    """Radau at loose tolerances too: rodas5p takes fewer evaluations, but lets charge move by about rtol a period."""
    m = dd.components.from_spice(netlist("reverse_recovery"))
    assert dd.simulate(m, 1e-8, rtol=rtol).method == method


def test_derivatives_of_a_circuit_with_charges_have_a_method_at_loose_tolerances():
    """Steps of a Rosenbrock method are not differentiated there: another one is taken."""
    text = "V1 a 0 SIN(0 3 1meg)\nR1 a b {r}\nD1 b 0 dm\n.model dm D(IS=1e-14 CJO=10p TT=5n)\n"
    low, middle, high = (dd.components.from_spice(text.format(r=r)) for r in (99.0, 100.0, 101.0))
    found = dd.sensitivities(middle, 1e-7, rtol=1e-4)
    state = middle.freeze().labels["x"][0]
    ends = [np.array(dd.simulate(m, 1e-7, rtol=1e-9)[state])[-1] for m in (low, high)]
    assert float(found.d(state, "r1.resistance")) == pytest.approx((ends[1] - ends[0]) / 2, rel=0.02)


@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_rows_between_steps_keep_the_laws(rtol):
    """z of saved rows is solved for: what the law leaves is far below the tolerance of a loose run, too."""
    m = dd.components.from_spice(netlist("half_wave"))
    tr = dd.simulate(m, 0.02, rtol=rtol, save_at=np.linspace(0.0, 0.02, 37))
    drop = np.array(tr["v_in"]) - np.array(tr["v_out"])
    assert tr.success
    assert np.abs(drop - np.array(tr["d1.voltage"])).max() < 1e-8 * 10


def test_another_method_goes_on_where_the_chosen_one_stops(monkeypatch):
    """A switch closes onto a diode: rodas5p at 1e-8 stops there, and the run goes on from its last row."""
    m = dd.components.from_spice(netlist("controlled_rectifier"))
    exact = dd.simulate(m, 4e-3, rtol=1e-8)
    assert not dd.simulate(m, 4e-3, rtol=1e-8, method="rodas5p").success
    chosen = ("rodas5p", ImplicitChosen("rodas5p", "it was chosen"))
    monkeypatch.setattr(road, "implicit_choice", lambda *_: chosen)
    tr = dd.simulate(m, 4e-3, rtol=1.1e-8)
    assert (tr.success, tr.method) == (True, "rodas5p, then radau5")
    assert any("radau5, implicit, because rodas5p stopped at t = 0.00250" in note for note in tr.notes)
    assert tr["v_r"][-1] == pytest.approx(exact["v_r"][-1], rel=1e-6)


FLOATING = """floating node between two depletion layers
V1 s 0 SIN(0 2 1meg)
RS s a 50
D1 f a dm
D2 f 0 dm
R1 a 0 1k
.options gmin=1e-30
.ic v(f)=-3
.model dm D(IS=1e-28 CJO=10p VJ=0.8 M=0.45)
.tran 10n 20u uic
"""


@pytest.mark.parametrize(("method", "rtol"), [("auto", 1e-4), ("auto", 1e-6), ("radau9", 1e-8), ("rodas5p", 1e-8)])
def test_charge_of_a_node_that_hangs_on_layers_alone_stays(method, rtol):
    """Nothing leaks: over twenty periods it moves by less than the tolerance of a few steps."""
    m = dd.components.from_spice(FLOATING)
    tr = dd.simulate(m, 20e-6, rtol=rtol, method=method, save_at=np.linspace(0.0, 20e-6, 41))
    assert tr.success, tr.stop_reason
    charge = np.array(tr["d1.charge"]) + np.array(tr["d2.charge"])
    assert np.abs(charge - charge[0]).max() < 10 * rtol * abs(charge[0])


HALF_BRIDGE = """half bridge with a bootstrapped driver: gates, junctions and capacitors in loops
VIN in 0 24
VCC vcc 0 12
VH h 0 PULSE(0 1 1u 20n 20n 4u 10u)
VLO l 0 PULSE(0 12 6u 50n 50n 4u 10u)
DB vcc bst db
CB bst sw 100n
EH gx sw VALUE={v(h)*v(bst,sw)}
RGH gx gh 10
RGL l gl 10
MH in gh sw sw pw W=1 L=1u
ML sw gl 0 0 pw W=1 L=1u
DH sw in db
DL 0 sw db
LO sw out 22u
CO out 0 47u
RO out 0 5
.model pw NMOS(VTO=3 KP=20u LAMBDA=2m CGSO=1n CGDO=0.2n RD=20m CBD=300p)
.model db D(IS=1e-10 N=1.1 RS=50m CJO=50p TT=10n)
.tran 0.1u 40u 0 5n
"""


@pytest.mark.wide
@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 3e-5, 1e-5])
def test_a_circuit_that_commutates_has_no_dead_centre(rtol):
    """Slopes of junctions change by decades where they begin to conduct; runs were cut there as at a dead centre."""
    m = dd.components.from_spice(HALF_BRIDGE)
    times = np.linspace(0.0, 40e-6, 61)
    exact = np.array(dd.simulate(m, 40e-6, rtol=1e-8, save_at=times)["v_out"])
    tr = dd.simulate(m, 40e-6, rtol=rtol, method="radau5", save_at=times)
    assert tr.success, tr.stop_reason
    assert np.abs(np.array(tr["v_out"]) - exact).max() < 10 * rtol * np.abs(exact).max()
