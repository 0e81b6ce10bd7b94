"""A system as plain data and back: what files, pickles and the hash of a system are made of.

To add a field: one line in `described`, one in `FIELDS`, one in `read_content` with the checks that it needs. A
field whose absence would change the meaning of a system also raises VERSION. A field that most systems lack is best
left out where it is empty, so that their hashes stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from daedalus.errors import InputError
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.system.equation_row import EquationRow
from daedalus.model.system.formulas import read_expressions
from daedalus.model.system.plain_record import PlainRecord, check_distinct, checked_list
from daedalus.model.system.state_choice import StateChoice
from daedalus.model.system.system_content import SystemContent
from daedalus.model.variables import PLAIN, Event, Manner, Variable

# Of what is written; other versions are refused.
VERSION = 1
LETTERS = ("xdot", "x", "z", "u", "p")
# The order of F(t, x', x, z, u, p).
ARGUMENTS = ("t", *LETTERS)
FIELDS = (
    "version", "name", "variables", "orders", "symbols", "equations", "outputs", "invariants", "watched",
    "invariant_rows", "watched_rows", "events", "event_purposes", "event_manners", "aliases", "choices",
    "output_units", "on_request", "written_starts", "formulas",
)  # fmt: skip
PURPOSES = tuple(purpose.value for purpose in EventPurpose)
_LETTER_OF = {"algebraic": "z", "input": "u", "parameter": "p", "discrete": "p"}


def read_content(record: PlainRecord) -> SystemContent:
    """What a system is made with, every entry checked against the others."""
    if "expressions" in record:
        raise InputError(
            "The system was saved by an earlier version, and reading it could run code.",
            "its formulas are held as CasADi's serialised functions",
            because="such a function may carry a library, which runs as soon as it is read.",
            remedy="freeze the model again, and save or pickle that",
        )
    version = record.integer("version", 1, 2**31)
    if version != VERSION:
        raise record.misfit("version", f"{VERSION}, which this version of Daedalus reads,", version)
    record.only(FIELDS)
    variables = _read_variables(record)
    orders = _read_orders(record, variables)
    symbols = _read_symbols(record, _sizes(variables, orders))
    formulas = read_expressions(record.part("formulas"), list(symbols.values()))
    return SystemContent(
        name=record.text("name"),
        variables=variables,
        orders=orders,
        symbols=symbols,
        **_named_expressions(record, formulas, symbols["x"].numel(), _count(variables, "discrete")),
        choices=_read_choices(record, variables),
        aliases=_read_aliases(record),
        output_units=_read_output_units(record, [v.name for v in variables]),
        on_request=_read_on_request(record, [v.name for v in variables if v.kind == "algebraic"]),
        written_starts=_read_written_starts(record),
    )


def _count(variables: Sequence[Variable], kind: str) -> int:
    return sum(v.size for v in variables if v.kind == kind)


def _named_expressions(
    record: PlainRecord, expressions: Sequence[ca.SX], states: int, discretes: int
) -> dict[str, Any]:
    """The expressions under the names of the record: as many as there are names, in the shapes that belong to them."""
    rows = {name: _read_rows(record, name) for name in ("equations", "invariant_rows", "watched_rows")}
    equations = rows["equations"]
    names = {group: record.texts(group, distinct=True) for group in ("outputs", "invariants", "watched")}
    events = _read_events(record)
    own = 4 if discretes else 3
    if len(expressions) != own + sum(map(len, names.values())):
        raise record.misfit("formulas.outputs", "one for each name", [*expressions])
    residual, guards, resets = expressions[:3]
    assigned = expressions[3] if discretes else ca.SX(len(events), 0)
    rest = expressions[own:]
    fixed = {"equations": (residual, (len(equations), 1)), "events": (guards, (len(events), 1))}
    fixed["resets"] = (resets, (len(events), states))
    fixed["discrete variables"] = (assigned, (len(events), discretes))
    for what, (expression, shape) in fixed.items():
        if expression.shape != shape and expression.numel() + shape[0] * shape[1] > 0:
            raise record.misfit(f"formulas of the {what}", f"{shape[0]} × {shape[1]}", expression.shape)
    values = iter(rest)
    groups = {group: {name: next(values) for name in words} for group, words in names.items()}
    for group in ("invariants", "watched"):
        count = sum(value.numel() for value in groups[group].values())
        if len(rows[f"{group.removesuffix('s')}_rows"]) != count:
            raise record.misfit(f"{group.removesuffix('s')}_rows", f"{count} rows", len(rows))
    return {
        "residual": residual, "guards": guards, "resets": resets, "rows": equations, "events": events,
        "assigned": assigned,
        "invariant_rows": rows["invariant_rows"], "watched_rows": rows["watched_rows"], **groups,
    }  # fmt: skip


def _read_rows(record: PlainRecord, name: str) -> list[EquationRow]:
    """Where each row comes from."""
    place = f"{record.place}.{name}"
    return [EquationRow.from_record(row, f"{place}[{k}]") for k, row in enumerate(record.items(name))]


def _read_variables(record: PlainRecord) -> list[Variable]:
    variables = [Variable.from_record(own) for own in record.parts("variables")]
    check_distinct([v.name for v in variables], f"{record.place}.variables")
    return variables


def _read_orders(record: PlainRecord, variables: Sequence[Variable]) -> dict[str, tuple[int, ...]]:
    """The highest derivative of every element of every state."""
    orders, states = record.part("orders"), [v for v in variables if v.kind == "state"]
    if sorted(orders.names()) != sorted(v.name for v in states):
        raise record.misfit("orders", "one entry for each state", orders.names())
    return {v.name: tuple(orders.integers(v.name, v.size, lowest=1).tolist()) for v in states}


def _sizes(variables: Sequence[Variable], orders: dict[str, tuple[int, ...]]) -> dict[str, int]:
    """How many elements each vector has."""
    sizes = {"t": 1, "xdot": 0, "x": sum(sum(order) for order in orders.values()), "z": 0, "u": 0, "p": 0}
    for variable in variables:
        if variable.kind != "state":
            sizes[_LETTER_OF[variable.kind]] += variable.size
    return {**sizes, "xdot": sizes["x"]}


def _read_symbols(record: PlainRecord, sizes: dict[str, int]) -> dict[str, ca.SX]:
    """Fresh symbols under the names that the old ones had."""
    written = record.part("symbols").only(sizes)
    names = {letter: written.texts(letter, size) for letter, size in sizes.items()}
    return {
        letter: ca.vertcat(*(ca.SX.sym(name) for name in own)) if own else ca.SX(0, 1) for letter, own in names.items()
    }


def _read_events(record: PlainRecord) -> list[Event]:
    events = []
    purposes = record.part("event_purposes") if "event_purposes" in record else PlainRecord({}, record.place)
    manners = record.part("event_manners") if "event_manners" in record else PlainRecord({}, record.place)
    for k, entry in enumerate(record.items("events")):
        place = f"{record.place}.events[{k}]"
        own = PlainRecord(dict(zip(("name", "direction", "terminal", "resets"), checked_list(entry, place, 4))), place)
        direction, name = own.integer("direction", -1, 2), own.text("name")
        purpose = EventPurpose(purposes.word(name, PURPOSES)) if name in purposes else EventPurpose.MODEL
        manner = Manner.from_record(manners.part(name)) if name in manners else PLAIN
        events.append(Event(name, direction, own.flag("terminal"), tuple(own.texts("resets")), purpose, manner))
    check_distinct([event.name for event in events], f"{record.place}.events")
    purposes.only([event.name for event in events])
    manners.only([event.name for event in events])
    return events


def _read_choices(record: PlainRecord, variables: Sequence[Variable]) -> list[StateChoice]:
    if "choices" not in record:
        return []
    states, parameters = ({v.name: v.size for v in variables if v.kind == kind} for kind in ("state", "parameter"))
    return [StateChoice.from_record(choice, states, parameters) for choice in record.parts("choices")]


def _read_aliases(record: PlainRecord) -> dict[str, str]:
    """Further names; each leads to a name, not to another of them."""
    if "aliases" not in record:
        return {}
    own = record.part("aliases")
    found = {name: own.text(name) for name in own.names()}
    if found.keys() & set(found.values()):
        raise record.misfit("aliases", "names of variables", sorted(found.keys() & set(found.values()))[0])
    return found


def _read_output_units(record: PlainRecord, variables: Sequence[str]) -> dict[str, str]:
    if "output_units" not in record:
        return {}
    units = record.part("output_units").only([*record.texts("outputs"), *variables])
    return {name: units.text(name) for name in units.names()}


def _read_on_request(record: PlainRecord, unknowns: Sequence[str]) -> list[str]:
    names = record.texts("on_request", distinct=True) if "on_request" in record else []
    known = {*record.texts("outputs"), *unknowns}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise record.misfit("on_request", "names of outputs and algebraic variables", unknown[0])
    return list(names)


def _read_written_starts(record: PlainRecord) -> dict[str, float]:
    """Start values of states that a reduction replaced, by name."""
    if "written_starts" not in record:
        return {}
    own = record.part("written_starts")
    return {name: own.number(name) for name in own.names()}
