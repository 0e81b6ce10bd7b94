"""Charge, flux, momentum and volume of storing parts: their derivatives are the currents, voltages, forces and flows.

Derivatives are differences of values between the steps, and what they are compared with is read elsewhere in the run,
so that nothing of the formula of a quantity is used twice.
"""

from __future__ import annotations

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
import pytest

import daedalus as dd

C = dd.components
E, R, T, H = C.electrical, C.rotational, C.translational, C.hydraulic
VT, LEAK = 0.025852, 1e-12


def network(*parts):
    """A model with parts, and these by name."""
    m = dd.Model("network")
    return m, [m.add(part) for part in parts]


def wave(m, size, mean=0.0, frequency=1e5):
    """A sine for a source."""
    return mean + size * ca.sin(2 * np.pi * frequency * m.time)


def shockley(v, saturation=1e-14):
    """What a junction conducts."""
    return saturation * np.expm1(v / VT) + LEAK * v


def capacitor():
    m, (source, r, c, g) = network(
        E.VoltageSource("u", voltage=5.0), E.Resistor("r", resistance=100.0), E.Capacitor("c", capacitance=1e-6),
        E.Ground("g"),
    )  # fmt: skip
    m.connect(source.plus, r.plus)
    m.connect(r.minus, c.plus)
    m.connect(c.minus, source.minus, g.pin)
    return m, 2e-4, {("c.charge",): lambda s: s["c.current"]}


def inductor():
    m, (source, r, coil, g) = network(
        E.VoltageSource("u", voltage=5.0), E.Resistor("r", resistance=100.0), E.Inductor("coil", inductance=1e-3),
        E.Ground("g"),
    )  # fmt: skip
    m.connect(source.plus, r.plus)
    m.connect(r.minus, coil.plus)
    m.connect(coil.minus, source.minus, g.pin)
    return m, 2e-5, {("coil.flux",): lambda s: s["coil.voltage"], ("coil.momentum",): lambda s: s["coil.voltage"]}


def transformer():
    m, (source, r, t, load, g) = network(
        E.VoltageSource("u", voltage=5.0), E.Resistor("r", resistance=100.0),
        E.Transformer("t", primary_inductance=1e-3, secondary_inductance=2e-3, coupling=0.6),
        E.Resistor("load", resistance=50.0), E.Ground("g"),
    )  # fmt: skip
    m.connect(source.plus, r.plus)
    m.connect(r.minus, t.primary_plus)
    m.connect(t.secondary_plus, load.plus)
    m.connect(source.minus, t.primary_minus, t.secondary_minus, load.minus, g.pin)
    sides = ("primary", "secondary")
    return m, 2e-5, {(f"t.{side}_flux",): (lambda s, own=side: s[f"t.{own}_voltage"]) for side in sides}


def coupled_coils():
    text = """t
V1 in 0 SIN(0 5 100k)
R1 in a 100
L1 a 0 1m
L2 b 0 2m
L3 c 0 3m
K1 L1 L2 0.5
K2 L2 L3 0.4
K3 L1 L3 0.3
R2 b 0 50
R3 c 0 70
"""
    m = dd.components.from_spice(text)
    (name,) = {key.rpartition(".")[0] for key in m.freeze().outputs if key.endswith(".flux_1")}
    rates = {(f"{name}.flux_{k}",): (lambda s, own=f"v_{node}": s[own]) for k, node in ((1, "a"), (2, "b"), (3, "c"))}
    return m, 2e-5, rates


def diode(**more):
    m = dd.Model("diode")
    part = E.Diode("d", saturation_current=1e-14, junction_capacitance=4e-12, transit_time=5e-9, **more)
    u, r, d, g = (
        m.add(E.VoltageSource("u", voltage=wave(m, 0.9, -0.1))), m.add(E.Resistor("r", resistance=1e3)), m.add(part),
        m.add(E.Ground("g")),
    )  # fmt: skip
    m.connect(u.plus, r.plus)
    m.connect(r.minus, d.plus)
    m.connect(d.minus, u.minus, g.pin)
    inside = "d.junction_voltage" if more else "d.voltage"
    return m, 2e-5, {("d.charge",): lambda s: s["d.current"] - shockley(s[inside])}


def resistive_diode():
    return diode(series_resistance=20.0)


