"""What a system is made with, as plain as it is written; `System` reads names, places and functions from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import casadi as ca

from daedalus.model.system.dropped_systems import dropped_systems
from daedalus.model.system.equation_row import EquationRow
from daedalus.model.system.state_choice import StateChoice
from daedalus.model.variables import Event, Variable


@dataclass(frozen=True, eq=False)
class SystemContent:
    """Variables, equations and events of a system; lists and mappings are copied, so that nobody changes them.

    orders: of the highest derivative of each element of each state. symbols: by letter (t, xdot, x, z, u, p). rows:
    where each equation comes from, and each element of what is kept at zero. guards: one row an event. resets,
    assigned: (events, states) and (events, discrete variables) after each event. watched: kept at zero by solutions,
    but nothing holds them to it. choices: of states, where parameters say which of them are integrated. aliases:
    further names of variables and of their derivatives. written_starts: of states that a reduction replaced, where no
    part knows them. parts: records of how the system was made. rewritten: whether
    equations or variables have changed since.
    """

    name: str
    variables: Sequence[Variable]
    orders: Mapping[str, Sequence[int]]
    symbols: Mapping[str, ca.SX]
    residual: ca.SX
    rows: Sequence[EquationRow]
    guards: ca.SX
    resets: ca.SX
    outputs: Mapping[str, ca.SX] = field(default_factory=dict)
    events: Sequence[Event] = ()
    invariants: Mapping[str, ca.SX] = field(default_factory=dict)
    watched: Mapping[str, ca.SX] = field(default_factory=dict)
    choices: Sequence[StateChoice] = ()
    invariant_rows: Sequence[EquationRow] = ()
    watched_rows: Sequence[EquationRow] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    output_units: Mapping[str, str] = field(default_factory=dict)
    on_request: Sequence[str] = ()
    written_starts: Mapping[str, float] = field(default_factory=dict)
    assigned: ca.SX | None = None
    parts: Sequence[object] = ()
    rewritten: bool = False

    def changed(self, changes: Mapping[str, Any]) -> SystemContent:
        """A copy with some fields replaced, without its parts unless they are passed."""
        rewritten = self.rewritten or not changes.keys().isdisjoint(("residual", "variables", "symbols"))
        return replace(self, **{"parts": (), "rewritten": rewritten, **changes})

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Mapping):
                object.__setattr__(self, entry.name, dict(value))
            elif isinstance(value, list):
                object.__setattr__(self, entry.name, tuple(value))
        dropped_systems.one_more()
