"""`dd.components.from_spice(text)`: a Model from a SPICE netlist.

R, C, L, K, V, I, D, Q, M (level 1), E, F, G, H, X with .subckt, .model, .param, .ic, .include inside one folder, number
suffixes, and the sources SIN, PULSE, PWL, EXP. Names are in lower case; `v_node` is the voltage of a node. Junctions
have gmin across them, 1e-12 S unless .options says otherwise; the temperature is 27 °C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import casadi as ca

from daedalus.components import electrical
from daedalus.components.spice.netlist_size import check_size
from daedalus.components.spice.netlist_text import Card, number, read_cards
from daedalus.components.spice.node_words import node_words
from daedalus.components.spice.steady_start import steady_start
from daedalus.components.spice.waveforms import wave_of
from daedalus.errors import ModelError
from daedalus.model.expressions import described
from daedalus.model.lazy_values import cached_property
from daedalus.model.model import Model
from daedalus.model.names import suggest_name

THERMAL_VOLTAGE = 1.380649e-23 * 300.15 / 1.602176634e-19
_IGNORED = {".op", ".print", ".plot", ".save", ".probe", ".ac", ".dc", ".width"}
TEMPERATURE = 27.0  # °C
# How many words an element has at least and at most, and which `name=value` it knows; None for any.
_WORDS: dict[str, tuple[int, int | None, tuple[str, ...] | None]] = {
    "r": (4, 4, ()), "c": (4, 4, ("ic",)), "l": (4, 4, ("ic",)), "k": (4, 4, ()), "v": (3, None, ()),
    "i": (3, None, ()), "d": (4, 4, ()), "q": (5, 5, ()), "m": (6, 6, ("w", "l")), "e": (6, 6, ()), "g": (6, 6, ()),
    "f": (5, 5, ()), "h": (5, 5, ()), "x": (2, None, None),
}  # fmt: skip
_GROUND = {"0", "gnd"}
# What a .model may say of a device; a value other than the given one is not modelled and refused.
_KNOWN_MODEL = {
    "d": {"is": None, "n": None, "rs": 0.0, "cjo": 0.0, "cj0": 0.0, "tt": 0.0},
    "npn": {"is": None, "bf": None, "br": None, "nf": 1.0, "nr": 1.0, "cje": 0.0, "cjc": 0.0, "tf": 0.0, "rb": 0.0},
    "nmos": {"vto": None, "kp": None, "lambda": None, "level": 1.0, "gamma": 0.0, "cgso": 0.0, "cgdo": 0.0},
}
_KNOWN_MODEL |= {"pnp": _KNOWN_MODEL["npn"], "pmos": _KNOWN_MODEL["nmos"]}


def from_spice(text: str, folder: str | Path | None = None) -> Model:
    """A Model with the parts of a netlist; the start is the operating point unless .tran says uic.

    Parameters
    ----------
    text: the netlist; its first line is the title, as in SPICE.
    folder: where .include may read files from, and only there.

    Cards that are not understood are refused with their line.

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
    if not isinstance(text, str) or not text.strip():
        raise ModelError(
            "from_spice takes the text of a netlist.",
            f"got {described(text)}",
            because="its first line is the title, each further one a card.",
            remedy='from_spice("RC\\nR1 in 0 1k\\n...") or from_spice(Path("file.cir").read_text())',
        )
    title, cards = read_cards(text, Path(folder) if folder is not None else None)
    netlist = _Netlist(cards)
    check_size(netlist.top.cards, {name: block.cards for name, block in netlist.blocks.items()})
    name = suggest_name(title.lower().strip("* ") or "circuit")
    m = netlist.model(name, netlist.top, {}, ())
    m.name = title.strip("* ") or "circuit"
    netlist.set_start(m)
    return m


@dataclass
class _Block:
    """The cards of the circuit itself or of a .subckt, with the values that its parameters have by default."""

    ports: tuple[str, ...] = ()
    defaults: Callable[[dict[str, float]], dict[str, float]] = lambda known: {}
    cards: list[Card] = field(default_factory=list)

    @cached_property
    def port_words(self) -> dict[str, str]:
        """The nodes outside, as ports of the model; an element may be called like one."""
        return node_words(self.ports, taken=node_words(card.words[0] for card in self.cards).values())