def transistor(polarity="npn"):
    m, sign = dd.Model("transistor"), 1 if polarity == "npn" else -1
    part = E.Transistor(
        "q", polarity=polarity, saturation_current=1e-14, emitter_capacitance=2e-12, collector_capacitance=1e-12,
        forward_transit_time=4e-10, reverse_transit_time=1e-8, substrate_capacitance=3e-12,
    )  # fmt: skip
    u, supply = (
        m.add(E.VoltageSource("u", voltage=sign * wave(m, 0.5, 0.4))), m.add(E.VoltageSource("v", voltage=sign * 5.0))
    )  # fmt: skip
    rb, rc, q, g = (
        m.add(E.Resistor("rb", resistance=1e4)), m.add(E.Resistor("rc", resistance=1e3)), m.add(part),
        m.add(E.Ground("g")),
    )  # fmt: skip
    m.connect(u.plus, rb.plus)
    m.connect(rb.minus, q.base)
    m.connect(supply.plus, rc.plus)
    m.connect(rc.minus, q.collector)
    m.connect(u.minus, supply.minus, q.emitter, q.substrate, g.pin)

    def displaced(s):
        vbe, vbc = sign * s["q.base.voltage"], sign * (s["q.base.voltage"] - s["q.collector.voltage"])
        conducted = 1e-14 * (np.expm1(vbe / VT) / 100 + np.expm1(vbc / VT)) + LEAK * (vbe + vbc)
        return s["q.base.current"] - sign * conducted

    rates = {
        ("q.emitter_charge", "q.collector_charge"): displaced,
        ("q.substrate_charge",): lambda s: s["q.substrate.current"],
    }
    return m, 2e-5, rates


def pnp():
    return transistor("pnp")


def mosfet(polarity="n"):
    m, sign = dd.Model("mosfet"), 1 if polarity == "n" else -1
    part = E.Mosfet(
        "f", polarity=polarity, gain=1e-3, threshold=sign * 1.0, bulk="port", gate_source_capacitance=1e-12,
        gate_drain_capacitance=2e-12, bulk_saturation_current=1e-14, drain_bulk_capacitance=3e-12,
        source_bulk_capacitance=1e-12,
    )  # fmt: skip
    u, supply, rg, rd, rb, f, g = (
        m.add(E.VoltageSource("u", voltage=sign * wave(m, 2.0, 1.0))), m.add(E.VoltageSource("v", voltage=sign * 5.0)),
        m.add(E.Resistor("rg", resistance=1e4)), m.add(E.Resistor("rd", resistance=1e4)),
        m.add(E.Resistor("rb", resistance=1e5)), m.add(part), m.add(E.Ground("g")),
    )  # fmt: skip
    m.connect(u.plus, rg.plus)
    m.connect(rg.minus, f.gate)
    m.connect(supply.plus, rd.plus)
    m.connect(rd.minus, f.drain)
    m.connect(f.bulk, rb.plus)
    m.connect(u.minus, supply.minus, f.source, rb.minus, g.pin)

    def displaced(s):
        across = [sign * (s["f.bulk.voltage"] - s[f"f.{end}.voltage"]) for end in ("source", "drain")]
        return s["f.bulk.current"] - sign * sum(1e-14 * np.expm1(v / 0.02586492) + LEAK * v for v in across)

    rates = {
        ("f.gate_source_charge", "f.gate_drain_charge"): lambda s: s["f.gate.current"],
        ("f.bulk_source_charge", "f.bulk_drain_charge"): displaced,
    }
    return m, 2e-5, rates


def p_mosfet():
    return mosfet("p")


def jfet(polarity="n"):
    m, sign = dd.Model("jfet"), 1 if polarity == "n" else -1
    part = E.Jfet("f", polarity=polarity, source_capacitance=2e-12, drain_capacitance=1e-12)
    u, supply, rg, rd, f, g = (
        m.add(E.VoltageSource("u", voltage=sign * wave(m, 0.5, -1.0))), m.add(E.VoltageSource("v", voltage=sign * 5.0)),
        m.add(E.Resistor("rg", resistance=1e4)), m.add(E.Resistor("rd", resistance=1e3)), m.add(part),
        m.add(E.Ground("g")),
    )  # fmt: skip
    m.connect(u.plus, rg.plus)
    m.connect(rg.minus, f.gate)
    m.connect(supply.plus, rd.plus)
    m.connect(rd.minus, f.drain)
    m.connect(u.minus, supply.minus, f.source, g.pin)

    def displaced(s):
        across = [s["f.gate.voltage"] - s[f"f.{end}.voltage"] for end in ("source", "drain")]
        return s["f.gate.current"] - LEAK * sum(across)  # both junctions block

    return m, 2e-5, {("f.gate_source_charge", "f.gate_drain_charge"): displaced}


