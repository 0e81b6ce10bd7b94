"""Bipolar transistors after Gummel and Poon, with the parameters of SPICE's model."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any, ClassVar

import casadi as ca

from daedalus.components.semiconductors.card_component import CardComponent
from daedalus.components.semiconductors.diode import LEAK, THERMAL_VOLTAGE
from daedalus.components.semiconductors.junction import (
    Depletion,
    displacement,
    exponential,
    inner_state,
    junction_voltage,
    larger,
    layer_current,
)
from daedalus.components.semiconductors.temperature import junction_at, saturation_growth, thermal_voltage, warming
from daedalus.components.spice.netlist_text import SpiceWarning
from daedalus.model.assembly.component import Keyword

_POSITIVE_V, _POSITIVE_A = Keyword("V", None, "positive"), Keyword("A", None, "positive", nominal=1e-3)
_RESISTANCE, _NUMBER = Keyword("ohm", None, "positive"), Keyword("", None, "positive")
_CAPACITANCE, _SHARE = Keyword("F", None, "positive", nominal=1e-12), Keyword("", None, "between 0 and 1")
_TIME = Keyword("s", None, "positive", nominal=1e-9)


class Transistor(CardComponent):
    """A bipolar transistor; `polarity` "npn" or "pnp". Ports base, collector, emitter; substrate with its capacitance.

    With forward = I_s (e^(v_be / (n_f v_t)) − 1), reverse = I_s (e^(v_bc / (n_r v_t)) − 1) and the base charge q_b:

    collector current  (forward − reverse) / q_b − reverse / reverse_gain − collector leakage
    base current       forward / forward_gain + reverse / reverse_gain + both leakages

    1 / q_b = 1 without Early voltages and knee currents, which is the model of Ebers and Moll in transport form. Ohmic
    resistances, junction capacitances, transit times and temperature (°C) are included if you give them; with
    `excess_phase` (in degrees, at the frequency 1 / (2π τ_F)) the collector current arrives later by as much.
    The junctions hold `emitter_charge` and `collector_charge`, and `outer_charge` and `substrate_charge` if these
    junctions exist. `conductance` is connected across both junctions, like gmin in SPICE.
    `from_card=".model name NPN(...)"` reads the parameters of a SPICE card.
    """

    domain = "electrical"
    card_kinds: ClassVar[tuple[str, ...]] = ("npn", "pnp")
    keywords = {
        "forward_gain": Keyword(default=100.0, needs="positive"),
        "reverse_gain": Keyword(default=1.0, needs="positive"),
        "saturation_current": Keyword("A", 1e-16, "positive"),
        "thermal_voltage": Keyword("V", None, "positive"),
        "conductance": Keyword("S", LEAK, "not negative", nominal=1e-9),
        "polarity": Keyword(default="npn", option="a word", words=("npn", "pnp")),
        "forward_emission": _NUMBER, "reverse_emission": _NUMBER,
        "forward_early_voltage": _POSITIVE_V, "reverse_early_voltage": _POSITIVE_V,
        "forward_knee_current": _POSITIVE_A, "reverse_knee_current": _POSITIVE_A,
        "emitter_leakage": _POSITIVE_A, "emitter_leakage_emission": _NUMBER,
        "collector_leakage": _POSITIVE_A, "collector_leakage_emission": _NUMBER,
        "base_resistance": _RESISTANCE, "least_base_resistance": _RESISTANCE, "base_resistance_current": _POSITIVE_A,
        "emitter_resistance": _RESISTANCE, "collector_resistance": _RESISTANCE,
        "emitter_capacitance": _CAPACITANCE, "emitter_potential": _POSITIVE_V, "emitter_grading": _SHARE,
        "collector_capacitance": _CAPACITANCE, "collector_potential": _POSITIVE_V, "collector_grading": _SHARE,
        "inner_base_share": _SHARE,
        "substrate_capacitance": _CAPACITANCE, "substrate_potential": _POSITIVE_V, "substrate_grading": _SHARE,
        "forward_share": _SHARE,
        "forward_transit_time": _TIME, "transit_growth": _NUMBER, "transit_voltage": _POSITIVE_V,
        "transit_current": _POSITIVE_A, "reverse_transit_time": _TIME, "excess_phase": Keyword("deg", None, "positive"),
        "temperature": Keyword("degC", None), "nominal_temperature": Keyword("degC", None),
        "energy_gap": Keyword("eV", None, "positive"), "gain_exponent": Keyword("", None),
        "saturation_exponent": Keyword("", None),
    }  # fmt: skip
    _further: ClassVar[dict[str, dict[str, float]]] = {
        "emitter_leakage": {"emitter_leakage_emission": 1.5},
        "collector_leakage": {"collector_leakage_emission": 2.0},
        "emitter_capacitance": {"emitter_potential": 0.75, "emitter_grading": 0.33, "forward_share": 0.5},
        "collector_capacitance": {"collector_potential": 0.75, "collector_grading": 0.33, "forward_share": 0.5},
        "substrate_capacitance": {"substrate_potential": 0.75, "substrate_grading": 0.0, "forward_share": 0.5},
        "temperature": {"nominal_temperature": 27.0, "energy_gap": 1.11, "gain_exponent": 0.0,
                        "saturation_exponent": 3.0},
    }  # fmt: skip

    def _check(self) -> None:
        if self.values["temperature"] is None and self.values["thermal_voltage"] is None:
            self.values["thermal_voltage"] = THERMAL_VOLTAGE
        share = self.values["inner_base_share"]
        if isinstance(share, float) and share == 1.0:
            self.values["inner_base_share"] = None
        self._complete()
        self._tell_what_is_left_out()

    def _tell_what_is_left_out(self) -> None:
        """Warn where the charge of the carriers depends on a voltage that is no state."""
        values = self.values
        if values["forward_transit_time"] is None:
            return
        if values["collector_capacitance"] is not None or values["reverse_transit_time"] is not None:
            return
        through = [word for word in ("forward_early_voltage", "reverse_knee_current") if values[word] is not None]
        if values["transit_growth"] is not None and values["transit_voltage"] is not None:
            through.append("transit_voltage")
        if through:
            warnings.warn(
                "A transistor with forward_transit_time (tf) but without collector_capacitance (cjc): its charge "
                f"follows v_be alone, and what {' and '.join(through)} make of v_bc in it is left out. "
                "With a collector_capacitance, however small, it counts.",
                SpiceWarning, stacklevel=5,
            )  # fmt: skip

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        _Writing(m, q).write()


class _Writing:
    """The equations of one transistor; all voltages and currents as of an npn one, sign turns them for pnp."""

    def __init__(self, m: Any, q: Any) -> None:
        self.m, self.q, self.sign = m, q, 1 if q.polarity == "npn" else -1
        self.base, self.collector, self.emitter = (m.port(n, "electrical") for n in ("base", "collector", "emitter"))
        self.at = _at_temperature(q)
        self.stores_e = q.emitter_capacitance is not None or q.forward_transit_time is not None
        self.stores_c = q.collector_capacitance is not None or q.reverse_transit_time is not None

    def write(self) -> None:
        """Ports, junctions, currents, charges and what the ledger counts."""
        m, q, sign = self.m, self.q, self.sign
        to_emitter, to_collector = self._inner_voltages()
        vbe = self._junction("emitter", to_emitter, self.at.forward_slope, self.stores_e)
        vbc = self._junction("collector", to_collector, self.at.reverse_slope, self.stores_c)
        base, collector, qb = self._currents(vbe[0], vbc[0])
        self._base_resistance(base, qb)
        lost = vbe[0] * (base + collector) - vbc[0] * collector
        into_e, into_c, power = self._charges(vbe, vbc)
        outer = self._outer_charge()
        substrate = self._substrate_charge()
        m.equation(self.base.current, sign * (base + into_e + into_c + outer), name="base")
        m.equation(self.collector.current, sign * (collector - into_c - outer - substrate), name="collector")
        total = self.base.current + self.collector.current + self.emitter.current
        m.equation(total + (sign * substrate if q.substrate_capacitance is not None else 0), 0, name="emitter")
        m.lost(lost + power + self._ohmic_loss())

    def _inner_voltages(self) -> tuple[ca.SX, ca.SX]:
        """v_be and v_bc inside, behind the resistances."""
        m, q, sign = self.m, self.q, self.sign
        self.base_drop = ca.SX(0)
        if q.base_resistance is not None:
            self.base_drop = m.algebraic("base_drop", unit="V")
        emitter, collector = self.emitter.voltage, self.collector.voltage
        if q.emitter_resistance is not None:
            emitter = m.algebraic("emitter_inside", unit="V")
            m.equation(self.emitter.voltage - emitter, q.emitter_resistance * self.emitter.current, name="emitter drop")
        if q.collector_resistance is not None:
            collector = m.algebraic("collector_inside", unit="V")
            drop = q.collector_resistance * self.collector.current
            m.equation(self.collector.voltage - collector, drop, name="collector drop")
        base = self.base.voltage - self.base_drop
        self.outer_voltage = sign * (self.base.voltage - collector)
        self.collector_inside = collector
        return sign * (base - emitter), sign * (base - collector)

    def _junction(self, side: str, voltage: ca.SX, slope: Any, stores: bool) -> tuple[ca.SX, Any]:
        """The voltage of a junction as a function of its drive, and the state that is differentiated."""
        own: Any = None
        if stores:
            own = inner_state(self.m, f"{side}_junction")
            self.m.equation(own, voltage, name=f"{side} junction")
            voltage = own
        return junction_voltage(self.m, f"{side}_drive", voltage, self.at.saturation, slope), own

    def _currents(self, vbe: ca.SX, vbc: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Base and collector current, and the base charge."""
        q, at = self.q, self.at
        forward = exponential(at.saturation, vbe, at.forward_slope)
        reverse = exponential(at.saturation, vbc, at.reverse_slope)
        leak_e, leak_c = q.conductance * vbe, q.conductance * vbc
        if q.emitter_leakage is not None:
            leak_e = leak_e + exponential(at.emitter_leakage, vbe, at.vt * q.emitter_leakage_emission)
        if q.collector_leakage is not None:
            leak_c = leak_c + exponential(at.collector_leakage, vbc, at.vt * q.collector_leakage_emission)
        qb = _base_charge(q, vbe, vbc, forward, reverse)
        back = reverse / at.reverse_gain
        base = forward / at.forward_gain + back + leak_e + leak_c
        early = self._delayed(forward / qb) - reverse / qb if self._is_late else (forward - reverse) / qb
        return base, early - back - leak_c, qb

    @property
    def _is_late(self) -> bool:
        """Whether the forward current arrives late."""
        return self.q.excess_phase is not None and self.q.forward_transit_time is not None

    def _delayed(self, transported: ca.SX) -> ca.SX:
        """The forward current as it arrives at the collector, after the delay d = φ τ_F of its excess phase φ.

        The delay is Bessel's filter of second order, d² i'' / 3 + d i' + i = forward / q_b, as SPICE has it in time
        (P. B. Weil, L. P. McNamee, IEEE Transactions on Circuits and Systems 25 (1978) 114-116).
        """
        m, q = self.m, self.q
        delay = q.excess_phase * ca.pi / 180 * q.forward_transit_time
        names = ("transported_current", "transported_slope")
        m.written.assembly.inner.update(names)
        arrived, slope = (m.state(name, unit="A", nominal=1e-3) for name in names)
        m.equation(delay * m.der(arrived), slope, name="transported current")
        m.equation(delay * m.der(slope), 3 * (transported - arrived - slope), name="transported slope")
        return ca.SX(arrived)

    def _base_resistance(self, base: ca.SX, qb: ca.SX) -> None:
        """The drop at the base: its resistance falls with the base charge, or with the base current."""
        q, m = self.q, self.m
        if q.base_resistance is None:
            return
        least = q.base_resistance if q.least_base_resistance is None else q.least_base_resistance
        if q.base_resistance_current is None:
            resistance = least + (q.base_resistance - least) / qb
        else:
            ratio = larger(base / q.base_resistance_current, 0)
            angle = (ca.sqrt(1 + 14.59025 * ratio) - 1) / 2.4317 / ca.sqrt(ratio)
            slope = ca.tan(angle)
            resistance = least + 3 * (q.base_resistance - least) * (slope - angle) / angle / slope**2
        m.equation(self.base_drop, resistance * self._inner_base_current(), name="base drop")

    def _inner_base_current(self) -> ca.SX:
        """What flows through the base resistance: the charge outside of it is fed before."""
        return ca.SX(self.base.current - self.sign * self._outer_charge())

    def _charges(self, vbe: tuple[ca.SX, Any], vbc: tuple[ca.SX, Any]) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Currents into the charges of both junctions, and the power that they take and do not store."""
        m, q, at = self.m, self.q, self.at
        into_e = into_c = power = ca.SX(0)
        held_e, held_c = list[ca.SX](), list[ca.SX]()
        if at.emitter_layer is not None:
            into_e = layer_current(m, at.emitter_layer, vbe[0], vbe[1])
            m.stored(at.emitter_layer.energy(vbe[0]))
            held_e.append(at.emitter_layer.charge(vbe[0]))
        if q.forward_transit_time is not None:
            voltages, states = ([vbe[0], vbc[0]], [vbe[1], vbc[1]]) if self.stores_c else ([vbe[0]], [vbe[1]])

            def carriers(own: ca.SX, other: ca.SX = vbc[0]) -> ca.SX:
                return self._forward_charge(own, other)

            moving = displacement(m, carriers, voltages, states)
            held_e.append(carriers(vbe[0]))
            into_e, power = into_e + moving, power + moving * vbe[0]
        if at.collector_layer is not None:
            inner = at.collector_layer
            if q.inner_base_share is not None:
                inner = inner._replace(capacitance=inner.capacitance * q.inner_base_share)
            into_c = layer_current(m, inner, vbc[0], vbc[1])
            m.stored(inner.energy(vbc[0]))
            held_c.append(inner.charge(vbc[0]))
        if q.reverse_transit_time is not None:

            def back(v: ca.SX) -> ca.SX:
                return ca.SX(q.reverse_transit_time * exponential(at.saturation, v, at.reverse_slope))

            moving = displacement(m, back, [vbc[0]], [vbc[1]])
            held_c.append(back(vbc[0]))
            into_c, power = into_c + moving, power + moving * vbc[0]
        for name, held in (("emitter_charge", held_e), ("collector_charge", held_c)):
            if held:
                m.quantity(name, self.sign * sum(held, ca.SX(0)), "C")
        return into_e, into_c, power

    def _forward_charge(self, vbe: ca.SX, vbc: ca.SX) -> ca.SX:
        """τ_F (1 + growth) forward / q_b."""
        q, at = self.q, self.at
        forward = exponential(at.saturation, vbe, at.forward_slope)
        reverse = exponential(at.saturation, vbc, at.reverse_slope)
        growth: Any = 0
        if q.transit_growth is not None:
            growth = q.transit_growth
            if q.transit_voltage is not None:
                growth = growth * ca.exp(vbc / (1.44 * q.transit_voltage))
            if q.transit_current is not None:
                growth = growth * (forward / (forward + q.transit_current)) ** 2
        return ca.SX(q.forward_transit_time * (1 + growth) * forward / _base_charge(q, vbe, vbc, forward, reverse))

    def _outer_charge(self) -> ca.SX:
        """The current into the part of the collector's depletion layer outside of the base resistance; made once."""
        if self.q.collector_capacitance is None or self.q.inner_base_share is None:
            return ca.SX(0)
        if not hasattr(self, "outer"):
            layer = self.at.collector_layer
            layer = layer._replace(capacitance=layer.capacitance * (1 - self.q.inner_base_share))
            own = inner_state(self.m, "outer_junction")
            self.m.equation(own, self.outer_voltage, name="outer junction")
            self.outer = layer_current(self.m, layer, own, own)
            self.m.stored(layer.energy(own))
            self.m.quantity("outer_charge", self.sign * layer.charge(own), "C")
        return self.outer

    def _substrate_charge(self) -> ca.SX:
        """The current from the substrate into the collector's depletion layer beside it."""
        if self.q.substrate_capacitance is None:
            return ca.SX(0)
        port = self.m.port("substrate", "electrical")
        own = inner_state(self.m, "substrate_junction")
        self.m.equation(own, self.sign * (port.voltage - self.collector_inside), name="substrate junction")
        into = layer_current(self.m, self.at.substrate_layer, own, own)
        self.m.equation(port.current, self.sign * into, name="substrate")
        self.m.stored(self.at.substrate_layer.energy(own))
        self.m.quantity("substrate_charge", self.sign * self.at.substrate_layer.charge(own), "C")
        return into

    def _ohmic_loss(self) -> ca.SX:
        q, lost = self.q, ca.SX(0)
        if q.base_resistance is not None:
            lost = lost + self.base_drop * self._inner_base_current()
        if q.emitter_resistance is not None:
            lost = lost + q.emitter_resistance * self.emitter.current**2
        if q.collector_resistance is not None:
            lost = lost + q.collector_resistance * self.collector.current**2
        return lost


