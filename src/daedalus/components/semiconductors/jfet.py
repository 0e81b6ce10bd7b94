"""Junction field-effect transistors, the model of SPICE after Shichman and Hodges."""

from __future__ import annotations

from typing import Any, ClassVar

import casadi as ca

from daedalus.components.semiconductors.card_component import CardComponent
from daedalus.components.semiconductors.diode import LEAK
from daedalus.components.semiconductors.junction import (
    Depletion,
    exponential,
    inner_state,
    junction_voltage,
    larger,
    layer_current,
    size_and_sign,
    smaller,
)
from daedalus.components.semiconductors.temperature import ROOM, thermal_voltage
from daedalus.model.assembly.component import Keyword

_RESISTANCE, _CAPACITANCE = Keyword("ohm", None, "positive"), Keyword("F", None, "positive", nominal=1e-12)


class Jfet(CardComponent):
    """A junction field-effect transistor; `polarity` "n" or "p". Ports gate, drain, source; drain and source may swap.

    With u = v_gs − threshold: 0 for u ≤ 0, transconductance · u² (1 + λ v_ds) in saturation, transconductance · v_ds
    (2 u − v_ds) (1 + λ v_ds) below it. The gate has a junction to drain and source each, with a depletion layer where a
    capacitance is given: `gate_source_charge`, `gate_drain_charge`. `from_card=".model name NJF(...)"` reads the
    parameters of a SPICE card.
    """

    domain = "electrical"
    card_kinds: ClassVar[tuple[str, ...]] = ("njf", "pjf")
    keywords = {
        "threshold": Keyword("V", -2.0),
        "transconductance": Keyword("A/V^2", 1e-4, "positive", nominal=1e-4),
        "modulation": Keyword("1/V", 0.0, "not negative", nominal=0.01),
        "saturation_current": Keyword("A", 1e-14, "positive", nominal=1e-14),
        "emission": Keyword("", 1.0, "positive"),
        "conductance": Keyword("S", LEAK, "not negative", nominal=1e-12),
        "drain_resistance": _RESISTANCE, "source_resistance": _RESISTANCE,
        "source_capacitance": _CAPACITANCE, "drain_capacitance": _CAPACITANCE,
        "gate_potential": Keyword("V", 1.0, "positive"), "forward_share": Keyword("", 0.5, "between 0 and 1"),
        "temperature": Keyword("degC", ROOM),
        "polarity": Keyword(default="n", option="a word", words=("n", "p")),
    }  # fmt: skip

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        gate, drain, source = (m.port(name, "electrical") for name in ("gate", "drain", "source"))
        sign = 1 if q.polarity == "n" else -1
        vd, vs, lost = drain.voltage, source.voltage, ca.SX(0)
        if q.drain_resistance is not None:
            vd, lost = vd - q.drain_resistance * drain.current, lost + q.drain_resistance * drain.current**2
        if q.source_resistance is not None:
            vs, lost = vs - q.source_resistance * source.current, lost + q.source_resistance * source.current**2
        to_source, to_drain = (
            _gate_junction(m, q, end, sign * (gate.voltage - at)) for end, at in (("source", vs), ("drain", vd))
        )
        channel = _channel(q, to_source[0], to_drain[0])
        lost = lost + (to_source[0] - to_drain[0]) * channel + to_source[2] + to_drain[2]
        m.equation(drain.current, sign * (channel - to_drain[1]), name="channel")
        m.equation(gate.current, sign * (to_source[1] + to_drain[1]), name="gate")
        m.equation(drain.current + gate.current + source.current, 0, name="source")
        m.lost(lost)


def _gate_junction(m: Any, q: Any, end: str, voltage: Any) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Voltage, current and lost power of the junction from the gate to one end."""
    capacitance, slope = getattr(q, f"{end}_capacitance"), q.emission * thermal_voltage(q.temperature)
    own: Any = None
    if capacitance is not None:
        own = inner_state(m, f"gate_{end}_voltage")
        m.equation(own, voltage, name=f"gate {end} voltage")
        voltage = own
    v = junction_voltage(m, f"gate_{end}_drive", voltage, q.saturation_current, slope)
    current = exponential(q.saturation_current, v, slope) + q.conductance * v
    lost = v * current
    if capacitance is not None:
        layer = Depletion(capacitance, q.gate_potential, 0.5, q.forward_share)
        current = current + layer_current(m, layer, v, own)
        m.stored(layer.energy(v))
        m.quantity(f"gate_{end}_charge", (1 if q.polarity == "n" else -1) * layer.charge(v), "C")
    return v, current, lost


def _channel(q: Any, vgs: ca.SX, vgd: ca.SX) -> ca.SX:
    """The current from drain to source; the end with the larger gate voltage is the source."""
    across = vgs - vgd
    span, direction = size_and_sign(across)
    conducting = larger(larger(vgs, vgd) - q.threshold, 0)
    inner = smaller(span, conducting)
    size = q.transconductance * inner * (2 * conducting - inner) * (1 + q.modulation * span)
    return direction * size
