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

    names: list[str]
    symbols: list[ca.SX]
    keys: list[int]  # of the symbols
    rank: list[int]
    moving: list[bool]  # its derivative is part of the equations
    steady: list[bool]  # its derivative is zero
    states: list[bool]
    number: dict[int, int]  # by the key of the symbol
    by_name: dict[str, int]
    driven: set[int] = field(default_factory=set)  # expressions of time in the place of an unknown

    def add_driven(self, name: str, expression: ca.SX) -> int:
        """Take in what time and parameters alone decide, as one more known quantity; its number."""
        self.names.append(name)
        self.symbols.append(expression)
        self.keys.append(0)
        self.rank.append(KNOWN)
        for flags in (self.moving, self.steady, self.states):
            flags.append(False)
        self.driven.add(len(self.names) - 1)
        return len(self.names) - 1

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
    written, variables = book.written.assembly, book.written.variables
    shared = {port.shared for port in written.ports.values()}
    balanced = {port.balanced for port in written.ports.values()}
    anchored = {written.ports[port].shared for port in written.anchors}
    joined = {*written.sources, *written.defaults}
    # Forces of contacts have two laws each, and a run decides which of them holds.
    forces = {event.manner.contact.name for event in book.written.events.values() if event.manner.contact is not None}
    names = [name for name, variable in variables.items() if variable.shape == ()]
    ranks = [CONSTANT]
    for name in names:
        kind, moving = variables[name].kind, bool(book.written.derivatives.get(name))
        if kind == "input" and name in joined:
            rank = JOINED
        elif kind in ("parameter", "input", "discrete"):
            rank = KNOWN
        elif name not in written.fluid or name in forces:
            rank = OWN
        elif name in anchored:
            rank = ANCHORED
        elif kind == "state" and variables[name].start and variables[name].start[0] is not None:
            rank = GIVEN
        elif moving or (name in shared and kind == "state"):
            rank = MOVING
        else:
            rank = SHARED if name in shared else BALANCED if name in balanced else PLAIN
        ranks.append(rank)
    known = book.written.first_keys()
    keys = [known[name] for name in names]
    return Unknowns(
        names=["", *names],
        symbols=[ca.SX(0), *(book.written.symbols[name] for name in names)],
        keys=[0, *keys],
        rank=ranks,
        moving=[False, *(bool(book.written.derivatives.get(name)) for name in names)],
        steady=[True, *(variables[name].kind in ("parameter", "discrete") for name in names)],
        states=[False, *(variables[name].kind == "state" for name in names)],
        number={key: k for k, key in enumerate(keys, 1)},
        by_name={name: k for k, name in enumerate(names, 1)},
    )
