"""The ledger against closed forms: sources between the rows, sliding runs, instants, windows, thinned rows."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

C = dd.components.electrical


def fed(voltage: object, parts: list, inputs: bool = False) -> tuple[dd.Model, list]:
    """Parts in series on a source."""
    m = dd.Model("fed")
    u = m.input("u") if inputs else voltage(m.time)  # type: ignore[operator]
    source, ground = m.add(C.VoltageSource("source", voltage=u)), m.add(C.Ground("ground"))
    row = [m.add(part) for part in parts]
    m.connect(source.plus, row[0].plus)
    for left, right in pairwise(row):
        m.connect(left.minus, right.plus)
    m.connect(row[-1].minus, source.minus, ground.pin)
    return m, row


def sine_energy(amplitude: float, w: float, duration: float) -> float:
    return amplitude**2 * (duration / 2 - math.sin(2 * w * duration) / (4 * w))


@pytest.mark.parametrize("seed", range(6))
def test_a_sine_on_a_resistor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    amplitude, w, duration, ohm = rng.uniform(1, 10), rng.uniform(3, 2000), rng.uniform(0.3, 10), rng.uniform(0.5, 5)
    exact = sine_energy(amplitude, w, duration) / ohm
    m, _ = fed(lambda t: amplitude * ca.sin(w * t), [C.Resistor("r", resistance=ohm)])
    balance = dd.simulate(m, duration).energy_balance()
    assert balance.lost == pytest.approx(exact, rel=1e-8)
    assert abs(balance.supplied - exact) <= abs(balance.error) + 1e-12 * exact

    given, _ = fed(None, [C.Resistor("r", resistance=ohm)], inputs=True)

    def called(t: float) -> float:  # math.sin of a symbol fails: it is called, not traced
        return amplitude * math.sin(w * t)

    balance = dd.simulate(given, duration, inputs={"u": called}).energy_balance()
    assert balance.lost == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize("kind", ["hold", "linear"])
def test_tables_between_the_rows(kind: str) -> None:
    rng = np.random.default_rng(3)
    times = np.concatenate([[0.0], np.sort(rng.uniform(0, 2, 40)), [2.0]])
    values = rng.uniform(-1, 1, len(times))
    m, _ = fed(None, [C.Resistor("r", resistance=2.0)], inputs=True)
    balance = dd.simulate(m, 2.0, inputs={"u": dd.signal(times, values, kind=kind)}).energy_balance()
    a, b, h = values[:-1], values[1:], np.diff(times)
    exact = np.sum(h * a**2) if kind == "hold" else np.sum(h * (a * a + a * b + b * b) / 3)
    assert balance.lost == pytest.approx(exact / 2, rel=1e-10)
    assert abs(balance.error) < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_a_choke_and_a_resistor_on_a_sine(seed: int) -> None:
    rng = np.random.default_rng(10 + seed)
    R, L, w = rng.uniform(0.5, 4), rng.uniform(0.001, 0.1), rng.uniform(50, 800)
    m, _ = fed(lambda t: ca.sin(w * t), [C.Resistor("r", resistance=R), C.Inductor("l", inductance=L)])
    tr = dd.simulate(m, 0.5, start={"l.current": 0.0}, rtol=1e-9, atol=1e-12)
    balance = tr.energy_balance()
    fine = np.linspace(0, 0.5, 400_001)
    z2, tau = R * R + (w * L) ** 2, L / R
    current = (R * np.sin(w * fine) - w * L * np.cos(w * fine) + w * L * np.exp(-fine / tau)) / z2
    lost = float(np.trapezoid(R * current**2, fine))
    assert balance.lost == pytest.approx(lost, rel=1e-7)
    assert balance.stored == pytest.approx(0.5 * L * current[-1] ** 2, rel=1e-6)
    assert abs(balance.error) < 1e-7 * balance.supplied


def relay(volt: float, level: float, load: float) -> dd.Model:
    m = dd.Model("relay")
    c, r = m.add(C.Capacitor("c", capacitance=1.0)), m.add(C.Resistor("r", resistance=1.0))
    out, ground = m.add(C.Resistor("load", resistance=load)), m.add(C.Ground("ground"))
    s = m.add(C.VoltageSource("s", voltage=volt * ca.if_else(c.voltage < level, 1.0, 0.0)))
    m.connect(s.plus, r.plus)
    m.connect(r.minus, c.plus, out.plus)
    m.connect(s.minus, c.minus, out.minus, ground.pin)
    return m


@pytest.mark.parametrize(("volt", "level", "load"), [(2.0, 1.0, 2.0), (5.0, 1.2, 1.0), (3.0, 0.4, 7.0)])
def test_a_source_feeds_while_the_run_slides(volt: float, level: float, load: float, tmp_path: Path) -> None:
    tr = dd.simulate(relay(volt, level, load), 4.0, start={"c.voltage": level})
    share = (level / load + level) / volt  # of the time that the source is on
    supplied = 4.0 * share * volt * (volt - level)
    balance = tr.energy_balance()
    assert balance.supplied == pytest.approx(supplied, rel=1e-6)
    assert abs(balance.error) < 1e-8 * supplied
    assert float(tr.power()["supplied"].sel(component="s")[-1]) == pytest.approx(supplied / 4.0, rel=1e-6)
    tr.save(tmp_path / "run.nc")
    assert dd.load(tmp_path / "run.nc").energy_balance().supplied == pytest.approx(balance.supplied, rel=1e-9)


def test_sign_and_conditions_in_a_source() -> None:
    m, _ = fed(
        lambda t: 2.0 * ca.sign(ca.sin(7.0 * t)) + ca.if_else(t > 0.7, 1.0, 0.0), [C.Resistor("r", resistance=1.0)]
    )
    fine = (np.arange(2_000_000) + 0.5) / 1_000_000
    exact = float(np.mean((2 * np.sign(np.sin(7 * fine)) + (fine > 0.7)) ** 2) * 2.0)
    balance = dd.simulate(m, 2.0).energy_balance()
    assert balance.lost == pytest.approx(exact, rel=1e-5)
    assert abs(balance.error) < 1e-8


def test_what_a_clock_takes_at_once_is_lost() -> None:
    T = dd.components.translational
    m = dd.Model("braked by a clock")
    mass = m.add(T.Mass("mass", mass=2.0))
    m.every(1.0, {"mass.velocity": 0.5 * mass.velocity}, offset=0.5)
    balance = dd.simulate(m, 2.0, start={"mass.velocity": 4.0}).energy_balance()
    assert balance.lost == pytest.approx(16.0 - 1.0, rel=1e-9)
    assert abs(balance.error) < 1e-9


def test_windows_add_up_and_rows_left_out_change_nothing() -> None:
    pulse = lambda t: 10.0 * ca.if_else(ca.fmod(t, 0.01) < 0.004, 1.0, 0.0)  # noqa: E731
    m, _ = fed(pulse, [C.Resistor("r", resistance=1.0), C.Inductor("l", inductance=0.02)])
    tr = dd.simulate(m, 0.1, start={"l.current": 0.0})
    whole, edges = tr.energy_balance(), [0.0, 0.0137, 0.04, 0.0999, 0.1]
    parts = [tr.energy_balance(from_time=a, until=b) for a, b in pairwise(edges)]
    for kind in ("supplied", "stored", "lost"):
        assert sum(getattr(part, kind) for part in parts) == pytest.approx(getattr(whole, kind), rel=1e-9)
    thin = dd.simulate(m, 0.1, start={"l.current": 0.0}, save_at=[0.0, 0.1]).energy_balance()
    assert thin.supplied == pytest.approx(whole.supplied, rel=1e-12)
    assert float(thin.components["lost"].sel(component="r")) == pytest.approx(whole.lost, rel=1e-12)
    with pytest.raises(dd.InputError, match="does not reach"):
        tr.energy_balance(from_time=0.2)
    with pytest.raises(dd.InputError, match="from_time is after until"):
        tr.energy_balance(from_time=0.05, until=0.01)
