"""What may be joined to what: ports of one domain in one model, one signal source to inputs of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.assembly.handle import Handle
from daedalus.model.assembly.port import Port
from daedalus.model.expressions import described, symbol_key

if TYPE_CHECKING:
    from daedalus.model.notebook import Notebook


def check_ports(book: Notebook, ports: Sequence[Port]) -> None:
    """Refuse ports of other models, of different domains, a single port, and a port twice."""
    for port in ports:
        if port._book is not book:
            raise ModelError(
                f"The port {port._note.name} belongs to another model.",
                f"it is a port of {port._book.name!r}, and {book.name!r} joins it",
                because="a model connects its own ports and those of the components added to it.",
                remedy=f"part = m.add({port._book.name}), and then m.connect(part.{port._note.name}, ...)",
            )
    names = [port._note.name for port in ports]
    if len(ports) < 2:
        raise ModelError(
            "connect takes at least two ports.",
            f"got {names[0]} alone",
            because="an unconnected port is free already.",
            remedy=f"m.connect({names[0]}, other.port)",
        )
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise ModelError(
            f"The port {twice} is connected to itself.",
            f"got {', '.join(names)}",
            because="a connection is between different ports.",
            remedy="each port once",
        )
    domains = {port._note.domain for port in ports}
    if len(domains) > 1:
        facts = ", ".join(f"{port._note.name} is {port._note.domain}" for port in ports)
        raise ModelError(
            f"Ports of different domains cannot be connected: {', '.join(sorted(domains))}.",
            facts,
            because="connected ports share one quantity, and these have different ones.",
            remedy=_converter(domains),
        )


def _converter(domains: set[str]) -> str:
    """The part that stands between two domains."""
    between = {
        frozenset({"electrical", "rotational"}): 'C.machines.DCMotor("motor", ...) between them',
        frozenset({"rotational", "translational"}): 'C.translational.Rack("rack", radius=0.1) between them',
        frozenset({"hydraulic", "translational"}): 'C.hydraulic.Cylinder("cylinder", ...) between them',
        frozenset({"electrical", "thermal"}): 'C.electrical.Resistor("r", ..., heat=True), which has a heat port',
    }
    return between.get(frozenset(domains), "a part that has a port of each domain")


def check_signals(book: Notebook, ends: Sequence[Any]) -> tuple[ca.SX, list[str]]:
    """The source of a signal and the names of the inputs that it goes to."""
    if not ends:
        raise ModelError(
            "connect needs at least two ends.",
            "got nothing",
            because="a connection is between ports, or between a signal and inputs.",
            remedy="m.connect(a.plus, b.minus)",
        )
    for end in ends:
        _check_end(end)
    targets, sources = [], []
    for end in ends:
        name = _inner_input(book, end)
        if name is None:
            sources.append(book._expression(end, "The signal"))
        else:
            targets.append(name)
    if not sources and len(targets) > 1:
        raise ModelError(
            "A connection of signals needs a source.",
            f"{', '.join(targets)} are inputs of parts",
            because="an input takes a signal from an output, a variable or an expression.",
            remedy=f"m.connect(controller.output, {targets[0]})",
        )
    if len(sources) != 1 or not targets:
        labels = [_label(book, source) for source in sources]
        raise ModelError(
            "A signal connection has one source and leads to inputs of parts.",
            f"{len(sources)} sources: {', '.join(labels)}; inputs: {', '.join(targets) or 'none'}",
            because="two sources would give one input two values." if targets else "none of the ends is an input.",
            remedy="C.signals.Sum(...) to add signals up" if targets else "m.equation(a, b) for variables",
        )
    source = sources[0]
    for name in targets:
        if name in book.written.assembly.sources:
            raise ModelError(
                f"The input {name} has a source already.",
                f"it gets {_label(book, book.written.assembly.sources[name])}, and now {_label(book, source)}",
                because="two sources would give one input two values.",
                remedy="C.signals.Sum(...) to add signals up",
            )
        if source.shape != book.written.symbols[name].shape:
            raise ModelError(
                f"The signal does not fit the input {name}.",
                f"it has the shape {source.shape}, the input {book.written.symbols[name].shape}",
                because="every element takes one value.",
                remedy="one element of it",
            )
    return source, targets


def _check_end(end: Any) -> None:
    if isinstance(end, Port):
        raise ModelError(
            "A port and a signal cannot be connected.",
            f"{end._note.name} is an {end._note.domain} port" if end._note.domain == "electrical"
            else f"{end._note.name} is a {end._note.domain} port",
            because="a port has two quantities, a signal is one.",
            remedy=f"m.connect(port, port), or {end._note.name}.{end.domain.shared.name} as the signal",
        )  # fmt: skip
    if isinstance(end, Handle):
        known = [name for name in end._names() if f"{end._path}.{name}" in end._book.written.assembly.ports]
        raise ModelError(
            f"{end._path} is a part, not a port.",
            f"its ports are {', '.join(known) or 'none'}",
            because="connections are made between ports.",
            remedy=f"m.connect({end._path}.{known[0] if known else 'port'}, ...)",
        )
    if not isinstance(end, (ca.SX, int, float)) or isinstance(end, bool):
        raise ModelError(
            "connect takes ports or signals.",
            f"got {described(end)}",
            because="ports come from m.add and part.port, signals are expressions.",
            remedy="m.connect(a.plus, b.minus)",
        )


def _inner_input(book: Notebook, end: Any) -> str | None:
    """The name of an input of a part; None for everything else."""
    if not isinstance(end, ca.SX) or not end.is_valid_input():
        return None
    known = book.written.known.get(symbol_key(end if end.is_scalar() else end[0]))
    if known is None or known[0] == "t" or book.written.variables[known[0]].kind != "input":
        return None
    name = known[0]
    return name if book.written.assembly.innermost(name) else None


def _label(book: Notebook, expression: ca.SX) -> str:
    from daedalus.model.printing import expression_text

    return expression_text(expression, book.written.labels(), 60) if expression.is_scalar() else "an expression"
