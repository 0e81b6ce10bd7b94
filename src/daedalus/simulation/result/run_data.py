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
        return self._samples._plant

    @property
    def drive(self) -> Drive:
        """What drove its inputs."""
        return self._samples._drive

    @property
    def parameters(self) -> np.ndarray:
        """The parameters, discrete variables behind them."""
        return self._samples._parameters

    @property
    def times(self) -> np.ndarray:
        """The times, (nt,)."""
        return self._samples._times

    @property
    def rows(self) -> np.ndarray:
        """x, or (x, z, x') of an implicit method, (nt, width)."""
        return self._samples._x

    @property
    def fired(self) -> frozenset[str]:
        """What happened at the one time asked for."""
        return self._samples._fired

    @property
    def held(self) -> np.ndarray | None:
        """Discrete variables at the times asked for, (nt, entries)."""
        return self._samples._held


class RunData(MomentData):
    """The numbers behind a recorded run."""

    __slots__ = ()

    @property
    def held_values(self) -> HeldValues | None:
        """Discrete variables along the run."""
        return self._samples._held_values

    @property
    def held_modes(self) -> HeldModes | None:
        """Modes of conditions along the run."""
        return self._samples._held_modes

    @property
    def source(self) -> Any:
        """The core run, or its dense output."""
        return self._samples._source
