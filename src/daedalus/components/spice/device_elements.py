"""Diodes and transistors of a netlist: their cards, temperatures, areas and sizes as keywords of parts."""

from __future__ import annotations

from typing import Any

from daedalus.components import electrical
from daedalus.components.semiconductors.device_cards import ModelCard, keywords_of
from daedalus.components.semiconductors.mos_process import EPSILON_OXIDE, mos_words
from daedalus.components.semiconductors.mosfet import SIDE
from daedalus.components.spice.netlist_text import Card, is_pair

DEFAULT_OXIDE = 1e-7  # m, where noise needs an oxide that the card does not give
# The kinds of models that a device takes.
KINDS = {"d": ("d",), "q": ("npn", "pnp"), "m": ("nmos", "pmos"), "j": ("njf", "pjf")}
GROWS_SIDE_BY_SIDE = frozenset({
    "width", "bulk_saturation_current", "drain_area", "source_area", "drain_perimeter", "source_perimeter",
    "drain_bulk_capacitance", "source_bulk_capacitance", "bulk_overlap",
})  # fmt: skip
GROWS = frozenset({"saturation_current", "transconductance"})


def device_model(circuit: Any, card: Card, word: str, kinds: tuple[str, ...]) -> ModelCard:
    """The .model that an element names."""
    model = circuit.models.get(word) or circuit.netlist.models.get(word)
    if model is None or model.kind not in kinds:
        raise card.refuse(
            f"uses the model {word!r}", "no such model is declared for this element.", f".model {word} D(...)"
        )
    return model


def device_keywords(circuit: Any, model: ModelCard) -> dict[str, Any]:
    """The keywords of a part by its .model, read once."""
    known = circuit.netlist.keywords.get(id(model))
    if known is None:
        known = circuit.netlist.keywords[id(model)] = keywords_of(model, strict=circuit.netlist.strict)
    return dict(known)


def _warm(circuit: Any, words: dict[str, Any], card: Card) -> dict[str, Any]:
    """With temperatures and the conductance across junctions."""
    own = circuit.option(card, "temp")
    words["temperature"] = circuit.netlist.temperature if own is None else own
    words.setdefault("nominal_temperature", circuit.netlist.nominal)
    words["conductance"] = circuit.netlist.gmin
    return words


def _scaled(circuit: Any, words: dict[str, Any], card: Card, places: int) -> dict[str, Any]:
    """With the area of an element: currents and capacitances grow with it, resistances fall."""
    plain = [w for w in card.words[places:] if not is_pair(w) and w not in ("off", "on")]
    area = circuit.value(plain[0], card) if plain else circuit.option(card, "area")
    area = (1.0 if area is None else area) * (circuit.option(card, "m") or 1.0)
    if area == 1.0:
        return words
    found = {}
    for word, value in words.items():
        grows = isinstance(value, float) and (word in GROWS or word.endswith(("_capacitance", "_leakage", "_current")))
        falls = isinstance(value, float) and word.endswith("_resistance")
        found[word] = value * area if grows else value / area if falls else value
    return found


def _read_diode(circuit: Any, card: Card, name: str) -> None:
    model = device_model(circuit, card, card.words[3], KINDS["d"])
    words = {"saturation_current": 1e-14, **device_keywords(circuit, model)}
    words = _warm(circuit, _scaled(circuit, words, card, 4), card)
    ends = circuit.small.outside(name, words, circuit.two_ends(card), {"plus": "series_resistance"})
    circuit.add(electrical.Diode(name, **words), name, ends)
    circuit.small.shot(name, "current", ends["plus"], ends["minus"])
    circuit.small.flicker(name, "current", (ends["plus"], ends["minus"]), model.values)


def place_of_model(circuit: Any, card: Card) -> int:
    """Where the name of its .model stands on the card of a device; a bipolar transistor may name its substrate."""
    kind = card.words[0][0]
    if kind == "q":
        known = {**circuit.netlist.models, **circuit.models}
        return 4 if card.words[4] in known or len(card.words) < 6 else 5
    return {"d": 3, "j": 4, "m": 5}[kind]


