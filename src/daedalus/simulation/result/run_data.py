"""What other rooms read of a run beside values by name: the machine code that was run, what drove it, its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.result.held_values import HeldModes, HeldValues


class MomentData:
    """The numbers behind some moments; nothing is computed or copied before it is asked for."""

    __slots__ = ("_samples",)

    def __init__(self, samples: Any) -> None:
        self._samples = samples  # the Samples that it reads, which import this file

    @property
    def plant(self) -> Plant:
        """The system that was run, as machine code."""
        plant: Plant = self._samples._plant
        return plant

    @property
    def drive(self) -> Drive:
        """What drove its inputs."""
        drive: Drive = self._samples._drive
        return drive

    @property
    def parameters(self) -> np.ndarray:
        """The parameters, discrete variables behind them."""
        parameters: np.ndarray = self._samples._parameters
        return parameters

    @property
    def times(self) -> np.ndarray:
        """The times, (nt,)."""
        times: np.ndarray = self._samples._times
        return times

    @property
    def rows(self) -> np.ndarray:
        """x, or (x, z, x') of an implicit method, (nt, width)."""
        rows: np.ndarray = self._samples._x
        return rows

    @property
    def fired(self) -> frozenset[str]:
        """What happened at the one time asked for."""
        fired: frozenset[str] = self._samples._fired
        return fired

    @property
    def held(self) -> np.ndarray | None:
        """Discrete variables at the times asked for, (nt, entries)."""
        held: np.ndarray | None = self._samples._held
        return held


class RunData(MomentData):
    """The numbers behind a recorded run."""

    __slots__ = ()

    @property
    def held_values(self) -> HeldValues | None:
        """Discrete variables along the run."""
        held_values: HeldValues | None = self._samples._held_values
        return held_values

    @property
    def held_modes(self) -> HeldModes | None:
        """Modes of conditions along the run."""
        held_modes: HeldModes | None = self._samples._held_modes
        return held_modes

    @property
    def source(self) -> Any:
        """The core run, or its dense output."""
        return self._samples._source
