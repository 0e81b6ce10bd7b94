"""Connections as sets of joined ports: who shares one quantity, and whose flows add up to zero.

A port is seen from outside by whatever its part is joined to, and from inside where the part's own model joins it to
inner parts; there it counts with the opposite sign. Both sides share one potential.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeVar

from daedalus.model.assembly.written_assembly import WrittenAssembly

Node = TypeVar("Node", bound=Hashable)


class PortSide(NamedTuple):
    """A port as one set sees it; `inside`: from within the part that it belongs to."""

    port: str
    inside: bool


def joined_sets(written: WrittenAssembly) -> list[list[PortSide]]:
    """All sets, one for each node; a port that nothing is joined to is a set of its own."""
    connections = [[PortSide(p, _is_inside(written, owner, p)) for p in ports] for owner, ports in written.connections]
    sides = dict.fromkeys([*(PortSide(port, False) for port in written.ports), *itertools.chain(*connections)])
    return joined(sides, ((own[0], other) for own in connections for other in own[1:]))


def joined(nodes: Iterable[Node], pairs: Iterable[tuple[Node, Node]]) -> list[list[Node]]:
    """The nodes in groups, those of a pair in one, each group and its members in the order of the nodes.

    Example
    -------
    >>> joined("abcd", [("d", "b")])
    [['a'], ['b', 'd'], ['c']]
    """
    parent = {node: node for node in nodes}

    def root(node: Node) -> Node:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for one, other in pairs:
        parent[root(other)] = root(one)
    found: dict[Node, list[Node]] = {}
    for node in parent:
        found.setdefault(root(node), []).append(node)
    return list(found.values())


def exposed_ports(written: WrittenAssembly) -> set[str]:
    """Ports that their owner joins to inner parts: their flow is that of the inner parts."""
    return {p for owner, ports in written.connections for p in ports if _is_inside(written, owner, p)}


def _is_inside(written: WrittenAssembly, owner: str, port: str) -> bool:
    """Whether a connection sees a port from within its part; ports at the mechanics of a model belong to these."""
    return port.rpartition(".")[0] == owner and port not in written.anchors
