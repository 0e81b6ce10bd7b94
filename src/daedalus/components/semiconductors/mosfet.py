"""MOS transistors, SPICE level 1 (Shichman, Hodges 1968), with bulk, gate and junction capacitances."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import casadi as ca

from daedalus.components.semiconductors.card_component import CardComponent
from daedalus.components.semiconductors.junction import (
    Depletion,
    charging,
    exponential,
    inner_state,
    junction_voltage,
    larger,
    layer_current,
    size_and_sign,
    smaller,
)
from daedalus.components.semiconductors.mos_process import (
    CHARGE,
    EPSILON_OXIDE,
    EPSILON_SILICON,
    INTRINSIC,
    mos_words,
)
from daedalus.components.semiconductors.temperature import ROOM, thermal_voltage
from daedalus.model.assembly.component import Keyword

SIDE = 100e-6  # width and length of a channel unless told otherwise, in m
LEAST_SATURATION = 0.025  # of the voltage at which a channel saturates, where the oxide is shared out, in V
_RESISTANCE = Keyword("ohm", None, "positive")


def _size(unit: str, needs: str = "positive") -> Keyword:
    """A number that the parameters of the equations are computed from."""
    return Keyword(unit, None, needs, option="a number")


_CAPACITANCE = Keyword("F", None, "positive", nominal=1e-12)


class Mosfet(CardComponent):
    """A MOS transistor, SPICE level 1 (Shichman, Hodges 1968); `polarity` "n" or "p"; drain and source may swap.

    With u = v_gs − threshold and λ the channel-length modulation: 0 for u ≤ 0, gain/2 · u² (1 + λ v_ds) in saturation,
    gain (u − v_ds/2) v_ds (1 + λ v_ds) below it. `gain` is KP · W / L, also given by `transconductance` (or
    `oxide_thickness` and `mobility`), `width` and `length`. Ports gate, drain, source; no current at the gate but into
    capacitances: constant ones of overlaps and, with `oxide_thickness` or `oxide_capacitance`, Meyer's shares of the
    oxide's, which depend on the voltages.
    `conductance` is connected between drain and source, so the transistor is never completely open.

    `bulk="port"` adds the port bulk, "source" joins it to the source: junctions from bulk to drain and source then
    carry `bulk_saturation_current` and store charge, and with `body_effect` the threshold follows the bulk. With None
    there is no bulk. `from_card=".model name NMOS(...)"` reads the parameters of a SPICE card.
    """

    domain = "electrical"
    card_kinds: ClassVar[tuple[str, ...]] = ("nmos", "pmos")
    keywords = {
        "threshold": Keyword("V", 1.0),
        "gain": Keyword("A/V^2", None, "positive"),
        "modulation": Keyword("1/V", 0.0, "not negative", nominal=0.01),
        "conductance": Keyword("S", 1e-9, "not negative", nominal=1e-9),
        "polarity": Keyword(default="n", option="a word", words=("n", "p")),
        "bulk": Keyword(default=None, option="a word", words=("port", "source")),
        "transconductance": _size("A/V^2"), "width": _size("m"), "length": _size("m"),
        "lateral_diffusion": _size("m", "not negative"), "oxide_thickness": _size("m"), "mobility": _size("cm^2/V/s"),
        "doping": _size("1/cm^3"),
        "body_effect": Keyword("V^0.5", None, "positive"), "surface_potential": Keyword("V", None, "positive"),
        "drain_resistance": _RESISTANCE, "source_resistance": _RESISTANCE,
        "bulk_saturation_current": Keyword("A", None, "positive", nominal=1e-14),
        "bulk_saturation_density": _size("A/m^2"),
        "bulk_conductance": Keyword("S", None, "not negative", nominal=1e-12),
        "source_overlap": _size("F/m"), "drain_overlap": _size("F/m"), "bulk_overlap": _size("F/m"),
        "gate_source_capacitance": _CAPACITANCE, "gate_drain_capacitance": _CAPACITANCE,
        "gate_bulk_capacitance": _CAPACITANCE, "drain_bulk_capacitance": _CAPACITANCE,
        "source_bulk_capacitance": _CAPACITANCE, "drain_side_capacitance": _CAPACITANCE,
        "source_side_capacitance": _CAPACITANCE, "oxide_capacitance": _CAPACITANCE,
        "bulk_capacitance_density": _size("F/m^2"), "side_capacitance_density": _size("F/m"),
        "bulk_potential": Keyword("V", 0.8, "positive"), "bulk_grading": Keyword("", 0.5, "between 0 and 1"),
        "side_grading": Keyword("", 0.33, "between 0 and 1"), "forward_share": Keyword("", 0.5, "between 0 and 1"),
        "drain_area": _size("m^2"), "source_area": _size("m^2"), "drain_perimeter": _size("m"),
        "source_perimeter": _size("m"),
        "temperature": Keyword("degC", None),
    }  # fmt: skip

    @classmethod
    def _read_words(cls, words: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        nominal = words.get("nominal_temperature", ROOM)
        return mos_words(words, given.get("temperature", ROOM), nominal)

    def _check(self) -> None:
        v, sizes = self.values, dict(self.options)
        width, length = sizes["width"] or SIDE, (sizes["length"] or SIDE) - 2 * (sizes["lateral_diffusion"] or 0.0)
        oxide = EPSILON_OXIDE / sizes["oxide_thickness"] if sizes["oxide_thickness"] else None
        if sizes["transconductance"] is None and oxide is not None:
            sizes["transconductance"] = (sizes["mobility"] or 600.0) * 1e-4 * oxide
        if v["gain"] is None:
            v["gain"] = (sizes["transconductance"] or 2e-5) * width / length
        if v["oxide_capacitance"] is None and oxide is not None:
            v["oxide_capacitance"] = oxide * width * length
        self._dope(sizes["doping"], oxide)
        self._areas(sizes, width, length)
        # What was a size is in the parameters now.
        self.options.update({word: None for word in sizes if self.keywords[word].option == "a number"})
        if (v["body_effect"] is not None or v["oxide_capacitance"] is not None) and v["surface_potential"] is None:
            v["surface_potential"] = 0.6
        if self.options["bulk"] is not None:
            v["bulk_saturation_current"] = (
                1e-14 if v["bulk_saturation_current"] is None else v["bulk_saturation_current"]
            )
            v["bulk_conductance"] = 1e-12 if v["bulk_conductance"] is None else v["bulk_conductance"]
            v["temperature"] = ROOM if v["temperature"] is None else v["temperature"]

    def _dope(self, doping: float | None, oxide: float | None) -> None:
        """Surface potential and body effect from the doping of the substrate, in 1/cm³."""
        v = self.values
        if doping is None:
            return
        density = doping * 1e6
        if v["surface_potential"] is None:
            v["surface_potential"] = max(0.1, 2 * thermal_voltage(ROOM) * math.log(density / INTRINSIC))
        if v["body_effect"] is None and oxide is not None:
            v["body_effect"] = math.sqrt(2 * EPSILON_SILICON * CHARGE * density) / oxide

    def _areas(self, sizes: dict[str, Any], width: float, length: float) -> None:
        """Capacitances and currents from densities and sizes."""
        v = self.values
        for side in ("source", "drain"):
            overlap, area, edge = (sizes[f"{side}_{word}"] for word in ("overlap", "area", "perimeter"))
            if overlap:
                v[f"gate_{side}_capacitance"] = overlap * width
            if sizes["bulk_capacitance_density"] and area and v[f"{side}_bulk_capacitance"] is None:
                v[f"{side}_bulk_capacitance"] = sizes["bulk_capacitance_density"] * area
            if sizes["side_capacitance_density"] and edge:
                v[f"{side}_side_capacitance"] = sizes["side_capacitance_density"] * edge
        if sizes["bulk_overlap"]:
            v["gate_bulk_capacitance"] = sizes["bulk_overlap"] * length
        if sizes["bulk_saturation_density"] and sizes["drain_area"]:
            v["bulk_saturation_current"] = sizes["bulk_saturation_density"] * sizes["drain_area"]

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        _Writing(m, q).write()


class _Writing:
    """The equations of one transistor; voltages as of an n-channel one, sign turns them for p."""

    def __init__(self, m: Any, q: Any) -> None:
        self.m, self.q, self.sign = m, q, 1 if q.polarity == "n" else -1
        self.gate, self.drain, self.source = (m.port(name, "electrical") for name in ("gate", "drain", "source"))
        self.bulk = m.port("bulk", "electrical") if q.bulk == "port" else None
        self.is_apart = q.bulk == "source" and q.source_resistance is not None
        self.lost = ca.SX(0)

    def write(self) -> None:
        """Channel, junctions, capacitances, and what the ledger counts."""
        m, q = self.m, self.q
        self.vd, self.vs = self.drain.voltage, self.source.voltage
        if q.drain_resistance is not None:
            self.vd = self.vd - q.drain_resistance * self.drain.current
            self.lost = self.lost + q.drain_resistance * self.drain.current**2
        inside = self.source.current
        if self.is_apart:
            # The bulk is joined to the outer end of the resistance.
            self.bulk_current = m.algebraic("bulk_current", unit="A", nominal=1e-9)
            inside = inside - self.bulk_current
        if q.source_resistance is not None:
            self.vs = self.vs - q.source_resistance * inside
            self.lost = self.lost + q.source_resistance * inside**2
        self.vb = self.source.voltage if self.is_apart else self.vs if self.bulk is None else self.bulk.voltage
        channel = self._channel()
        across = self.vd - self.vs
        self.lost = self.lost + across * channel
        into = {"gate": ca.SX(0), "drain": channel, "source": -channel, "bulk": ca.SX(0)}
        self._gate(into)
        if q.bulk is not None:
            self._bulk_junction(into, "drain", self.vd)
        if q.bulk == "port" or self.is_apart:
            self._bulk_junction(into, "source", self.vs)
        if self.is_apart:
            m.equation(self.bulk_current, into["bulk"], name="bulk")
        m.equation(self.drain.current, into["drain"], name="channel")
        m.equation(self.gate.current, into["gate"], name="gate")
        total = self.drain.current + self.source.current + self.gate.current
        if self.bulk is not None:
            m.equation(self.bulk.current, into["bulk"], name="bulk")
            total = total + self.bulk.current
        m.equation(total, 0, name="source")
        m.lost(self.lost)

    def _channel(self) -> ca.SX:
        """The current from drain to source."""
        q, sign = self.q, self.sign
        across = sign * (self.vd - self.vs)
        # Where drain and source change roles, the lower one (for n) is the source.
        swapped = smaller(across, 0)
        over = sign * (self.gate.voltage - self.vs) - swapped - sign * q.threshold
        if q.body_effect is not None:
            bias = sign * (self.vb - self.vs) - swapped
            root = ca.sqrt(q.surface_potential)
            deep = ca.sqrt(q.surface_potential - smaller(bias, 0)) - larger(bias, 0) / (2 * root)
            over = over - q.body_effect * (deep - root)
        span, direction = size_and_sign(across)
        self.over, self.span, self.direction = over, span, direction
        conducting = larger(over, 0)
        inner = smaller(span, conducting)
        channel = q.gain * (conducting - inner / 2) * inner * (1 + q.modulation * span)
        return ca.SX(sign * direction * channel + q.conductance * (self.vd - self.vs))

    def _gate(self, into: dict[str, ca.SX]) -> None:
        """Capacitances from the gate: constant ones of the overlaps, and the oxide's shares."""
        m, q = self.m, self.q
        ends = {"source": self.vs, "drain": self.vd, "bulk": self.vb}
        shares = {} if q.oxide_capacitance is None else self._shares_of_oxide()
        for end, other in ends.items():
            overlap = getattr(q, f"gate_{end}_capacitance")
            if overlap is None and not shares:
                continue
            own = inner_state(m, f"gate_{end}_voltage")
            m.equation(own, self.gate.voltage - other, name=f"gate {end} voltage")
            current = ca.SX(0)
            if overlap is not None:
                current = charging(m, overlap * m.der(own), overlap * own)
                m.stored(0.5 * overlap * own**2)
                m.quantity(f"gate_{end}_charge", overlap * own, "C")
            if shares:
                # No function of the voltages is the charge of such a capacitance, so nothing is stored: what it takes
                # and gives counts as lost.
                through = q.oxide_capacitance * shares[end] * m.der(own)
                current = current + through
                self.lost = self.lost + own * through
            into["gate"] = into["gate"] + current
            into[end] = into[end] - current

    def _shares_of_oxide(self) -> dict[str, ca.SX]:
        """What parts of the oxide's capacitance lie between the gate and source, drain and bulk.

        J. E. Meyer, RCA Review 32 (1971) 42-63, with the passages of SPICE: the bulk has all of it below the
        threshold less the surface potential, drain and source two thirds above the threshold. The saturation voltage
        is 25 mV at least, as in ngspice.
        """
        phi = self.q.surface_potential
        bulk = smaller(larger(-self.over / phi, 0), 1)
        channel = 2 / 3 * smaller(larger(1 + 2 * self.over / phi, 0), 1)
        edge = larger(self.over, LEAST_SATURATION)
        inner = smaller(self.span, edge)
        whole = (2 * edge - inner) ** 2
        low, high = channel * (1 - (edge - inner) ** 2 / whole), channel * (1 - edge**2 / whole)
        forward = (1 + self.direction) / 2
        return {
            "source": forward * low + (1 - forward) * high,
            "drain": forward * high + (1 - forward) * low,
            "bulk": bulk,
        }

    def _bulk_junction(self, into: dict[str, ca.SX], end: str, at: ca.SX) -> None:
        """The junction from the bulk to drain or source."""
        m, q, sign = self.m, self.q, self.sign
        vt = thermal_voltage(q.temperature)
        layers = []
        for kind, grading in (("bulk", q.bulk_grading), ("side", q.side_grading)):
            capacitance = getattr(q, f"{end}_{kind}_capacitance")
            if capacitance is not None:
                layers.append(Depletion(capacitance, q.bulk_potential, grading, q.forward_share))
        voltage = sign * (self.vb - at)
        own: Any = None
        if layers:
            own = inner_state(m, f"bulk_{end}_voltage")
            m.equation(own, voltage, name=f"bulk {end} voltage")
            voltage = own
        v = junction_voltage(m, f"bulk_{end}_drive", voltage, q.bulk_saturation_current, vt)
        current = exponential(q.bulk_saturation_current, v, vt) + q.bulk_conductance * v
        self.lost = self.lost + v * current
        for layer in layers:
            current = current + layer_current(m, layer, v, own)
            m.stored(layer.energy(v))
        if layers:
            m.quantity(f"bulk_{end}_charge", sign * sum((layer.charge(v) for layer in layers), ca.SX(0)), "C")
        into["bulk"] = into["bulk"] + sign * current
        into[end] = into[end] - sign * current
