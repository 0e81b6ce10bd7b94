"""Names, symbols and expressions of a model as a user writes them, read as elements of its vectors."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.expressions import as_expression, column, elements, symbol_key
from daedalus.model.names import did_you_mean, element_label, split_index
from daedalus.model.plain_numbers import without_unit
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping, flat_values
from daedalus.optimisation.description.description import FixedValue


class Element(NamedTuple):
    """One element: its name, and where it lives (letter and position), or None and an expression."""

    label: str
    letter: str | None
    position: int
    expression: ca.SX


def elements_of(system: System, target: object, where: str) -> list[Element]:
    """The elements of a name ("x", "arm.angle[1]", an output) or of an expression."""
    if isinstance(target, str):
        if target in system.output_names:
            entries = elements(column(system.output(target)))
            shape = () if len(entries) == 1 else (len(entries),)
            return [Element(element_label(target, shape, k), None, k, e) for k, e in enumerate(entries)]
        place = system.place(target)
        return [
            Element(system.labels[letter][k], letter, int(k), system.symbol(letter)[int(k)])
            for letter, k in zip(place.letters, place.positions)
        ]
    known = _by_symbol(system)
    expression = column(
        as_expression(target, where, 'a name such as "x", or an expression in the symbols of the model')
    )
    expression = check_symbols(system, expression, where, ())
    found = []
    for k, entry in enumerate(elements(expression)):
        own = known.get(symbol_key(entry)) if entry.is_symbolic() else None
        found.append(own or Element(f"expression {k}" if expression.numel() > 1 else "expression", None, k, entry))
    return found


def unit_of_target(system: System, target: object) -> str:
    """The unit of a name or of a symbol; of an expression none is known."""
    name = target if isinstance(target, str) else ""
    if isinstance(target, ca.SX) and target.is_valid_input():
        own = {split_index(e.label)[0] for e in elements_of(system, target, "A value") if e.letter is not None}
        name = own.pop() if len(own) == 1 else ""
    if name in system.output_names:
        return str(system.output_units.get(name, ""))
    return system.place(name).unit if name else ""


def _by_symbol(system: System) -> dict[int, Element]:
    return {
        symbol_key(symbol): Element(system.labels[letter][k], letter, k, symbol)
        for letter in ("xdot", "x", "z", "u", "p")
        for k, symbol in enumerate(elements(system.symbol(letter)))
    }


def check_symbols(system: System, expression: ca.SX, where: str, stand_ins: tuple[ca.SX, ...]) -> ca.SX:
    """An expression of the model's symbols and of those that the problem handed out; others are refused by name."""
    expression = system.translated("expression", expression)
    known = {symbol_key(s) for part in system.symbols() for s in elements(part)}
    known |= {symbol_key(s) for group in stand_ins for s in elements(group)}
    for symbol in ca.symvar(expression):
        if symbol_key(symbol) not in known:
            raise InputError(
                f"{where} contains a foreign symbol.",
                f"it prints as {symbol.name()!r} and is not one of the model {system.name!r}",
                because="only symbols of this model, ocp.duration, and what ocp.integral, ocp.at_start and ocp.at_end "
                "return have a value here.",
                remedy='symbols of this model, m["name"]',
            )
    return expression


def fixed_values(system: System, values: object, argument: str) -> list[FixedValue]:
    """Values by name as they are fixed at an end; `None` leaves an element free."""
    found = []
    for name, value in check_mapping(values, argument).items():
        if name in system.output_names:
            found += _fixed_output(system, name, value, argument)
            continue
        try:
            place = system.place(name)
        except InputError as error:
            remedy = did_you_mean(name, [*system.places, *system.output_names])
            raise InputError(error.what, error.facts, error.because, remedy) from None
        if place.letters[0] in ("p", "u"):
            kind = "a parameter" if place.letters[0] == "p" else "an input"
            raise InputError(
                f"{name} is {kind}, not a variable of the motion.",
                because="the ends of a plan fix states, algebraic variables and outputs.",
                remedy=f'ocp.subject_to(m["{name}"] == ..., at="{argument}")',
            )
        numbers = flat_values(place, value, f"{argument} value", allow_none=True)
        for letter, k, number in zip(place.letters, place.positions, numbers):
            if number is not None:
                state = int(k) if letter == "x" else None
                found.append(FixedValue(system.labels[letter][k], float(number), state, system.symbol(letter)[int(k)]))
    return found


def _fixed_output(system: System, name: str, value: object, argument: str) -> list[FixedValue]:
    own = elements_of(system, name, argument)
    value = without_unit(value, unit_of_target(system, name), name)
    numbers = np.atleast_1d(np.asarray(value, dtype=object)).ravel(order="F")
    if len(numbers) != len(own):
        raise InputError(
            f"The {argument} value of {name} has the wrong shape.",
            f"{name} has {len(own)} elements, {len(numbers)} were given",
        )
    pairs = zip(own, numbers)
    return [FixedValue(e.label, float(number), None, e.expression) for e, number in pairs if number is not None]


def given_start(system: System) -> dict[str, object]:
    """The start values that the model was written with, by element."""
    values = system.start["x"]
    return {label: float(v) for label, v in zip(system.labels["x"], values) if v == v}
