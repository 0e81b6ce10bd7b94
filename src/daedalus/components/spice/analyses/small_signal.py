"""The circuit for small signals around its operating point: `.ac`, `.tf` and `.noise`.

    E δx' = A δx + B δu,    δy = C δx + D δu    at s = iω,

by `dd.linearise` with an input for every source that is driven, every source of noise and every wave on a line.
"""

from __future__ import annotations

import cmath
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from daedalus.analysis.linear.linearise import linearise
from daedalus.components.spice.analyses.analysis_cards import Noise, Transfer
from daedalus.components.spice.analyses.named_values import shown_names, value_of
from daedalus.components.spice.analyses.rest import rest
from daedalus.components.spice.from_spice import circuit_for
from daedalus.components.spice.netlist import Netlist
from daedalus.components.spice.netlist_formulas import number
from daedalus.components.spice.netlist_text import Card
from daedalus.components.spice.purpose import Purpose
from daedalus.components.spice.small_signal_inputs import SmallSignalInputs
from daedalus.components.spice.waveforms import source_words


class SmallSignal:
    """A circuit at its operating point with inputs: `response(s)` is δy by input at complex frequencies."""

    def __init__(self, netlist: Netlist, driven: frozenset[str], noisy: bool = False, probe: Any = None) -> None:
        purpose = Purpose(steady=True, at_rest=True, driven=driven, noisy=noisy)
        self.model = circuit_for(netlist, purpose) if probe is None else _probed(netlist, purpose, probe)
        self.inputs: SmallSignalInputs = netlist.small.pop(id(self.model), SmallSignalInputs(None))
        self.point = rest(netlist, self.model)
        self.linear = linearise(self.model, at=self.point)
        self.places = {name: k for k, name in enumerate(self.linear.inputs)}
        self.wanted = list(dict.fromkeys([*shown_names(netlist), *(wave.entering for wave in self.inputs.waves)]))

    def response(self, s: np.ndarray, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
        """By name an array (frequencies, inputs)."""
        lin = self.linear
        rows = list(names) if names is not None else self.wanted
        C, D = np.zeros((len(rows), lin.A.shape[0])), np.zeros((len(rows), lin.B.shape[1]))
        for k, name in enumerate(rows):
            if name in lin.states:
                C[k, lin.states.index(name)] = 1.0
            elif name in lin.outputs:  # else it is a number that no signal moves
                place = lin.outputs.index(name)
                C[k], D[k] = lin.C[place], lin.D[place]
        values = np.empty((len(s), *D.shape), dtype=complex)
        for k, own in enumerate(s):
            values[k] = self._closed(own, C @ _solved(own * lin.E - lin.A, lin.B) + D, rows)
        return {name: values[:, k] for k, name in enumerate(rows)}

    def _closed(self, s: complex, G: np.ndarray, rows: list[str]) -> np.ndarray:
        """With the waves of lines as they are at that frequency."""
        waves = [wave for wave in self.inputs.waves if wave.entering in rows]
        if not waves:
            return G
        columns = [self.places[wave.input] for wave in waves]
        lines = [rows.index(wave.entering) for wave in waves]
        late = np.array([cmath.exp(-s * wave.delay) - 1 for wave in waves])
        added = np.linalg.solve(
            np.eye(len(waves)) - late[:, None] * G[np.ix_(lines, columns)], late[:, None] * G[lines]
        )
        found: np.ndarray = G + G[:, columns] @ added
        return found

    def column(self, source: str) -> int:
        """The place of the input of a driven source."""
        return self.places[Purpose.input_of(source)]


def _solved(matrix: np.ndarray, B: np.ndarray) -> np.ndarray:
    """By rows of equal size, and refined once: conductances of 1e-12 S stand beside ones of 1 S."""
    scale = np.abs(matrix).max(axis=1, keepdims=True)
    scale[scale == 0] = 1.0
    scaled, right = matrix / scale, B / scale
    found: np.ndarray = np.linalg.solve(scaled, right)
    return found + np.linalg.solve(scaled, right - scaled @ found)


def _probed(netlist: Netlist, purpose: Purpose, probe: tuple[str, ...]) -> Any:
    """The circuit with a current into an output that is an input, to find its resistance."""
    plus, minus = (*probe, "0")[:2]
    text = f"ioutput_probe {minus} {plus} 0"
    card = Card(0, text, tuple(text.split()))
    netlist.top.cards.append(card)
    try:
        return circuit_for(netlist, replace(purpose, driven=purpose.driven | {"ioutput_probe"}))
    finally:
        netlist.top.cards.remove(card)


def ac(netlist: Netlist, frequencies: np.ndarray, card: Card) -> Any:
    """The complex amplitudes of all voltages and currents over frequency, an xarray Dataset."""
    import xarray

    blocks = (netlist.top, *netlist.blocks.values())
    driven = {
        c.words[0]: c for b in blocks for c in b.cards if c.words[0][0] in "vi" and source_words(c).small is not None
    }
    if not driven:
        raise card.refuse("has an .ac without a source", "no source says AC.", "V1 in 0 DC 0 AC 1")
    circuit = SmallSignal(netlist, frozenset(driven))
    weights = np.zeros(len(circuit.places), dtype=complex)
    for name, place in circuit.places.items():
        source = next((s for s in driven if name == s + "_signal" or name.endswith(f"_{s}_signal")), None)
        if source is not None:
            small = [number(word, driven[source], netlist.scope) for word in source_words(driven[source]).small or ()]
            size, phase = (*small, *(1.0, 0.0)[len(small) :])
            weights[place] = size * cmath.exp(1j * np.pi / 180 * phase)
    found = circuit.response(2j * np.pi * frequencies)
    data = {name: ("frequency", found[name] @ weights) for name in shown_names(netlist)}
    return xarray.Dataset(data, coords={"frequency": ("frequency", frequencies, {"units": "Hz"})})


def transfer_function(netlist: Netlist, asked: Transfer) -> dict[str, float]:
    """.tf: the ratio of an output to a source at rest, and the resistances at both."""
    source = _source(netlist, asked.source, asked.card)
    voltage = asked.output.kind == "v"
    value_of(asked.output, lambda name: np.zeros(1), netlist, asked.card)  # which refuses what is not there
    circuit = SmallSignal(netlist, frozenset({asked.source}), probe=asked.output.names if voltage else None)
    found = circuit.response(np.array([0j]))
    own = circuit.column(source)

    def seen(column: int) -> float:
        return float(np.real(value_of(asked.output, lambda name: found[name][0, column], netlist, asked.card)))

    ends = next(card for card in netlist.top.cards if card.words[0] == asked.source).words[1:3]
    if asked.source[0] == "v":
        current = -float(np.real(found[f"{source}.current"][0, own]))
        resistance = 1 / current if current else np.inf
    else:
        drop = [float(np.real(found[f"v_{netlist.words[end]}"][0, own])) if end != "0" else 0.0 for end in ends]
        resistance = drop[1] - drop[0]
    told = {"transfer_function": seen(own), "input_resistance": resistance}
    if voltage:
        told["output_resistance"] = seen(circuit.column("ioutput_probe"))
    return told


def noise(netlist: Netlist, asked: Noise) -> Any:
    """.noise: densities at the output and referred to the source, and what each element adds, an xarray Dataset."""
    import xarray

    source = _source(netlist, asked.source, asked.card)
    circuit = SmallSignal(netlist, frozenset({asked.source}), noisy=True)
    found = circuit.response(2j * np.pi * asked.frequencies)
    gains = np.array(value_of(asked.output, lambda name: found[name], netlist, asked.card))  # (frequencies, inputs)
    shares: dict[str, np.ndarray] = {}
    parameters: Mapping[str, float] = {
        name: float(circuit.point.vectors["p"][k]) for k, name in enumerate(circuit.point.system.labels["p"])
    }
    for own in circuit.inputs.found:
        density = own.density(circuit.point, parameters, netlist.temperature)
        part = np.abs(gains[:, circuit.places[own.input]]) ** 2 * density
        if own.kind == "flicker":
            part = part / asked.frequencies
        shares[own.element] = shares.get(own.element, 0.0) + part
    total = np.sum(list(shares.values()), axis=0) if shares else np.zeros(len(asked.frequencies))
    forward = np.abs(gains[:, circuit.column(source)])
    unit = "V" if asked.output.kind == "v" else "A"
    with np.errstate(divide="ignore", invalid="ignore"):
        referred = np.sqrt(total) / forward
    data: dict[str, Any] = {
        "onoise": ("frequency", np.sqrt(total), {"units": f"{unit}/sqrt(Hz)"}),
        "inoise": ("frequency", referred, {"units": f"{'V' if asked.source[0] == 'v' else 'A'}/sqrt(Hz)"}),
    }
    data |= {"shares": (("element", "frequency"), np.array(list(shares.values())), {"units": f"{unit}^2/Hz"})}
    attributes = {
        "onoise_total": float(np.sqrt(_integral(asked.frequencies, total))),
        "inoise_total": float(np.sqrt(_integral(asked.frequencies, referred**2))),
    }
    return xarray.Dataset(data, {"frequency": asked.frequencies, "element": list(shares)}, attributes)


def _integral(x: np.ndarray, y: np.ndarray) -> float:
    """∫ y dx of a curve that is straight between points in logarithmic scales, as SPICE takes it."""
    if len(x) < 2 or np.any(x <= 0) or np.any(y <= 0):
        return float(np.trapezoid(y, x)) if len(x) > 1 else 0.0
    slope = np.diff(np.log(y)) / np.diff(np.log(x))
    flat = np.abs(slope + 1) < 1e-10
    power = np.where(flat, 1.0, slope + 1)
    pieces = np.where(flat, y[:-1] * x[:-1] * np.log(x[1:] / x[:-1]), (y[1:] * x[1:] - y[:-1] * x[:-1]) / power)
    return float(pieces.sum())


def _source(netlist: Netlist, name: str, card: Card) -> str:
    known = [own.words[0] for own in netlist.top.cards if own.words[0][0] in "vi"]
    if name not in known:
        raise card.refuse(f"asks for the source {name!r}", f"the sources are {', '.join(known[:6]) or 'none'}.", "V1")
    circuit_for_names = netlist.elements or {}
    return circuit_for_names.get(name, name)