def _read_bipolar(circuit: Any, card: Card, name: str) -> None:
    place = place_of_model(circuit, card)
    model = device_model(circuit, card, card.words[place], KINDS["q"])
    words = {"saturation_current": 1e-16, **device_keywords(circuit, model)}
    words = _warm(circuit, _scaled(circuit, words, card, place + 1), card)
    ends = dict(zip(("collector", "base", "emitter"), card.words[1:4]))
    if words.get("substrate_capacitance") is not None:
        ends["substrate"] = card.words[4] if place == 5 else "0"
    drops = {"collector": "collector_resistance", "emitter": "emitter_resistance"}
    if not {"least_base_resistance", "base_resistance_current", "inner_base_share"} & words.keys():
        drops["base"] = "base_resistance"
    ends = circuit.small.outside(name, words, ends, drops)
    circuit.add(electrical.Transistor(name, **words), name, ends)
    circuit.small.shot(name, "collector.current", ends["collector"], ends["emitter"])
    circuit.small.shot(name, "base.current", ends["base"], ends["emitter"])
    circuit.small.flicker(name, "base.current", (ends["base"], ends["emitter"]), model.values)


def _side_by_side(words: dict[str, Any], count: float) -> dict[str, Any]:
    """The keywords of as many MOSFETs side by side."""
    if count == 1.0:
        return words
    found = {"width": SIDE, "bulk_saturation_current": 1e-14, **words}
    for word, value in found.items():
        if value is not None and word in GROWS_SIDE_BY_SIDE:
            found[word] = value * count
        elif value is not None and word in ("drain_resistance", "source_resistance"):
            found[word] = value / count
    return found


def _read_mosfet(circuit: Any, card: Card, name: str) -> None:
    model = device_model(circuit, card, card.words[5], KINDS["m"])
    words = _warm(circuit, device_keywords(circuit, model), card)
    squares = {"drain_squares": circuit.option(card, "nrd"), "source_squares": circuit.option(card, "nrs")}
    words |= {word: count for word, count in squares.items() if count is not None}
    words = mos_words(words, words["temperature"], words.pop("nominal_temperature"))
    own = {"width": "w", "length": "l", "drain_area": "ad", "source_area": "as", "drain_perimeter": "pd",
           "source_perimeter": "ps"}  # fmt: skip
    words |= {word: circuit.option(card, short) for word, short in own.items() if circuit.option(card, short)}
    words |= {"conductance": 0.0, "bulk_conductance": circuit.netlist.gmin}
    words = _side_by_side(words, circuit.option(card, "m") or 1.0)
    ends = dict(zip(("drain", "gate", "source", "bulk"), card.words[1:5]))
    # Behind a resistance the source is another node than the bulk.
    tied = ends["bulk"] == ends["source"] and words.get("source_resistance") is None
    if tied:
        del ends["bulk"]
    ends = circuit.small.outside(name, words, ends, {"drain": "drain_resistance", "source": "source_resistance"})
    circuit.add(electrical.Mosfet(name, bulk="source" if tied else "port", **words), name, ends)
    circuit.small.channel(name, ends["drain"], ends["source"], "gain")
    oxide = EPSILON_OXIDE / (words.get("oxide_thickness") or DEFAULT_OXIDE)
    length = (words.get("length") or SIDE) - 2 * (words.get("lateral_diffusion") or 0.0)
    size = oxide**2 * length * (words.get("width") or SIDE)
    circuit.small.flicker(name, "drain.current", (ends["drain"], ends["source"]), model.values, size)


def _read_jfet(circuit: Any, card: Card, name: str) -> None:
    model = device_model(circuit, card, card.words[4], KINDS["j"])
    words = _warm(circuit, _scaled(circuit, device_keywords(circuit, model), card, 5), card)
    words.pop("nominal_temperature", None)
    ends = dict(zip(("drain", "gate", "source"), card.words[1:4]))
    ends = circuit.small.outside(name, words, ends, {"drain": "drain_resistance", "source": "source_resistance"})
    circuit.add(electrical.Jfet(name, **words), name, ends)
    circuit.small.channel(name, ends["drain"], ends["source"], "transconductance")
    circuit.small.flicker(name, "drain.current", (ends["drain"], ends["source"]), model.values)


DEVICES = {"d": _read_diode, "q": _read_bipolar, "m": _read_mosfet, "j": _read_jfet}
