"""Diodes without a capacitance that end the current of an inductor: within femtoseconds, by every implicit method."""

from functools import cache

import numpy as np
import pytest

import daedalus as dd

DIODE = ".model dm D(IS=1e-12 N=1.2 RS=5m)\n.tran 100u 40m\n.end\n"
CHOKE = f"""choke and one diode
V1 in 0 SIN(0 325 50)
L1 in a 1m
D1 a out dm
C1 out 0 470u
R1 out 0 50
{DIODE}"""
# While all diodes block, the load hangs on their leaks.
BRIDGE = f"""choke and a bridge
V1 a b SIN(0 325 50)
L1 a a1 1m
D1 a1 p dm
D2 b p dm
D3 n a1 dm
D4 n b dm
C1 p n 470u
R1 p n 50
RG b 0 1
{DIODE}"""
SIX = f"""three phases
VA a 0 SIN(0 325 50)
VB b 0 SIN(0 325 50 0 0 -120)
VC c 0 SIN(0 325 50 0 0 120)
LA a a1 1m
LB b b1 1m
LC c c1 1m
D1 a1 p dm
D2 b1 p dm
D3 c1 p dm
D4 n a1 dm
D5 n b1 dm
D6 n c1 dm
C1 p n 470u
R1 p n 50
RN n 0 1meg
{DIODE}"""
KNEE = 0.3  # V: the diode's current is 15 nA there, and the choke's voltage nothing
TIMES = np.linspace(0.0, 0.04, 81)


@cache
def load_voltage(text, rtol, method="auto", end=0.04):
    """At the times up to the end; references are computed once."""
    times = TIMES[end >= TIMES]
    tr = dd.simulate(dd.components.from_spice(text), end, save_at=times, rtol=rtol, method=method)
    assert tr.success, tr.stop_reason
    return np.array(tr["c1.voltage"])


def by_pieces(end, inductance=1e-3, capacitance=470e-6, resistance=50.0):
    """Choke and diode with the diode's law solved for its voltage: conducting and blocking one after the other."""
    from scipy.integrate import solve_ivp

    slope, saturation = 1.2 * 8.617333262e-5 * 300.15, 1e-12

    def conducting(t, y):
        current = max(y[0], 0.0)
        voltage = slope * np.log1p(current / saturation) + 5e-3 * current
        return [(325 * np.sin(100 * np.pi * t) - voltage - y[1]) / inductance,
                (current - y[1] / resistance) / capacitance]  # fmt: skip

    def blocking(t, y):
        return [0.0, -y[1] / resistance / capacitance]

    def ends(t, y):
        return y[0]

    def begins(t, y):
        return 325 * np.sin(100 * np.pi * t) - y[1] - KNEE

    ends.terminal = begins.terminal = True
    ends.direction, begins.direction = -1, 1
    t, y, conducts, found = 0.0, [0.0, 0.0], False, []
    while t < end:
        law, event = (conducting, ends) if conducts else (blocking, begins)
        part = solve_ivp(law, (t, end), y, "LSODA", rtol=1e-8, atol=1e-10, events=event, dense_output=True)
        found.append((t, part.t[-1], part.sol))
        conducts = not conducts
        t, y = part.t[-1], [saturation * np.exp(KNEE / slope) if conducts else 0.0, part.y[1, -1]]
    return np.array([next(sol(now)[1] for a, b, sol in found if a <= now <= b) for now in TIMES if now <= end])


def test_the_voltage_behind_a_choke_is_that_of_conducting_and_blocking_pieces():
    end = TIMES[12]
    expected = by_pieces(end)
    assert np.abs(load_voltage(CHOKE, rtol=1e-8, end=end) - expected).max() < 1e-5 * expected.max()


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_every_method_passes_the_end_of_a_current(method, rtol):
    error = np.abs(load_voltage(CHOKE, rtol=rtol, method=method) - load_voltage(CHOKE, rtol=1e-9, method="radau9"))
    assert error.max() < 300 * rtol * 365


@pytest.mark.parametrize("text", [BRIDGE, pytest.param(SIX, marks=pytest.mark.wide)])
@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_loads_that_hang_on_leaks(text, method):
    expected = load_voltage(text, rtol=1e-8, method="radau5")
    for rtol in (1e-4, 1e-6):
        assert np.abs(load_voltage(text, rtol=rtol, method=method) - expected).max() < 300 * rtol * 560


def test_the_ledger_closes_over_ends_of_currents():
    tr = dd.simulate(dd.components.from_spice(BRIDGE), 0.04, rtol=1e-6)
    balance = tr.energy_balance()
    assert abs(balance.error) < 1e-4 * balance.supplied


def test_quiet_sources_are_not_stepped_over():
    # A step over a whole number of periods begins and ends at zero, as if nothing had happened.
    tr = dd.simulate(dd.components.from_spice(CHOKE), 0.04, rtol=1e-6)
    assert np.max(tr["c1.voltage"]) > 300
