"""Variables of an FMU as variables of a model: names, shapes, units, start values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.exchange.fmu_import.quantities_of_fmu import FmuDescription, FmuQuantity
from daedalus.model.model import Model
from daedalus.model.names import split_derivative, suggest_name
from daedalus.model.unit_labels import is_understood


class FmuPart(Model):
    """A model that an FMU computes. `fmu_name`, `kind`, `version` and `notes` say what it is; `names` maps the names of
    the FMU to those of the model, where they differ."""

    fmu_name: str
    kind: str
    version: int
    notes: list[str]
    names: dict[str, str]


def model_names(description: FmuDescription) -> dict[str, str]:
    """A name of the model for each variable of the FMU."""
    found: dict[str, str] = {}
    taken: set[str] = {"t", "time"}
    for name in description.quantities:
        own = suggest_name(name).strip("_") or "x"
        own = suggest_name(own)
        base, order = split_derivative(own)
        own = f"{base}_rate_{order}" if order else own
        k, unique = 1, own
        while unique in taken:
            k += 1
            unique = f"{own}_{k}"
        taken.add(unique)
        found[name] = unique
    return found


def groups(description: FmuDescription) -> dict[str, list[FmuQuantity]]:
    """The variables that are set or read together."""
    q = description.quantities
    inputs = description.of_causality("input")
    return {
        "inputs": [v for v in inputs if v.variability == "continuous"],
        "discrete_inputs": [v for v in inputs if v.variability != "continuous"],
        "parameters": description.of_causality("parameter"),
        "settable": [q[name] for name in description.states if q[name].initial in ("exact", "approx")],
    }


def slices(quantities: Iterable[FmuQuantity]) -> list[tuple[FmuQuantity, int, int]]:
    """Variables with the places of their numbers in one column."""
    found, at = [], 0
    for v in quantities:
        found.append((v, at, at + v.size))
        at += v.size
    return found


def shape_of(v: FmuQuantity) -> tuple[Any, ...]:
    """The shape as an argument; more than two dimensions become a column."""
    if not v.shape:
        return ()
    return (v.shape,) if len(v.shape) == 2 else (v.size,)


def shaped(v: FmuQuantity, values: Any) -> Any:
    """Numbers by rows as the value of a variable."""
    array = np.asarray(values, dtype=float)
    return float(array[0]) if not v.shape else array.reshape(v.shape) if len(v.shape) == 2 else array


def flat(symbols: Iterable[ca.SX]) -> ca.SX:
    """Matrices by rows, as FMI has them."""
    return ca.vertcat(ca.SX(0, 1), *(ca.vec(ca.SX(s).T) for s in symbols))


def unflat(column: ca.SX, v: FmuQuantity) -> ca.SX:
    """The inverse of `flat` for one variable."""
    if len(v.shape) != 2:
        return column
    return ca.reshape(column, v.shape[1], v.shape[0]).T


def unit_of(part: FmuPart, v: FmuQuantity) -> str:
    """The unit as it is written here; one that is not known is noted and left out."""
    if v.unit and not is_understood(v.unit):
        # FMI's way of writing products and powers: "N.m", "kg.m2/s2".
        again = re.sub(r"([A-Za-z])(-?\d+)", r"\1**\2", v.unit.replace(".", "*"))
        if is_understood(again):
            return again
        part.notes.append(f"the unit {v.unit!r} of {v.name} is not known here and left out")
        return ""
    return v.unit


def start_of(v: FmuQuantity) -> tuple[float, ...]:
    """The start values of a variable; zeros where the FMU does not tell them."""
    return v.start if v.start is not None else (0.0,) * v.size


def declared_input(m: FmuPart, v: FmuQuantity, names: dict[str, str]) -> ca.SX:
    """An input of the FMU as an input of the model, with its start value where nothing drives it."""
    name, value = names[v.name], shaped(v, start_of(v))
    symbol = m.input(name, *shape_of(v), unit=unit_of(m, v))
    m.written.variables[name] = replace(m.written.variables[name], start=tuple(np.ravel(value, order="F").tolist()))
    m.written.assembly.defaults[name] = value
    return symbol


def give_time(m: FmuPart) -> None:
    """A state for parts that have none of their own, so that they can run alone."""
    m.equation(m.der(m.state("fmu_time", start=0.0)), 1.0)


def declared_parameter(m: FmuPart, v: FmuQuantity, names: dict[str, str]) -> ca.SX:
    """A parameter of the FMU as a parameter of the model."""
    return m.parameter(names[v.name], shaped(v, start_of(v)), unit=unit_of(m, v))