def _base_charge(q: Any, vbe: ca.SX, vbc: ca.SX, forward: ca.SX, reverse: ca.SX) -> ca.SX:
    """q_b = q_1 (1 + √(1 + 4 q_2)) / 2, one where nothing is given."""
    early: Any = 1
    if q.forward_early_voltage is not None:
        early = early - vbc / q.forward_early_voltage
    if q.reverse_early_voltage is not None:
        early = early - vbe / q.reverse_early_voltage
    knee: Any = 0
    if q.forward_knee_current is not None:
        knee = knee + forward / q.forward_knee_current
    if q.reverse_knee_current is not None:
        knee = knee + reverse / q.reverse_knee_current
    if q.forward_knee_current is None and q.reverse_knee_current is None:
        return ca.SX(1 / early)
    return ca.SX((1 + ca.sqrt(1 + 4 * knee)) / (2 * early))


def _at_temperature(q: Any) -> SimpleNamespace:
    """What changes with temperature: currents, gains, slopes and depletion layers."""
    warm = q.temperature is not None
    vt = q.thermal_voltage if q.thermal_voltage is not None else thermal_voltage(q.temperature)
    at = SimpleNamespace(
        vt=vt, saturation=q.saturation_current, forward_gain=q.forward_gain, reverse_gain=q.reverse_gain,
        emitter_leakage=q.emitter_leakage, collector_leakage=q.collector_leakage,
        forward_slope=vt if q.forward_emission is None else vt * q.forward_emission,
        reverse_slope=vt if q.reverse_emission is None else vt * q.reverse_emission,
    )  # fmt: skip
    if warm:
        growth = saturation_growth(q.temperature, q.nominal_temperature, q.energy_gap, q.saturation_exponent)
        gain = ca.exp(q.gain_exponent * ca.log(warming(q.temperature, q.nominal_temperature)))
        at.saturation = at.saturation * ca.exp(growth)
        at.forward_gain, at.reverse_gain = at.forward_gain * gain, at.reverse_gain * gain
        if q.emitter_leakage is not None:
            at.emitter_leakage = q.emitter_leakage * ca.exp(growth / q.emitter_leakage_emission) / gain
        if q.collector_leakage is not None:
            at.collector_leakage = q.collector_leakage * ca.exp(growth / q.collector_leakage_emission) / gain
    for side in ("emitter", "collector", "substrate"):
        layer = None
        if getattr(q, f"{side}_capacitance") is not None:
            names = ("capacitance", "potential", "grading")
            size, potential, grading = (getattr(q, f"{side}_{name}") for name in names)
            if warm:
                size, potential = junction_at(size, potential, grading, q.temperature, q.nominal_temperature)
            layer = Depletion(size, potential, grading, q.forward_share)
        setattr(at, f"{side}_layer", layer)
    return at
