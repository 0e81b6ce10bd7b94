"""The part of a snapshot that pictures are drawn from: a copy of the model with its bodies, shapes and joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from daedalus.model.mechanics.body_starts import in_joints


@dataclass(frozen=True, eq=False)
class Drawing:
    """A part of a system: a copy of the model with its sketch; None where nothing is to be seen."""

    book: Any

    def read_start(self, system: Any, values: Mapping[str, object]) -> Mapping[str, object]:
        """Start values of bodies in joint coordinates as values of their joints."""
        if self.book is None or not self.book.written.mechanics.tree:
            return values
        return in_joints(self.book, system, values)

    def read_expression(self, system: Any, expression: ca.SX) -> ca.SX:
        """An expression of bodies in joint coordinates as one of their joints."""
        if self.book is None or not self.book.written.mechanics.tree:
            return expression
        old, new = [], []
        for symbol in ca.symvar(expression):
            name, k, order = self.book.written.known.get(int(symbol.element_hash()), ("", 0, 0))
            if not order and name in system.output_names and name not in system.places:
                old.append(symbol)
                new.append(ca.vec(system.output(name))[k])
        return ca.substitute(expression, ca.vertcat(*old), ca.vertcat(*new)) if old else expression
