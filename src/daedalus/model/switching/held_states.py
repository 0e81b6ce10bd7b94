"""Discrete variables as states that rest between instants, d' = 0: what is varied of them is carried along like x."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.model.expressions import COMPARISONS, LOGICAL, STAIRS
from daedalus.model.lazy_values import cached_property
from daedalus.model.reopened import as_model
from daedalus.model.system.instruction_list import read_instructions
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS

DECIDING = frozenset((*COMPARISONS, *LOGICAL, *STAIRS, ca.OP_SIGN, ca.OP_IF_ELSE_ZERO))


@dataclass(frozen=True, eq=False)
class HeldStates:
    """A part of a system without events: which of its states rest, and the same system with all that changes them."""

    names: tuple[str, ...]
    instants: System

    @property
    def positions(self) -> np.ndarray:
        """Where the states that rest stand in x."""
        places = [self.instants.places[name].positions for name in self.names]
        return np.concatenate([np.zeros(0, dtype=int), *places]).astype(int)

    @cached_property
    def compared(self) -> frozenset[int]:
        """Those that conditions decide by, such as `mode == 2`: they are numbers of a mode, and nothing to vary."""
        return _compared(self.instants, frozenset(self.positions.tolist()))


def with_held_states(system: System) -> System:
    """The same system with discrete variables as states that rest; it has the symbols of the system.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("loop"); x = m.state("x", start=1.0); u = m.discrete("u", start=0.5)
    >>> m.equation(m.der(x), u); m.every(0.1, {"u": -x})
    >>> held = with_held_states(m.freeze())
    >>> held.labels["x"], held.start["x"].tolist(), held.discrete_count
    (('x', 'u'), [1.0, 0.5], 0)
    """
    return once(system, _converted) if system.discrete_count else system


def _converted(system: System) -> System:
    book = as_model(system).copy()
    book._changed()
    for variable in system.of_kind("discrete"):
        # It stands behind the states that were written.
        del book.written.variables[variable.name]
        book.written.variables[variable.name] = replace(variable, kind="state")
        rate = ca.vec(book.written.derivative_symbol(variable.name, 1))
        book.equation(rate, ca.DM.zeros(variable.size), name=f"{variable.name}_rests")
    return book.freeze()


def without_instants(system: System, names: tuple[str, ...], *parts: type) -> System:
    """A system between two instants: its events and clocks are in its part `HeldStates`.

    names: of the discrete variables that are states in it. parts: types of records that pass on.
    """
    return once(system, _between, names, parts)


def _between(system: System, names: tuple[str, ...], parts: tuple[type, ...]) -> System:
    return system.changed(
        events=(),
        guards=ca.SX(0, 1),
        resets=ca.SX(0, system.sizes["x"]),
        assigned=None,
        parts=(HeldStates(names, system), *system.parts(*parts)),
    )


def _compared(system: System, rests: frozenset[int]) -> frozenset[int]:
    """States that rest and stand in a condition with nothing that moves."""
    arguments = system.symbols()
    expressions = [ca.vec(ca.densify(e)) for e in (system.residual, system.guards, system.resets)]
    whole = ca.Function("all", arguments, [ca.vertcat(*expressions)])
    if whole.find_functions(0):  # calls of foreign code cannot be followed
        return frozenset()
    rows = read_instructions(whole)
    seen: dict[int, frozenset[int]] = {-1: frozenset()}  # states that rest in a value; -1 among them for what moves
    found: set[int] = set()
    for row in range(len(rows)):
        operation, first, second = rows.operation[row], rows.first[row], rows.second[row]
        if operation == ca.OP_INPUT:
            letter = ARGUMENTS[first]
            moves = letter in ("t", "xdot", "z", "u") or (letter == "x" and second not in rests)
            seen[row] = frozenset([-1]) if moves else frozenset([second] if letter == "x" else [])
        elif operation == ca.OP_CONST:
            seen[row] = frozenset()
        elif operation != ca.OP_OUTPUT:
            seen[row] = seen[first] | seen[second]
            # Of a branch only its condition decides.
            decides = seen[first] if operation == ca.OP_IF_ELSE_ZERO else seen[row]
            if operation in DECIDING and -1 not in decides:
                found |= decides
    return frozenset(found)
