"""After a reset in a model of index 2 or 3 dependent states are solved for again, not only z and x'.

What a reset wrote is where the search begins: positions move onto the constraints first, then velocities by the
smallest impulse, both in the mass metric for mechanics (`dd.initialise` with every state free).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.errors import InconsistentStartError
from daedalus.initialisation.initialise import initialise
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.simulation.run.settings import Settings


def with_restart(settings: Settings, model: Model | System) -> Settings:
    """The settings with the function that the core asks for a consistent row behind a reset."""
    system = settings.plant.system
    source = model if as_system(model) is system else system
    sizes, width = system.sizes, 2 * system.sizes["x"] + system.sizes["z"]
    of_p = settings.core_plant.system.sizes["p"]
    function = _core.Function("restart", [1, width, sizes["u"], of_p], [width])
    states = [variable.name for variable in system.of_kind("state")]
    rates = [name for name, place in system.places.items() if place.letter == "x" and name not in states]

    def restart(t: np.ndarray, row: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        values = dict(zip(system.labels["x"], row[: sizes["x"]].tolist()))
        inputs = dict(zip(system.labels["u"], u.tolist()))
        parameters = dict(zip(system.labels["p"], p.tolist()))
        try:
            found = initialise(
                source, values, free=[*states, *rates], inputs=inputs, parameters=parameters, time=float(t[0])
            )
        except InconsistentStartError:
            return np.full(width, np.nan)
        return np.concatenate([found.vectors[letter] for letter in ("x", "z", "xdot")])

    function.set_python(restart)
    call: dict[str, Any] = {**settings.call, "restart": function}
    return replace(settings, call=call)
