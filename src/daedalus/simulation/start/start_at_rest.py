"""`simulate(m, span, start="equilibrium")`, or "operating_point": a run that begins where the model rests."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from daedalus.analysis.points.equilibrium import equilibrium
from daedalus.errors import InputError
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System


def start_at_rest(
    model: Model | System, word: str, inputs: Mapping[str, object] | None, parameters: Mapping[str, object] | None,
    t0: float,
) -> dict[str, object]:  # fmt: skip
    """The states at rest by name, with inputs as they are at t0."""
    if word not in ("equilibrium", "operating_point"):
        raise InputError(
            f"start={word!r} is not valid.",
            because="start= takes values by name, or one of two words for a start at rest.",
            remedy='start="equilibrium", start="operating_point", or start={"name": value}',
        )
    values = {name: _at(value, t0) for name, value in (inputs or {}).items()}
    found = equilibrium(model, inputs=values, guess={"t": t0}, parameters=dict(parameters or {}))
    return {v.name: found[v.name] for v in as_system(model).of_kind("state")}


def _at(value: object, t0: float) -> object:
    """An input as a number at the beginning."""
    if isinstance(value, ca.SX) and not value.is_constant():
        raise InputError(
            "A start at rest takes no input that is an expression.",
            because="the equilibrium depends on the input, and the input on the equilibrium.",
            remedy="dd.equilibrium of the model with the loop closed",
        )
    return np.asarray(value(t0)) if callable(value) else value
