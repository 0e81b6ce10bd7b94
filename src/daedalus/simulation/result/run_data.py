"""What other rooms read of a run beside values by name: the machine code that was run, what drove it, its rows."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.held_values import HeldModes, HeldValues


def _reading(name: str, what: str) -> Any:
    """A property of the samples; what: what it is."""
    return property(attrgetter(f"_samples.{name}"), doc=what)


class MomentData:
    """The numbers behind some moments; nothing is computed or copied before it is asked for."""

    __slots__ = ("_samples",)

    def __init__(self, samples: Any) -> None:
        self._samples = samples  # the Samples that it reads, which import this file

    plant: Plant = _reading("_plant", "The system that was run, as machine code.")
    drive: Drive = _reading("_drive", "What drove its inputs.")
    parameters: np.ndarray = _reading("_parameters", "The parameters, discrete variables behind them.")
    times: np.ndarray = _reading("_times", "The times, (nt,).")
    rows: np.ndarray = _reading("_x", "x, or (x, z, x') of an implicit method, (nt, width).")
    fired: frozenset[str] = _reading("_fired", "What happened at the one time asked for.")
    held: np.ndarray | None = _reading("_held", "Discrete variables at the times asked for, (nt, entries).")


class RunData(MomentData):
    """The numbers behind a recorded run."""

    __slots__ = ()

    held_values: HeldValues | None = _reading("_held_values", "Discrete variables along the run.")
    held_modes: HeldModes | None = _reading("_held_modes", "Modes of conditions along the run.")
    source: Any = _reading("_source", "The core run, or its dense output.")
