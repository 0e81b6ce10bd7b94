"""Circuits put together from parts in Python, with cards by `from_card`, run as their netlists do."""

import numpy as np
import pytest
from tests.components.by_ngspice import FOLDER, netlist, sample_times, watched
from tests.components.circuit_of_parts import circuit_of_parts, is_plain

import daedalus as dd

EVERYDAY = {"half_wave", "emitter_follower", "jfet_amplifier", "zener_regulator"}
PLAIN = [file.stem for file in sorted(FOLDER.glob("*.cir")) if is_plain(file.stem)]
ALL = [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.wide) for name in PLAIN]
# Gates in a row enlarge what the usual atol of 1e-9 V allows of voltages near zero: both runs were up to 4e-7 off.
ATOL = {"domino_gate": 1e-12}
SHARE = 21  # of the 61 sample times, from the beginning


def test_there_are_many():
    assert len(PLAIN) >= 30
    assert set(PLAIN) >= EVERYDAY


@pytest.mark.parametrize("name", ALL)
def test_parts_run_as_their_netlist(name):
    text = netlist(name)
    times, node = sample_times(text)[:SHARE], watched(text)
    m, voltages = circuit_of_parts(name)
    tolerances = {"rtol": 1e-8, "atol": ATOL.get(name, 1e-9)}
    ours = dd.simulate(m, times[-1], **tolerances, save_at=times, start="operating_point")
    theirs = dd.simulate(dd.components.from_spice(text), times[-1], **tolerances, save_at=times)
    assert ours.success, ours.stop_reason
    found, expected = np.array(ours[voltages[node]]), np.array(theirs[f"v_{node}"])
    assert np.abs(found - expected).max() < 3e-7 * np.abs(expected).max()
