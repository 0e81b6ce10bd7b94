"""Cards between .if, .elseif, .else and .endif: those whose condition holds by the parameters before them."""

from __future__ import annotations

from collections.abc import Sequence

from daedalus.components.spice.netlist_formulas import Scope, number
from daedalus.components.spice.netlist_text import Card
from daedalus.errors import ModelError

_WORDS = frozenset({".if", ".elseif", ".else", ".endif"})


def chosen_cards(cards: Sequence[Card]) -> list[Card]:
    """The cards that count.

    Example
    -------
    >>> from daedalus.components.spice.netlist_text import cards_of
    >>> text = ".param fast=0\\n.if (fast == 1)\\nR1 a 0 1\\n.else\\nR1 a 0 2\\n.endif"
    >>> [card.text for card in chosen_cards(cards_of(text))]
    ['.param fast=0', 'R1 a 0 2']
    """
    if not any(card.words[0] in _WORDS for card in cards):
        return list(cards)
    found, known = list[Card](), dict[str, float]()
    # Of every open .if: its card, whether its present part counts, and whether one of its parts did.
    opened: list[tuple[Card, bool, bool]] = []
    for card in cards:
        word = card.words[0]
        if word == ".if":
            holds = all(part[1] for part in opened) and _holds(card, known)
            opened.append((card, holds, holds))
        elif word in _WORDS:
            if not opened:
                raise card.refuse(f"has {word} without .if", "no .if is open before it.", ".if (x > 1)")
            first, _, was = opened.pop()
            if word != ".endif":
                outside = all(part[1] for part in opened)
                holds = outside and not was and (word == ".else" or _holds(card, known))
                opened.append((first, holds, was or holds))
        elif all(part[1] for part in opened):
            found.append(card)
            if word == ".param":
                _learn(card, known)
    if opened:
        raise opened[0][0].refuse("begins an .if that does not end", "no .endif follows.", ".endif")
    return found


def _holds(card: Card, known: dict[str, float]) -> bool:
    condition = card.text.strip().split(None, 1)[1:] or [""]
    text = card.text.strip()[len(card.words[0]) :] if "(" in card.words[0] else condition[0]
    return number("{" + text.strip().lower() + "}", card, Scope(known)) != 0


def _learn(card: Card, known: dict[str, float]) -> None:
    """Parameters whose values are known here; conditions that name others are refused where they stand."""
    for name, text in (word.split("=", 1) for word in card.words[1:] if "=" in word):
        try:
            known[name] = number(text, card, Scope(known))
        except ModelError:
            continue
