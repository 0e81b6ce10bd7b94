"""The ledger of a model: for each part the power in at its ports, the energy it stores, the power it loses."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

Entry = tuple[str, ca.SX, ca.SX, ca.SX]


@dataclass(frozen=True, eq=False)
class Ledger:
    """A part of a system: (part, power in, stored energy, lost power), the last three in the system's symbols."""

    entries: tuple[Entry, ...] = ()
