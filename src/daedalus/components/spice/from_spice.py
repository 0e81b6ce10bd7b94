"""`dd.components.from_spice(text)`: a Model from a SPICE netlist.

R, C, L, K, V, I, D, Q, M (level 1), J, S, W, T, E, F, G, H (also POLY, VALUE and TABLE), B, X with .subckt, .model,
.param, .func, .ic, .nodeset, .temp, .global, .include and .lib inside one folder, number suffixes, and the sources SIN,
PULSE, PWL, EXP, SFFM. Names are in lower case; `v_node` is the voltage of a node. Junctions have gmin across them,
1e-12 S unless .options says otherwise; the temperature is 27 °C unless .temp does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from daedalus.components.spice.circuit import model_of
from daedalus.components.spice.netlist import Netlist
from daedalus.components.spice.netlist_text import Card, is_pair, read_cards
from daedalus.components.spice.purpose import OVER_TIME, STEADY, Purpose
from daedalus.components.spice.steady_start import guess_of, held_nodes, write_start
from daedalus.errors import ModelError
from daedalus.model.expressions import described
from daedalus.model.model import Model
from daedalus.model.names import counted, suggest_name

# Elements of a circuit with all subcircuits put in, and subcircuits inside each other.
MOST_ELEMENTS = 5_000
DEEPEST = 40


def from_spice(
    text: str, include: str | Path | None = None, strict: bool = False, *, folder: str | Path | None = None
) -> Model:
    """A Model with the parts of a netlist; the start is the operating point unless .tran says uic.

    Parameters
    ----------
    text: the netlist; its first line is the title, as in SPICE.
    include: the folder that .include and .lib may read files from, and only there; `folder` is an older name for it.
    strict: whether parameters of .model cards that are not modelled are refused; otherwise a SpiceWarning tells them
        with what they would do, and the rest of the card is used.

    Cards that are not understood are refused with their file and line.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.components.from_spice('''RC
    ... V1 in 0 PULSE(0 1 0 1n 1n 1 2)
    ... R1 in out 1k
    ... C1 out 0 1u
    ... .tran 1u 5m
    ... .end''')
    >>> round(float(dd.simulate(m, 1e-3)["v_out"][-1]), 4)
    0.6321
    """
    m, netlist = read_netlist(text, include if include is not None else folder, strict)
    for card in netlist.analyses:
        if card.words[0] not in (".op", ".ac", ".dc"):
            card.tell(f"{card.words[0]} is not computed: dd.components.run_spice computes it.")
    return m


def read_netlist(text: str, include: str | Path | None = None, strict: bool = False) -> tuple[Model, Netlist]:
    """The model of a netlist, and what the netlist says beside it: the analyses that it asks for."""
    netlist = netlist_of(text, include, strict)
    return model_over_time(netlist), netlist


def netlist_of(text: str, include: str | Path | None, strict: bool) -> Netlist:
    """What a netlist says, before a model is made of it."""
    if not isinstance(text, str) or not text.strip():
        raise ModelError(
            "from_spice takes the text of a netlist.",
            f"got {described(text)}",
            because="its first line is the title, each further one a card.",
            remedy='from_spice("RC\\nR1 in 0 1k\\n...") or from_spice(Path("file.cir").read_text())',
        )
    title, cards = read_cards(text, Path(include) if include is not None else None)
    netlist = Netlist(cards, strict, title.strip("* ") or "circuit")
    check_size(netlist.top.cards, {name: block.cards for name, block in netlist.blocks.items()})
    return netlist


def model_over_time(netlist: Netlist) -> Model:
    """The circuit with its sources over time, started where the netlist says."""
    m = circuit_for(netlist, OVER_TIME)
    steady = circuit_for(netlist, STEADY) if netlist.has_lines else m
    held, guess = held_nodes(netlist, steady), None
    if not netlist.transient.starts_given:
        if held is not None:
            steady = circuit_for(netlist, Purpose(steady=netlist.has_lines, held=held))
        guess = start_guess(netlist, steady, Purpose(steady=netlist.has_lines, held=held or ()))

    def step(charged: Mapping[str, float]) -> Model:
        known = netlist.words, netlist.elements
        found = circuit_for(netlist, Purpose(steady=netlist.has_lines, charged=charged))
        netlist.words, netlist.elements = known
        return found

    write_start(netlist, m, steady, guess, step, is_held=held is not None)
    return m


def start_guess(netlist: Netlist, m: Model, purpose: Purpose) -> Any:
    """Where .nodeset wants the search for the operating point of a circuit for a purpose to begin, by name."""

    def pulled(nodes: tuple[tuple[str, float], ...]) -> Model:
        known = netlist.words, netlist.elements
        m = circuit_for(netlist, replace(purpose, pulled=nodes))
        netlist.words, netlist.elements = known
        return m

    return guess_of(netlist, m, pulled)


def circuit_for(netlist: Netlist, purpose: Purpose) -> Model:
    """The model of the whole circuit for an analysis."""
    m = model_of(netlist, suggest_name(netlist.title.lower()), netlist.top, {}, (), purpose)
    m.name = netlist.title
    return m


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
