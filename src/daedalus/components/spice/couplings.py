"""Coils that are coupled by K elements, as one part each."""

from __future__ import annotations

from typing import Any

import casadi as ca

from daedalus.components import electrical
from daedalus.components.spice.netlist_text import Card
from daedalus.model.assembly.component import Component, Keyword


def ends_of(card: Card) -> dict[str, str]:
    """The nodes of an element with two."""
    return {"plus": card.words[1], "minus": card.words[2]}


def couple(circuit: Any, cards: list[Card]) -> None:
    """Coils that are coupled, directly or through others, are one part."""
    groups: list[tuple[set[str], list[Card]]] = []
    for card in cards:
        names = list(card.words[1:-1])
        missing = [coil for coil in names if coil not in circuit.coils]
        if missing or len(set(names)) < max(2, len(names)):
            raise card.refuse(
                "couples coils that are not there", f"{(missing or names)[0]!r} is not another inductor here.",
                "K1 L1 L2 0.9",
            )  # fmt: skip
        touching = [group for group in groups if group[0] & set(names)]
        groups = [group for group in groups if group not in touching]
        groups.append((set(names).union(*(g[0] for g in touching)), [c for g in touching for c in g[1]] + [card]))
    for names_in, couplings in groups:
        coils = [coil for coil in circuit.coils if coil in names_in]
        _coupled(circuit, coils, couplings)


def _coupled(circuit: Any, coils: list[str], couplings: list[Card]) -> None:
    inductances = [circuit.value(circuit.coils[coil].words[3], circuit.coils[coil]) for coil in coils]
    name = circuit.elements[couplings[0].words[0]]
    coupling = circuit.value(couplings[0].words[-1], couplings[0])
    signs = _ideal_signs(circuit, coils, couplings)
    if signs is not None:
        _ideally_coupled(circuit, name, coils, inductances, signs)
        return
    if len(coils) == 2:
        part: Any = electrical.Transformer(
            name, primary_inductance=inductances[0], secondary_inductance=inductances[1],
            coupling=coupling,
        )  # fmt: skip
        sides = ("primary", "secondary")
        ends = {f"{side}_{end}": node for side, coil in zip(sides, coils)
                for end, node in ends_of(circuit.coils[coil]).items()}  # fmt: skip
    else:
        matrix = [[inductances[i] if i == j else 0.0 for j in range(len(coils))] for i in range(len(coils))]
        for card in couplings:
            places = [coils.index(coil) for coil in card.words[1:-1]]
            for i in places:
                for j in places:
                    if i != j:
                        matrix[i][j] = circuit.value(card.words[-1], card) * (inductances[i] * inductances[j]) ** 0.5
        part = CoupledCoils(name, inductances=matrix)
        ends = {f"{end}_{k + 1}": node for k, coil in enumerate(coils)
                for end, node in ends_of(circuit.coils[coil]).items()}  # fmt: skip
    circuit.add(part, name, ends)
    states = ["primary_current", "secondary_current"]
    if len(coils) > 2:
        states = [f"current_{k + 1}" for k in range(len(coils))]
    for coil, state in zip(coils, states):
        circuit.given(f"{name}.{state}", circuit.coils[coil])


def _ideal_signs(circuit: Any, coils: list[str], couplings: list[Card]) -> list[float] | None:
    """The sides of coils that one flux links without leakage, the first one 1.0; None where any two leave some."""
    known: dict[tuple[str, str], float] = {}
    for card in couplings:
        coupling = circuit.value(card.words[-1], card)
        names = card.words[1:-1]
        known.update({(one, other): coupling for one in names for other in names if one != other})
    signs = [1.0, *(known.get((coils[0], coil), 0.0) for coil in coils[1:])]
    pairs = [(i, j) for i in range(len(coils)) for j in range(i)]
    ideal = all(abs(signs[i]) == 1.0 and known.get((coils[i], coils[j])) == signs[i] * signs[j] for i, j in pairs)
    return signs if ideal else None


def _ideally_coupled(circuit: Any, name: str, coils: list[str], inductances: list[float], signs: list[float]) -> None:
    """Coils without leakage: the first one beside an ideal transformer to each other one.

    Their inductances as a matrix have one flux alone in them, up to rounding, and short steps divide that rounding: it
    would hide what a blocking diode conducts.
    """
    first, *others = (ends_of(circuit.coils[coil]) for coil in coils)
    own = circuit.elements[coils[0]]
    circuit.add(electrical.Inductor(own, inductance=inductances[0]), own, first)
    # What the others carry at the start is in the flux of the first.
    given = [circuit.option(circuit.coils[coil], "ic") for coil in coils]
    if any(given):
        turns = [sign * (size / inductances[0]) ** 0.5 for sign, size in zip(signs, inductances)]
        together = sum(n * (current or 0.0) for n, current in zip(turns, given))
        circuit.given(f"{own}.current", circuit.coils[coils[0]], together)
    for k, second in enumerate(others, 1):
        other = name if k == 1 else f"{name}_{k}"
        while k > 1 and other in circuit.elements.values():
            other += "_"
        part = electrical.Transformer(other, ratio=signs[k] * (inductances[k] / inductances[0]) ** 0.5)
        ends = {f"{side}_{end}": node for side, pair in (("primary", first), ("secondary", second))
                for end, node in pair.items()}  # fmt: skip
        circuit.add(part, other, ends)


class CoupledCoils(Component):
    """Coils with ports plus_1, minus_1, plus_2, ...; states current_1, ...; `flux_1`, ... on request;
    `inductances` is a symmetric matrix."""

    domain = "electrical"
    keywords = {"inductances": Keyword("H", option="numbers")}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        matrix = q.inductances
        count = len(matrix)
        currents = [m.state(f"current_{k + 1}", unit="A") for k in range(count)]
        rates = [m.der(current) for current in currents]
        for k in range(count):
            plus, minus = m.port(f"plus_{k + 1}", "electrical"), m.port(f"minus_{k + 1}", "electrical")
            m.equation(plus.current, currents[k], name=f"current {k + 1} in")
            m.equation(plus.current + minus.current, 0, name=f"current {k + 1} out")
            induced = sum((float(matrix[k][j]) * rates[j] for j in range(count)), ca.SX(0))
            linked = sum((float(matrix[k][j]) * currents[j] for j in range(count)), ca.SX(0))
            m.quantity(f"flux_{k + 1}", linked, "Wb")
            m.equation(induced, plus.voltage - minus.voltage, name=f"flux {k + 1}")
        stored = [0.5 * float(matrix[i][j]) * currents[i] * currents[j] for i in range(count) for j in range(count)]
        m.stored(sum(stored, ca.SX(0)))
