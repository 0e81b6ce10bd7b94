"""Charges at a sudden start: where sources and other charges do not let them begin as given, they share what they have.

No current is large enough to carry charge away in no time, so what the charges at a node hold together stays. With the
charges q_k given at voltages v0_k, a step of no length ends at the voltages for which

    sum of (q_k(v_k) - q_k(v0_k)) = 0    at every node that no source holds.

The circuit of that step has a source of the current (q(v) - q(v0)) / STEP in the place of every charge, inductors keep
their currents, and everything else is as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import casadi as ca

from daedalus.components import electrical
from daedalus.components.semiconductors.junction import Depletion

# Of the time that .tran asks for: what flows through a resistance in it is no charge, and no division overflows.
STEP = 1e-12
_SIGNED = {"pnp": -1, "p": -1}


class Held(NamedTuple):
    """A charge between two ends of a part, by the name of its state; sign: as the state counts."""

    state: str
    plus: str
    minus: str
    sign: int
    law: Any  # the charge as a function of the voltage


def without_charges(part: Any) -> list[Held]:
    """Take the charges out of a part, and tell what they were."""
    kind, v = type(part).__name__, part.values
    sign = _SIGNED.get(part.options.get("polarity"), 1)
    found = list(_charges(kind, v, sign))
    for word in v:
        if word.endswith(("_capacitance", "transit_time")) or (kind == "Transistor" and word == "inner_base_share"):
            v[word] = None
    return found


def _charges(kind: str, v: dict[str, Any], sign: int) -> Iterator[Held]:
    """What the keywords of a device make of its charges; those of carriers on their way are carried away."""
    if kind == "Diode" and v["junction_capacitance"] is not None:
        state = "voltage" if v["series_resistance"] is None else "junction_voltage"
        layer = Depletion(v["junction_capacitance"], v["junction_potential"], v["grading"], v["forward_share"])
        yield Held(state, "plus", "minus", 1, layer.charge)
    for side, ends in (("emitter", ("base", "emitter")), ("collector", ("base", "collector")),
                       ("substrate", ("substrate", "collector"))) if kind == "Transistor" else ():  # fmt: skip
        if v[f"{side}_capacitance"] is not None:
            words = (f"{side}_capacitance", f"{side}_potential", f"{side}_grading", "forward_share")
            yield Held(f"{side}_junction", *ends, sign, Depletion(*(v[word] for word in words)).charge)
    for end in ("source", "drain") if kind == "Jfet" else ():
        if v[f"{end}_capacitance"] is not None:
            layer = Depletion(v[f"{end}_capacitance"], v["gate_potential"], 0.5, v["forward_share"])
            yield Held(f"gate_{end}_voltage", "gate", end, sign, layer.charge)
    for end in ("source", "drain", "bulk") if kind == "Mosfet" else ():
        oxide = v["oxide_capacitance"] if end == "bulk" else None
        if v[f"gate_{end}_capacitance"] is not None or oxide is not None:
            size = (v[f"gate_{end}_capacitance"] or 0.0) + (oxide or 0.0)
            yield Held(f"gate_{end}_voltage", "gate", end, 1, lambda voltage, size=size: size * voltage)
        for word, grading in (("bulk", "bulk_grading"), ("side", "side_grading")) if end != "bulk" else ():
            if v[f"{end}_{word}_capacitance"] is not None:
                layer = Depletion(v[f"{end}_{word}_capacitance"], v["bulk_potential"], v[grading], v["forward_share"])
                yield Held(f"bulk_{end}_voltage", "bulk", end, sign, layer.charge)


def add_charges(circuit: Any, name: str, ends: dict[str, str], held: list[Held]) -> None:
    """Sources in the place of the charges of a part, each named as its state."""
    path, step = circuit.purpose.inside + name, STEP * circuit.netlist.transient.stop
    for k, own in enumerate(held):
        plus, minus = (ends.get(end, ends.get("source", "0")) for end in (own.plus, own.minus))
        begin = circuit.purpose.charged.get(f"{path}.{own.state}", 0.0)
        voltage = own.sign * circuit.voltage(plus, minus)
        current = own.sign * (own.law(voltage) - float(ca.DM(own.law(begin)))) / step
        source = f"{name}_charge_{k}"
        circuit.add(electrical.CurrentSource(source, current=current), source, {"plus": plus, "minus": minus})
        circuit.jumps.append((f"{path}.{own.state}", f"{circuit.purpose.inside}{source}.voltage", own.sign))


def all_jumps(circuit: Any) -> Iterator[tuple[str, str, int]]:
    """The states of all charges, the voltages in their places, and their signs."""
    yield from circuit.jumps
    for inner in circuit.inside.values():
        yield from all_jumps(inner)
