"""What a circuit is written for: a run over time, or an analysis around its rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Purpose:
    """How the elements of a netlist are written.

    steady: lines as they are where nothing changes. at_rest: sources with their steady value. driven: the sources that
    have an input of their own beside it. noisy: with an input for every source of noise. held: nodes of the circuit
    itself that a source holds at a voltage, as .ic does while the operating point is sought. pulled: the same through a
    small resistance, as .nodeset does while the search begins. charged: the voltages of charges by their states, for
    the step of no length in which they share what they hold. inside: the path of the subcircuit that is written.
    """

    steady: bool = False
    at_rest: bool = False
    driven: frozenset[str] = frozenset()
    noisy: bool = False
    held: tuple[tuple[str, float], ...] = ()
    pulled: tuple[tuple[str, float], ...] = ()
    charged: Mapping[str, float] | None = None
    inside: str = ""

    @property
    def is_small(self) -> bool:
        """Whether the response to small signals is wanted."""
        return bool(self.driven) or self.noisy

    @staticmethod
    def input_of(name: str) -> str:
        """The input of a driven source."""
        return f"{name}_signal"


OVER_TIME, STEADY, AT_REST = Purpose(), Purpose(steady=True), Purpose(steady=True, at_rest=True)
