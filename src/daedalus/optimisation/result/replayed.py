"""The inputs of a plan, run by the adaptive integrator: what really happens, and how far from the plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.initialisation.wording import number
from daedalus.simulation.result.trajectory import Trajectory


class Replay:
    """The result of `plan.replay()`: a simulated trajectory, and its distance from the plan.

    trajectory: the run; its names and methods are found here too, `replay["x"]`, `replay.at(t)`, `replay.plot()`.
    difference: by state, the largest distance from the plan at its nodes, in the unit of the state.
    """

    def __init__(self, trajectory: Trajectory, difference: dict[str, float], mesh_error: float, size: dict[str, float]):
        self.trajectory, self.difference = trajectory, difference
        self.mesh_error, self._size = mesh_error, size

    @property
    def largest(self) -> float:
        """The largest difference as a share of the size of its state."""
        return max((self.difference[name] / self._size[name] for name in self.difference), default=0.0)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.trajectory[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.trajectory, name)

    def __str__(self) -> str:
        worst = sorted(self.difference, key=lambda name: -self.difference[name] / self._size[name])[:6]
        rows = [f"  {name}: {number(self.difference[name], 3)}" for name in worst]
        head = f"Replay of a plan: off by at most {number(self.largest, 3)} of a state's size"
        return "\n".join([f"{head}; mesh error {number(self.mesh_error, 3)}", *rows])

    __repr__ = __str__
