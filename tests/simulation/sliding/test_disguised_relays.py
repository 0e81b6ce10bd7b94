"""A relay slides in the same way however its formula is written: behind divisions, products, roots, conditions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

# 2 where x > 0, else 0, of a state x, a parameter R = 1 and time t.
DISGUISES = {
    "a branch that divides": lambda x, R, t: ca.if_else(x > 0, 2 / R, 0),
    "divided": lambda x, R, t: ca.if_else(x > 0, 2, 0) / R,
    "a condition as a number": lambda x, R, t: (x > 0) * 2 / R,
    "a divisor that jumps": lambda x, R, t: 1 / ca.if_else(x > 0, R / 2, 1e12),
    "a sum as divisor": lambda x, R, t: 2 / (R + ca.if_else(x > 0, 0, 1e12)),
    "a sign": lambda x, R, t: (1 + ca.sign(x)) / R,
    "the root of a jump": lambda x, R, t: ca.sqrt(ca.if_else(x > 0, 4, 0)) / R,
    "the root of a sign": lambda x, R, t: ca.sqrt(2 + 2 * ca.sign(x)) / R,
    "a power": lambda x, R, t: 2 * ca.if_else(x > 0, 1, 0) ** 1.5 / R,
    "an exponential": lambda x, R, t: ca.exp(ca.if_else(x > 0, ca.log(2 / R), -60)),
    "a logarithm": lambda x, R, t: ca.log(ca.if_else(x > 0, ca.exp(2 / R), 1)),
    "nested": lambda x, R, t: ca.if_else(x > -5, ca.if_else(x > 0, 2 / R, 0), 0),
    "both": lambda x, R, t: ca.if_else(ca.logic_and(x > 0, x < 9), 2 / R, 0),
    "not below": lambda x, R, t: ca.if_else(ca.logic_not(x <= 0), 2 / R, 0),
    "in two terms": lambda x, R, t: ca.if_else(x > 0, 1 / R, 0) + ca.if_else(x > 0, 1, 0) / R,
    "the other branch": lambda x, R, t: 2 / R - ca.if_else(x <= 0, 2 / R, 0),
    "in other units": lambda x, R, t: ca.if_else(1e-6 * x / R > 0, 2 / R, 0),
    "a branch with a root": lambda x, R, t: ca.if_else(x > 0, 2 / R + ca.sqrt(x), 0),
    "a branch with a power": lambda x, R, t: ca.if_else(x > 0, 2 / R + x**1.5, 0),
    "a branch with a logarithm": lambda x, R, t: ca.if_else(x > 0, 2 / R + ca.log(1 + x), 0),
    "a branch with x log x": lambda x, R, t: ca.if_else(x > 0, 2 / R + x * ca.log(x), 0),
    "a branch that divides by the state": lambda x, R, t: ca.if_else(x > 0, 2 / (R + x), 0),
    "a branch that divides by time": lambda x, R, t: ca.if_else(x > 0, 2 * (1 + t) / (R + t), 0),
    "the floor of a sign": lambda x, R, t: 2 * ca.floor(0.75 + 0.5 * ca.sign(x)) / R,
    "a limit of a sign": lambda x, R, t: 2 * ca.fmax(ca.sign(x), 0) / R,
    "the size of a branch": lambda x, R, t: ca.fabs(ca.if_else(x > 0, -2 / R, 0)),
    "a limit of a branch": lambda x, R, t: ca.fmax(ca.if_else(x > 0, 2 / R, -1), 0),
    "the root of a branch with a parameter": lambda x, R, t: ca.sqrt(ca.if_else(x > 0, (2 / R) ** 2, 0)),
    "an arc of a sign": lambda x, R, t: (1 + ca.asin(ca.sign(x) * ca.sin(1.0))) / R,
}


def assert_slides(disguise: str, method: str) -> None:
    """x' = 1 - relay reaches zero at t = 1 and stays there; the relay then gives 1 in the mean."""
    m = dd.Model("relay")
    x, given, R = m.state("x", start=-1.0), m.state("given", start=0.0), m.parameter("R", 1.0)
    relay = DISGUISES[disguise](x, R, m.time)
    m.equation(m.der(x), 1 - relay)
    m.equation(m.der(given), relay)
    m.output("relay", relay)
    tr = dd.simulate(m, 3.0, method=method, time_limit=30)
    assert tr.success, tr.stop_reason
    assert float(tr["x"][-1]) == pytest.approx(0.0, abs=1e-6)
    assert float(tr["given"][-1]) == pytest.approx(2.0, abs=1e-5)
    assert float(tr["relay"][-1]) == pytest.approx(1.0, abs=1e-4)
    assert len(tr.time) < 300


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_relay_in_disguise(disguise: str) -> None:
    assert_slides(disguise, "auto")


