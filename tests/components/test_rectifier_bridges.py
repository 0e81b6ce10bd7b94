"""Three-phase rectifiers on capacitors and chokes, where ngspice stops: by every method, at all tolerances.

With a coil in each phase and diodes without capacitances the currents of three coils meet at floating nodes (index 2),
and the potential of the whole output hangs on 1e-12 S while all diodes block.
"""

import re
from functools import cache

import numpy as np
import pytest
from tests.components.by_ngspice import netlist

import daedalus as dd

PHASES = [f"V{p.upper()} {p}0 0 SIN(0 325 50 0 0 {-120 * k})" for k, p in enumerate("abc")]
DIODES = [f"D{k} {p} p dr\nD{k + 3} n {p} dr" for k, p in enumerate("abc", 1)]
END = 0.02
# line elements, output, diode
CIRCUITS = {
    "resistances": ("R{p} {p}0 {p} 0.1", "CP p n 1000u\nRP p n 50", "IS=1e-12"),
    "capacitances": ("R{p} {p}0 {p} 0.5", "CP p n 220u\nRP p n 100\nRN n 0 1meg", "IS=7n N=1.8 RS=34m CJO=10p TT=100n"),
    "coils": ("L{p} {p}0 {p} 0.5m", "CP p n 470u\nRP p n 50", "IS=1e-12"),
}
# Rosenbrock methods do not solve index 2; with coils Radau takes very many steps at loose tolerances.
FOUR = ("auto", "radau5", "bdf", "rodas5p")
RUNS = [(name, way, rtol) for name in ("resistances", "capacitances") for way in FOUR for rtol in (1e-4, 1e-6, 1e-8)]
RUNS += [("coils", "bdf", rtol) for rtol in (1e-3, 1e-4, 1e-6, 1e-8)]
RUNS += [("coils", method, rtol) for method in ("auto", "radau5") for rtol in (1e-6, 1e-8)]
# Its steps end at volts without a number, and none of its own is short enough.
STOPS = ("resistances", "rodas5p", 1e-4)
EVERYDAY = {
    ("coils", "bdf", 1e-4),
    ("resistances", "auto", 1e-6),
    ("capacitances", "bdf", 1e-6),
}


@cache
def model(name):
    line, output, diode = CIRCUITS[name]
    cards = [
        name,
        *PHASES,
        *(line.format(p=p) for p in "abc"),
        *DIODES,
        output,
        f".model dr D({diode})",
        ".tran 20u 20m",
    ]
    return dd.components.from_spice("\n".join(cards))


@cache
def output_voltage(name, method, rtol):
    tr = dd.simulate(model(name), END, rtol=rtol, method=method, save_at=np.linspace(0.0, END, 61))
    assert tr.success, tr.stop_reason
    return np.array(tr["v_p"]) - np.array(tr["v_n"])


def marked(run):
    if run == STOPS:
        return pytest.param(*run, marks=[pytest.mark.wide, pytest.mark.xfail(strict=True, reason="it stops")])
    return run if run in EVERYDAY else pytest.param(*run, marks=pytest.mark.wide)


@pytest.mark.parametrize(("name", "method", "rtol"), [marked(run) for run in RUNS])
def test_rectifiers_keep_their_tolerance(name, method, rtol):
    exact = output_voltage(name, "bdf", 1e-9)
    assert np.abs(output_voltage(name, method, rtol) - exact).max() < 30 * rtol * np.abs(exact).max()


@pytest.mark.wide
@pytest.mark.parametrize("name", sorted(CIRCUITS))
def test_two_methods_agree_on_rectifiers(name):
    first, second = output_voltage(name, "bdf", 1e-9), output_voltage(name, "radau5", 1e-9)
    assert np.abs(first - second).max() < 1e-7 * np.abs(second).max()


@pytest.mark.parametrize("rtol", [1e-3, 1e-4])
@pytest.mark.parametrize("method", ["radau5", "radau9"])
def test_coils_never_charge_the_output_beyond_the_line(method, rtol):
    """Where currents end, drives of 10^12 passed for solutions in steps of femtoseconds: 74 kV, and no word of it."""
    tr = dd.simulate(model("coils"), END, rtol=rtol, method=method, max_steps=3000)
    assert np.array(tr["cp.voltage"]).max() < 570.0


@cache
def fired(method, rtol):
    """The load's voltage behind two of three switches that fire into a freewheeling diode."""
    times = np.linspace(0.0, 11e-3, 23)
    m = dd.components.from_spice(netlist("controlled_rectifier"))
    tr = dd.simulate(m, times[-1], rtol=rtol, method=method, save_at=times)
    assert tr.success, tr.stop_reason
    return np.array(tr["v_r"])


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, pytest.param(1e-8, marks=pytest.mark.wide)])
def test_a_switch_that_charges_a_junction_faster_than_time_resolves(method, rtol):
    """10 pF through 15 mΩ, 120 V ahead: the diode's current grows by e within 3e-17 s, and 2.5 ms after the start two
    times are 4e-19 s apart. Then its charge decays over nanoseconds, so no rest lies between."""
    reference = fired("radau9", 1e-8)
    assert np.abs(fired(method, rtol) - reference).max() < 5 * rtol * np.abs(reference).max()


def test_pivots_are_kept_while_refinement_makes_up_for_them():
    """16 choices for 870 factorisations, where each answer with lost digits used to cost one: 27 for 902.

    The diodes of this bridge change by twelve powers of ten at each commutation.
    """
    lines = [f"V{p} {p} 0 SIN(0 325 50 0 0 {-120 * k})\nD{p}1 {p} p dm\nD{p}2 n {p} dm" for k, p in enumerate("abc")]
    load = "L1 p q 50m\nR1 q n 10\nR2 n 0 1meg\n.model dm D(IS=1e-12 RS=10m N=1.2 CJO=100p)"
    m = dd.components.from_spice("\n".join(["three-phase bridge", *lines, load, ".tran 0.12m 60m", ".end"]))
    tr = dd.simulate(m, 0.06, rtol=1e-2, method="bdf")
    assert tr.success
    chosen = int(re.search(r"pivots chosen (\d+) times", str(tr.work.linear))[1])
    assert chosen < 23
    assert tr.work.factorisations > 40 * chosen
