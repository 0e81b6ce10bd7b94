"""The scalars of a model as numbers: who they are, and which of two equal ones keeps its name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import casadi as ca

from daedalus.model.assembly.relations import ZERO

if TYPE_CHECKING:
    from daedalus.model.notebook import Notebook

# Who stays of two that are equal: what cannot change comes first, then what a run integrates, then words users say.
CONSTANT, KNOWN, OWN, ANCHORED, GIVEN, MOVING, PLAIN, SHARED, BALANCED, JOINED = 100, 90, 80, 75, 70, 60, 30, 15, 10, 5


@dataclass
class Unknowns:
    """Numbers of scalars, 0 for zero itself; `rank` says how fixed each one is."""

    symbols: list[ca.SX] = field(default_factory=lambda: [ca.SX(0)])
    names: list[str] = field(default_factory=lambda: [""])
    rank: list[int] = field(default_factory=lambda: [CONSTANT])
    moving: list[bool] = field(default_factory=lambda: [False])  # its derivative is part of the equations
    steady: list[bool] = field(default_factory=lambda: [True])  # its derivative is zero
    states: list[bool] = field(default_factory=lambda: [False])
    number: dict[int, int] = field(default_factory=dict)  # by the key of the symbol
    by_name: dict[str, int] = field(default_factory=dict)

    keys: list[int] = field(default_factory=lambda: [0])  # of the symbols

    def add(self, name: str, symbol: ca.SX, key: int, rank: int, *, moving: bool, steady: bool, state: bool) -> None:
        """Take in a scalar."""
        k = len(self.symbols)
        self.symbols.append(symbol)
        self.names.append(name)
        self.rank.append(rank)
        self.moving.append(moving)
        self.steady.append(steady)
        self.states.append(state)
        self.number[key] = k
        self.keys.append(key)
        self.by_name[name] = k

    def merges(self, leaving: int, staying: int) -> bool:
        """Whether an equal unknown may take the place of another."""
        if leaving == ZERO or self.rank[leaving] >= ANCHORED:
            return False
        if self.rank[leaving] == GIVEN and (self.rank[staying] == GIVEN or self.rank[staying] >= OWN):
            return False
        if self.moving[leaving]:
            return self.steady[staying] or self.states[staying]
        return True


def unknowns_of(book: Notebook) -> Unknowns:
    """All scalars of a model; elements of vectors stay as they are."""
    written, found = book._assembly, Unknowns()
    shared = {port.shared for port in written.ports.values()}
    balanced = {port.balanced for port in written.ports.values()}
    anchored = {written.ports[port].shared for port in written.anchors}
    joined = {*written.sources, *written.defaults}
    # Forces of contacts have two laws each, and a run decides which of them holds.
    forces = {event.manner.contact.name for event in book._events.values() if event.manner.contact is not None}
    keys = book._keys()
    for name, variable in book._variables.items():
        if variable.shape != ():
            continue
        kind, moving = variable.kind, bool(book._derivatives.get(name))
        if kind == "input" and name in joined:
            rank = JOINED
        elif kind in ("parameter", "input", "discrete"):
            rank = KNOWN
        elif name not in written.fluid or name in forces:
            rank = OWN
        elif name in anchored:
            rank = ANCHORED
        elif variable.start and variable.start[0] is not None and kind == "state":
            rank = GIVEN
        elif moving or (name in shared and kind == "state"):
            rank = MOVING
        else:
            rank = SHARED if name in shared else BALANCED if name in balanced else PLAIN
        steady, state = kind in ("parameter", "discrete"), kind == "state"
        found.add(name, book._symbols[name], keys[name], rank, moving=moving, steady=steady, state=state)
    return found
