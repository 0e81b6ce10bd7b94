"""Electrical parts: ports share a voltage, currents balance. Two-pole parts have `voltage` (plus − minus) and `current`
(into plus), so that their product is the power in; a source that delivers has a negative current.
"""

from __future__ import annotations

from typing import Any, ClassVar

import casadi as ca

from daedalus.components.poles import HEAT, NOISE_TEMPERATURE, Meter, losses, thermal_noise, two_pole
from daedalus.components.semiconductors.bipolar import Transistor
from daedalus.components.semiconductors.diode import Diode
from daedalus.components.semiconductors.jfet import Jfet
from daedalus.components.semiconductors.junction import charging
from daedalus.components.semiconductors.mosfet import Mosfet
from daedalus.components.semiconductors.piecewise import piecewise_valve, valve_poles
from daedalus.errors import ModelError
from daedalus.model.assembly.component import Component, Keyword
from daedalus.model.switching.combined_conditions import all_of

__all__ = [
    "Capacitor", "ControlledSwitch", "CurrentSensor", "CurrentSource", "Diode", "Ground", "Inductor", "Jfet", "Mosfet",
    "OpAmp", "Resistor",
    "Switch", "Thyristor", "Transformer", "Transistor", "VoltageSensor", "VoltageSource",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


class _Electrical(Component):
    domain: ClassVar[str] = "electrical"


class Ground(_Electrical):
    """The point of zero voltage; every network needs one. Port `pin`."""

    ideal = True

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        m.equation(m.port("pin", "electrical").voltage, 0, name="zero")


class Resistor(_Electrical):
    """current = voltage / resistance. With `heat=True` the loss leaves at the port `heat` instead of being lost.

    With a `noise_temperature` in K, thermal noise is added to the current (see `m.noise`).
    """

    keywords = {"resistance": Keyword("ohm", needs="positive"), "heat": HEAT, "noise_temperature": NOISE_TEMPERATURE}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        voltage, _, current = two_pole(m, "electrical")
        noise = thermal_noise(m, 1 / q.resistance, q.noise_temperature)
        m.equation(current, voltage / q.resistance + noise, name="Ohm")
        losses(m, voltage * current, q.heat)


class Capacitor(_Electrical):
    """current = capacitance · voltage'. The state is `voltage`; `charge` is capacitance · voltage."""

    keywords = {"capacitance": Keyword("F", needs="positive")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        voltage, _, current = two_pole(m, "electrical", relative="state")
        m.equation(current, charging(m, q.capacitance * m.der(voltage), q.capacitance * voltage), name="charge")
        m.stored(0.5 * q.capacitance * voltage**2)
        m.quantity("charge", q.capacitance * voltage, "C")


class Inductor(_Electrical):
    """voltage = inductance · current'. The state is `current`; `flux` (also `momentum`) is the flux linkage
    inductance · current."""

    keywords = {"inductance": Keyword("H", needs="positive")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        voltage, _, current = two_pole(m, "electrical", through="state")
        m.equation(q.inductance * m.der(current), voltage, name="flux")
        m.stored(0.5 * q.inductance * current**2)
        m.quantity("flux", q.inductance * current, "Wb", "momentum")


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
    """Drives a current into plus and out of minus, as in SPICE."""

    ideal = True
    keywords = {"current": Keyword("A")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        plus, minus = m.port("plus", "electrical"), m.port("minus", "electrical")
        voltage = m.algebraic("voltage", unit="V")
        m.equation(voltage, plus.voltage - minus.voltage, name="voltage")
        m.equation(plus.current, q.current, name="current in")
        m.equation(minus.current + q.current, 0, name="current out")


class Switch(_Electrical):
    """A switch that is closed while the signal `closed` is above one half. It is never perfectly open or closed, so the
    index stays the same."""

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


class ControlledSwitch(_Electrical):
    """A switch that the signal `control` closes above threshold + hysteresis and opens below threshold − hysteresis.

    `closed` is its initial state if the signal is between the two.
    """

    keywords = {
        "threshold": Keyword("", 0.0),
        "hysteresis": Keyword("", 0.0, "not negative", option="a number"),
        "on_resistance": Keyword("ohm", 1.0, "positive"),
        "off_resistance": Keyword("ohm", 1e12, "positive"),
        "closed": Keyword(default=False, option="a switch"),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        voltage, _, current = two_pole(m, "electrical")
        control = m.signal_input("control")
        if q.hysteresis:
            is_closed = m.discrete("is_closed", start=1.0 if q.closed else 0.0)
            m.when(control > q.threshold + q.hysteresis, {"is_closed": 1.0}, name="close", at_start=True)
            m.when(control < q.threshold - q.hysteresis, {"is_closed": 0.0}, name="open", at_start=True)
            state = is_closed > 0.5
        else:
            state = control > q.threshold
        m.equation(current, ca.if_else(state, 1 / q.on_resistance, 1 / q.off_resistance) * voltage, name="law")
        m.lost(voltage * current)


class Thyristor(_Electrical):
    """A thyristor from plus to minus, piecewise linear; the signal `gate` fires it while it is above one half.

    Fired, it is a diode with `on_resistance` above `threshold`; once the gate is off, it goes out when its current has
    fallen to `holding_current`. `fired` tells which. Without a firing it blocks in both directions, with
    `off_conductance`.
    """

    keywords = {
        "on_resistance": Keyword("ohm", 1e-3, "positive"),
        "off_conductance": Keyword("S", 1e-6, "positive"),
        "threshold": Keyword("V", 0.0),
        "holding_current": Keyword("A", 0.0, "not negative"),
    }

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        gate, fired = m.signal_input("gate"), m.discrete("fired", start=0.0)
        valve = piecewise_valve(m, q.on_resistance, q.off_conductance, fired > 0.5)
        voltage, current = valve_poles(m, q.threshold + valve.over)
        m.equation(current, valve.through + q.off_conductance * q.threshold, name="law")
        m.when(all_of(gate > 0.5, valve.drive > 0), {"fired": 1.0}, name="fire", at_start=True)
        m.when(all_of(gate < 0.5, fired > 0.5, valve.drive < q.holding_current), {"fired": 0.0}, name="extinguish")
        m.lost(voltage * current)


class OpAmp(_Electrical):
    """An operational amplifier; ports plus, minus, output, the output against ground.

    Without `gain` it is ideal: the inputs have equal voltages and draw no current. With `gain`: output = gain (plus −
    minus). With `bandwidth` (Hz) as well, it is a lag with the time constant gain/(2π bandwidth).
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
                f"Transformer {self.name!r} needs exactly one law.",
                "ratio= selects the ideal law; primary_inductance=, secondary_inductance= "
                "and coupling= select coupled inductors",
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
        m.quantity("primary_flux", own * i[0] + mutual * i[1], "Wb")
        m.quantity("secondary_flux", mutual * i[0] + other * i[1], "Wb")


class VoltageSensor(_Electrical):
    """Measures plus − minus without a current; signal `output`."""

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        plus, minus = m.port("plus", "electrical"), m.port("minus", "electrical")
        m.equation(plus.current, 0, name="plus")
        m.equation(minus.current, 0, name="minus")
        m.output("output", plus.voltage - minus.voltage, unit="V")


class CurrentSensor(Meter, _Electrical):
    """Measures the current from plus to minus without a voltage; signal `output`."""
