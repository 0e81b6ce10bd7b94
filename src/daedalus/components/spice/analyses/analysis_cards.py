"""The cards of analyses as data: which values are swept, which frequencies, which output from which source."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from daedalus.components.spice.netlist import Netlist
from daedalus.components.spice.netlist_formulas import Unreadable, number, parsed
from daedalus.components.spice.netlist_text import Card

MOST_POINTS = 1_000_000


@dataclass(frozen=True)
class Probe:
    """What is looked at: v(a), v(a,b) or i(element), with a letter behind v or i for a part of a complex number."""

    kind: str  # "v" or "i"
    names: tuple[str, ...]
    part: str = ""  # "", "m", "db", "p", "r" or "i"
    text: str = ""


@dataclass(frozen=True)
class Sweep:
    """.dc: names of sources, resistors or `temp` with their values, the first moving fastest."""

    names: tuple[str, ...]
    values: tuple[np.ndarray, ...]
    card: Card


@dataclass(frozen=True)
class Transfer:
    """.tf: an output and the source that drives it."""

    output: Probe
    source: str
    card: Card


@dataclass(frozen=True)
class Noise:
    """.noise: an output, the source that noise is referred to, frequencies."""

    output: Probe
    source: str
    frequencies: np.ndarray
    card: Card


@dataclass(frozen=True)
class Fourier:
    """.four: a frequency and outputs."""

    frequency: float
    outputs: tuple[Probe, ...]
    card: Card


_PROBE = re.compile(r"(v|i)(m|db|p|r|i)?\(\s*([^(),\s]+)\s*(?:[,\s]\s*([^(),\s]+)\s*)?\)")


def probes(text: str, card: Card) -> tuple[Probe, ...]:
    """All of v(...) and i(...) in a text."""
    found = tuple(
        Probe(m[1], tuple(n for n in (m[3], m[4]) if n), m[2] or "", m[0].replace(" ", ""))
        for m in _PROBE.finditer(text.lower())
    )
    if not found:
        raise card.refuse("names nothing to look at", "it is v(node), v(node,node) or i(element).", "v(out)")
    return found


def sweep(card: Card, netlist: Netlist) -> Sweep:
    """.dc source start stop step [second start stop step]."""
    words = list(card.words[1:])
    if len(words) not in (4, 8):
        raise card.refuse("has a .dc that cannot be read", "it is a source, start, stop and step.", ".dc V1 0 5 0.1")
    names, values = [], []
    for k in range(0, len(words), 4):
        start, stop, step = (number(word, card, netlist.scope) for word in words[k + 1 : k + 4])
        if step == 0 or (stop - start) * step < 0 or abs((stop - start) / step) > MOST_POINTS:
            raise card.refuse("has a sweep that does not end", "the step leads from start to stop.", ".dc V1 0 5 0.1")
        count = math.floor((stop - start) / step * (1 + 1e-12) + 1e-9) + 1
        names.append(words[k])
        values.append(start + step * np.arange(count))
    return Sweep(tuple(names), tuple(values), card)


def frequencies(card: Card, words: list[str], netlist: Netlist) -> np.ndarray:
    """dec | oct | lin, points, first and last frequency in Hz."""
    if len(words) != 4 or words[0] not in ("dec", "oct", "lin"):
        raise card.refuse(
            "has frequencies that cannot be read", "they are DEC, OCT or LIN, points, first and last.",
            ".ac dec 10 1 1meg",
        )  # fmt: skip
    points, first, last = (number(word, card, netlist.scope) for word in words[1:])
    per = {"dec": 10.0, "oct": 2.0}.get(words[0])
    wrong = not 1 <= points <= MOST_POINTS or not 0 <= first <= last or (per is not None and first <= 0)
    count = 0 if wrong else int(points) if per is None else math.floor(points * math.log(last / first, per) + 1e-9) + 1
    if wrong or count > MOST_POINTS:
        raise card.refuse(
            "has impossible frequencies", "the first is above zero and not above the last.", ".ac dec 10 1 1meg"
        )
    if per is None:
        return np.linspace(first, last, count) if count > 1 else np.array([first])
    found: np.ndarray = first * per ** (np.arange(count) / points)
    return found


def transfer(card: Card) -> Transfer:
    """.tf v(out) V1."""
    return Transfer(probes(card.text, card)[0], card.words[-1], card)


def noise(card: Card, netlist: Netlist) -> Noise:
    """.noise v(out) V1 dec 10 1 1meg [points per summary]."""
    output = probes(card.text, card)[0]
    words = list(card.words[1 + 1 + len(output.names) :])
    if len(words) not in (5, 6):
        raise card.refuse(
            "has a .noise that cannot be read", "it is an output, a source and frequencies.",
            ".noise v(out) V1 dec 10 1 1meg",
        )  # fmt: skip
    return Noise(output, words[0], frequencies(card, words[1:5], netlist), card)


def fourier(card: Card, netlist: Netlist) -> Fourier:
    """.four 1k v(out)."""
    card.needs(3, ".four 1k v(out)")
    frequency = number(card.words[1], card, netlist.scope)
    if not frequency > 0:
        raise card.refuse("has an impossible frequency", "it is above zero.", ".four 1k v(out)")
    return Fourier(frequency, probes(card.text, card), card)


def expression(text: str, card: Card) -> tuple[object, ...]:
    """The tree of a formula of probes."""
    try:
        return parsed(text.strip().strip("{}'\" "))
    except (Unreadable, RecursionError) as error:
        raise card.refuse(
            f"has a formula that cannot be read: {text}", f"{str(error)!r} is not understood.", "v(out), {2*v(a)-v(b)}"
        ) from None
