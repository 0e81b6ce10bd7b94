"""Names of probes in results: the voltage of a node, the current of an element, formulas of them over arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from daedalus.components.spice.analyses.analysis_cards import Probe
from daedalus.components.spice.circuit import GROUND
from daedalus.components.spice.netlist import Netlist
from daedalus.components.spice.netlist_formulas import Unreadable
from daedalus.components.spice.netlist_text import Card
from daedalus.model.names import listed

Lookup = Callable[[str], np.ndarray]  # values by name of the model


def shown_names(netlist: Netlist) -> list[str]:
    """What an analysis shows: the voltages of all nodes, and the currents of sources and coils."""
    nodes = [f"v_{word}" for node, word in netlist.words.items() if node not in GROUND]
    coupled = {word for card in netlist.top.cards if card.words[0][0] == "k" for word in card.words[1:-1]}
    sources = [
        f"{word}.current" for name, word in netlist.elements.items() if name[0] in "vehl" and name not in coupled
    ]
    return nodes + sources


def value_of(probe: Probe, lookup: Lookup, netlist: Netlist, card: Card) -> np.ndarray:
    """A probe by name of the model; a part of a complex number where it asks for one."""
    if probe.kind == "v":
        values = [_node(name, lookup, netlist, card) for name in probe.names]
        found = values[0] if len(values) == 1 else values[0] - values[1]
    else:
        word = netlist.elements.get(probe.names[0])
        if word is None:
            raise card.refuse(
                f"asks for {probe.text}",
                f"there is no element {probe.names[0]!r}.",
                f"i({listed(netlist.elements, 1)})",
            )
        found = lookup(f"{word}.current")
    return part_of(found, probe.part)


def _node(name: str, lookup: Lookup, netlist: Netlist, card: Card) -> np.ndarray:
    if name in GROUND:
        return np.zeros(())
    word = netlist.words.get(name)
    if word is None:
        raise card.refuse(f"asks for v({name})", "there is no such node.", f"v({next(iter(netlist.words), 'out')})")
    return lookup(f"v_{word}")


def part_of(values: np.ndarray, part: str) -> np.ndarray:
    """m: magnitude, db: 20 log10 of it, p: phase in rad, r and i: real and imaginary part."""
    with np.errstate(divide="ignore"):
        found: np.ndarray = _PARTS[part](values)
    return found


_PARTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "": np.asarray, "m": np.abs, "db": lambda v: 20 * np.log10(np.abs(v)), "p": np.angle, "r": np.real, "i": np.imag,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sqrt", "exp", "log", "log10", "sin", "cos", "tan", "floor", "ceil", "tanh",
                                            "sinh", "cosh")},
    "abs": np.abs, "mag": np.abs, "ln": np.log, "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos,
    "db": lambda v: part_of(v, "db"), "ph": np.angle, "phase": np.angle, "re": np.real, "im": np.imag,
    "real": np.real, "imag": np.imag, "min": np.minimum, "max": np.maximum, "sgn": np.sign,
    "pow": lambda a, b: a**b, "pwr": lambda a, b: np.sign(a) * np.abs(a) ** b,
}  # fmt: skip


def evaluated(tree: tuple[Any, ...], lookup: Lookup, netlist: Netlist, card: Card, known: dict[str, Any]) -> Any:
    """A formula of probes over arrays; known: names of numbers, such as results of other .meas."""

    def value(node: tuple[Any, ...]) -> Any:
        kind = node[0]
        if kind == "number":
            return node[1]
        if kind == "name":
            if node[1] in known:
                return known[node[1]]
            if node[1] in netlist.parameters:
                return netlist.parameters[node[1]]
            raise refuse(node[1])
        if kind == "probe":
            return value_of(Probe(node[1], node[2], "", f"{node[1]}({','.join(node[2])})"), lookup, netlist, card)
        if kind == "call":
            return called(node[1], node[2])
        operands = [value(own) for own in node[1:]]
        return _operated(kind, operands)

    def called(name: str, arguments: tuple[Any, ...]) -> Any:
        if name[:1] in "vi" and name[1:] in _PARTS.keys() - {""} and all(a[0] in ("name", "number") for a in arguments):
            names = tuple(str(a[1]) if a[0] == "name" else f"{a[1]:g}" for a in arguments)
            return value_of(Probe(name[0], names, name[1:], name), lookup, netlist, card)
        if name == "par" and len(arguments) == 1:
            return value(arguments[0])
        if name not in _FUNCTIONS:
            raise refuse(name)
        try:
            return _FUNCTIONS[name](*(value(own) for own in arguments))
        except TypeError:
            raise refuse(name) from None

    def refuse(word: str) -> Exception:
        return card.refuse(
            f"has a formula with {word!r}",
            "it is not a node, element, .param, result or function.",
            "v(out), i(v1), 2*v(a)",
        )

    try:
        return value(tree)
    except Unreadable as error:
        raise refuse(str(error)) from None


def _operated(sign: str, operands: list[Any]) -> Any:
    a, b = operands[0], operands[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: np.divide(a, b),
            "^": lambda: a**b, "neg": lambda: -a, "not": lambda: np.where(a, 0.0, 1.0),
            "<": lambda: np.where(a < b, 1.0, 0.0), "<=": lambda: np.where(a <= b, 1.0, 0.0),
            ">": lambda: np.where(a > b, 1.0, 0.0), ">=": lambda: np.where(a >= b, 1.0, 0.0),
            "==": lambda: np.where(a == b, 1.0, 0.0), "!=": lambda: np.where(a != b, 1.0, 0.0),
            "&&": lambda: np.where((a != 0) & (b != 0), 1.0, 0.0),
            "||": lambda: np.where((a != 0) | (b != 0), 1.0, 0.0),
            "?": lambda: np.where(operands[0] != 0, operands[1], operands[2]),
        }[sign]()  # fmt: skip
