"""Losses of gears: conditions in the model, and frictions where several things may lock, on which a run decides.

A loss is a force -level · sign(speed). Plans, estimators and linearisations take that as it is. Where two such forces,
or a friction, hold something at rest together, complementarity decides which of them does, see `m.friction`.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import casadi as ca

from daedalus.model.variables import make_variable
from daedalus.model.written import new_symbol

Model = TypeVar("Model", bound=Any)


def locking_loss(m: Any, name: str, speed: ca.SX, level: ca.SX, unit: str) -> ca.SX:
    """Write a force that opposes a speed and locks at rest, as a loss of a model, and return it."""
    force = ca.SX(m.algebraic(name, unit=unit))
    m.equation(force, -level * ca.sign(speed), name=f"{name}.law")
    m.written.assembly.losses[name] = (speed, level)
    return force


def locking(model: Model, among_themselves: bool = False) -> Model:
    """The model with losses as frictions where it contains contacts; itself where it does not.

    among_themselves: also where there are several losses and nothing else that sticks.
    """
    losses = len(model.written.assembly.losses)
    if not losses or not (_has_contacts(model) or (among_themselves and losses > 1)):
        return model
    found = model._locking
    if found is None:
        model._locking = found = model.copy()
        _write_as_frictions(found)
    return cast("Model", found)


def _has_contacts(model: Any) -> bool:
    return any(event.manner.contact is not None for event in model.written.events.values())


def _write_as_frictions(model: Any) -> None:
    """Losses become frictions under the same names."""
    model._changed()
    losses = dict(model.written.assembly.losses)
    model.written.assembly.losses.clear()
    for name, (speed, level) in losses.items():
        mode = make_variable(f"{name}.mode", "discrete", (), start=1.0)
        variables = model.written.symbols[name], model._adopt(mode, new_symbol(mode.name, ()))
        units = model.written.variables[name].unit, model._unit_of(speed)
        model._write_friction(name, variables, speed, (level, level), units)
