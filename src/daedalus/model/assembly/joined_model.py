"""The model of parts as they are joined, before anything is eliminated: equations of parts and of connections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca

from daedalus.model.assembly.joined_ports import joined_sets
from daedalus.model.assembly.written_assembly import WrittenAssembly
from daedalus.model.expressions import column, concatenate
from daedalus.model.names import listed
from daedalus.model.written import Equation

if TYPE_CHECKING:
    from daedalus.model.model import Model


def joined_model(book: Model) -> Model:
    """A model with every unknown of every part: joined ports share one quantity and balance the other.

    Example
    -------
    >>> import daedalus as dd
    >>> C, m = dd.components.thermal, dd.Model("two bodies")
    >>> a, b = m.add(C.Node("a", capacity=1.0)), m.add(C.Node("b", capacity=2.0))
    >>> m.connect(a.heat, b.heat)
    >>> [name for name in joined_model(m).equations if name not in m.equations]
    ['equal at a.heat, b.heat', 'balance at a.heat, b.heat']
    """
    whole, written = book.copy(), book.written.assembly
    whole.written.assembly = WrittenAssembly()
    whole._flattened, whole._frozen = None, None
    for name in {**written.sources, **written.defaults}:
        variable = whole.written.variables[name]
        empty = (None,) * variable.size
        whole.written.variables[name] = replace(variable, kind="algebraic", start=empty, rate=empty)
    for name, residual in (pair for rows in connection_rows(book).values() for pair in rows.items()):
        whole.written.equations[name] = Equation(name, residual)
    return whole


def connection_rows(book: Model) -> dict[str, dict[str, ca.SX]]:
    """What connections and signals say, by kind ("equal", "balance", "signal", "place") and name."""
    written, symbols = book.written.assembly, book.written.symbols
    found: dict[str, dict[str, ca.SX]] = {"equal": {}, "balance": {}, "signal": {}, "place": {}}
    for sides in joined_sets(written):
        ports = [written.ports[side.port] for side in sides]
        names = listed([port.name for port in ports], 4)
        others = [
            symbols[ports[0].shared] - symbols[port.shared] for port in ports[1:] if port.shared != ports[0].shared
        ]
        if others:
            found["equal"][f"equal at {names}"] = concatenate(others)
        flows = [(-1 if side.inside else 1) * symbols[port.balanced] for side, port in zip(sides, ports)]
        found["balance"][f"balance at {names}"] = sum(flows[1:], flows[0])
    for name in {**written.sources, **written.defaults}:
        source = written.sources.get(name, ca.SX(written.defaults.get(name, 0.0)))
        found["signal"][f"signal to {name}"] = column(symbols[name]) - column(source)
    for name, position in written.anchors.items():
        found["place"][f"place of {name}"] = column(symbols[written.ports[name].shared]) - column(position)
    return found
