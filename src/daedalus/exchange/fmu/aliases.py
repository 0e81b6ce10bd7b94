"""Variables of an FMU that always have the value of another: joined ports, outputs that are written as a variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import casadi as ca

from daedalus.exchange.fmu.model_description import FmuVariable
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.names import element_labels
from daedalus.model.system.system import System

# Formulas are compared as far down as this.
SAME_DEPTH = 4


def with_aliases(system: System, variables: list[FmuVariable], outputs: Mapping[str, ca.SX]) -> list[FmuVariable]:
    """The variables with their further names; outputs: what is written for each, by label.

    An output that is a state, an algebraic or a discrete variable has the unit of that.
    """
    by_name = {v.name: v for v in variables}
    further: dict[str, list[str]] = {}
    for name, own in system.aliases.items():
        place = system.place(own)
        for label, letter, k in zip(element_labels(name, place.shape), place.letters, place.positions):
            target = by_name.get(system.labels[letter][int(k)])
            if target is not None and label not in by_name:
                further.setdefault(target.name, []).append(label)
    symbols = {
        symbol_key(symbol): label
        for letter in ("x", "z", "p")
        for symbol, label in zip(elements(system.symbol(letter)), system.labels[letter])
    }
    same: dict[str, FmuVariable] = {}
    earlier: dict[int, list[str]] = {}
    for label, value in outputs.items():
        if value.is_symbolic():
            target = by_name.get(symbols.get(symbol_key(value), ""))
            if target is not None and target.variability in ("continuous", "discrete"):
                same[label] = target
            continue
        # Joined ports are outputs with one formula; only those of one length are compared.
        alike = earlier.setdefault(ca.n_nodes(value), [])
        first = next((other for other in alike if ca.is_equal(outputs[other], value, SAME_DEPTH)), None)
        if first is None:
            alike.append(label)
        elif by_name[first].unit == by_name[label].unit or not by_name[label].unit:
            same[label] = by_name[first]
    found = []
    for v in variables:
        if v.name in same and v.causality != "independent":
            target = same[v.name]
            v = replace(v, same_as=target.reference, variability=target.variability, unit=target.unit)
        found.append(replace(v, aliases=tuple(further.get(v.name, ()))))
    return found
