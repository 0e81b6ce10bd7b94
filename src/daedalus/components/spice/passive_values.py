"""Values of resistors and capacitors: numbers, models with sheets and densities, several side by side, temperature."""

from __future__ import annotations

import re
from typing import Any

from daedalus.components.semiconductors.device_cards import ModelCard
from daedalus.components.spice.netlist_text import Card, is_pair

_PROBE = re.compile(r"(?<![\w.])(?:[vi]\s*\(|time\b)")


def is_moving(text: str) -> bool:
    """Whether a formula names voltages, currents or time.

    Example
    -------
    >>> is_moving("1k*(1+v(a))"), is_moving("2*rv")
    (True, False)
    """
    return _PROBE.search(text) is not None


def _plain_and_model(circuit: Any, card: Card, kind: str) -> tuple[list[str], ModelCard | None]:
    """The words behind the nodes that are no options, and the model among them."""
    words = [word for word in card.words[3:] if not is_pair(word)]
    for word in words:
        model = circuit.models.get(word) or circuit.netlist.models.get(word)
        if model is not None and model.kind in (kind, {"r": "res", "c": "cap"}[kind]):
            return [other for other in words if other != word], model
    return words, None


def _check_words(card: Card, plain: list[str], most: int) -> None:
    """Refuse words that say nothing."""
    if len(plain) > most:
        raise card.refuse(f"says {plain[most]!r} of {card.words[0]!r}", "that is not modelled.", "without it")


def _temperature(circuit: Any, card: Card) -> float:
    """The temperature of an element in °C."""
    here = circuit.option(card, "temp")
    return float(circuit.netlist.temperature + (circuit.option(card, "dtemp") or 0.0) if here is None else here)


def resistance(circuit: Any, card: Card) -> float | None:
    """The resistance at the temperature of the circuit; None where nothing gives it."""
    plain, model = _plain_and_model(circuit, card, "r")
    values = {} if model is None else model.values
    _check_words(card, plain, 2 if any(word.startswith("tc=") for word in card.words) else 1)
    value = circuit.value(plain[0], card) if plain else circuit.option(card, "r")
    if value is None and "rsh" in values:
        length, width = circuit.option(card, "l"), circuit.option(card, "w") or values.get("defw", 10e-6)
        narrow = values.get("narrow", 0.0)
        value = values["rsh"] * ((length or 0.0) - narrow) / (width - narrow)
    if value is None:
        value = values.get("r", values.get("res"))
    if not value:
        return None
    first = circuit.option(card, "tc1")
    first = circuit.option(card, "tc") if first is None else first
    second = circuit.option(card, "tc2")
    if second is None and any(word.startswith("tc=") for word in card.words) and len(plain) > 1:
        second = circuit.value(plain[-1], card)  # tc=first,second
    first = values.get("tc1", 0.0) if first is None else first
    second = values.get("tc2", 0.0) if second is None else second
    warm = _temperature(circuit, card) - values.get("tnom", circuit.netlist.nominal)
    steep = circuit.option(card, "tce")
    growth = 1 + first * warm + second * warm**2 if steep is None else 1.01 ** (steep * warm)
    growth *= circuit.option(card, "scale") or 1.0
    return float(value * growth / (circuit.option(card, "m") or 1.0))


def capacitance(circuit: Any, card: Card) -> float:
    """The capacitance."""
    plain, model = _plain_and_model(circuit, card, "c")
    values = {} if model is None else model.values
    times = circuit.option(card, "m") or 1.0
    _check_words(card, plain, 1)
    times *= circuit.option(card, "scale") or 1.0
    warm = _temperature(circuit, card) - values.get("tnom", circuit.netlist.nominal)
    first, second = (circuit.option(card, word) or values.get(word, 0.0) for word in ("tc1", "tc2"))
    times *= 1 + first * warm + second * warm**2
    own = circuit.value(plain[0], card) if plain else circuit.option(card, "c")
    if own is not None:
        return float(own * times)
    length, width = circuit.option(card, "l"), circuit.option(card, "w") or values.get("defw", 10e-6)
    if "cj" in values and length is not None:
        narrow = values.get("narrow", 0.0)
        length, width = length - narrow, width - narrow
        return float(times * (values["cj"] * length * width + 2 * values.get("cjsw", 0.0) * (length + width)))
    if "cap" in values or "c" in values:
        return float(times * values.get("cap", values.get("c", 0.0)))
    raise card.refuse("has an element that is not complete", f"{card.words[0]!r} has no capacitance.", "C1 out 0 1u")
