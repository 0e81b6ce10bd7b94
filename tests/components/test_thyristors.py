"""Thyristors as parts: phase control against closed forms, by every method."""

import casadi as ca
import numpy as np
import pytest
from tests.components.converters import OFF, ON, C, Net, clock

import daedalus as dd

PERIOD = 0.02


def thyristor(net, name, plus, minus, gate, **options):
    part = net.two(C.Thyristor(name, on_resistance=ON, off_conductance=OFF, **options), plus, minus)
    net.m.connect(gate, part.gate)
    return part


def dimmer(angle, inductance=1e-5, resistance=10.0):
    """Two thyristors in antiparallel, each fired for 18 degrees at an angle behind its zero of the voltage."""
    n = Net("dimmer")
    n.source("v", "a", "0", 325 * ca.sin(2 * ca.pi * 50 * n.m.time))
    for k, ends in enumerate((("a", "b"), ("b", "a"))):
        gate = clock(n.m, PERIOD, 0.05, delay=(angle / 360 + 0.5 * k) * PERIOD)
        thyristor(n, f"t{k}", *ends, gate)
    n.coil("l1", "b", "c", inductance)
    n.load("r1", "c", "0", resistance)
    return n.done()


@pytest.mark.parametrize(
    ("method", "angle", "rtol"),
    [("auto", 45, 1e-6), ("auto", 90, 1e-4), ("radau5", 60, 1e-4), ("bdf", 60, 1e-6), ("rodas5p", 120, 1e-6)],
)
def test_the_voltage_of_a_dimmer_is_that_of_its_angle(method, angle, rtol):
    """V = V̂ / √2 · √(1 − α/π + sin 2α / 2π); every half wave fires once and goes out once."""
    tr = dd.simulate(dimmer(angle), 2 * PERIOD, start={"l1.current": 0.0}, rtol=rtol, method=method)
    assert tr.success, tr.stop_reason
    voltage = tr.at(PERIOD * (1 + (np.arange(20000) + 0.5) / 20000))["r1.voltage"]
    a = np.radians(angle)
    expected = 325 / 2**0.5 * (1 - a / np.pi + np.sin(2 * a) / (2 * np.pi)) ** 0.5
    assert np.sqrt(np.mean(voltage**2)) == pytest.approx(expected, rel=1e-3)
    told = [(event.name, event.time) for event in tr.events if event.time > 0]
    wave = ["t0.fire", "t0.extinguish", "t1.fire", "t1.extinguish"]
    assert [name for name, _ in told] == [*wave, *wave[:3]]
    assert told[1][1] == pytest.approx(PERIOD / 2, rel=1e-3)


def test_a_thyristor_conducts_until_its_extinction_angle():
    """R-L load: i = V̂/Z (sin(ωt − φ) − sin(α − φ) e^(−(ωt − α)/tan φ)) until it is zero again."""
    angle, inductance = 60, 0.02
    tr = dd.simulate(dimmer(angle, inductance), PERIOD, start={"l1.current": 0.0}, rtol=1e-7)
    assert tr.success, tr.stop_reason
    reactance = 2 * np.pi * 50 * inductance
    phi, a = np.arctan(reactance / 10.0), np.radians(angle)
    x = np.linspace(a + 0.01, a + np.pi + 0.5, 400001)
    current = np.sin(x - phi) - np.sin(a - phi) * np.exp(-(x - a) / np.tan(phi))
    ends = x[np.flatnonzero((current[:-1] > 0) & (current[1:] <= 0))[0]]
    out = next(event.time for event in tr.events if event.name == "t0.extinguish")
    assert out == pytest.approx(ends / (2 * np.pi * 50), rel=2e-4)


def test_a_holding_current_puts_it_out_early():
    n = Net("ramp")
    n.source("v", "a", "0", 10 - 8 * n.m.time)
    thyristor(n, "t1", "a", "b", n.m.time < 0.1, holding_current=0.25)
    n.load("r1", "b", "0", 10.0)
    tr = dd.simulate(n.done(), 1.5)
    assert tr.success, tr.stop_reason
    (out,) = [event.time for event in tr.events if event.name == "t1.extinguish"]
    assert out == pytest.approx((10 - 0.25 * (10 + ON)) / 8, rel=1e-6)
    assert float(tr.end["r1.current"]) == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize(
    "angle", [30, pytest.param(0, marks=pytest.mark.wide), pytest.param(60, marks=pytest.mark.wide)]
)
def test_a_controlled_bridge_gives_the_cosine_of_its_angle(angle):
    """Six thyristors on three phases: V = 3 √2 / π V_LL cos α."""
    n = Net("controlled bridge")
    for k, phase in enumerate("abc"):
        wave = 400 * (2 / 3) ** 0.5 * ca.sin(2 * ca.pi * 50 * n.m.time - 2 * ca.pi * k / 3)
        n.source(f"v{phase}", phase, "0", wave)
        for upper in (True, False):
            at = (30 + 120 * k + angle + (0 if upper else 180)) % 360
            ends = (phase, "p") if upper else ("n", phase)
            thyristor(n, f"t{phase}{1 if upper else 2}", *ends, clock(n.m, PERIOD, 1 / 3, delay=at / 360 * PERIOD))
    n.coil("l1", "p", "q", 0.05)
    n.load("r1", "q", "n", 10.0)
    expected = 3 * 2**0.5 / np.pi * 400 * np.cos(np.radians(angle))
    tr = dd.simulate(n.done(), 2 * PERIOD, start={"l1.current": expected / 10}, rtol=1e-6)
    assert tr.success, tr.stop_reason
    times = PERIOD * (1 + (np.arange(6000) + 0.5) / 6000)
    at = tr.at(times)
    assert np.mean(at["v_q"] - at["v_n"]) == pytest.approx(expected, rel=1e-3)
    balance = tr.energy_balance()
    assert abs(balance.error) < 1e-5 * balance.supplied
