"""`start={"x": dd.guess(1.0)}`: values of a run that may move to where the model's equations hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daedalus.initialisation.initialise import initialise
from daedalus.model.guesses import GuessedStart
from daedalus.model.model import Model
from daedalus.model.system.system import System


def without_guesses(
    model: Model | System,
    start: Any,
    inputs: Mapping[str, object] | None,
    parameters: Mapping[str, object] | None,
    t0: float,
) -> Any:
    """A start that `dd.initialise` found where some values are guesses, else the start itself."""
    if not isinstance(start, Mapping) or not any(isinstance(value, GuessedStart) for value in start.values()):
        return start
    return initialise(model, start, inputs=inputs, parameters=parameters, time=t0)
