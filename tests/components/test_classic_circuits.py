"""Classic circuits written as netlists agree with ngspice's stored numbers: operating points and waveforms."""

import json
import re

import casadi as ca
import numpy as np
import pytest
from tests.components.by_ngspice import FOLDER, NUMBERS, netlist, rhythm, sample_times, watched

import daedalus as dd

KNOWN = json.loads(NUMBERS.read_text(encoding="utf-8"))["circuits"]
# An oscillator whose switch has hysteresis has no operating point; lines have delays, which have none by themselves.
WITHOUT_POINT = {"relaxation", "timer", "line", "mismatched_line", "clamped_line", "stubbed_line"}
# Oscillators and edges of picoseconds differ in phase: the others are compared point by point.
OSCILLATORS = {"astable", "ring_oscillator", "relaxation", "colpitts", "rc_snubber", "cmos_relaxation"}
# One sample lies on an edge of 20 ns: ngspice's steps of 0.3 ns come within 0.4 mV of ours there, of 5 ns within 2 mV.
OSCILLATORS |= {"emitter_coupled_astable"}
# The stored waveforms of these two stay within 50 µV of zero and say nothing.
OSCILLATORS |= {"sepic", "three_phase_inverter"}
# Operating points that repel at 3e11 1/s: ngspice steps over that in microseconds, and latches in steps of 0.2 ps.
LATCHES = {"inverting_lm358", "precision_rectifier"}
OSCILLATORS |= LATCHES
EVERYDAY = [
    "half_wave", "full_bridge_rectifier", "doubler", "zener_regulator", "class_ab", "cascaded_mirror", "darlington",
    "buck", "boost", "multiplier", "transformer", "warm_amplifier", "substrate_pair", "rtl_inverters",
    "differential_pair", "flyback", "lc_ladder", "timer", "jfet_oscillator", "tunnel_diode", "excess_phase",
    "controlled_rectifier", "log_amplifier", "half_wave_inductive", "sram_cell", "switched_capacitor", "domino_gate",
]  # fmt: skip
SLOW = sorted(set(KNOWN) - set(EVERYDAY))
ALL = [*EVERYDAY, *(pytest.param(name, marks=pytest.mark.wide) for name in SLOW)]


def voltages(point):
    """The voltages of all nodes at a point."""
    system = point.system
    letters = ("t", "xdot", "x", "z", "u", "p")
    function = ca.Function("nodes", [system.symbol(k) for k in letters], [ca.vertcat(*system.outputs.values())])
    values = function(0, *(point.vectors[k] for k in letters[1:])).full().ravel()
    return dict(zip(system.outputs, values))


def test_every_netlist_has_numbers():
    assert {file.stem for file in FOLDER.glob("*.cir")} == set(KNOWN)
    assert len(KNOWN) >= 40


@pytest.mark.parametrize("name", [name for name in ALL if getattr(name, "values", [name])[0] not in WITHOUT_POINT])
def test_operating_points_are_those_of_ngspice(name):
    text = re.sub(r"^\.(ic|tran).*$", "", netlist(name), flags=re.MULTILINE)
    m = dd.components.from_spice(text)
    found, stored = voltages(dd.equilibrium(m)), KNOWN[name]["operating_point"]
    largest = max(1e-6, *(abs(value) for value in stored.values()))
    for node, value in stored.items():
        if f"v_{node}" in found:
            assert found[f"v_{node}"] == pytest.approx(value, abs=1e-6 * largest), node


@pytest.mark.parametrize("name", [name for name in ALL if getattr(name, "values", [name])[0] not in OSCILLATORS])
def test_waveforms_are_those_of_ngspice(name):
    text, stored = netlist(name), KNOWN[name]
    times = sample_times(text)
    tr = dd.simulate(dd.components.from_spice(text), times[-1], rtol=1e-6, save_at=times)
    assert tr.success, tr.stop_reason
    ours, theirs = tr[f"v_{watched(text)}"], np.array(stored["waveform"])
    allowed = 3 * stored["difference"] + 5e-5 * np.abs(theirs).max()
    assert np.abs(ours - theirs).max() < allowed


@pytest.mark.parametrize("name", sorted(LATCHES))
def test_positive_feedback_latches_as_in_ngspice(name):
    text = netlist(name)
    tr = dd.simulate(dd.components.from_spice(text), 1.18456e-10, rtol=1e-6, start="operating_point")
    # ngspice 39 with .tran 0.2p 400p 0 0.2p.
    latched = {"inverting_lm358": 10.97600, "precision_rectifier": 11.07591}[name]
    assert tr[f"v_{watched(text)}"][-1] == pytest.approx(latched, abs=2e-5)


@pytest.mark.parametrize("name", ["wien", pytest.param("ring_oscillator", marks=pytest.mark.wide)])
def test_oscillators_have_the_period_and_amplitude_of_ngspice(name):
    text, stored = netlist(name), KNOWN[name]
    end = sample_times(text)[-1]
    tr = dd.simulate(dd.components.from_spice(text), end, rtol=1e-6)
    assert tr.success, tr.stop_reason
    times = np.linspace(0.0, end, 40001)
    period, amplitude = rhythm(times, np.array(tr.at(times)[f"v_{watched(text)}"]))
    of_period, of_amplitude = stored["rhythm_difference"]
    assert period == pytest.approx(stored["period"], rel=3 * of_period + 1e-4)
    assert amplitude == pytest.approx(stored["amplitude"], rel=3 * of_amplitude + 1e-4)