@pytest.mark.parametrize("method", ["radau5", "bdf", "rodas5p", "tsit5"])
@pytest.mark.parametrize("disguise", list(DISGUISES)[::5])
def test_by_every_kind_of_method(disguise: str, method: str) -> None:
    assert_slides(disguise, method)


@pytest.mark.parametrize("seed", range(6))
def test_thermostats_hold_their_temperature_with_the_power_that_it_takes(seed: int) -> None:
    """C T' = heat - k C (T - outside): at the set point the heater gives k C (set - outside) in the mean."""
    rng = np.random.default_rng(seed)
    size, loss, outside, level = (
        rng.uniform(500, 2000),
        rng.uniform(0.005, 0.02),
        rng.uniform(0, 8),
        rng.uniform(15, 25),
    )
    needed = loss * size * (level - outside)
    m = dd.Model("thermostat")
    T, heat = m.state("T", start=float(level - rng.uniform(1, 5))), m.state("heat", start=0.0)
    P, C, k = (
        m.parameter("P", float(needed * rng.uniform(1.5, 4))),
        m.parameter("C", float(size)),
        m.parameter("k", loss),
    )
    on = (level > T, level - T > 0, T / level < 1, C * level > C * T)[seed % 4]
    power = (ca.if_else(on, P / C, 0), ca.if_else(on, P, 0) / C, P / ca.if_else(on, C, 1e15))[seed % 3]
    m.equation(m.der(T), power - k * (T - outside))
    m.equation(m.der(heat), C * power)
    tr = dd.simulate(m, 400.0, time_limit=30)
    assert tr.success, tr.stop_reason
    assert float(tr["T"][-1]) == pytest.approx(level, rel=1e-6)
    last = tr.at(np.array([300.0, 400.0]))["heat"]
    assert (last[1] - last[0]) / 100 == pytest.approx(needed, rel=1e-4)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_a_shunt_regulator_carries_what_is_left_over(method: str) -> None:
    """A switch across a capacitor that its own voltage closes: (12 - 5) / 20 A flow through it on average."""
    C = dd.components.electrical
    m = dd.Model("shunt regulator")
    source, ground = m.add(C.VoltageSource("source", voltage=12.0)), m.add(C.Ground("ground"))
    feed, store = m.add(C.Resistor("feed", resistance=20.0)), m.add(C.Capacitor("store", capacitance=1e-3))
    switch = m.add(C.Switch("switch", on_resistance=0.1))
    m.connect(source.plus, feed.plus)
    m.connect(feed.minus, store.plus, switch.plus)
    m.connect(source.minus, store.minus, switch.minus, ground.pin)
    m.connect(ca.if_else(store.voltage > 5, 1, 0), switch.closed)
    tr = dd.simulate(m, 0.2, method=method, start={"store.voltage": 0.0}, time_limit=30)
    assert tr.success, tr.stop_reason
    assert float(tr["store.voltage"][-1]) == pytest.approx(5.0, rel=1e-6)
    assert float(tr["switch.current"][-1]) == pytest.approx(0.35, rel=1e-6)
    assert len(tr.time) < 300