class _Netlist:
    """Blocks, models and settings of one netlist."""

    def __init__(self, cards: list[Card]) -> None:
        self.top, self.blocks = _Block(), dict[str, _Block]()
        self.models: dict[str, tuple[str, dict[str, float]]] = {}
        self.parameters: dict[str, float] = {}
        self.gmin, self.step, self.stop, self.starts_given = 1e-12, 1e-9, 1.0, False
        self.given: dict[str, tuple[float, Card]] = {}  # .ic
        self.words: dict[str, str] = {}  # the nodes of the circuit itself, as its outputs name them
        block, opened = self.top, None
        for card in cards:
            word = card.words[0]
            if word == ".subckt":
                card.needs(2, ".subckt name node node")
                if opened is not None:
                    raise card.refuse("begins a .subckt inside another", f"line {opened.line} has no .ends.", ".ends")
                opened = card
                nodes = tuple(word for word in card.words[2:] if "=" not in word and word != "params:")
                if len(set(nodes)) < len(nodes):
                    raise card.refuse(
                        "names a node twice", "each node of a subcircuit is one of its own.", "other names"
                    )
                block = _Block(nodes, partial(values_of, card))
                self.blocks[card.words[1]] = block
            elif word == ".ends":
                block, opened = self.top, None
            elif word.startswith("."):
                self._setting(card)
            else:
                block.cards.append(card)
        if opened is not None:
            raise opened.refuse("begins a .subckt that does not end", "no .ends follows.", ".ends")

    def _setting(self, card: Card) -> None:
        word = card.words[0]
        pairs = [w.split("=", 1) for w in card.words[1:] if "=" in w]
        if word == ".param":
            for name, value in pairs:
                self.parameters[name] = number(value, card, self.parameters)
        elif word == ".model":
            self._model(card, pairs)
        elif word == ".ic":
            flat = [w for w in card.words[1:] if w != "v"]
            for entry in flat:
                if "=" not in entry:
                    raise card.refuse("has an .ic that cannot be read", "it is V(node)=value.", ".ic V(out)=1")
                name, value = entry.split("=", 1)
                self.given[name] = number(value, card, self.parameters), card
        elif word in (".options", ".option"):
            self.gmin = next((number(v, card, self.parameters) for n, v in pairs if n == "gmin"), self.gmin)
        elif word == ".temp":
            if [number(w, card, self.parameters) for w in card.words[1:]] != [TEMPERATURE]:
                raise card.refuse("asks for another temperature", f"parts are at {TEMPERATURE:g} °C.", "without it")
        elif word == ".tran":
            card.needs(3, ".tran 1u 1m")
            self.step, self.stop = (number(w, card, self.parameters) for w in card.words[1:3])
            if not 0 < self.step <= self.stop:
                raise card.refuse(
                    "has times that cannot be", "the step is above zero, the end behind it.", ".tran 1u 1m"
                )
            self.starts_given = "uic" in card.words
        elif word not in _IGNORED:
            raise card.refuse("has a card that is not read", f"{word} means nothing here.", "without it")

    def _model(self, card: Card, pairs: list[list[str]]) -> None:
        card.needs(3, ".model name D(is=1e-14)")
        kind = card.words[2]
        if kind not in _KNOWN_MODEL:
            raise card.refuse("has a model of an unknown kind", f"there are {', '.join(_KNOWN_MODEL)}.", "D, NPN, NMOS")
        values = {}
        for name, text in pairs:
            value = number(text, card, self.parameters)
            if name not in _KNOWN_MODEL[kind] or _KNOWN_MODEL[kind][name] not in (None, value):
                raise card.refuse(
                    f"asks for {name}={text}, which is not modelled",
                    f"a {kind} knows {', '.join(n for n, v in _KNOWN_MODEL[kind].items() if v is None)}.",
                    "without it",
                )
            values[name] = value
        self.models[card.words[1]] = kind, values

    # -- building ----------------------------------------------------------------------------------------------

    def model(self, name: str, block: _Block, parameters: dict[str, float], above: tuple[str, ...]) -> Model:
        """The model of a block; inner ones are parts with ports."""
        elements = node_words(card.words[0] for card in block.cards)
        circuit = _Circuit(self, Model(name), {**self.parameters, **parameters}, above, elements)
        for node, word in block.port_words.items():
            circuit.nodes.setdefault(node, []).append(circuit.m.port(word, "electrical"))
        coupled = {n for card in block.cards if card.words[0][0] == "k" for n in card.words[1:3] if n[0] == "l"}
        circuit.coils = {c.words[0]: c for c in block.cards if c.words[0] in coupled}
        met: dict[str, Card] = {}
        for card in block.cards:
            first = met.setdefault(card.words[0], card)
            if first is not card:
                raise card.refuse(
                    f"has a second {card.words[0]!r}", f"line {first.line} has the first.", "a name for each element"
                )
            circuit.check(card)
            if card.words[0] not in coupled:
                circuit.read(card)
        circuit.join(top=not above)
        if not above:
            self.words = circuit.words
        return circuit.m

    def set_start(self, m: Model) -> None:
        """Write the operating point, or what the netlist gives, into the states."""
        system = m._flat().freeze()
        held: dict[str, float] = {}
        for node, (value, card) in self.given.items():
            name = _state_of(m, self.words.get(node, ""))
            if name not in system.labels["x"]:
                raise card.refuse(
                    f"gives V({node}) a start", "it is no node with a capacitor to ground, and follows from others.",
                    "IC= of the element whose state it is",
                )  # fmt: skip
            held[name] = value
        starts = {**dict.fromkeys(system.labels["x"], 0.0), **held} if self.starts_given else steady_start(system, held)
        for name, value in starts.items():
            if name in m._variables and m._variables[name].start[0] is None:
                m._variables[name] = replace(m._variables[name], start=(value,))
        m._changed()


