"""Records as plain data and back: the name of a kind, its fields, and the sentence, for where the kind is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from daedalus.errors import InputError
from daedalus.model.system.equation_row import EquationRow
from daedalus.reduction import findings
from daedalus.reduction.findings import Finding
from daedalus.simulation.result import (
    records_of_derivatives,
    records_of_methods,
    records_of_models,
    records_on_the_way,
)
from daedalus.simulation.result.records import Record, Told

HOMES = (records_of_methods, records_of_models, records_on_the_way, records_of_derivatives)
FINDINGS: dict[str, type[Finding]] = {
    name: kind
    for name, kind in vars(findings).items()
    if isinstance(kind, type) and issubclass(kind, Finding) and is_dataclass(kind)
}
KINDS: dict[str, type[Record]] = {
    name: kind
    for home in HOMES
    for name, kind in vars(home).items()
    if isinstance(kind, type) and issubclass(kind, Record) and is_dataclass(kind)
} | {"Told": Told}


def fields_of(record: Record | Finding) -> dict[str, Any]:
    """The fields of a record as plain data."""
    return {field.name: _plain(getattr(record, field.name)) for field in fields(record)}  # type: ignore[arg-type]


def as_data(record: Record | Finding) -> dict[str, Any]:
    """A record, or a finding in one, as plain data: its kind, its fields and its sentence.

    >>> from daedalus.simulation.result.records_on_the_way import DeadCentresPassed
    >>> as_data(DeadCentresPassed((0.5,)))["fields"]
    {'times': (0.5,)}
    """
    return {"kind": type(record).__name__, "fields": fields_of(record), "text": str(record)}


def from_data(data: Mapping[str, Any]) -> Record:
    """The record that plain data describe; what is not known here, or says something else, is kept in its own words.

    >>> from_data({"kind": "Foretold", "fields": {"year": 2061}, "text": "the comet returns in 2061"})
    Told(text='the comet returns in 2061')
    """
    text = str(data["text"])
    found = _made(KINDS, data)
    return found if isinstance(found, Record) else Told(text)


def _made(kinds: Mapping[str, type[Any]], data: Mapping[str, Any]) -> Any:
    """What data of one of these kinds describe; None where this is another kind, or where it says something else."""
    kind, text = kinds.get(str(data["kind"])), str(data["text"])
    if kind is not None:
        try:
            record = kind(**read_fields(data["fields"]))
            if str(record) == text:
                return record
        # Other fields than here.
        except (ArithmeticError, AttributeError, InputError, LookupError, TypeError, ValueError):
            pass
    return None


def read_fields(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record as it takes them, from plain data."""
    return {str(name): _read(value) for name, value in stored.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (Record, Finding)):
        return as_data(value)
    if isinstance(value, EquationRow):
        return {"row": value.to_record()}
    return tuple(_plain(item) for item in value) if isinstance(value, tuple) else value


def _read(value: Any) -> Any:
    if isinstance(value, Mapping):
        if "row" in value:
            return EquationRow.from_record(value["row"], "row")
        return _made(FINDINGS, value) or from_data(value)
    return tuple(_read(item) for item in value) if isinstance(value, (list, tuple)) else value
