"""Connections as sets of joined ports: who shares one quantity, and whose flows add up to zero.

A port is seen from outside by whatever its part is joined to, and from inside where the part's own model joins it to
inner parts; there it counts with the opposite sign. Both sides share one potential.
"""

from __future__ import annotations

from typing import NamedTuple

from daedalus.model.assembly.written_assembly import WrittenAssembly


class PortSide(NamedTuple):
    """A port as one set sees it; `inside`: from within the part that it belongs to."""

    port: str
    inside: bool


def joined_sets(written: WrittenAssembly) -> list[list[PortSide]]:
    """All sets, one for each node; a port that nothing is joined to is a set of its own."""
    parent: dict[PortSide, PortSide] = {PortSide(port, False): PortSide(port, False) for port in written.ports}

    def root(side: PortSide) -> PortSide:
        while parent[side] != side:
            parent[side] = parent[parent[side]]
            side = parent[side]
        return side

    for owner, ports in written.connections:
        sides = [PortSide(port, _is_inside(written, owner, port)) for port in ports]
        for side in sides:
            parent.setdefault(side, side)
        first = root(sides[0])
        for side in sides[1:]:
            parent[root(side)] = first
    found: dict[PortSide, list[PortSide]] = {}
    for side in parent:
        found.setdefault(root(side), []).append(side)
    return list(found.values())


def exposed_ports(written: WrittenAssembly) -> set[str]:
    """Ports that their owner joins to inner parts: their flow is that of the inner parts."""
    return {p for owner, ports in written.connections for p in ports if _is_inside(written, owner, p)}


def _is_inside(written: WrittenAssembly, owner: str, port: str) -> bool:
    """Whether a connection sees a port from within its part; ports at the mechanics of a model belong to these."""
    return port.rpartition(".")[0] == owner and port not in written.anchors
