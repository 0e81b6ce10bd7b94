"""Classic circuits at tolerances from 1e-4 to 1e-8 by four methods, against two others at 1e-10."""

from functools import cache

import numpy as np
import pytest
from tests.components.by_ngspice import netlist, sample_times, watched

import daedalus as dd

SHARE = 21  # of the 61 sample times, from the beginning
# Inverters in a row enlarge what atol allows of a volt near zero a hundred times and more: at rtol = 1e-10 the usual
# 1e-9 V become 6e-7 V at the end of the chain, and references need less.
ATOL_OF_REFERENCES = {"cmos_chain": 1e-12}
ENOUGH = 30.0  # tolerances of the largest voltage
EVERYDAY = ("full_bridge_rectifier", "tunnel_diode")
SLOW = (
    "doubler", "zener_regulator", "class_ab", "differential_pair", "clipper", "transformer", "peak_detector",
    "darlington", "half_wave", "cascode", "emitter_follower", "cmos_nand", "multiplier", "power_mosfet_switch",
    "wilson_mirror", "jfet_amplifier", "buck", "boost", "astable", "bootstrapped_follower", "buck_boost", "charge_pump",
    "clamp", "class_ab_bd139", "common_source_j201", "ecl_gate", "optocoupler", "bandgap", "cascaded_mirror",
    "cmos_chain", "cmos_latch", "darlington_relay", "emitter_stage_2n2222", "excess_phase", "fired_thyristor",
    "flip_flop", "flyback", "foldback_regulator", "four_layer_oscillator", "full_bridge_inverter", "monostable",
    "phase_shift", "power_factor", "rtl_inverters", "schmitt", "schmitt_bc547", "sepic", "series_regulator",
    "source_follower_2n5457", "storage_time", "substrate_pair", "thyristor_dimmer", "timer", "ttl_gate",
    "warm_amplifier", "widlar", "wien", "baxandall", "boost_snubber", "brokaw", "cockcroft_walton", "crowbar",
    "folded_cascode", "gilbert", "gyrator", "half_wave_inductive", "instrumentation", "ldo", "log_amplifier", "r2r_dac",
    "sample_hold", "sram_cell", "three_phase_overlap", "bridge_1n4007", "mirror_with_products",
    "pulled_latch", "three_transistor_amplifier", "twelve_pulse_rectifier", "two_stage_cmos_opamp",
    "voltage_quadrupler", "window_comparator", "zener_current_source", "zener_surge_clamp", "baker_clamp",
    "complementary_gate_driver", "cmos_schmitt", "cuk", "half_bridge_dead_time", "steered_flip_flop", "dc_restorer",
    "diode_function_generator", "long_tailed_amplifier",
)  # fmt: skip
CIRCUITS = [*EVERYDAY, *(pytest.param(name, marks=pytest.mark.wide) for name in SLOW)]


@cache
def model(name):
    return dd.components.from_spice(netlist(name))


@cache
def waveform(name, method, rtol, atol=1e-9):
    text = netlist(name)
    times = sample_times(text)[:SHARE]
    tr = dd.simulate(model(name), times[-1], rtol=rtol, atol=atol, method=method, save_at=times)
    assert tr.success, tr.stop_reason
    return np.array(tr[f"v_{watched(text)}"])


@pytest.mark.parametrize("name", CIRCUITS)
def test_every_method_keeps_its_tolerance(name):
    atol = ATOL_OF_REFERENCES.get(name, 1e-9)
    first, second = waveform(name, "radau5", 1e-10, atol), waveform(name, "radau9", 1e-10, atol)
    largest = np.abs(first).max()
    assert np.abs(first - second).max() < 1e-7 * largest
    for method in ("auto", "radau5", "bdf", "rodas5p"):
        for rtol in (1e-4, 1e-6, 1e-8):
            off = np.abs(waveform(name, method, rtol) - second).max()
            assert off < ENOUGH * rtol * largest, (method, rtol, off / largest)
