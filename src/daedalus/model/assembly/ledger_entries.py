"""What the ledger counts of every part: power in at its ports, stored energy and lost power."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from daedalus.model.assembly.domains import DOMAINS
from daedalus.model.assembly.joined_ports import exposed_ports
from daedalus.model.assembly.ledger import Entry
from daedalus.model.mechanics.equations_of_motion import velocity_symbols

if TYPE_CHECKING:
    from daedalus.model.doors.inner_parts import PartDoor


def ledger_entries(book: PartDoor) -> list[Entry]:
    """What is known of every part that has ports of its own equations, or says what it stores or loses."""
    written = book._assembly
    exposed = exposed_ports(written)
    sums: dict[str, list[ca.SX]] = {path: [ca.SX(0)] * 3 for path in written.parts}

    def count(path: str, k: int, value: ca.SX) -> None:
        own = sums.setdefault(path, [ca.SX(0)] * 3)
        own[k] = own[k] + value

    for port in written.ports.values():
        if port.name in exposed:
            continue
        domain, flow = DOMAINS[port.domain], book._symbols[port.balanced]
        if domain.carries_power:
            count(port.owner, 0, flow)
        elif domain.is_mechanical:
            count(port.owner, 0, flow * book._derivative_symbol(port.shared, 1))
        else:
            count(port.owner, 0, flow * book._symbols[port.shared])
    for k, group in ((1, written.stored), (2, written.lost)):
        for path, value in group:
            count(path, k, value)
    if written.anchors:
        for k, value in enumerate(_of_mechanics(book), 1):
            count("", k, value)
    return [(path, *own) for path, own in sums.items()]  # type: ignore[misc]


def _of_mechanics(book: PartDoor) -> tuple[ca.SX, ca.SX]:
    """The energy of coordinates and bodies, and the power that their dissipation takes."""
    written = book._mechanics
    energy = written.kinetic + written.potential
    for body in written.bodies.values():
        velocity = book._symbols[f"{body.name}.velocity"]
        energy += 0.5 * body.mass * ca.sumsqr(velocity)
        if body.inertia is not None:
            spin = book._symbols[f"{body.name}.angular_velocity"]
            energy += 0.5 * ca.dot(spin, ca.mtimes(body.inertia, spin))
        gravity = written.gravity if body.gravity is None else body.gravity
        if gravity is not None:
            energy -= body.mass * ca.dot(gravity[: velocity.numel()], book._symbols[f"{body.name}.position"])
    rates = velocity_symbols(book, written)
    lost = ca.jtimes(written.dissipation, rates, rates) if rates.numel() else ca.SX(0)
    return energy, lost
