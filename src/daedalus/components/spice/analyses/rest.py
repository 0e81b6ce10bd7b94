"""The circuit at rest with steady sources: `.op`, and `.dc` over values of sources, resistors and the temperature."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.analysis.points.equilibrium import Equilibrium, equilibrium
from daedalus.components.spice.analyses.analysis_cards import Sweep
from daedalus.components.spice.analyses.named_values import shown_names
from daedalus.components.spice.from_spice import circuit_for, start_guess
from daedalus.components.spice.netlist import Netlist
from daedalus.components.spice.purpose import AT_REST
from daedalus.model.model import Model

_WORD = {"v": "voltage", "i": "current", "r": "resistance"}


def rest(
    netlist: Netlist, m: Model, parameters: Mapping[str, float] | None = None, near: Mapping[str, Any] | None = None
) -> Equilibrium:
    """The operating point of a circuit; .nodeset, or a point nearby, is where the search begins."""
    guess: Any = near
    if near is None:
        guess = start_guess(netlist, m, AT_REST)
    return equilibrium(m, guess=guess, parameters=parameters)


def operating_point(netlist: Netlist) -> Equilibrium:
    """.op."""
    return rest(netlist, circuit_for(netlist, AT_REST))


def direct_current(netlist: Netlist, asked: Sweep) -> Any:
    """.dc: voltages and currents over the swept values, an xarray Dataset; the first name moves fastest."""
    import xarray

    if len(set(asked.names)) < len(asked.names):
        raise asked.card.refuse(
            "sweeps one thing twice", "each sweep has a source of its own.", ".dc V1 0 5 1 V2 0 5 1"
        )
    models: dict[float, Model] = {}
    before, points = netlist.temperature, list[Equilibrium]()
    try:
        for values in itertools.product(*reversed(asked.values)):
            row = dict(zip(reversed(asked.names), values))
            if (here := row.pop("temp", before)) != netlist.temperature:
                netlist.warm(here)
            m = models.get(netlist.temperature)
            if m is None:
                m = models[netlist.temperature] = circuit_for(netlist, AT_REST)
            given = {_parameter(name, netlist, asked): float(value) for name, value in row.items()}
            near = {name: points[-1][name] for name in points[-1]} if points else None
            points.append(rest(netlist, m, given, near))
    finally:
        if netlist.temperature != before:
            netlist.warm(before)
    shape = [len(values) for values in reversed(asked.values)]
    dimensions = list(reversed(asked.names))
    data = {
        name: (dimensions, np.array([point[name] for point in points]).reshape(shape)) for name in shown_names(netlist)
    }
    return xarray.Dataset(data, coords=dict(zip(asked.names, asked.values)))


def _parameter(name: str, netlist: Netlist, asked: Sweep) -> str:
    """The parameter of the model that a swept name is."""
    word = netlist.elements.get(name)
    if word is None or name[0] not in _WORD:
        known = [own for own in netlist.elements if own[0] in _WORD]
        raise asked.card.refuse(
            f"sweeps {name!r}", f"it is neither a source nor a resistor: {', '.join(known[:6])}.", ".dc V1 0 5 0.1"
        )
    return f"{word}.{_WORD[name[0]]}"
