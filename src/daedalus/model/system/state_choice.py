"""Which states a run integrates is a matter of parameters: the choice that constraints leave among some states.

A state s of the choice has the equation (1 - Σ_i P_si)(s' - f_s) + Σ_i P_si h_i = 0 with parameters P that are 0 or 1.
With all of its P zero the state is selected and s' = f_s holds; with P_si = 1 it is dependent and the constraint h_i is
obeyed in the place of its derivative. Each constraint has one dependent state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from daedalus.model.system.equation_row import EquationRow
from daedalus.model.system.plain_record import PlainRecord, checked_integer, checked_list, checked_text, misfit

Element = tuple[str, int]


@dataclass(frozen=True)
class StateChoice:
    """The names of one choice; several levels (positions, velocities) share it where their constraints are alike.

    parameter: the vector that holds P. states, constraints: for each level the elements of states, and where the
    constraints come from. entries: (element of the parameter, state, constraint), the latter two by their place in a
    level. event: the one that ends a piece of a run when another choice is better; empty where there is no other one.
    """

    parameter: str
    states: tuple[tuple[Element, ...], ...]
    constraints: tuple[tuple[EquationRow, ...], ...]
    entries: tuple[tuple[int, int, int], ...]
    event: str

    def prefixed(self, prefix: str) -> StateChoice:
        """The same inside another model, where names have a prefix."""
        return replace(
            self,
            parameter=prefix + self.parameter,
            states=tuple(tuple((prefix + name, k) for name, k in level) for level in self.states),
            constraints=tuple(tuple(row.prefixed(prefix) for row in level) for level in self.constraints),
            event=prefix + self.event if self.event else "",
        )

    def to_record(self) -> dict[str, Any]:
        """Plain data, for files."""
        return {
            "parameter": self.parameter,
            "states": [[list(entry) for entry in level] for level in self.states],
            "constraints": [[row.to_record() for row in level] for level in self.constraints],
            "entries": [list(entry) for entry in self.entries],
            "event": self.event,
        }

    @staticmethod
    def from_record(record: PlainRecord, states: Mapping[str, int], parameters: Mapping[str, int]) -> StateChoice:
        """The inverse of `to_record`, for states and parameters of these names and sizes."""
        record.only(("parameter", "states", "constraints", "entries", "event"))
        parameter = record.word("parameter", parameters)
        levels = [checked_list(level, f"{record.place}.states") for level in record.items("states")]
        chosen = tuple(tuple(_element(entry, f"{record.place}.states", states) for entry in level) for level in levels)
        place = f"{record.place}.constraints"
        constraints = tuple(
            tuple(EquationRow.from_record(row, place) for row in checked_list(level, place))
            for level in record.items("constraints", len(chosen))
        )
        most = (parameters[parameter], min(map(len, chosen), default=0), min(map(len, constraints), default=0))
        entries = tuple(_entry(entry, f"{record.place}.entries", most) for entry in record.items("entries"))
        return StateChoice(parameter, chosen, constraints, entries, record.text("event"))


def _element(entry: object, place: str, states: Mapping[str, int]) -> Element:
    name, k = checked_list(entry, place, 2)
    if checked_text(name, place) not in states:
        raise misfit(place, "an element of a state", name)
    return name, checked_integer(k, place, 0, states[name])


def _entry(entry: object, place: str, most: tuple[int, int, int]) -> tuple[int, int, int]:
    a, b, c = (checked_integer(k, place, 0, below) for k, below in zip(checked_list(entry, place, 3), most))
    return a, b, c
