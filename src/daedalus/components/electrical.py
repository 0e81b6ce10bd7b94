"""Electrical parts: ports share a voltage, currents balance. Two-pole parts have `voltage` (plus − minus) and `current`
(into plus), so that their product is the power in; a source that delivers has a negative current.
"""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import casadi as ca

from daedalus.components.poles import HEAT, Meter, losses, two_pole
from daedalus.errors import ModelError
from daedalus.model.assembly.component import Component, Keyword

__all__ = [
    "Capacitor", "CurrentSensor", "CurrentSource", "Diode", "Ground", "Inductor", "Mosfet", "OpAmp", "Resistor",
    "Switch", "Transformer", "Transistor", "VoltageSensor", "VoltageSource",
]  # fmt: skip

_LEAK = Keyword("S", 0.0, "not negative", nominal=1e-9)
THERMAL_VOLTAGE = 0.025852  # k T / q at 300 K, in V


class _Electrical(Component):
    domain: ClassVar[str] = "electrical"


class Ground(_Electrical):
    """The point of zero voltage; every network needs one. Port `pin`."""

    ideal = True

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        m.equation(m.port("pin", "electrical").voltage, 0, name="zero")


class Resistor(_Electrical):
    """current = voltage / resistance. With `heat=True` the loss leaves at the port `heat` instead of being lost."""

    keywords = {"resistance": Keyword("ohm", needs="positive"), "heat": HEAT}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        voltage, _, current = two_pole(m, "electrical")
        m.equation(current, voltage / q.resistance, name="Ohm")
        losses(m, voltage * current, q.heat)


