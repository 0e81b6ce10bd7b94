"""What a netlist says beside its elements: subcircuits, models, parameters, functions, options and wanted analyses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from daedalus.components.semiconductors.device_cards import ModelCard, card_values
from daedalus.components.semiconductors.temperature import ROOM
from daedalus.components.spice.netlist_formulas import Scope, Unreadable, UserFunction, number, parsed
from daedalus.components.spice.netlist_text import Card
from daedalus.components.spice.node_words import node_words
from daedalus.errors import ModelError

_IGNORED = {".print", ".plot", ".save", ".probe", ".width", ".title", ".endl", ".end", ".backanno", ".protect",
            ".unprotect"}  # fmt: skip
# What `run_spice` computes; a model alone is the circuit over time.
DEEPEST = 8  # subcircuits inside each other
ANALYSES = frozenset({".op", ".dc", ".ac", ".tf", ".noise", ".four", ".meas", ".measure"})
# Analyses of other programs that are told and left out; the circuit is read all the same.
NOT_COMPUTED = {".pz": "dd.linearise(m).poles()", ".sens": "dd.sensitivities", ".disto": ".four of a run",
                ".pss": "dd.periodic", ".sp": ".ac", ".hb": "dd.periodic", ".net": ".ac", ".step": "dd.sweep",
                ".mc": "dd.sweep", ".wcase": "dd.sweep", ".wc": "dd.sweep", ".wave": "tr[name]",
                ".savebias": ".nodeset", ".loadbias": ".nodeset"}  # fmt: skip
OPTIONS = frozenset({".options", ".option", ".opt"})
PARAMETERS = (".param", ".params", ".csparam")
OWN = (".param", ".params", ".model")  # a subcircuit may have these of its own
# Options that change the circuit itself and are not modelled; others are about tolerances and output.
CIRCUIT_OPTIONS = frozenset({"scale", "rshunt", "cshunt", "rseries", "defl", "defw", "defad", "defas", "scalm"})


_WORDS = frozenset({".if", ".elseif", ".else", ".endif"})


@dataclass
class Block:
    """The cards of the circuit itself or of a .subckt: its ports, its own .param and .model, and elements."""

    ports: tuple[str, ...] = ()
    head: Card | None = None
    cards: list[Card] = field(default_factory=list)
    settings: list[Card] = field(default_factory=list)

    def written(self) -> list[tuple[str, ...]]:
        """All that it says, to compare it with another."""
        return [self.ports, *(card.words for card in (*self.settings, *self.cards))]

    def port_words(self, shared: tuple[str, ...]) -> dict[str, str]:
        """The nodes outside, as ports of the model; an element may be called like one."""
        return node_words((*self.ports, *shared), taken=node_words(card.words[0] for card in self.cards).values())


@dataclass
class Transient:
    """.tran: step and end, where the output begins, and whether starts are given (uic)."""

    step: float = 1e-9
    stop: float = 1.0
    begin: float = 0.0
    starts_given: bool = False
    is_asked: bool = False


class Netlist:
    """Blocks, models and settings of one netlist."""

    def __init__(self, cards: list[Card], strict: bool = False, title: str = "circuit") -> None:
        self.strict, self.title = strict, title
        self.top, self.blocks = Block(), dict[str, Block]()
        self.models: dict[str, ModelCard] = {}
        self.functions: dict[str, UserFunction] = {}
        self.parameters: dict[str, float] = {}
        self.gmin, self.temperature, self.nominal = 1e-12, ROOM, ROOM
        self.transient = Transient()
        self.given: dict[str, tuple[float, Card]] = {}  # .ic
        self.guessed: dict[str, tuple[float, Card]] = {}  # .nodeset
        self.words: dict[str, str] = {}  # the nodes of the circuit itself, as its outputs name them
        self.elements: dict[str, str] = {}  # its elements, as the model names them
        self.small: dict[int, Any] = {}  # the inputs for small signals of a model, by its id
        self.inner: dict[int, Any] = {}  # the circuits of models of subcircuits, by the id of the model
        self.analyses: list[Card] = []  # .op .dc .ac .tf .noise .four .meas, in their order
        self.shared: tuple[str, ...] = ()  # .global
        self.keywords: dict[int, dict[str, Any]] = {}  # of models that were read
        self._late = self._split(chosen_cards(_without_commands(cards)))
        # Temperatures and parameters first, in their order: other cards may name them before they are declared.
        first, second = (".temp", *OPTIONS), (*PARAMETERS, ".func")
        for card in self._late:
            if card.words[0] in first:
                self._setting(card)
        self.parameters["temper"] = self.temperature
        for card in self._late:
            if card.words[0] == ".func":
                self._setting(card)
        self._read_parameters()
        for card in self._late:
            if card.words[0] not in (*first, *second):
                self._setting(card)

    def _read_parameters(self) -> None:
        """All .param, also those that name one behind them."""
        open_pairs = [
            (name.split("(")[0], text, card)
            for card in self._late if card.words[0] in PARAMETERS
            for name, text in (word.split("=", 1) for word in card.words[1:] if "=" in word)
        ]  # fmt: skip
        while open_pairs:
            later, errors = [], list[ModelError]()
            for name, text, card in open_pairs:
                try:
                    self.parameters[name] = number(text, card, self.scope)
                except ModelError as error:
                    later.append((name, text, card))
                    errors.append(error)
            if len(later) == len(open_pairs):
                raise errors[0]
            open_pairs = later

    def warm(self, temperature: float) -> None:
        """Set the temperature, and read again what may follow it: .param and .model."""
        self.temperature = temperature
        self.parameters = {"temper": temperature}
        self.keywords.clear()
        self._read_parameters()
        for card in self._late:
            if card.words[0] == ".model":
                self._setting(card)

    @property
    def has_lines(self) -> bool:
        """Whether there is a lossless line anywhere."""
        return any(card.words[0][0] == "t" for block in (self.top, *self.blocks.values()) for card in block.cards)

    @property
    def scope(self) -> Scope:
        """What names mean outside of subcircuits."""
        return Scope(self.parameters, self.functions)

    def _split(self, cards: list[Card]) -> list[Card]:
        """Elements to their blocks; the cards that are settings of the whole."""
        block, opened, settings, outer = self.top, list[Card](), list[Card](), list[Block]()
        repeated: list[tuple[Block, Block]] = []
        for card in cards:
            word = card.words[0]
            if word in (".subckt", ".macro"):
                card.needs(2, ".subckt name node node")
                if len(opened) >= DEEPEST:
                    raise card.refuse(
                        "begins a .subckt inside too many others", f"line {opened[0].line} has no .ends.", ".ends"
                    )
                opened.append(card)
                nodes = tuple(w for w in card.words[2:] if "=" not in w and w not in ("params:", "optional:"))
                if len(set(nodes)) < len(nodes):
                    raise card.refuse("names a node twice", "each node of a subcircuit is its own.", "other names")
                outer.append(block)
                block = Block(nodes, card)
                first = self.blocks.setdefault(card.words[1], block)
                if first is not block:
                    repeated.append((first, block))
            elif word in (".ends", ".eom"):
                if not outer:
                    raise card.refuse("ends a .subckt that did not begin", "none is open here.", ".subckt name nodes")
                block = outer.pop()
                del opened[-1:]
            elif word[0] == "." and (block is self.top or word not in OWN):
                settings.append(card)
            elif word[0] == ".":
                block.settings.append(card)
            else:
                block.cards.append(card)
        if opened:
            raise opened[0].refuse("begins a .subckt that does not end", "no .ends follows.", ".ends")
        for first, again in repeated:
            if first.head is not None and again.head is not None and first.written() != again.written():
                self._tell_second(again.head, first.head)
        return settings

    def _tell_second(self, card: Card, first: Card) -> None:
        """Tell a second definition of a name that differs from the first, which counts as in ngspice."""
        kind, name = card.words[:2]
        if self.strict:
            raise card.refuse(f"has a second {kind} {name!r}", f"line {first.line} has the first.", "another name")
        card.tell(f"a second {kind} {name!r} is left out; that of line {first.line} counts.")

    def _setting(self, card: Card) -> None:
        word = card.words[0]
        pairs = [w.split("=", 1) for w in card.words[1:] if "=" in w]
        if word == ".func":
            self._function(card)
        elif word == ".model":
            model = card_values(card, self.scope, self.models)
            first = self.models.get(model.name)
            if first is None or first.card is card:
                self.models[model.name] = model
            elif first.values != model.values or first.kind != model.kind:
                self._tell_second(card, first.card)
        elif word in (".ic", ".nodeset"):
            self._voltages(card)
        elif word in OPTIONS:
            self._options(card, pairs)
        elif word == ".temp":
            card.needs(2, ".temp 27")
            self.temperature = number(card.words[1], card, self.scope)
            if len(card.words) > 2:
                card.tell(f"the first of {len(card.words) - 1} temperatures is used; .dc temp sweeps over them.")
        elif word == ".tran":
            self._tran(card)
        elif word == ".global":
            self.shared = tuple(dict.fromkeys((*self.shared, *card.words[1:])))
        elif word in ANALYSES:
            self.analyses.append(card)
        elif word in NOT_COMPUTED:
            card.tell(f"{word} is not computed; {NOT_COMPUTED[word]} is near to it.")
        elif word not in _IGNORED:
            raise card.refuse("has a card that is not read", f"{word} is not valid.", "without it")

    def _function(self, card: Card) -> None:
        match = re.fullmatch(r"\.func\s+(\w+)\s*\(([^)]*)\)\s*=?\s*[{']?(.*?)[}']?\s*", card.text.strip().lower())
        if match is None:
            raise card.refuse(
                "has a .func that cannot be read", "it is a name, arguments and a formula.", ".func f(x) {x*x}"
            )
        try:
            tree = parsed(match[3])
        except Unreadable as error:
            raise card.refuse(
                f"has a formula that cannot be read: {match[3]}", f"{error} is not understood.", ".func f(x) {x*x}"
            ) from None
        arguments = tuple(word.strip() for word in match[2].split(",") if word.strip())
        self.functions[match[1]] = UserFunction(arguments, tree)

    def _voltages(self, card: Card) -> None:
        """.ic and .nodeset: V(node)=value."""
        goes_to = self.given if card.words[0] == ".ic" else self.guessed
        for entry in (w for w in card.words[1:] if w != "v"):
            if "=" not in entry:
                raise card.refuse(
                    f"has a {card.words[0]} that cannot be read", "it is V(node)=value.", f"{card.words[0]} V(out)=1"
                )
            name, text = entry.split("=", 1)
            goes_to[name] = number(text, card, self.scope), card

    def _options(self, card: Card, pairs: list[list[str]]) -> None:
        for name, text in pairs:
            if name in ("gmin", "temp", "tnom"):
                value = number(text, card, self.scope)
                setattr(self, {"gmin": "gmin", "temp": "temperature", "tnom": "nominal"}[name], value)
            elif name in CIRCUIT_OPTIONS:
                card.tell(f"the option {name} changes the circuit and is not modelled; it is left out.")

    def _tran(self, card: Card) -> None:
        card.needs(3, ".tran 1u 1m")
        values = [number(w, card, self.scope) for w in card.words[1:] if w != "uic"]
        step, stop = values[:2]
        if not 0 < step <= stop:
            raise card.refuse("has impossible times", "the step is above zero, the end behind it.", ".tran 1u 1m")
        if self.transient.is_asked and self.strict:
            raise card.refuse("has a second .tran", "one run is made of a netlist.", "one .tran")
        if self.transient.is_asked:
            card.tell("a second .tran; the run is that of this card, and the one before is left out.")
        self.transient = Transient(step, stop, values[2] if len(values) > 2 else 0.0, "uic" in card.words, True)


def _without_commands(cards: Sequence[Card]) -> list[Card]:
    """The cards without what stands between .control and .endc: commands that ngspice runs."""
    found, opened = list[Card](), None
    for card in cards:
        word = card.words[0]
        if word == ".control" and opened is None:
            opened = card
            card.tell(".control begins commands of ngspice, which are not run; analyses are cards such as .tran.")
        elif word == ".endc" and opened is not None:
            opened = None
        elif opened is None:
            found.append(card)
    if opened is not None:
        raise opened.refuse("begins commands that do not end", "no .endc follows.", ".endc")
    return found


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
            if word in PARAMETERS:
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
