"""How large a netlist is when its subcircuits are put in, told before anything is built: small texts can mean much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from daedalus.components.spice.netlist_text import Card, is_pair
from daedalus.model.names import counted

# Elements of a circuit with all subcircuits put in, and subcircuits inside each other.
MOST_ELEMENTS = 5_000
DEEPEST = 40


def check_size(top: Sequence[Card], blocks: Mapping[str, Sequence[Card]]) -> None:
    """Refuse a netlist that is too large or too deep, by the card that makes it so."""
    elements, depths = dict[str, int](), dict[str, int]()
    for name in _inner_first(top, blocks):
        elements[name], depths[name] = _sizes(blocks[name], elements, depths)
    _sizes(top, elements, depths)


def _used(card: Card) -> str:
    """The subcircuit that a card uses; empty for other elements."""
    if card.words[0][0] != "x":
        return ""
    plain = [word for word in card.words[1:] if not is_pair(word) and word != "params:"]
    return plain[-1] if plain else ""


def _sizes(cards: Sequence[Card], elements: Mapping[str, int], depths: Mapping[str, int]) -> tuple[int, int]:
    """Elements and depth of a block, from those of the blocks inside it."""
    total = deepest = 0
    for card in cards:
        inner = _used(card)
        total += elements.get(inner, 1)
        deepest = max(deepest, depths.get(inner, -1) + 1)
        if total > MOST_ELEMENTS:
            raise card.refuse(
                "makes the circuit too large", f"with subcircuits put in there are more than {MOST_ELEMENTS} elements.",
                "a part of the circuit, or fewer subcircuits inside each other",
            )  # fmt: skip
        if deepest > DEEPEST:
            raise card.refuse(
                "makes the circuit too deep", f"more than {counted(DEEPEST, 'subcircuit')} lie inside each other.",
                "the inner subcircuits written out",
            )  # fmt: skip
    return total, deepest


def _inner_first(top: Sequence[Card], blocks: Mapping[str, Sequence[Card]]) -> list[str]:
    """The subcircuits that are used, each behind those that it uses; refused where one contains itself."""
    order: list[str] = []
    done: set[str] = set()
    inside: list[str] = []
    waiting = [(card, False) for card in reversed(top)]
    while waiting:
        card, leaves = waiting.pop()
        name = _used(card)
        if leaves:
            inside.pop()
            done.add(name)
            order.append(name)
        elif name in inside:
            raise card.refuse(f"uses the subcircuit {name!r}", "it contains itself.", "a subcircuit without itself")
        elif name in blocks and name not in done:
            inside.append(name)
            waiting.append((card, True))
            waiting += [(inner, False) for inner in reversed(blocks[name])]
    return order
