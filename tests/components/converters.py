"""Converters of ideal switches and piecewise linear diodes at nodes without capacitance, by node names."""

import casadi as ca

import daedalus as dd

C = dd.components.electrical
ON, OFF = 1e-3, 1e-6  # ohm and S of switches and diodes


class Net:
    """A circuit written as parts between named nodes; "0" is the ground."""

    def __init__(self, name):
        self.m, self.nodes = dd.Model(name), {}

    def add(self, part, **ends):
        handle = self.m.add(part)
        for port, node in ends.items():
            self.nodes.setdefault(node, []).append(getattr(handle, port))
        return handle

    def two(self, part, plus, minus):
        return self.add(part, plus=plus, minus=minus)

    def switch(self, name, plus, minus, closed):
        handle = self.two(C.Switch(name, on_resistance=ON, off_conductance=OFF), plus, minus)
        self.m.connect(closed, handle.closed)
        return handle

    def diode(self, name, plus, minus):
        return self.two(C.Diode(name, on_resistance=ON, off_conductance=OFF), plus, minus)

    def source(self, name, plus, minus, voltage):
        return self.two(C.VoltageSource(name, voltage=voltage), plus, minus)

    def coil(self, name, plus, minus, inductance):
        return self.two(C.Inductor(name, inductance=inductance), plus, minus)

    def capacitor(self, name, plus, minus, capacitance):
        return self.two(C.Capacitor(name, capacitance=capacitance), plus, minus)

    def load(self, name, plus, minus, resistance):
        return self.two(C.Resistor(name, resistance=resistance), plus, minus)

    def done(self):
        self.nodes["0"].append(self.m.add(C.Ground("ground")).pin)
        for node, ports in self.nodes.items():
            self.m.connect(*ports)
            if node != "0":
                self.m.output(f"v_{node}", ports[0].voltage)
        return self.m


def clock(m, period, duty, kind="time", delay=0.0):
    """A gate of given duty: a formula of time, in which the duty may be a parameter or discrete, or set by clocks."""
    if kind in ("parameter", "discrete"):
        duty = m.parameter("duty", duty) if kind == "parameter" else m.discrete("duty", start=duty)
    if kind != "clock":
        late = (m.time - delay) / period
        return late - ca.floor(late) < duty
    name = f"gate_{len(m.variables)}"
    gate = m.discrete(name, start=0.0)
    m.every(period, {name: 1.0}, offset=delay, name=f"{name}_on")
    m.every(period, {name: 0.0}, offset=delay + duty * period, name=f"{name}_off")
    return gate


T = 1e-5


def buck(duty=0.4, load=5.0, kind="time"):
    n = Net("buck")
    n.source("vin", "in", "0", 24.0)
    n.switch("s1", "in", "x", clock(n.m, T, duty, kind))
    n.diode("d1", "0", "x")
    n.coil("l1", "x", "out", 1e-4)
    n.capacitor("c1", "out", "0", 2e-5)
    n.load("r1", "out", "0", load)
    return n.done()


def boost(duty=0.5, load=20.0, kind="time"):
    n = Net("boost")
    n.source("vin", "in", "0", 12.0)
    n.coil("l1", "in", "x", 1e-4)
    n.switch("s1", "x", "0", clock(n.m, T, duty, kind))
    n.diode("d1", "x", "out")
    n.capacitor("c1", "out", "0", 2e-5)
    n.load("r1", "out", "0", load)
    return n.done()


def buck_boost(duty=0.4, load=10.0, kind="time"):
    n = Net("buck-boost")
    n.source("vin", "in", "0", 12.0)
    n.switch("s1", "in", "x", clock(n.m, T, duty, kind))
    n.coil("l1", "x", "0", 1e-4)
    n.diode("d1", "out", "x")
    n.capacitor("c1", "out", "0", 2e-5)
    n.load("r1", "out", "0", load)
    return n.done()


def flyback(duty=0.4, load=10.0, kind="time", coupling=None):
    """An ideal transformer behind a magnetising inductance, or coupled coils with leakage."""
    n = Net("flyback")
    n.source("vin", "in", "0", 24.0)
    n.switch("s1", "x", "0", clock(n.m, T, duty, kind))
    if coupling is None:
        n.coil("lm", "in", "x", 1e-4)
        part = C.Transformer("t1", ratio=0.5)
    else:
        part = C.Transformer("t1", primary_inductance=1e-4, secondary_inductance=2.5e-5, coupling=coupling)
    n.add(part, primary_plus="in", primary_minus="x", secondary_plus="0", secondary_minus="y")
    n.diode("d1", "y", "out")
    n.capacitor("c1", "out", "0", 5e-5)
    n.load("r1", "out", "0", load)
    return n.done()


