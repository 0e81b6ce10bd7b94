"""What the ledger counts of every part: power in at its ports, stored energy and lost power."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from daedalus.model.assembly.domains import DOMAINS
from daedalus.model.assembly.joined_ports import exposed_ports
from daedalus.model.assembly.ledger import Account, Entry
from daedalus.model.mechanics.equations_of_motion import velocity_symbols

if TYPE_CHECKING:
    from daedalus.model.doors.inner_parts import PartDoor


def ledger_entries(book: PartDoor) -> list[Entry]:
    """What is known of every part that has ports of its own equations, or says what it stores or loses."""
    written = book._assembly
    exposed = exposed_ports(written)
    found: list[Entry] = []
    for port in written.ports.values():
        if port.name in exposed:
            continue
        domain, factors = DOMAINS[port.domain], (book._symbols[port.balanced],)
        if domain.is_mechanical:
            factors = (*factors, book._derivative_symbol(port.shared, 1))  # type: ignore[assignment]
        elif not domain.carries_power:
            factors = (*factors, book._symbols[port.shared])  # type: ignore[assignment]
        found.append((port.owner, Account.RECEIVED, factors))
    found += [(path, Account.STORED, (value,)) for path, value in written.stored]
    found += [(path, Account.LOST, (value,)) for path, value in written.lost]
    if written.anchors:
        energy, lost = _of_mechanics(book)
        found += [("", Account.STORED, (energy,)), ("", Account.LOST, (lost,))]
    return found


def _of_mechanics(book: PartDoor) -> tuple[ca.SX, ca.SX]:
    """The energy of coordinates and bodies, and the power that their dissipation takes."""
    written = book._mechanics
    energy = written.kinetic + written.potential
    for body in book.bodies.values():
        energy += body.kinetic_energy
        own = written.bodies[body.name].gravity
        gravity = written.gravity if own is None else own
        if gravity is not None:
            energy -= body.mass * ca.dot(gravity[: body.size], body.position)
    rates = velocity_symbols(book, written)
    lost = ca.jtimes(written.dissipation, rates, rates) if rates.numel() else ca.SX(0)
    return energy, lost
