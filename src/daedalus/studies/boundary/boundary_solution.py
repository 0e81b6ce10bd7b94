"""What a boundary value problem gives: polynomials between mesh points, by name, and the free parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import counted
from daedalus.model.plain_numbers import plain_times
from daedalus.studies.boundary.between_mesh_points import BetweenMeshPoints, between_mesh_points
from daedalus.studies.collocation import Collocation, MeshValues


class BoundarySolution(Mapping[str, Any]):
    """The result of `dd.boundary_value`: `sol["y"]` over `sol.time`, a free parameter `sol["lam"]`, `sol.at(t)`.

    Attributes
    ----------
    time: the mesh. error: the difference from a solution with half as many steps, relative to the size of the states.
    residual: the largest residual of the equations between the collocation points, times the step, relative to the
        states.
    iterations: steps of Newton's method, all meshes together. intervals: of the last mesh.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("cable"); y = m.state("y", start=0.0, rate=0.0)
    >>> m.equation(m.der(m.der(y)), 2.0)
    >>> sol = dd.boundary_value(m, 1.0, lambda at: [at(0)["y"], at(1)["y"] - 1])
    >>> round(float(sol.at(0.5)["y"]), 9), sol.error < 1e-9
    (0.25, True)
    """

    def __init__(
        self, collocation: Collocation, mesh: np.ndarray, values: MeshValues, p: np.ndarray, free: Sequence[str],
        error: float, residual: float, iterations: int,
    ) -> None:  # fmt: skip
        self.system, self.time, self.error = collocation.system, mesh, error
        self.residual, self.iterations = residual, iterations
        self._collocation, self._values, self._p, self._free = collocation, values, p, tuple(free)
        self.intervals = len(mesh) - 1

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_polynomials"}

    def at(self, t: object) -> dict[str, Any]:
        """States, algebraic variables and parameters at a time or at times of the span, by name."""
        times = plain_times(t, "The times of at()")
        if not np.all((times >= self.time[0] - 1e-12) & (times <= self.time[-1] + 1e-12)):
            raise InputError(
                f"The solution is known from t = {self.time[0]:g} to {self.time[-1]:g}.",
                f"asked for {float(np.min(times)):g} to {float(np.max(times)):g}",
                remedy="times inside the span",
            )
        x, z = self._between(np.atleast_1d(times))
        found: dict[str, Any] = {}
        for name, place in self.system.places.items():
            if place.letter in ("x", "z"):
                values = (x if place.letter == "x" else z)[:, place.positions]
                shaped = values[:, 0] if place.shape == () else values.reshape(len(values), *place.shape, order="F")
                found[name] = shaped[0] if times.ndim == 0 else shaped
        return found | {name: self[name] for name in self._free}

    @cached_property
    def _polynomials(self) -> BetweenMeshPoints:
        return between_mesh_points(self._collocation, self.time, self._values, self._p)

    def _between(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if times is self.time:
            return self._values.x, self._polynomials.at(times)[1] if self._values.z.size else np.zeros((len(times), 0))
        return self._polynomials.at(times)

    def __getitem__(self, name: str) -> Any:
        place = self.system.place(name)
        if place.letter == "p":
            values = self._p[place.positions]
            return float(values[0]) if place.shape == () else values.reshape(place.shape, order="F")
        return self.at(self.time)[name] if place.name == name and name in self.system.places else self._element(name)

    def _element(self, name: str) -> np.ndarray:
        place = self.system.place(name)
        x, z = self._between(self.time)
        return np.array([(x if letter == "x" else z)[:, k] for letter, k in zip(place.letters, place.positions)])[0]

    def __iter__(self) -> Iterator[str]:
        names = (name for name, place in self.system.places.items() if place.letter in ("x", "z"))
        return iter((*names, *self._free))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"BoundarySolution({self.system.name!r}: {counted(self.intervals, 'interval')}, error {self.error:.2g})"