def sepic(duty=0.5, load=20.0, kind="time"):
    n = Net("sepic")
    n.source("vin", "in", "0", 12.0)
    n.coil("l1", "in", "x", 1e-4)
    n.switch("s1", "x", "0", clock(n.m, T, duty, kind))
    n.capacitor("cx", "x", "y", 5e-6)
    n.coil("l2", "y", "0", 1e-4)
    n.diode("d1", "y", "out")
    n.capacitor("c1", "out", "0", 2e-5)
    n.load("r1", "out", "0", load)
    return n.done()


def cuk(duty=0.4, load=10.0, kind="time"):
    n = Net("cuk")
    n.source("vin", "in", "0", 12.0)
    n.coil("l1", "in", "x", 1e-4)
    n.switch("s1", "x", "0", clock(n.m, T, duty, kind))
    n.capacitor("cx", "x", "y", 5e-6)
    n.diode("d1", "y", "0")
    n.coil("l2", "y", "out", 1e-4)
    n.capacitor("c1", "out", "0", 2e-5)
    n.load("r1", "out", "0", load)
    return n.done()


def full_bridge(duty=0.5, kind="time"):
    """Four switches with diodes beside them, an inductive load: square wave; no dead time, then with."""
    n = Net("full bridge")
    n.source("vin", "in", "0", 100.0)
    a, b = clock(n.m, 1e-3, duty, kind), clock(n.m, 1e-3, duty, kind, delay=0.5e-3)
    for name, plus, minus, gate in (("1", "in", "a", a), ("2", "a", "0", b), ("3", "in", "b", b), ("4", "b", "0", a)):
        n.switch(f"s{name}", plus, minus, gate)
        n.diode(f"d{name}", minus, plus)
    n.coil("l1", "a", "m", 2e-3)
    n.load("r1", "m", "b", 5.0)
    return n.done()


def rectifier_six_pulse(inductance=0.05, resistance=10.0, source_inductance=None):
    """Six diodes on three phases of 400 V between lines, 50 Hz, with a smoothing coil."""
    n = Net("six-pulse rectifier")
    for k, phase in enumerate("abc"):
        wave = 400 * (2 / 3) ** 0.5 * ca.sin(2 * ca.pi * 50 * n.m.time - 2 * ca.pi * k / 3)
        n.source(f"v{phase}", phase if source_inductance is None else f"s{phase}", "0", wave)
        if source_inductance is not None:
            n.coil(f"l{phase}", f"s{phase}", phase, source_inductance)
        n.diode(f"d{phase}1", phase, "p")
        n.diode(f"d{phase}2", "n", phase)
    n.coil("l1", "p", "q", inductance)
    n.load("r1", "q", "n", resistance)
    return n.done()


def inverter_three_phase(kind="time"):
    """Six switches at 180 degrees each with diodes beside them, a star of coils and resistors."""
    n = Net("three-phase inverter")
    period = 0.02
    n.source("vin", "p", "0", 300.0)
    for k, phase in enumerate("abc"):
        upper = clock(n.m, period, 0.5, kind, delay=k * period / 3)
        lower = clock(n.m, period, 0.5, kind, delay=(k / 3 - 0.5) * period if k / 3 >= 0.5 else (k / 3 + 0.5) * period)
        n.switch(f"s{phase}1", "p", phase, upper)
        n.switch(f"s{phase}2", phase, "0", lower)
        n.diode(f"d{phase}1", phase, "p")
        n.diode(f"d{phase}2", "0", phase)
        n.coil(f"l{phase}", phase, f"m{phase}", 0.01)
        n.load(f"r{phase}", f"m{phase}", "star", 5.0)
    return n.done()


def power_factor(duty=0.45, kind="time"):
    """A boost converter behind a bridge of diodes at fixed duty."""
    n = Net("power factor")
    n.source("vin", "a", "b", 100 * ca.sin(2 * ca.pi * 50 * n.m.time))
    for name, plus, minus in (("1", "a", "p"), ("2", "b", "p"), ("3", "0", "a"), ("4", "0", "b")):
        n.diode(f"d{name}", plus, minus)
    n.coil("l1", "p", "x", 5e-4)
    n.switch("s1", "x", "0", clock(n.m, 1e-4, duty, kind))
    n.diode("d5", "x", "out")
    n.capacitor("c1", "out", "0", 1e-3)
    n.load("r1", "out", "0", 100.0)
    return n.done()
