"""Elements of a netlist as parts, joined at nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import casadi as ca

from daedalus.components import electrical
from daedalus.components.semiconductors.device_cards import ModelCard, card_values
from daedalus.components.semiconductors.junction import inner_state
from daedalus.components.spice.charge_jump import STEP, Held, add_charges, without_charges
from daedalus.components.spice.controlled_law import controlled_law
from daedalus.components.spice.couplings import couple
from daedalus.components.spice.device_elements import DEVICES, device_keywords, device_model
from daedalus.components.spice.netlist import Block, Netlist
from daedalus.components.spice.netlist_formulas import Scope, formula, number
from daedalus.components.spice.netlist_text import Card, is_pair
from daedalus.components.spice.node_words import node_words
from daedalus.components.spice.passive_values import capacitance, is_moving, resistance
from daedalus.components.spice.purpose import Purpose
from daedalus.components.spice.small_signal_inputs import SmallSignalInputs
from daedalus.components.spice.waveforms import source_words, wave_of
from daedalus.model.model import Model

# How many words an element has at least and at most, and which `name=value` it knows; None for any.
_WORDS: dict[str, tuple[int, int | None, tuple[str, ...] | None]] = {
    "r": (3, 6, ("r", "tc1", "tc2", "tc", "tce", "temp", "dtemp", "m", "l", "w", "ac", "noisy", "noise", "scale")),
    "c": (3, 5, ("ic", "m", "l", "w", "temp", "dtemp", "tc1", "tc2", "scale", "c", "q")),
    "l": (4, 4, ("ic", "m")), "k": (4, None, ()),
    "v": (3, None, ("r", "td", "dc", "ac")), "i": (3, None, ("r", "td", "dc", "ac")),
    "d": (4, 6, ("area", "ic", "temp", "m")),
    "q": (5, 8, ("area", "ic", "temp", "m")), "j": (5, 6, ("area", "ic", "temp", "m")),
    "m": (6, 7, ("w", "l", "ad", "as", "pd", "ps", "nrd", "nrs", "ic", "m", "temp")), "e": (3, None, None),
    "g": (3, None, None), "f": (5, None, ()), "h": (5, None, ()), "b": (3, None, None), "x": (2, None, None),
    "s": (6, 7, ()), "w": (5, 6, ()), "t": (5, 5, ("z0", "td", "f", "nl", "ic")),
}  # fmt: skip
# What may stand behind the formula of a B element.
_OPTIONS = re.compile(r"(?:\s+(?:tc1|tc2|temp|dtemp|reciproctc|m)\s*=\s*(?:\{[^}]*\}|'[^']*'|\S+))+\s*$")
GROUND = frozenset({"0", "gnd"})
PULLING = 1e-3  # the resistance through which .nodeset pulls, in ohm: sources at the same node win


def model_of(
    netlist: Netlist, name: str, block: Block, parameters: dict[str, float], above: tuple[str, ...], purpose: Purpose
) -> Model:
    """The model of a block for an analysis; inner ones are parts with ports."""
    circuit = Circuit(netlist, Model(name), {**netlist.parameters, **parameters}, above, purpose)
    circuit.block = block
    circuit.elements = node_words(card.words[0] for card in block.cards)
    circuit.settings(block)
    for node, word in block.port_words(netlist.shared if above else ()).items():
        circuit.nodes.setdefault(node, []).append(circuit.m.port(word, "electrical"))
    couplings = [card for card in block.cards if card.words[0][0] == "k" and purpose.charged is None]
    coupled = {n for card in couplings for n in card.words[1:-1] if n[0] == "l"}
    circuit.coils = {c.words[0]: c for c in block.cards if c.words[0] in coupled}
    met: dict[str, Card] = {}
    for card in block.cards:
        first = met.setdefault(card.words[0], card)
        if first is not card:
            raise card.refuse(
                f"has a second {card.words[0]!r}", f"line {first.line} has the first.", "a name for each element"
            )
        circuit.check(card)
        if card.words[0] not in coupled and card.words[0][0] != "k":
            circuit.read(card)
    couple(circuit, couplings)
    for k, (node, voltage) in enumerate(() if above else purpose.held, 1):
        source = electrical.VoltageSource(f"holding_{k}", voltage=voltage)
        circuit.add(source, f"holding_{k}", {"plus": node, "minus": "0"})
    for k, (node, voltage) in enumerate(() if above else purpose.pulled, 1):
        source, path = electrical.VoltageSource(f"pulling_{k}", voltage=voltage), f"pulled {k}"
        circuit.add(source, f"pulling_{k}", {"plus": path, "minus": "0"})
        resistor = electrical.Resistor(f"pulling_path_{k}", resistance=PULLING)
        circuit.add(resistor, f"pulling_path_{k}", {"plus": path, "minus": node})
    circuit.join(top=not above)
    netlist.small[id(circuit.m)] = circuit.small
    netlist.inner[id(circuit.m)] = circuit
    if not above and not purpose.is_small:
        netlist.words, netlist.elements = circuit.words, circuit.elements
    return circuit.m


class Circuit:
    """The parts of one block and the ports at each of its nodes."""

    def __init__(
        self, netlist: Netlist, m: Model, parameters: dict[str, float], above: tuple[str, ...], purpose: Purpose
    ) -> None:
        self.netlist, self.m, self.parameters, self.above, self.purpose = netlist, m, parameters, above, purpose
        self.block = Block()
        self.nodes: dict[str, list[Any]] = {}
        self.coils: dict[str, Card] = {}
        self.parts: dict[str, Any] = {}
        self.models: dict[str, ModelCard] = {}
        self.waiting: list[Callable[[], None]] = []
        self.probes: dict[tuple[str, ...], ca.SX] = {}
        self.elements: dict[str, str] = {}  # their names in the model
        self.words: dict[str, str] = {}  # the nodes, as outputs name them
        self.inside: dict[str, Circuit] = {}  # the subcircuits by their elements
        self.jumps: list[tuple[str, str, int]] = []  # states of charges, what tells their voltages, and their signs
        self.paths: dict[str, tuple[str, str]] = {}  # a part and its port at each node
        self.rates: list[tuple[str, ca.SX]] = []  # states that follow from formulas, and these
        self.small = SmallSignalInputs(self)

    @property
    def scope(self) -> Scope:
        """What names mean in numbers of this block."""
        return Scope(self.parameters, self.netlist.functions)

    @property
    def moving_scope(self) -> Scope:
        """What names mean in formulas that change during a run."""
        return Scope(self.parameters, self.netlist.functions, self._probe)

    def settings(self, block: Block) -> None:
        """Parameters and models of a subcircuit's own."""
        for card in block.settings:
            if card.words[0] != ".model":
                for name, text in (w.split("=", 1) for w in card.words[1:] if is_pair(w)):
                    self.parameters[name] = number(text, card, self.scope)
        for card in block.settings:
            if card.words[0] == ".model":
                model = card_values(card, self.scope, {**self.netlist.models, **self.models})
                self.models[model.name] = model

    def read(self, card: Card) -> None:
        """One element."""
        kind, name = card.words[0][0], self.elements[card.words[0]]
        if kind in DEVICES:
            DEVICES[kind](self, card, name)
        else:
            getattr(self, f"_read_{kind}")(card, name)

    def check(self, card: Card) -> None:
        """Refuse an element of no known kind, one that is not complete, and one that says too much."""
        name = card.words[0]
        if name[0] not in _WORDS:
            raise card.refuse(
                "has an element that is not read",
                f"{name!r} is of no known kind.",
                "R C L K V I D Q M J S W T E F G H B X",
            )
        least, most, options = _WORDS[name[0]]
        plain = [word for word in card.words if not is_pair(word)]
        if len(plain) < least:
            because = f"{name!r} needs a name, its nodes or coils, and what it is."
            raise card.refuse("has an element that is not complete", because, "R1 in out 1k")
        further = [w for w in card.words if is_pair(w) and options is not None and w.split("=")[0] not in options]
        further += plain[most:] if most is not None else []
        if further:
            raise card.refuse(f"says {further[0]!r} of {name!r}", "that is not modelled.", "without it")

    def join(self, top: bool) -> None:
        """Join what meets at each node; the ground is that of the whole circuit."""
        for late in self.waiting:
            late()
        # An element may be called as the voltage of a node is.
        outside = set() if top else {*GROUND, *self.block.ports, *self.netlist.shared}
        own = [node for node in self.nodes if node not in outside]
        self.words = node_words(own, "v_", set(self.elements.values()))
        for node, ports in self.nodes.items():
            if node in GROUND:
                ports.append(self.m.add(electrical.Ground("ground")).pin)
            if len(ports) > 1:
                self.m.connect(*ports)
            elif not top and (node in self.block.ports or node in self.netlist.shared):
                self.m.equation(ports[0].current, 0, name=f"open {node}")
            if node in self.words:
                self.m.output(f"v_{self.words[node]}", ports[0].voltage, unit="V")

    def add(self, part: Any, name: str, ends: dict[str, str]) -> Any:
        """Add a part with its ports at nodes."""
        charged = self.purpose.charged is not None
        held = without_charges(part) if charged and not isinstance(part, Model) else []
        handle = self.m.add(part) if not isinstance(part, Model) else self.m.add(part, name=name)
        self.parts[name] = handle
        for port, node in ends.items():
            self.paths.setdefault(node, (name, port))
            self.nodes.setdefault(self._one_ground(node), []).append(getattr(handle, port))
        add_charges(self, name, ends, held)
        return handle

    def _one_ground(self, node: str) -> str:
        """The node; all names of the ground are the first of them that was met."""
        return next((known for known in self.nodes if known in GROUND), node) if node in GROUND else node

    def value(self, word: str, card: Card) -> float:
        """A number of this block."""
        return number(word, card, self.scope)

    def option(self, card: Card, name: str) -> float | None:
        """The number behind `name=`."""
        return next((self.value(w.split("=", 1)[1], card) for w in card.words if w.startswith(f"{name}=")), None)

    # -- probes ------------------------------------------------------------------------------------------------

    def voltage(self, plus: str, minus: str = "0") -> ca.SX:
        """The voltage between two nodes, measured by a sensor of its own; x1.a is a node inside of a subcircuit."""
        key = (plus, minus)
        if key not in self.probes and any(self._is_inside(node) for node in key):
            self.probes[key] = self._potential(plus) - self._potential(minus)
        if key not in self.probes:
            name = f"probe_{len(self.probes) + 1}"
            handle = self.add(electrical.VoltageSensor(name), name, {"plus": plus, "minus": minus})
            self.probes[key] = handle.output
        return self.probes[key]

    def _is_inside(self, node: str) -> bool:
        return node not in self.nodes and "." in node and node.split(".")[0] in self.inside

    def _potential(self, node: str) -> ca.SX:
        """The voltage of a node against ground, of one inside of a subcircuit at the port of a part there."""
        if not self._is_inside(node):
            return ca.SX(0) if node in GROUND else self.voltage(node)
        own, first, rest = self, *node.split(".", 1)
        handle = self.parts[self.elements[first]]
        own = own.inside[first]
        while rest not in own.paths and "." in rest and rest.split(".")[0] in own.inside:
            first, rest = rest.split(".", 1)
            handle, own = getattr(handle, own.elements[first]), own.inside[first]
        if rest in GROUND or rest not in own.paths:
            raise self.card.refuse(f"measures V({node})", "the subcircuit has no such node.", "v(x1.node)")
        part, port = own.paths[rest]
        found: ca.SX = getattr(getattr(handle, part), port).voltage
        return found

    def current(self, element: str, card: Card) -> ca.SX:
        """The current through an element; x1.v1, or v.x1.v1 as ngspice writes it, is one inside of a subcircuit."""
        words = element.split(".")
        if len(words) > 2 and len(words[0]) == 1:
            words = words[1:]
        source: Any = None
        own: Circuit | None = self
        for k, word in enumerate(words):
            if own is None or word not in own.elements:
                source = None
                break
            inner = own.elements[word]
            source = own.parts.get(inner) if k == 0 else getattr(source, inner, None)
            own = own.inside.get(word)
        if source is None or not hasattr(source, "current"):
            raise card.refuse("measures a source that is not there", f"{element!r} is not an element.", "a V element")
        found: ca.SX = source.current
        return found

    def _probe(self, kind: str, names: tuple[Any, ...]) -> Any:
        if kind == "time":
            return self.m.time
        if kind == "ddt":
            return self.rate(names[0])
        return self.voltage(*names) if kind == "v" else self.current(names[0], self.card)

    def rate(self, value: Any) -> ca.SX:
        """The derivative of an expression in time: that of a state which is equal to it."""
        count = len(self.rates) + 1
        if self.purpose.charged is not None:
            self.rates.append((f"differentiated_{count}", ca.SX(value)))
            begin = self.purpose.charged.get(f"{self.purpose.inside}differentiated_{count}", 0.0)
            return ca.SX((value - begin) / (STEP * self.netlist.transient.stop))
        own = inner_state(self.m, f"differentiated_{count}")
        self.m.equation(own, value, name=f"differentiated {count}")
        self.rates.append((f"differentiated_{count}", ca.SX(value)))
        return ca.SX(self.m.der(own))

    def expression(self, text: str, card: Card) -> Any:
        """A formula of voltages, currents and time."""
        self.card = card
        return formula(text.strip().strip("'\" "), card, self.moving_scope)

    def later(self, card: Card, name: str, kind: type, word: str, make: Callable[[], Any]) -> None:
        """A source whose law is known once all elements are there."""
        ends = self.two_ends(card)

        def add() -> None:
            self.add(kind(name, **{word: make()}), name, ends)

        self.waiting.append(add)

    # -- passive elements --------------------------------------------------------------------------------------

    def two_ends(self, card: Card) -> dict[str, str]:
        """The nodes of an element with two."""
        return {"plus": card.words[1], "minus": card.words[2]}

    def _read_r(self, card: Card, name: str) -> None:
        formula_text = next((w[2:] for w in card.words if w.startswith("r=")), "")
        formula_text = formula_text or next((w for w in card.words[3:4] if w[0] in "{'\""), "")
        if is_moving(formula_text):
            self._moving_resistor(card, name, formula_text)
            return
        value = resistance(self, card)
        if value is None:
            raise card.refuse("has an element that is not complete", f"{name!r} has no resistance.", "R1 in out 1k")
        self.add(electrical.Resistor(name, resistance=value), name, self.two_ends(card))
        self.small.thermal(name, value, *card.words[1:3])

    def _moving_resistor(self, card: Card, name: str, text: str) -> None:
        """A resistance that is a formula of voltages, currents or time."""
        nodes = card.words[1:3]

        def current() -> Any:
            return self.voltage(*nodes) / self.expression(text, card)

        self.later(card, name, electrical.CurrentSource, "current", current)

    def _read_c(self, card: Card, name: str) -> None:
        for word in ("c", "q"):
            text = next((own[2:] for own in card.words if own.startswith(f"{word}=")), "")
            if (word == "q" and text) or is_moving(text):
                self._moving_capacitor(card, name, text, word)
                return
        value = capacitance(self, card)
        if self.purpose.charged is not None:
            add_charges(self, name, self.two_ends(card), [Held("voltage", "plus", "minus", 1, lambda v: value * v)])
            return
        self.add(electrical.Capacitor(name, capacitance=value), name, self.two_ends(card))
        self.given(f"{name}.voltage", card)

    def _moving_capacitor(self, card: Card, name: str, text: str, word: str) -> None:
        """A charge that is a formula (q=), or a capacitance: current = C · voltage' (c=)."""
        nodes = card.words[1:3]

        def current() -> Any:
            found = self.expression(text, card)
            return self.rate(found) if word == "q" else found * self.rate(self.voltage(*nodes))

        self.later(card, name, electrical.CurrentSource, "current", current)

    def _read_l(self, card: Card, name: str) -> None:
        value = self.value(card.words[3], card) / (self.option(card, "m") or 1.0)
        if self.purpose.charged is not None:
            own = electrical.CurrentSource(name, current=self.option(card, "ic") or 0.0)
            self.add(own, name, self.two_ends(card))
            return
        self.add(electrical.Inductor(name, inductance=value), name, self.two_ends(card))
        self.given(f"{name}.current", card)

    def given(self, state: str, card: Card, value: float | None = None) -> None:
        """Let a state begin at what IC= of an element says, or at a value that follows from it."""
        value = self.option(card, "ic") if value is None else value
        run = self.netlist.transient
        if value is not None and run.is_asked and not run.starts_given:
            card.tell("ic= is not used, as in SPICE: .tran without uic starts at the operating point.")
        elif value is not None:
            self.m.written.variables[state] = replace(self.m.written.variables[state], start=(value,))

    def _read_t(self, card: Card, name: str) -> None:
        impedance, length = self.option(card, "z0"), self.option(card, "td")
        if length is None and self.option(card, "f"):
            length = (self.option(card, "nl") or 0.25) / (self.option(card, "f") or 1.0)
        if impedance is None or length is None:
            raise card.refuse(
                "has an element that is not complete", f"{name!r} needs z0= and td=.", "T1 a 0 b 0 z0=50 td=1n"
            )
        near, far = card.words[1:3], card.words[3:5]
        if self.purpose.charged is not None:
            for k, pair in ((1, near), (2, far)):
                end = electrical.Resistor(f"{name}_{k}", resistance=impedance)
                self.add(end, f"{name}_{k}", dict(zip(("plus", "minus"), pair)))
            return
        if self.purpose.steady and not self.purpose.is_small:
            ends = dict(zip(("primary_plus", "primary_minus", "secondary_plus", "secondary_minus"), (*near, *far)))
            self.add(electrical.Transformer(name, ratio=1.0), name, ends)
            return
        inside = [self.add(electrical.Resistor(f"{name}_{k}", resistance=impedance), f"{name}_{k}",
                           {"plus": pair[0], "minus": f"{name}#{k}"}) for k, pair in ((1, near), (2, far))]  # fmt: skip

        def join() -> None:
            for k, pair, other, there in ((1, near, far, inside[1]), (2, far, near, inside[0])):
                incoming = self.voltage(*other) + impedance * there.current
                word = f"{name}_wave_{k}"
                small = self.purpose.is_small
                wave = self.small.wave(word, incoming, length) if small else self.m.delay(incoming, length, name=word)
                part = electrical.VoltageSource(f"{name}_source_{k}", voltage=wave)
                self.add(part, f"{name}_source_{k}", {"plus": f"{name}#{k}", "minus": pair[1]})

        self.waiting.append(join)

    # -- sources -----------------------------------------------------------------------------------------------

    def _read_v(self, card: Card, name: str) -> None:
        self.add(electrical.VoltageSource(name, voltage=self._wave(card, name)), name, self.two_ends(card))

    def _read_i(self, card: Card, name: str) -> None:
        self.add(electrical.CurrentSource(name, current=self._wave(card, name)), name, self.two_ends(card))

    def _wave(self, card: Card, name: str) -> ca.SX | float:
        """What a source gives: over time, or the value it has at rest, and an input where it is driven."""
        words = source_words(card)
        run, read = self.netlist.transient, partial(self.value, card=card)
        if not self.purpose.at_rest:
            return wave_of(card, words.over_time or words.steady, read, self.m.time, run.step, run.stop)
        if words.steady:
            value = wave_of(card, words.steady, read, self.m.time, run.step, run.stop)
        else:  # without a value of its own, that of the time zero
            value = wave_of(card, words.over_time, read, self.m.time, run.step, run.stop)
        if isinstance(value, ca.SX):
            value = float(ca.DM(ca.evalf(ca.substitute(value, self.m.time, 0.0))))
        if card.words[0] in self.purpose.driven:
            return value + self.m.input(self.purpose.input_of(name))
        return value

    # -- switches, controlled sources and subcircuits ----------------------------------------------------------

    def _read_s(self, card: Card, name: str) -> None:
        self._switch(
            card, name, device_model(self, card, card.words[5], ("sw",)), lambda: self.voltage(*card.words[3:5])
        )

    def _read_w(self, card: Card, name: str) -> None:
        self._switch(
            card, name, device_model(self, card, card.words[4], ("csw",)), lambda: self.current(card.words[3], card)
        )

    def _switch(self, card: Card, name: str, model: ModelCard, control: Callable[[], ca.SX]) -> None:
        words: dict[str, Any] = {
            "on_resistance": 1.0,
            "off_resistance": 1.0 / self.netlist.gmin,
            **device_keywords(self, model),
        }
        ends = self.two_ends(card)

        def add() -> None:
            signal = control()
            handle = self.add(electrical.ControlledSwitch(name, closed="on" in card.words, **words), name, ends)
            self.m.connect(signal, handle.control)

        self.waiting.append(add)

    def _read_e(self, card: Card, name: str) -> None:
        self.later(card, name, electrical.VoltageSource, "voltage", lambda: controlled_law(self, card, by_voltage=True))

    def _read_g(self, card: Card, name: str) -> None:
        self.later(card, name, electrical.CurrentSource, "current", lambda: controlled_law(self, card, by_voltage=True))

    def _read_f(self, card: Card, name: str) -> None:
        self.later(
            card, name, electrical.CurrentSource, "current", lambda: controlled_law(self, card, by_voltage=False)
        )

    def _read_h(self, card: Card, name: str) -> None:
        self.later(
            card, name, electrical.VoltageSource, "voltage", lambda: controlled_law(self, card, by_voltage=False)
        )

    def _read_b(self, card: Card, name: str) -> None:
        for word, kind, keyword in (
            ("v", electrical.VoltageSource, "voltage"), ("i", electrical.CurrentSource, "current")
        ):  # fmt: skip
            text = card.behind(rf"{word}\s*=", is_pattern=True)
            if any(w.startswith(f"{word}=") for w in card.words) and text is not None:
                text = _OPTIONS.sub("", text)
                self.later(card, name, kind, keyword, partial(self.expression, text, card))
                return
        raise card.refuse(
            "has an element that is not complete", f"{name!r} has neither V= nor I=.", "B1 out 0 V={2*v(in)}"
        )

    def _read_x(self, card: Card, name: str) -> None:
        nodes = [w for w in card.words[1:] if not is_pair(w) and w != "params:"]
        title = nodes.pop()
        block = self.netlist.blocks.get(title)
        if block is None or len(block.ports) != len(nodes) or title in self.above:
            raise card.refuse(
                f"uses the subcircuit {title!r}",
                "it is not declared, contains itself, or has another number of nodes.", ".subckt with as many nodes",
            )  # fmt: skip
        given = self._assigned(card, dict(self.parameters))
        # Defaults that are formulas of other parameters follow what this element gives these.
        defaults = {} if block.head is None else self._assigned(block.head, {**self.parameters, **given}, given)
        values = {**self.parameters, **defaults, **given}
        purpose = replace(self.purpose, inside=f"{self.purpose.inside}{name}.")
        inner = model_of(self.netlist, name, block, values, (*self.above, title), purpose)
        words = block.port_words(self.netlist.shared)
        ends = {words[port]: node for port, node in zip(block.ports, nodes)}
        ends |= {words[node]: node for node in self.netlist.shared if node not in block.ports}
        handle = self.add(inner, name, ends)
        inputs = [word for word, variable in inner.variables.items() if variable.kind == "input"]
        for word in (word for word in inputs if word not in inner.written.assembly.sources):
            self.m.connect(self.m.input(f"{name}_{word}"), getattr(handle, word))
        self.inside[card.words[0]] = self.netlist.inner.pop(id(inner))
        self.small.inside(name, self.netlist.small.pop(id(inner), None))

    def _assigned(
        self, card: Card, known: dict[str, float], without: Mapping[str, float] = MappingProxyType({})
    ) -> dict[str, float]:
        """What `name=value` on a card says, one after the other; nothing of what is known elsewhere."""
        found: dict[str, float] = {}
        pairs = (word.split("=", 1) for word in card.words[1:] if is_pair(word))
        for name, text in ((name, text) for name, text in pairs if name not in without):
            found[name] = known[name] = number(text, card, Scope(known, self.netlist.functions))
        return found
