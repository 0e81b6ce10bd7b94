"""The ledger of a model: for each part the power in at its ports, the energy it stores, the power it loses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import casadi as ca

from daedalus.model.expressions import elements, symbol_key


class Account(IntEnum):
    """What an entry counts as."""

    RECEIVED = 0
    STORED = 1
    LOST = 2


# The part, what it counts as, and the factors of the amount.
Entry = tuple[str, Account, tuple[ca.SX, ...]]


@dataclass(frozen=True, eq=False)
class Ledger:
    """A part of a system: the entries as they were written, and what stands for the symbols that joining took away.

    `amounts` is computed when somebody asks: a run does not need it.
    """

    parts: tuple[str, ...]
    entries: tuple[Entry, ...]
    gone: ca.SX
    put: ca.SX
    charges: tuple[tuple[ca.SX, ca.SX], ...] = ()  # the current into a charge, and the charge

    def read_expression(self, system: Any, expression: ca.SX) -> ca.SX:
        """An expression in symbols of parts, with what stands for those that joining took away."""
        gone = frozenset(map(symbol_key, elements(self.gone)))
        if not any(symbol_key(symbol) in gone for symbol in ca.symvar(expression)):
            return expression
        return ca.densify(ca.substitute([expression], [self.gone], [self.put])[0])

    def charged(self) -> tuple[ca.SX, ca.SX]:
        """The currents into charges that are functions of voltages, and these charges, in the symbols of the system."""
        columns = [ca.vertcat(ca.SX(0, 1), *own) for own in zip(*self.charges)] or [ca.SX(0, 1)] * 2
        if self.gone.numel():
            columns = ca.substitute(columns, [self.gone], [self.put])
        return ca.densify(columns[0]), ca.densify(columns[1])

    def amounts(self) -> dict[Account, ca.SX]:
        """Power in, stored energy and lost power of every part, as columns in the symbols of the system."""
        place = {path: k for k, path in enumerate(self.parts)}
        sums = {account: [ca.SX(0)] * len(self.parts) for account in Account}
        for path, account, factors in self.entries:
            amount = factors[0] * factors[1] if len(factors) == 2 else factors[0]
            sums[account][place[path]] = sums[account][place[path]] + amount
        columns = [ca.vertcat(*own) for own in sums.values()]
        if self.gone.numel():
            columns = ca.substitute(columns, [self.gone], [self.put])
        return dict(zip(sums, (ca.densify(own) for own in columns)))