def p_jfet():
    return jfet("p")


def inertia():
    m, (load, drive, brake, wall) = network(
        R.Inertia("load", inertia=0.3), R.TorqueSource("drive", torque=2.0), R.Damper("brake", damping=0.4),
        R.Ground("wall"),
    )  # fmt: skip
    m.connect(load.shaft, drive.shaft, brake.shaft_a)
    m.connect(brake.shaft_b, wall.shaft)
    return m, 2.0, {("load.momentum",): lambda s: s["load.torque"]}


def rotational_spring():
    m, (load, spring, wall) = network(
        R.Inertia("load", inertia=0.3), R.Spring("spring", stiffness=3.0, rest=1.0), R.Ground("wall")
    )
    m.connect(load.shaft, spring.shaft_a)
    m.connect(spring.shaft_b, wall.shaft)
    return m, 2.0, {("spring.angle",): lambda s: s["spring.speed"], ("load.momentum",): lambda s: -s["spring.torque"]}


def mass():
    m, (load, spring, wall) = network(
        T.Mass("load", mass=0.3, gravity=9.81), T.Spring("spring", stiffness=3.0), T.Ground("wall")
    )
    m.connect(load.flange, spring.flange_a)
    m.connect(spring.flange_b, wall.flange)
    rates = {
        ("load.momentum",): lambda s: s["load.force"] - 0.3 * 9.81,
        ("spring.position",): lambda s: s["spring.velocity"],
    }
    return m, 2.0, rates


def motor(geared=False):
    words = {"resistance": 1.0, "inductance": 0.1, "constant": 0.5, "inertia": 0.02, "damping": 0.01}
    part = C.machines.GearedMotor("motor", reduction=5.0, **words) if geared else C.machines.DCMotor("motor", **words)
    m, (u, machine, g, load) = network(
        E.VoltageSource("u", voltage=12.0), part, E.Ground("g"), R.Inertia("load", inertia=0.1)
    )
    m.connect(u.plus, machine.plus)
    m.connect(u.minus, machine.minus, g.pin)
    m.connect(machine.shaft, load.shaft)
    own, back = ("motor.motor", 5.0) if geared else ("motor", 1.0)
    torque, speed = f"{own}.shaft.torque", f"{own}.speed"
    rates = {
        (f"{own}.flux",): lambda s: 12.0 - s[f"{own}.current"] - 0.5 * s[speed],
        (f"{own}.momentum",): lambda s: 0.5 * s[f"{own}.current"] - 0.01 * s[speed] + s[torque],
        ("load.momentum",): lambda s: -back * s[torque],
    }
    return m, 1.0, rates


def geared_motor():
    return motor(geared=True)


def hydraulics():
    m, (pump, line, tank, chamber, drain, air) = network(
        H.FlowSource("pump", flow=1e-3), H.Line("line", length=2.0, area=1e-4, resistance=1e7),
        H.Tank("tank", area=0.01), H.Volume("chamber", volume=1e-2, bulk_modulus=1e7),
        H.Resistance("drain", resistance=1e7), H.PressureSource("air", pressure=0.0),
    )  # fmt: skip
    m.connect(pump.a, chamber.a, line.a)
    m.connect(line.b, tank.outlet, drain.a)
    m.connect(drain.b, air.a)
    rates = {
        ("tank.volume",): lambda s: s["tank.flow"],
        ("chamber.stored_volume",): lambda s: s["chamber.a.flow"],
        ("line.momentum",): lambda s: s["line.pressure_drop"] - 1e7 * s["line.flow"],
    }
    return m, 3.0, rates


