"""A netlist's circuit put together from parts in Python: words as keywords, cards by `from_card`."""

import re

import casadi as ca
from tests.components.by_ngspice import netlist

import daedalus as dd
from daedalus.components.spice.netlist_text import plain_number

E = dd.components.electrical
PLAIN = re.compile(r"^(dc )?-?[\d.]+\w*$")


def lines_of(name):
    """The elements and the cards of a netlist, with continued lines joined."""
    _, *rest = re.sub(r"\n\+", " ", netlist(name).lower()).splitlines()
    rest = [line for line in rest if line and line[0] != "*"]
    cards = {line.split()[1]: line for line in rest if line.startswith(".model")}
    return [line for line in rest if line[0] != "."], cards, [line for line in rest if line[0] == "."]


def is_plain(name):
    """Whether a netlist has nothing but resistors, capacitors, coils, sources and devices without areas."""
    elements, _, others = lines_of(name)
    if any(line.split()[0] not in (".model", ".tran", ".end") or "uic" in line for line in others):
        return False
    sizes = {"r": 4, "c": 4, "l": 4, "d": 4, "q": 5, "j": 5}
    for line in elements:
        words = line.split()
        if line[0] in "vi":
            wave = " ".join(words[3:])
            if not PLAIN.match(wave) and not re.match(r"(sin\(\S+( \S+){2}|pulse\(\S+( \S+){6})\)$", wave):
                return False
        elif line[0] == "m":
            if not re.match(r"m\S+( \S+){5} w=\S+ l=\S+$", line):
                return False
        elif len(words) != sizes.get(line[0], 0) or not all(re.match(r"^[\w.-]+$", w) for w in words):
            return False
    return True


def wave(m, text):
    if PLAIN.match(text):
        return plain_number(text.removeprefix("dc "))
    if text.startswith("pulse"):
        low, high, delay, rise, fall, width, period = map(plain_number, text[6:-1].split())
        since = ca.fmod(ca.fmax(m.time - delay, 0), period)
        share = ca.fmin(since / rise, 1) - ca.fmin(ca.fmax((since - rise - width) / fall, 0), 1)
        return low + (high - low) * share
    offset, amplitude, frequency = map(plain_number, text[4:-1].split())
    return offset + amplitude * ca.sin(2 * ca.pi * frequency * m.time)


def part_of(m, line, cards):
    """The part of one line, and the nodes of its ports."""
    name, *words = line.split()
    ends = dict(zip(("plus", "minus"), words))
    if name[0] == "r":
        return E.Resistor(name, resistance=plain_number(words[2])), ends
    if name[0] == "c":
        return E.Capacitor(name, capacitance=plain_number(words[2])), ends
    if name[0] == "l":
        return E.Inductor(name, inductance=plain_number(words[2])), ends
    if name[0] == "v":
        return E.VoltageSource(name, voltage=wave(m, " ".join(words[2:]))), ends
    if name[0] == "i":
        return E.CurrentSource(name, current=wave(m, " ".join(words[2:]))), ends
    if name[0] == "d":
        return E.Diode(name, from_card=cards[words[2]], temperature=27.0), ends
    if name[0] == "q":
        ends = dict(zip(("collector", "base", "emitter"), words))
        part = E.Transistor(name, from_card=cards[words[3]], temperature=27.0)
        if part.values["substrate_capacitance"] is not None:
            ends["substrate"] = "0"
        return part, ends
    ends = dict(zip(("drain", "gate", "source", "bulk"), words))
    if name[0] == "j":
        del ends["bulk"]
        return E.Jfet(name, from_card=cards[words[3]], temperature=27.0), ends
    sizes = {"width": plain_number(words[5][2:]), "length": plain_number(words[6][2:])}
    tied = ends["bulk"] == ends["source"]
    if tied:
        del ends["bulk"]
    return E.Mosfet(name, from_card=cards[words[4]], bulk="source" if tied else "port", temperature=27.0,
                    conductance=0.0, **sizes), ends  # fmt: skip


def circuit_of_parts(name):
    """The model, and for each node the name of its voltage."""
    elements, cards, _ = lines_of(name)
    m, voltages = dd.Model(name), {}
    nodes = {"0": [m.add(E.Ground("ground")).pin]}
    for line in elements:
        part, ends = part_of(m, line, cards)
        handle = m.add(part)
        for port, node in ends.items():
            nodes.setdefault(node, []).append(getattr(handle, port))
            voltages.setdefault(node, f"{part.name}.{port}.voltage")
    for ports in nodes.values():
        for other in ports[1:]:
            m.connect(ports[0], other)
    return m, voltages