class Capacitor(_Electrical):
    """current = capacitance · voltage'. The state is `voltage`."""

    keywords = {"capacitance": Keyword("F", needs="positive")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        voltage, _, current = two_pole(m, "electrical", relative="state")
        m.equation(current, q.capacitance * m.der(voltage), name="charge")
        m.stored(0.5 * q.capacitance * voltage**2)


class Inductor(_Electrical):
    """voltage = inductance · current'. The state is `current`."""

    keywords = {"inductance": Keyword("H", needs="positive")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        voltage, _, current = two_pole(m, "electrical", through="state")
        m.equation(q.inductance * m.der(current), voltage, name="flux")
        m.stored(0.5 * q.inductance * current**2)


class VoltageSource(_Electrical):
    """Holds plus − minus at a voltage: a number, an expression, or an input symbol of the model."""

    ideal = True
    keywords = {"voltage": Keyword("V")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        plus, minus = m.port("plus", "electrical"), m.port("minus", "electrical")
        current = m.algebraic("current", unit="A")
        m.equation(plus.voltage - minus.voltage, q.voltage, name="voltage")
        m.equation(current, plus.current, name="current in")
        m.equation(current + minus.current, 0, name="current out")


class CurrentSource(_Electrical):
    """Drives a current into plus, through itself and out of minus, as in SPICE."""

    ideal = True
    keywords = {"current": Keyword("A")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        plus, minus = m.port("plus", "electrical"), m.port("minus", "electrical")
        voltage = m.algebraic("voltage", unit="V")
        m.equation(voltage, plus.voltage - minus.voltage, name="voltage")
        m.equation(plus.current, q.current, name="current in")
        m.equation(minus.current + q.current, 0, name="current out")


class Diode(_Electrical):
    """A diode from plus to minus, by Shockley's law or piecewise linear.

    Shockley: current = saturation_current (exp(voltage / thermal_voltage) − 1) + conductance · voltage.
    Piecewise: `on_resistance` above `threshold`, `off_conductance` below it; continuous at the threshold, where a run
    locates the change.
    """

    keywords = {
        "saturation_current": Keyword("A", None, "positive"),
        "thermal_voltage": Keyword("V", None, "positive"),
        "conductance": _LEAK,
        "on_resistance": Keyword("ohm", None, "positive"),
        "off_conductance": Keyword("S", None, "not negative"),
        "threshold": Keyword("V", 0.0),
        "heat": HEAT,
    }

    def _check(self) -> None:
        exponential = self.values["saturation_current"] is not None
        if exponential == (self.values["on_resistance"] is not None):
            raise ModelError(
                f"Diode {self.name!r} is neither exponential nor piecewise linear, or both.",
                "saturation_current= belongs to the one, on_resistance= to the other",
                because="a diode has one law.",
                remedy="saturation_current=1e-14, or on_resistance=0.01 with off_conductance=1e-9",
            )
        if exponential and self.values["thermal_voltage"] is None:
            self.values["thermal_voltage"] = THERMAL_VOLTAGE
        if not exponential and self.values["off_conductance"] is None:
            self.values["off_conductance"] = 1e-9
        leaks = [self.values[word] for word in ("off_conductance", "conductance")]
        if not exponential and all(isinstance(leak, numbers.Real) and leak == 0 for leak in leaks):
            raise ModelError(
                f"Diode {self.name!r} is quite open below its threshold.",
                f"off_conductance={leaks[0]}, conductance={leaks[1]}",
                because="an inductor in series would have no voltage then: the index would change with the diode.",
                remedy="off_conductance=1e-9",
            )

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        voltage, _, current = two_pole(m, "electrical")
        if q.saturation_current is not None:
            law = q.saturation_current * (ca.exp(voltage / q.thermal_voltage) - 1) + q.conductance * voltage
        else:
            over = voltage - q.threshold
            law = ca.if_else(over > 0, over / q.on_resistance, q.off_conductance * over) + q.conductance * voltage
            law = law + q.off_conductance * q.threshold
        m.equation(current, law, name="law")
        losses(m, voltage * current, q.heat)


class Switch(_Electrical):
    """A switch: closed where the signal `closed` is above one half. Never quite open nor short: the index stays."""

    keywords = {
        "on_resistance": Keyword("ohm", 1e-3, "positive"),
        "off_conductance": Keyword("S", 1e-9, "positive"),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        voltage, _, current = two_pole(m, "electrical")
        closed = m.signal_input("closed")
        conductance = ca.if_else(closed > 0.5, 1 / q.on_resistance, q.off_conductance)
        m.equation(current, conductance * voltage, name="law")
        m.lost(voltage * current)


class Transistor(_Electrical):
    """A bipolar transistor after Ebers and Moll, in transport form; `polarity` "npn" or "pnp".

    collector current  I_s (e^(v_be / v_t) − e^(v_bc / v_t)) − I_s / reverse_gain (e^(v_bc / v_t) − 1)
    base current       I_s / forward_gain (e^(v_be / v_t) − 1) + I_s / reverse_gain (e^(v_bc / v_t) − 1)

    Ports base, collector, emitter. `conductance` lies across both junctions, as gmin does in SPICE.
    """

    keywords = {
        "forward_gain": Keyword(default=100.0, needs="positive"),
        "reverse_gain": Keyword(default=1.0, needs="positive"),
        "saturation_current": Keyword("A", 1e-16, "positive"),
        "thermal_voltage": Keyword("V", THERMAL_VOLTAGE, "positive"),
        "conductance": _LEAK,
        "polarity": Keyword(default="npn", option="a word", words=("npn", "pnp")),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        base, collector, emitter = (m.port(name, "electrical") for name in ("base", "collector", "emitter"))
        sign = 1 if q.polarity == "npn" else -1
        to_emitter, to_collector = base.voltage - emitter.voltage, base.voltage - collector.voltage
        forward = q.saturation_current * (ca.exp(sign * to_emitter / q.thermal_voltage) - 1)
        reverse = q.saturation_current * (ca.exp(sign * to_collector / q.thermal_voltage) - 1)
        leak_e, leak_c = q.conductance * to_emitter, q.conductance * to_collector
        m.equation(
            base.current, sign * (forward / q.forward_gain + reverse / q.reverse_gain) + leak_e + leak_c, name="base"
        )
        m.equation(collector.current, sign * (forward - reverse - reverse / q.reverse_gain) - leak_c, name="collector")
        m.equation(base.current + collector.current + emitter.current, 0, name="emitter")
        m.lost(to_emitter * base.current + (collector.voltage - emitter.voltage) * collector.current)


class Mosfet(_Electrical):
    """A MOS transistor, SPICE level 1 (Shichman, Hodges 1968); `polarity` "n" or "p"; drain and source may swap.

    With u = v_gs − threshold and λ the channel-length modulation: 0 for u ≤ 0, gain/2 · u² (1 + λ v_ds) in saturation,
    gain (u − v_ds/2) v_ds (1 + λ v_ds) below it. `gain` is KP · W / L. Ports gate, drain, source; no current at the
    gate. `conductance` lies between drain and source, so that the transistor is never quite open.
    """

    keywords = {
        "threshold": Keyword("V", 1.0),
        "gain": Keyword("A/V^2", 2e-5, "positive"),
        "modulation": Keyword("1/V", 0.0, "not negative", nominal=0.01),
        "conductance": Keyword("S", 1e-9, "not negative", nominal=1e-9),
        "polarity": Keyword(default="n", option="a word", words=("n", "p")),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        gate, drain, source = (m.port(name, "electrical") for name in ("gate", "drain", "source"))
        sign = 1 if q.polarity == "n" else -1
        across = sign * (drain.voltage - source.voltage)
        # Where drain and source change roles, the lower one (for n) is the source.
        over = sign * (gate.voltage - source.voltage) - ca.fmin(across, 0) - sign * q.threshold
        span = ca.fabs(across)
        conducting = ca.fmax(over, 0)
        inner = ca.fmin(span, conducting)
        channel = q.gain * (conducting - inner / 2) * inner * (1 + q.modulation * span)
        current = sign * ca.if_else(across >= 0, channel, -channel) + q.conductance * (drain.voltage - source.voltage)
        m.equation(drain.current, current, name="channel")
        m.equation(gate.current, 0, name="gate")
        m.equation(drain.current + source.current, 0, name="source")
        m.lost((drain.voltage - source.voltage) * drain.current)


class OpAmp(_Electrical):
    """An operational amplifier; ports plus, minus, output, the output against ground.

    Ideal without `gain`: the inputs have one voltage and take no current. With `gain`: output = gain (plus − minus);
    with `bandwidth` (Hz) too, gain · bandwidth product over frequency: a lag with the time constant gain/(2π
    bandwidth).
    """

    keywords = {"gain": Keyword(default=None, needs="positive"), "bandwidth": Keyword("Hz", None, "positive")}

    def _check(self) -> None:
        if self.values["gain"] is None and self.values["bandwidth"] is not None:
            self.values["gain"] = 1e5

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        plus, minus, output = (m.port(name, "electrical") for name in ("plus", "minus", "output"))
        m.equation(plus.current, 0, name="plus")
        m.equation(minus.current, 0, name="minus")
        if q.gain is None:
            m.equation(plus.voltage - minus.voltage, 0, name="inputs")
        elif q.bandwidth is None:
            m.equation(output.voltage, q.gain * (plus.voltage - minus.voltage), name="gain")
        else:
            level = m.state("level", unit="V")
            lag = q.gain / (2 * ca.pi * q.bandwidth)
            m.equation(lag * m.der(level), q.gain * (plus.voltage - minus.voltage) - level, name="lag")
            m.equation(output.voltage, level, name="output")


class Transformer(_Electrical):
    """Two windings: ideal with `ratio` = secondary turns / primary turns, or coupled inductors.

    Ideal: secondary voltage = ratio · primary voltage, primary current = −ratio · secondary current. Coupled:
    v1 = L1 i1' + M i2', v2 = M i1' + L2 i2' with M = coupling √(L1 L2). Ports primary_plus, primary_minus,
    secondary_plus, secondary_minus.
    """

    keywords = {
        "ratio": Keyword(default=None, needs="not zero"),
        "primary_inductance": Keyword("H", None, "positive"),
        "secondary_inductance": Keyword("H", None, "positive"),
        "coupling": Keyword(default=None, needs="between -1 and 1, and not zero,"),
    }

    def _check(self) -> None:
        inductances = [self.values[word] for word in ("primary_inductance", "secondary_inductance", "coupling")]
        if (self.values["ratio"] is None) == any(value is None for value in inductances):
            raise ModelError(
                f"Transformer {self.name!r} is neither ideal nor made of coupled inductors, or both.",
                "ratio= belongs to the one, primary_inductance=, secondary_inductance=, coupling= to the other",
                because="a transformer has one law.",
                remedy='Transformer("t", ratio=0.1)',
            )

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        ends = {name: m.port(name, "electrical") for name in
                ("primary_plus", "primary_minus", "secondary_plus", "secondary_minus")}  # fmt: skip
        coupled = q.ratio is None
        v, i = [], []
        for side in ("primary", "secondary"):
            plus, minus = ends[f"{side}_plus"], ends[f"{side}_minus"]
            v.append(m.algebraic(f"{side}_voltage", unit="V"))
            i.append((m.state if coupled else m.algebraic)(f"{side}_current", unit="A"))
            m.equation(v[-1], plus.voltage - minus.voltage, name=f"{side} voltage")
            m.equation(i[-1], plus.current, name=f"{side} current in")
            m.equation(i[-1] + minus.current, 0, name=f"{side} current out")
        if not coupled:
            m.equation(v[1], q.ratio * v[0], name="voltages")
            m.equation(i[0], -q.ratio * i[1], name="currents")
            return
        own, other = q.primary_inductance, q.secondary_inductance
        mutual = q.coupling * ca.sqrt(own * other)
        m.equation(own * m.der(i[0]) + mutual * m.der(i[1]), v[0], name="primary flux")
        m.equation(mutual * m.der(i[0]) + other * m.der(i[1]), v[1], name="secondary flux")
        m.stored(0.5 * own * i[0] ** 2 + 0.5 * other * i[1] ** 2 + mutual * i[0] * i[1])


class VoltageSensor(_Electrical):
    """Measures plus − minus without a current; signal `output`."""

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        plus, minus = m.port("plus", "electrical"), m.port("minus", "electrical")
        m.equation(plus.current, 0, name="plus")
        m.equation(minus.current, 0, name="minus")
        m.output("output", plus.voltage - minus.voltage)


class CurrentSensor(Meter, _Electrical):
    """Measures the current from plus to minus without a voltage; signal `output`."""
