"""A port: where a part is joined to others, with the quantity that joined ports share and the one that balances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.assembly.domains import DOMAINS, Domain
from daedalus.model.assembly.written_assembly import PortNote
from daedalus.model.names import did_you_mean

if TYPE_CHECKING:
    from daedalus.model.notebook import Notebook


class Port:
    """A port of a model or of a part in it; `m.connect` joins ports, `plus.voltage` and `plus.current` are symbols.

    Example
    -------
    >>> import daedalus as dd
    >>> part = dd.Model("resistor")
    >>> plus = part.port("plus", "electrical")
    >>> plus, plus.voltage, plus.current
    (Port('plus': electrical), SX(plus.voltage), SX(plus.current))
    """

    __slots__ = ("_book", "_note")

    def __init__(self, book: Notebook, note: PortNote) -> None:
        self._book = book
        self._note = note

    @property
    def domain(self) -> Domain:
        """What kind of port it is."""
        return DOMAINS[self._note.domain]

    def __getattr__(self, name: str) -> ca.SX:
        known = self.domain.quantities
        if name in known:
            return self._book[f"{self._note.name}.{name}"]
        if name.startswith("__"):
            raise AttributeError(name)
        raise ModelError(
            f"The port {self._note.name} has no quantity {name!r}.",
            f"it is {self._note.domain}: {', '.join(known)}",
            because="a port has the quantities of its domain.",
            remedy=did_you_mean(name, known),
        )

    def __dir__(self) -> list[str]:
        return ["domain", *self.domain.quantities]

    def __repr__(self) -> str:
        return f"Port({self._note.name!r}: {self._note.domain})"
