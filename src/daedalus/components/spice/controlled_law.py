"""What a controlled source E, F, G or H gives: a gain, a polynomial, a table or a formula."""

from __future__ import annotations

import re
from typing import Any

import casadi as ca

from daedalus.components.spice.netlist_formulas import quantity
from daedalus.components.spice.netlist_text import Card

IN_FREQUENCY = frozenset({"laplace", "freq", "chebyshev"})


def controlled_law(circuit: Any, card: Card, by_voltage: bool) -> Any:
    """The law of a source that voltages (E, G) or currents (F, H) of a circuit control."""
    words = list(card.words[3:])
    for word in words:
        kind = word.partition("=")[0]
        if kind in IN_FREQUENCY:
            because = "laws over frequency are not modelled."
            raise card.refuse(
                f"has a law by {kind.upper()}", because, "the same as R, L and C, or as states of a Model"
            )
    text = next((found for word in ("value", "vol=", "cur=") if (found := card.behind(word)) is not None), None)
    if text is not None:
        return circuit.expression(text.lstrip("= "), card)
    if words and words[0] == "table":
        return _tabled(circuit, card)
    if words and words[0] == "poly":
        count = int(circuit.value(words[1], card)) if len(words) > 1 else 0
        wide = 2 * count if by_voltage else count
        return _polynomial(circuit, card, _controls(circuit, card, words[2 : 2 + wide], by_voltage), words[2 + wide :])
    wide = 2 if by_voltage else 1
    if len(words) < wide + 1:
        because = "a controlled source needs what controls it and a gain."
        raise card.refuse("has an element that is not complete", because, "E1 out 0 a b 2")
    if by_voltage and (points := re.search(r"\btable\s*=?\s*\(([^()]*)\)\s*$", card.text.lower())) is not None:
        return circuit.expression(f"table(v({words[0]},{words[1]}), {points[1]})", card)
    controls = _controls(circuit, card, words[:wide], by_voltage)
    if len(words) > wide + 1:
        return _polynomial(circuit, card, controls, words[wide:])
    return quantity(words[wide], card, circuit.scope) * controls[0]


def _controls(circuit: Any, card: Card, words: list[str], by_voltage: bool) -> list[ca.SX]:
    if not by_voltage:
        return [circuit.current(word, card) for word in words]
    return [circuit.voltage(words[k], words[k + 1]) for k in range(0, len(words) - 1, 2)]


def _polynomial(circuit: Any, card: Card, controls: list[ca.SX], words: list[str]) -> ca.SX:
    """c0 + c1 x1 + c2 x2 + ... + products in SPICE's order: x1², x1 x2, ..., x2², ..., then cubes."""
    if not controls or not words:
        because = "POLY(n) needs n controls and numbers."
        raise card.refuse("has an element that is not complete", because, "POLY(1) a 0 0 1")
    coefficients = [circuit.value(word, card) for word in words]
    if len(controls) == 1 and len(coefficients) == 1:
        return ca.SX(coefficients[0] * controls[0])
    found, products, place = ca.SX(0), [(ca.SX(1), 0)], 0
    while place < len(coefficients):
        for product, _ in products[: len(coefficients) - place]:
            found = found + coefficients[place] * product
            place += 1
        products = [(product * controls[k], k) for product, first in products for k in range(first, len(controls))]
    return found


def _tabled(circuit: Any, card: Card) -> Any:
    """TABLE {formula} = (x, y) (x, y) ..."""
    text = card.text[card.text.lower().index("table") + 5 :]
    begin, end = text.find("{"), text.find("}")
    if begin < 0 or end < 0:
        because = "it is a formula in braces and pairs."
        raise card.refuse("has a table that cannot be read", because, "TABLE {v(a)} = (0,0) (1,2)")
    points = re.split(r"[\s=(),]+", text[end + 1 :].strip(" =(),"))
    return circuit.expression(f"table({text[begin + 1 : end]}, {', '.join(points)})", card)
