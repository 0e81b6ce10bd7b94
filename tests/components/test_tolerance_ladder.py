"""Classic circuits at tolerances from 1e-4 to 1e-8 by four methods, against two others at 1e-10."""

from functools import cache

import numpy as np
import pytest
from tests.components.by_ngspice import netlist, sample_times, watched

import daedalus as dd

SHARE = 21  # of the 61 sample times, from the beginning
ENOUGH = 30.0  # tolerances of the largest voltage
EVERYDAY = ("full_bridge_rectifier", "tunnel_diode")
SLOW = (
    "doubler", "zener_regulator", "class_ab", "differential_pair", "clipper", "transformer", "peak_detector",
    "darlington", "half_wave", "cascode", "emitter_follower", "cmos_nand", "multiplier", "power_mosfet_switch",
    "wilson_mirror", "jfet_amplifier", "buck", "boost", "astable", "bootstrapped_follower", "buck_boost", "charge_pump",
    "clamp", "class_ab_bd139", "common_source_j201", "ecl_gate", "optocoupler",
)  # fmt: skip
# Junctions with capacitances: what stands before the derivatives depends on the voltages.
NOT_BY_RODAS = {
    "differential_pair", "clipper", "peak_detector", "half_wave", "cascode", "emitter_follower", "power_mosfet_switch",
    "wilson_mirror", "jfet_amplifier", "astable", "bootstrapped_follower", "buck_boost", "class_ab_bd139",
    "common_source_j201", "ecl_gate", "optocoupler",
}  # fmt: skip
CIRCUITS = [*EVERYDAY, *(pytest.param(name, marks=pytest.mark.wide) for name in SLOW)]


@cache
def model(name):
    return dd.components.from_spice(netlist(name))


@cache
def waveform(name, method, rtol):
    text = netlist(name)
    times = sample_times(text)[:SHARE]
    tr = dd.simulate(model(name), times[-1], rtol=rtol, method=method, save_at=times)
    assert tr.success, tr.stop_reason
    return np.array(tr[f"v_{watched(text)}"])


@pytest.mark.parametrize("name", CIRCUITS)
def test_every_method_keeps_its_tolerance(name):
    first, second = waveform(name, "radau5", 1e-10), waveform(name, "radau9", 1e-10)
    largest = np.abs(first).max()
    assert np.abs(first - second).max() < 1e-7 * largest
    for method in ("auto", "radau5", "bdf", "rodas5p"):
        if method == "rodas5p" and name in NOT_BY_RODAS:
            continue
        for rtol in (1e-4, 1e-6, 1e-8):
            off = np.abs(waveform(name, method, rtol) - second).max()
            assert off < ENOUGH * rtol * largest, (method, rtol, off / largest)


@pytest.mark.wide
@pytest.mark.parametrize("name", sorted(NOT_BY_RODAS))
def test_rosenbrock_methods_refuse_masses_that_move(name):
    with pytest.raises(dd.InputError, match="does not fit this model"):
        dd.simulate(model(name), 1e-9, method="rodas5p")
