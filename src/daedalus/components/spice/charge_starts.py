"""Where charges begin under uic: as in SPICE, each at the voltage between its nodes.

These are the voltages of .ic, and zero at all other nodes; IC= of an element comes first. No node is held at them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import casadi as ca

from daedalus.components.semiconductors.diode import THERMAL_VOLTAGE
from daedalus.components.semiconductors.junction import critical_voltage
from daedalus.components.spice.device_elements import KINDS, device_keywords, device_model, place_of_model
from daedalus.components.spice.netlist_text import Card, is_pair

# The ends of elements in the order of their nodes, and between which ends the states of their charges lie.
_ENDS = {"c": ("plus", "minus"), "d": ("plus", "minus"), "q": ("collector", "base", "emitter", "substrate"),
         "m": ("drain", "gate", "source", "bulk"), "j": ("drain", "gate", "source")}  # fmt: skip
_STATES = {
    "c": {"voltage": ("plus", "minus")},
    "d": {"voltage": ("plus", "minus"), "junction_voltage": ("plus", "minus")},
    "q": {"emitter_junction": ("base", "emitter"), "collector_junction": ("base", "collector"),
          "outer_junction": ("base", "collector"), "substrate_junction": ("substrate", "collector")},
    "m": {"gate_source_voltage": ("gate", "source"), "gate_drain_voltage": ("gate", "drain"),
          "gate_bulk_voltage": ("gate", "bulk"),
          "bulk_source_voltage": ("bulk", "source"), "bulk_drain_voltage": ("bulk", "drain")},
    "j": {"gate_source_voltage": ("gate", "source"), "gate_drain_voltage": ("gate", "drain")},
}  # fmt: skip
# The states that are counted as of an n-type device, and those across a junction that conducts.
_TURNED = frozenset({"emitter_junction", "collector_junction", "outer_junction", "substrate_junction",
                     "bulk_source_voltage", "bulk_drain_voltage"})  # fmt: skip
_P_TYPES = frozenset({"pnp", "pmos", "pjf"})
# What IC= of an element gives: voltages of an end against another.
_GIVEN = {"c": (("plus", "minus"),), "d": (("plus", "minus"),), "q": (("base", "emitter"), ("collector", "emitter")),
          "m": (("drain", "source"), ("gate", "source"), ("bulk", "source")),
          "j": (("drain", "source"), ("gate", "source"))}  # fmt: skip


def charge_starts(circuit: Any, potentials: Mapping[str, float], path: str = "") -> Iterator[tuple[str, float]]:
    """The states of charges that a circuit can have, by their names in the whole model, and where they begin."""
    for card in circuit.block.cards:
        kind, name = card.words[0][0], path + circuit.elements[card.words[0]]
        if kind == "x":
            inner = circuit.inside[card.words[0]]
            nodes = (word for word in card.words[1:] if not is_pair(word))
            own = {port: potentials.get(node, 0.0) for port, node in zip(inner.block.ports, nodes)}
            own |= {node: potentials.get(node, 0.0) for node in circuit.netlist.shared if node not in own}
            yield from charge_starts(inner, own, f"{name}.")
        elif kind in _STATES:
            ends = dict(zip(_ENDS[kind], (potentials.get(node, 0.0) for node in _nodes(circuit, card, kind))))
            for state, voltage in _starts_of(circuit, card, ends):
                own = circuit.m.written.variables.get(f"{circuit.elements[card.words[0]]}.{state}")
                if own is not None and own.kind == "state":
                    yield f"{name}.{state}", voltage
    yield from _starts_of_formulas(circuit, potentials, path)


def _starts_of_formulas(circuit: Any, potentials: Mapping[str, float], path: str) -> Iterator[tuple[str, float]]:
    """The charges that formulas of voltages give."""
    known: dict[ca.SX, float] = {}
    for nodes, probe in circuit.probes.items():
        ends = [probe.dep(k) for k in range(probe.n_dep())]
        if len(ends) == 2 and all(end.is_symbolic() for end in ends):
            known.update(zip(ends, (potentials.get(node, 0.0) for node in nodes)))
    symbols = ca.vertcat(circuit.m.time, *known)
    for name, value in circuit.rates:
        at = ca.substitute([value], [symbols], [ca.DM([0.0, *known.values()])])[0]
        if at.is_constant():
            yield path + name, float(at)


def _nodes(circuit: Any, card: Card, kind: str) -> list[str]:
    count = place_of_model(circuit, card) if kind == "q" else len(_ENDS[kind]) + 1
    return list(card.words[1:count])


def _starts_of(circuit: Any, card: Card, ends: dict[str, float]) -> Iterator[tuple[str, float]]:
    """The states of one element."""
    kind = card.words[0][0]
    if kind == "q":
        ends.setdefault("substrate", 0.0)
    given = next((word[3:].split(";") for word in card.words if word.startswith("ic=")), [])
    for (end, other), text in zip(_GIVEN[kind], given):
        ends[end] = ends[other] + circuit.value(text, card)
    turned, limit = 1, float("inf")
    if kind != "c":
        model = device_model(circuit, card, card.words[place_of_model(circuit, card)], KINDS[kind])
        turned = -1 if model.kind in _P_TYPES else 1
        words = device_keywords(circuit, model)
        slope = THERMAL_VOLTAGE * float(words.get("emission") or words.get("forward_emission") or 1.0)
        limit = float(critical_voltage(words.get("saturation_current") or 1e-14, slope))
    for state, (end, other) in _STATES[kind].items():
        is_gate = kind == "m" and state not in _TURNED
        voltage = (ends[end] - ends[other]) * (turned if state in _TURNED or kind == "j" else 1)
        # Beyond its critical voltage a junction is not held by its charge: it conducts until it is below.
        yield state, voltage if is_gate or kind == "c" else min(voltage, limit)