def values_of(card: Card, known: dict[str, float]) -> dict[str, float]:
    """What `name=value` on a card says, one after the other."""
    found: dict[str, float] = {}
    for name, value in (word.split("=", 1) for word in card.words[1:] if "=" in word):
        found[name] = number(value, card, {**known, **found})
    return found


def _state_of(m: Model, word: str) -> str:
    """The state that the voltage of a node is; empty where it is none."""
    flat = m._flat()
    known = flat._outputs.get(f"v_{word}")
    return flat._known[int(known.element_hash())][0] if known is not None and known.is_symbolic() else ""


class _Circuit:
    """The parts of one block and the ports at each of its nodes."""

    def __init__(
        self, netlist: _Netlist, m: Model, parameters: dict[str, float], above: tuple[str, ...],
        elements: dict[str, str],
    ) -> None:  # fmt: skip
        self.netlist, self.m, self.parameters, self.above = netlist, m, parameters, above
        self.elements = elements  # their names in the model
        self.words: dict[str, str] = {}
        self.nodes: dict[str, list[Any]] = {}
        self.coils: dict[str, Card] = {}
        self.parts: dict[str, Any] = {}
        self.waiting: list[Callable[[], None]] = []

    def read(self, card: Card) -> None:
        """One element."""
        getattr(self, f"_read_{card.words[0][0]}")(card, self.elements[card.words[0]])

    def check(self, card: Card) -> None:
        """Refuse an element of no known kind, one that is not complete, and one that says too much."""
        name = card.words[0]
        if name[0] not in _WORDS:
            raise card.refuse(
                "has an element that is not read", f"{name!r} is of no known kind.", "R C L K V I D Q M E F G H X"
            )
        least, most, options = _WORDS[name[0]]
        plain = [word for word in card.words if "=" not in word]
        if len(plain) < least:
            because = f"{name!r} needs a name, its nodes or coils, and what it is."
            raise card.refuse("has an element that is not complete", because, "R1 in out 1k")
        further = [
            word for word in card.words if "=" in word and options is not None and word.split("=")[0] not in options
        ]
        further += plain[most:] if most is not None else []
        if further:
            raise card.refuse(f"says {further[0]!r} of {name!r}", "that is not modelled.", "without it")

    def join(self, top: bool) -> None:
        """Join what meets at each node; the ground is that of the whole circuit."""
        for late in self.waiting:
            late()
        # An element may be called as the voltage of a node is.
        self.words = node_words(self.nodes, "v_", set(self.elements.values())) if top else {}
        for node, ports in self.nodes.items():
            if node in _GROUND:
                ports.append(self.m.add(electrical.Ground("ground")).pin)
            if len(ports) > 1:
                self.m.connect(*ports)
            if top:
                self.m.output(f"v_{self.words[node]}", ports[0].voltage)

    def _add(self, part: Any, name: str, ends: dict[str, str]) -> Any:
        handle = self.m.add(part) if not isinstance(part, Model) else self.m.add(part, name=name)
        self.parts[name] = handle
        for port, node in ends.items():
            self.nodes.setdefault(self._one_ground(node), []).append(getattr(handle, port))
        return handle

    def _one_ground(self, node: str) -> str:
        """The node; all names of the ground are the first of them that was met."""
        return next((known for known in self.nodes if known in _GROUND), node) if node in _GROUND else node

    def _value(self, word: str, card: Card) -> float:
        return number(word, card, self.parameters)

    def _two(self, card: Card) -> dict[str, str]:
        return {"plus": card.words[1], "minus": card.words[2]}

    def _option(self, card: Card, name: str) -> float | None:
        return next((self._value(w.split("=", 1)[1], card) for w in card.words if w.startswith(f"{name}=")), None)

    # -- elements ----------------------------------------------------------------------------------------------

    def _read_r(self, card: Card, name: str) -> None:
        self._add(electrical.Resistor(name, resistance=self._value(card.words[3], card)), name, self._two(card))

    def _read_c(self, card: Card, name: str) -> None:
        self._add(electrical.Capacitor(name, capacitance=self._value(card.words[3], card)), name, self._two(card))
        self._given(f"{name}.voltage", card)

    def _read_l(self, card: Card, name: str) -> None:
        self._add(electrical.Inductor(name, inductance=self._value(card.words[3], card)), name, self._two(card))
        self._given(f"{name}.current", card)

    def _given(self, state: str, card: Card) -> None:
        value = self._option(card, "ic")
        if value is not None:
            self.m._variables[state] = replace(self.m._variables[state], start=(value,))

    def _read_k(self, card: Card, name: str) -> None:
        missing = [coil for coil in card.words[1:3] if coil not in self.coils]
        if missing or card.words[1] == card.words[2]:
            raise card.refuse(
                "couples coils that are not there", f"{(missing or card.words[1:2])[0]!r} is no other inductor here.",
                "K1 L1 L2 0.9",
            )  # fmt: skip
        one, two = (self.coils[coil] for coil in card.words[1:3])
        part = electrical.Transformer(
            name, primary_inductance=self._value(one.words[3], one),
            secondary_inductance=self._value(two.words[3], two),
            coupling=self._value(card.words[3], card),
        )  # fmt: skip
        ends = dict(zip(("primary_plus", "primary_minus", "secondary_plus", "secondary_minus"),
                        (*one.words[1:3], *two.words[1:3])))  # fmt: skip
        self._add(part, name, ends)

    def _read_v(self, card: Card, name: str) -> None:
        self._add(electrical.VoltageSource(name, voltage=self._wave(card)), name, self._two(card))

    def _read_i(self, card: Card, name: str) -> None:
        self._add(electrical.CurrentSource(name, current=self._wave(card)), name, self._two(card))

    def _wave(self, card: Card) -> ca.SX | float:
        words = [w for w in card.words[3:] if w != "dc"]
        return wave_of(card, words, partial(self._value, card=card), self.m.time, self.netlist.step, self.netlist.stop)

    def _read_e(self, card: Card, name: str) -> None:
        self._add(electrical.VoltageSource(name, voltage=self._sensed(card, name)), name, self._two(card))

    def _read_g(self, card: Card, name: str) -> None:
        self._add(electrical.CurrentSource(name, current=self._sensed(card, name)), name, self._two(card))

    def _sensed(self, card: Card, name: str) -> ca.SX:
        """gain times the voltage between two nodes."""
        sensor = electrical.VoltageSensor(f"{name}_sense")
        handle = self._add(sensor, f"{name}_sense", {"plus": card.words[3], "minus": card.words[4]})
        gained: ca.SX = self._value(card.words[5], card) * handle.output
        return gained

    def _read_f(self, card: Card, name: str) -> None:
        self.waiting.append(
            lambda: (
                self._add(electrical.CurrentSource(name, current=self._measured(card)), name, self._two(card)) and None
            )
        )

    def _read_h(self, card: Card, name: str) -> None:
        self.waiting.append(
            lambda: (
                self._add(electrical.VoltageSource(name, voltage=self._measured(card)), name, self._two(card)) and None
            )
        )

    def _measured(self, card: Card) -> ca.SX:
        """gain times the current through a voltage source."""
        source = self.parts.get(self.elements.get(card.words[3], ""))
        if source is None:
            raise card.refuse("measures a source that is not there", f"{card.words[3]!r} is no element.", "a V element")
        gained: ca.SX = self._value(card.words[4], card) * source.current
        return gained

    def _of_model(self, card: Card, word: str, kinds: tuple[str, ...]) -> tuple[str, dict[str, float]]:
        kind, values = self.netlist.models.get(word, ("", {}))
        if kind not in kinds:
            raise card.refuse(
                f"uses the model {word!r}", "no such model is declared for this element.", f".model {word} D(...)"
            )
        return kind, values

    def _read_d(self, card: Card, name: str) -> None:
        _, v = self._of_model(card, card.words[3], ("d",))
        part = electrical.Diode(
            name, saturation_current=v.get("is", 1e-14), thermal_voltage=v.get("n", 1.0) * THERMAL_VOLTAGE,
            conductance=self.netlist.gmin,
        )  # fmt: skip
        self._add(part, name, self._two(card))

    def _read_q(self, card: Card, name: str) -> None:
        kind, v = self._of_model(card, card.words[4], ("npn", "pnp"))
        part = electrical.Transistor(
            name, forward_gain=v.get("bf", 100.0), reverse_gain=v.get("br", 1.0), saturation_current=v.get("is", 1e-16),
            thermal_voltage=THERMAL_VOLTAGE, conductance=self.netlist.gmin, polarity=kind,
        )  # fmt: skip
        self._add(part, name, dict(zip(("collector", "base", "emitter"), card.words[1:4])))

    def _read_m(self, card: Card, name: str) -> None:
        kind, v = self._of_model(card, card.words[5], ("nmos", "pmos"))
        shape = (self._option(card, "w") or 1e-4) / (self._option(card, "l") or 1e-4)
        part = electrical.Mosfet(
            name, threshold=v.get("vto", 0.0), gain=v.get("kp", 2e-5) * shape, modulation=v.get("lambda", 0.0),
            conductance=self.netlist.gmin, polarity=kind[0],
        )  # fmt: skip
        self._add(part, name, dict(zip(("drain", "gate", "source"), card.words[1:4])))

    def _read_x(self, card: Card, name: str) -> None:
        nodes = [w for w in card.words[1:] if "=" not in w and w != "params:"]
        title = nodes.pop()
        block = self.netlist.blocks.get(title)
        if block is None or len(block.ports) != len(nodes) or title in self.above:
            raise card.refuse(
                f"uses the subcircuit {title!r}",
                "it is not declared, contains itself, or has another number of nodes.", ".subckt with as many nodes",
            )  # fmt: skip
        values = {**self.parameters, **block.defaults(self.parameters), **values_of(card, self.parameters)}
        inner = self.netlist.model(name, block, values, (*self.above, title))
        self._add(inner, name, dict(zip(block.port_words.values(), nodes)))
