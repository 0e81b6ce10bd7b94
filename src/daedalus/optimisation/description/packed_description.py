"""Problems as plain data: expressions of a description travel as formulas in the symbols of its model.

What follows from the model (its reduced form, the form of a stage) is made again where the data are read.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import casadi as ca

from daedalus.differentiation.differentiable_system import flowing_system
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.model import Model, as_system
from daedalus.model.system.packed_expressions import PackedExpressions, apart, packed, together, unpacked
from daedalus.model.system.system import System
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.stage_form import stage_form

# What is made again of the model, and what is kept by symbols.
FROM_MODEL, BY_SYMBOL = ("written", "system", "form"), "bounds"
LETTERS = ("t", "x", "xdot", "z", "u", "p")


@dataclass(frozen=True)
class PackedDescription:
    """A description without symbols; bounds: (letter, position, lower, upper)."""

    fields: dict[str, Any]
    bounds: tuple[tuple[str, int, float, float], ...]
    expressions: PackedExpressions


def packed_description(description: Description) -> PackedDescription:
    """A description as plain data; InputError where a formula calls a function, which no file may hold."""
    system, found = description.system, list[ca.SX]()
    names = [f.name for f in fields(description) if f.name not in (*FROM_MODEL, BY_SYMBOL)]
    own = {name: apart(getattr(description, name), found) for name in names}
    places = {symbol_key(s): (letter, k) for letter in LETTERS for k, s in enumerate(elements(system.symbol(letter)))}
    bounds = tuple((*places[key], *limits) for key, limits in description.bounds.items())
    return PackedDescription(own, bounds, packed(system, found))


def unpacked_description(model: Model | System, record: PackedDescription) -> Description:
    """The description of a problem with a model, which is the one it was packed with or its copy."""
    system = flowing_system(model)
    expressions = unpacked(system, record.expressions)
    own = together(record.fields, expressions)
    bounds = {symbol_key(system.symbol(letter)[k]): (low, high) for letter, k, low, high in record.bounds}
    return Description(written=as_system(model), system=system, form=stage_form(system), bounds=bounds, **own)