def cylinder():
    m, (pump, cylinder, load, air, out) = network(
        H.PressureSource("pump", pressure=2e6), H.Cylinder("piston", area_a=2e-3, area_b=1e-3, stroke=0.5),
        T.Mass("load", mass=50.0), H.PressureSource("air", pressure=0.0), H.Resistance("out", resistance=1e10),
    )  # fmt: skip
    inlet = m.add(H.Resistance("inlet", resistance=1e10))
    m.connect(pump.a, inlet.a)
    m.connect(inlet.b, cylinder.a)
    m.connect(cylinder.b, out.a)
    m.connect(out.b, air.a)
    m.connect(cylinder.flange, load.flange)
    rates = {
        ("piston.volume_a",): lambda s: 2e-3 * s["load.velocity"],
        ("piston.volume_b",): lambda s: -1e-3 * s["load.velocity"],
        ("load.momentum",): lambda s: 2e-3 * s["piston.pressure_a"] - 1e-3 * s["piston.pressure_b"],
    }
    return m, 0.05, rates


CASES = [
    capacitor, inductor, transformer, coupled_coils, diode, resistive_diode, transistor, pnp, mosfet, p_mosfet, jfet,
    p_jfet, inertia, rotational_spring, mass, motor, geared_motor, hydraulics, cylinder,
]  # fmt: skip


@pytest.mark.document("002", "momentum (p, h, Γ, λ), charge and volume of parts", '`tr["coil.flux"]` and others')
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_quantities_change_by_what_flows_in(case):
    m, span, rates = case()
    tr = dd.simulate(m, span, rtol=1e-9, method="radau5", start={"load.speed": 3.0} if case is inertia else None)
    assert tr.success
    times, h = np.linspace(0.05, 0.95, 37) * span, 2e-5 * span
    before, here, after = tr.at(times - h), tr.at(times), tr.at(times + h)
    named = tr.system.on_request
    for names, rate in rates.items():
        change = sum(after[name] - before[name] for name in names) / (2 * h)
        expected = rate(here)
        assert np.abs(expected).max() > 0
        assert np.abs(change - expected).max() < 2e-4 * np.abs(expected).max(), names
        assert all(name in named or name.startswith("spring.") for name in names)


def test_quantities_have_units_are_completed_and_are_drawn_on_request(tmp_path):
    m, span, _ = inductor()
    tr = dd.simulate(m, span)
    table = tr.to_xarray()
    assert table["coil.flux"].attrs["units"] == "Wb"
    assert "coil.flux" in tr._ipython_key_completions_()
    drawn = {label for axes in tr.plot().axes for label in axes.get_legend_handles_labels()[1]}
    assert not any("flux" in label or "momentum" in label for label in drawn)
    left_out = " ".join(text.get_text() for text in tr.plot().texts)
    assert "flux" not in left_out
    assert tr.plot("coil.flux").axes[0].get_ylabel() == "coil.flux [Wb]"
    plt.close("all")
    tr.save(tmp_path / "run.nc")
    again = dd.load(tmp_path / "run.nc")
    assert again.system.on_request == tr.system.on_request == ("coil.flux", "coil.momentum")
    np.testing.assert_array_equal(again["coil.flux"], tr["coil.flux"])


def test_what_varies_has_no_quantity_that_its_law_does_not_change():
    """i = C(t) v' does not charge C v; with a capacitance of parameters it does."""
    for capacitance, known in (
        (lambda m: 1e-6 * (2 + ca.sin(m.time)), False),
        (lambda m: 2 * m.parameter("k", 1e-6), True),
    ):
        m = dd.Model("varying")
        u, r = m.add(E.VoltageSource("u", voltage=1.0)), m.add(E.Resistor("r", resistance=1.0))
        c, g = m.add(E.Capacitor("c", capacitance=capacitance(m))), m.add(E.Ground("g"))
        m.connect(u.plus, r.plus)
        m.connect(r.minus, c.plus)
        m.connect(u.minus, c.minus, g.pin)
        tr = dd.simulate(m, 1e-6)
        assert ("c.charge" in tr) == known
        if known:
            assert tr["c.charge"][-1] == pytest.approx(2e-6 * tr["c.voltage"][-1])


def test_units_of_quantities_follow_from_their_formulas():
    for case in (capacitor, inductor, transformer, inertia, mass, motor, hydraulics, cylinder):
        m, _, _ = case()
        told = str(dd.check_units(m))
        assert not any(word in told for word in ("charge", "flux", "momentum", "volume_")), told


def test_reduced_and_copied_models_keep_their_quantities():
    m, span, _ = rotational_spring()
    reduced = dd.reduce(m)
    assert "load.momentum" in reduced.freeze().on_request
    tr = dd.simulate(reduced.copy(), span)
    np.testing.assert_allclose(tr["load.momentum"], 0.3 * tr["load.speed"])
