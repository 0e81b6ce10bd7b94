"""A part that may be made from a SPICE model card: `Transistor("q1", from_card=".model small NPN(is=1e-15)")`."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from daedalus.components.semiconductors.device_cards import keywords_of, read_card
from daedalus.errors import ModelError
from daedalus.model.assembly.component import Component


class CardComponent(Component):
    """A part with the keywords of a card. Keywords that are given beside it count more than the card.

    from_card: the text of a .model card of one of the kinds `card_kinds`. strict: whether parameters that are not
    modelled are refused; otherwise they are told in a warning.
    """

    card_kinds: ClassVar[tuple[str, ...]] = ()
    _further: ClassVar[dict[str, dict[str, float]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = cls.__signature__  # type: ignore[attr-defined]
        further = [
            inspect.Parameter("from_card", inspect.Parameter.KEYWORD_ONLY, default=None),
            inspect.Parameter("strict", inspect.Parameter.KEYWORD_ONLY, default=False),
        ]
        cls.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[*own.parameters.values(), *further]
        )

    def __init__(
        self, name: str = "", *further: Any, from_card: str | None = None, strict: bool = False, **values: Any
    ) -> None:  # fmt: skip
        if from_card is not None:
            card = read_card(from_card)
            if card.kind not in self.card_kinds:
                raise ModelError(
                    f"{type(self).__name__} {name!r} cannot be made from this card.",
                    card.text,
                    because=f"it is a model of kind {card.kind!r}, and this part takes {', '.join(self.card_kinds)}.",
                    remedy=f".model {card.name} {self.card_kinds[0].upper()}(...)",
                )
            words = self._read_words(keywords_of(card, strict=strict), values)
            values = {**{word: value for word, value in words.items() if word in self.keywords}, **values}
        super().__init__(name, *further, **values)

    @classmethod
    def _read_words(cls, words: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        """The keywords of a card as the part takes them; given: what stands beside the card."""
        return words

    def _complete(self) -> None:
        """Give the defaults of words that belong to one that is given."""
        for word, rest in self._further.items():
            if self.values[word] is not None:
                for name, value in rest.items():
                    self.values[name] = value if self.values[name] is None else self.values[name]
