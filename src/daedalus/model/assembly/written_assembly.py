"""What the door for parts has collected: parts, ports, connections, signals, and what the ledger counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import casadi as ca

# For each element of an equation the variables in its sum with their signs; None where it is more than a sum.
SumRows = tuple[tuple[tuple[str, int], ...] | None, ...]


class PortNote(NamedTuple):
    """A port as it is written: its domain, and the variables of the shared and the balanced quantity."""

    name: str
    domain: str
    shared: str
    balanced: str

    @property
    def owner(self) -> str:
        """The part that the port belongs to; empty for the model itself."""
        return self.name.rpartition(".")[0]

    def prefixed(self, prefix: str) -> PortNote:
        """The same inside another model."""
        return PortNote(prefix + self.name, self.domain, prefix + self.shared, prefix + self.balanced)


class PartNote(NamedTuple):
    """A part: what it is, whether its inputs need a source, and whether it fixes a quantity whatever is joined."""

    title: str
    strict: bool = True
    ideal: bool = False


class Connection(NamedTuple):
    """Ports joined by one call; the owner is the part whose model wrote it."""

    owner: str
    ports: tuple[str, ...]

    def prefixed(self, prefix: str) -> Connection:
        """The same inside another model, whose part the owner is then."""
        owner = f"{prefix}{self.owner}".removesuffix(".")
        return Connection(owner, tuple(prefix + port for port in self.ports))


@dataclass
class WrittenAssembly:
    """Parts, ports and connections of one model, with those of the parts inside it under their paths."""

    parts: dict[str, PartNote] = field(default_factory=dict)
    ports: dict[str, PortNote] = field(default_factory=dict)
    connections: list[Connection] = field(default_factory=list)
    names: dict[str, tuple[str, int]] = field(default_factory=dict)  # a further name: variable, order of derivative
    fluid: set[str] = field(default_factory=set)  # variables that may give way to others that are equal
    inner: set[str] = field(default_factory=set)  # states that may follow from others, as voltages in a loop of charges
    junctions: set[str] = field(default_factory=set)  # unknowns of parts that conduct or block
    defaults: dict[str, float] = field(default_factory=dict)  # of inputs where nothing is joined
    sources: dict[str, ca.SX] = field(default_factory=dict)  # of inputs
    anchors: dict[str, ca.SX] = field(default_factory=dict)  # positions that ports of the model's mechanics have
    driven: set[str] = field(default_factory=set)  # keywords of ready parts that are expressions, outputs by that name
    stored: list[tuple[str, ca.SX]] = field(default_factory=list)  # energy by part
    lost: list[tuple[str, ca.SX]] = field(default_factory=list)  # power by part
    charges: list[tuple[ca.SX, ca.SX]] = field(default_factory=list)  # the current into a charge, and the charge
    losses: dict[str, tuple[ca.SX, ca.SX]] = field(default_factory=dict)  # speed and level by the force that is lost
    # The equations of parts as signed sums in names of the part, by part; parts of one kind share one table. What
    # travels does without.
    sums: dict[str, dict[str, SumRows]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written."""
        return not (self.parts or self.ports or self.sources or self.stored or self.lost)

    def innermost(self, path: str) -> str:
        """The part that a path is or leads into; empty where it leads to the model itself."""
        while path and path not in self.parts:
            path = path.rpartition(".")[0]
        return path

    def copy(self) -> WrittenAssembly:
        """A collection of its own with the same entries."""
        return replace(self, **{name: value.copy() for name, value in vars(self).items()})

    # -- travelling: names as plain data, expressions as a flat list -------------------------------------------

    def outline(self) -> dict[str, Any]:
        """Everything but the expressions."""
        return {
            "parts": {path: tuple(note) for path, note in self.parts.items()},
            "ports": [tuple(port) for port in self.ports.values()],
            "connections": [tuple(connection) for connection in self.connections],
            "names": dict(self.names),
            "fluid": sorted(self.fluid),
            "inner": sorted(self.inner),
            "junctions": sorted(self.junctions),
            "defaults": dict(self.defaults),
            "driven": sorted(self.driven),
            "sources": list(self.sources),
            "anchors": list(self.anchors),
            "stored": [path for path, _ in self.stored],
            "lost": [path for path, _ in self.lost],
            "charges": len(self.charges),
            "losses": list(self.losses),
        }

    def expressions(self) -> list[ca.SX]:
        """The expressions that belong to the outline, in its order."""
        ledger = [expression for _, expression in (*self.stored, *self.lost)]
        pairs = [expression for pair in (*self.charges, *self.losses.values()) for expression in pair]
        return [*self.sources.values(), *self.anchors.values(), *ledger, *pairs]

    def add(self, outline: dict[str, Any], expressions: Iterator[ca.SX], prefix: str) -> None:
        """Take in what another collection wrote, under a prefix."""

        def inside(path: str) -> str:
            return f"{prefix}{path}".removesuffix(".")

        self.parts.update({prefix + path: PartNote(*note) for path, note in outline["parts"].items()})
        for own in outline["ports"]:
            port = PortNote(*own).prefixed(prefix)
            self.ports[port.name] = port
        self.connections += [Connection(*own).prefixed(prefix) for own in outline["connections"]]
        self.names.update({prefix + name: (prefix + v, order) for name, (v, order) in outline["names"].items()})
        self.fluid.update(prefix + name for name in outline["fluid"])
        self.inner.update(prefix + name for name in outline.get("inner", ()))
        self.junctions.update(prefix + name for name in outline.get("junctions", ()))
        self.driven.update(prefix + name for name in outline["driven"])
        self.defaults.update({prefix + name: value for name, value in outline["defaults"].items()})
        self.sources.update({prefix + name: next(expressions) for name in outline["sources"]})
        self.anchors.update({prefix + name: next(expressions) for name in outline["anchors"]})
        self.stored += [(inside(path), next(expressions)) for path in outline["stored"]]
        self.lost += [(inside(path), next(expressions)) for path in outline["lost"]]
        self.charges += [(next(expressions), next(expressions)) for _ in range(outline.get("charges", 0))]
        self.losses.update(
            {prefix + name: (next(expressions), next(expressions)) for name in outline.get("losses", ())}
        )
