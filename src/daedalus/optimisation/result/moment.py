"""The values of a plan at one time or at several, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import casadi as ca
import numpy as np

from daedalus.model.expressions import plain_shape
from daedalus.model.system.system import System
from daedalus.simulation.plant.plant import by_shape


class Moment(Mapping[str, "np.ndarray"]):
    """Values by name: `plan.at(t)["x"]`; names are those of the model, derivatives as "x_dot", and its outputs."""

    def __init__(self, system: System, vectors: Mapping[str, np.ndarray], scalar: bool) -> None:
        self.system, self.vectors, self._scalar = system, dict(vectors), scalar

    @property
    def time(self) -> np.ndarray:
        """The times."""
        times = self.vectors["t"][:, 0]
        return times[0] if self._scalar else times

    def __getitem__(self, name: str) -> np.ndarray:
        outputs = self.system.outputs
        if name in outputs:
            return self._shaped(self._output(outputs[name]), plain_shape(outputs[name]))
        place = self.system.place(name)
        flat = np.stack([self.vectors[letter][:, k] for letter, k in zip(place.letters, place.positions)], axis=1)
        return self._shaped(flat, place.shape)

    def _output(self, expression: ca.SX) -> np.ndarray:
        letters = ("t", "xdot", "x", "z", "u", "p")
        function = ca.Function("output", [self.system.symbol(k) for k in letters], [ca.vec(ca.densify(expression))])
        return np.asarray(function(*(self.vectors[k].T for k in letters)).full().T)

    def _shaped(self, flat: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        rows = by_shape(flat, shape)
        return rows[0] if self._scalar else rows

    def __iter__(self) -> Iterator[str]:
        return iter([*self.system.places, *self.system.outputs])

    def __len__(self) -> int:
        return len(self.system.places) + len(self.system.outputs)
