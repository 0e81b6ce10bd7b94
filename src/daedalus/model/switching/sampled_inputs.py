"""A model whose inputs are set by clocks: they become discrete variables under their names and symbols."""

from __future__ import annotations

from collections.abc import Iterable

from daedalus.errors import InputError
from daedalus.model.model import Model
from daedalus.model.reopened import as_model
from daedalus.model.system.system import System
from daedalus.model.variables import make_variable


def with_sampled_inputs(model: Model | System, names: Iterable[str]) -> Model:
    """A copy of a model in which some inputs are discrete variables that begin at zero.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("cart"); v, u = m.state("v", start=0.0), m.input("u")
    >>> m.equation(m.der(v), u)
    >>> n = with_sampled_inputs(m, ["u"])
    >>> n.every(0.1, {"u": 1 - v})
    >>> m.variables["u"].kind, n.variables["u"].kind
    ('input', 'discrete')
    """
    twin = as_model(model)._flat().copy()
    for name in names:
        variable = twin.variables.get(name)
        if variable is None or variable.kind != "input":
            raise InputError(
                f"{name} is not an input of {twin.name!r}.",
                f"its inputs are {', '.join(twin.inputs) or 'none'}",
                because="what a controller writes has to drive the plant.",
                remedy=f"m.input({name!r}) in the plant",
            )
        twin._changed()
        twin._variables[name] = make_variable(
            name, "discrete", variable.shape, start=[0.0] * variable.size if variable.shape else 0.0,
            unit=variable.unit, nominal=variable.nominal[0] if variable.nominal else 1.0,
        )  # fmt: skip
    return twin
