"""Python functions among the inputs: the model with them evaluated around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus import _core
from daedalus.errors import InputError
from daedalus.integrators.methods import takes_momenta
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.result.records import sentences
from daedalus.simulation.run.settings import Settings


def rhs_with_callbacks(settings: Settings, drive: Drive) -> Any:
    """What the core integrates, with Python functions among the inputs evaluated first."""
    if takes_momenta(settings.method):
        raise InputError(
            f"The method {settings.method!r} does not accept Python functions.",
            sentences(drive.notes),
            because="a step needs the inputs of all its stages at once.",
            remedy='dd.signal(times, values), an expression of m["t"], or method="radau5"',
        )
    if isinstance(settings.plant, ImplicitPlant):
        plant = settings.core_plant
        assert isinstance(plant, ImplicitPlant)
        residual, jacobian = (_filling_inputs(function.core, drive) for function in plant.functions)
        return plant.core_model(residual, jacobian, None, *settings.choice)
    return _filling_inputs(settings.rhs, drive)


def _filling_inputs(core: Any, drive: Drive) -> Any:
    """A function of (t, ..., u, p) that evaluates Python functions among the inputs first."""
    if isinstance(core, _core.LinearModel):
        return core.with_function(_filling_inputs(core.function, drive))
    wrapped = _core.Function(core.name, list(core.size_in), list(core.size_out), 0, 0, 0, 0)

    def call(t: np.ndarray, *others: np.ndarray) -> Any:
        *states, u, p = others
        found = core(t, *states, drive.fill(float(t[0]), u), p)
        return found[0] if len(found) == 1 else found

    wrapped.set_python(call)
    return wrapped
