"""dd.exchange.petsc: a model as the implicit right-hand side of PETSc's time steppers (TS)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from daedalus.errors import InputError
from daedalus.exchange.extras import needed
from daedalus.model.model import Model, as_system
from daedalus.model.names import listed
from daedalus.model.system.system import System
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.request import read_request
from daedalus.simulation.run.road import find_road


class PetscProblem:
    """What `dd.exchange.petsc` returns: F(t, y, y') = 0 with y = (x, z), its Jacobian, and a consistent start.

    labels: the names of the entries of y. start, start_rate: y and y' at t0.
    """

    def __init__(self, plant: ImplicitPlant, row: np.ndarray, drive: Any, p: np.ndarray, t0: float) -> None:
        self._plant, self._drive, self._p, self.t0 = plant, drive, p, t0
        sizes = plant.system.sizes
        self._states, self.unknowns = sizes["x"], sizes["x"] + sizes["z"]
        self.labels = (*plant.system.labels["x"], *plant.system.labels["z"])
        self.start = row[: self.unknowns].copy()
        self.start_rate = np.concatenate([row[self.unknowns :], np.zeros(sizes["z"])])
        dot, whole = plant.patterns
        self._dot = np.array(dot.row(), np.int32), np.append(dot.colind(), [dot.nnz()] * sizes["z"]).astype(np.int32)
        self._whole = np.array(whole.row(), np.int32), np.array(whole.colind(), np.int32)

    def __repr__(self) -> str:
        return f"PetscProblem({self._plant.system.name!r}, {self.unknowns} unknowns)"

    def _arguments(self, t: float, y: np.ndarray, rate: np.ndarray) -> tuple[Any, ...]:
        y, rate, n = np.asarray(y, dtype=float), np.asarray(rate, dtype=float), self._states
        for what, values in (("y", y), ("y'", rate)):
            if values.shape != (self.unknowns,):
                raise InputError(
                    f"{what} has the wrong size.",
                    f"got shape {values.shape}, expected ({self.unknowns},)",
                    because="it holds the states and then the algebraic variables, as labels names them.",
                    remedy="problem.start and problem.start_rate",
                )
        return float(t), rate[:n], y[:n], y[n:], self._drive.at_time(float(t)), self._p

    def residual(self, t: float, y: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """F(t, y, y')."""
        found: np.ndarray = self._plant.functions[0](*self._arguments(t, y, rate))[0]
        return found

    def jacobian(self, t: float, y: np.ndarray, rate: np.ndarray, shift: float) -> csr_matrix:
        """∂F/∂y + shift ∂F/∂y', as TS asks for it."""
        dot, whole = self._plant.functions[1](*self._arguments(t, y, rate))
        shape = (self.unknowns, self.unknowns)
        moved = csc_matrix((shift * dot, *self._dot), shape=shape) + csc_matrix((whole, *self._whole), shape=shape)
        return moved.tocsr()

    def ts(self, comm: Any = None) -> Any:
        """A `petsc4py` TS with the residual, its Jacobian and the start time set, on one process (COMM_SELF).

        Choose the method by `ts.setType`, or by PETSc's options, and call `ts.solve(problem.vector())`.
        """
        petsc = needed("petsc4py.PETSc", "petsc", "petsc4py", "dd.exchange.petsc(m).ts() makes one of its objects")
        comm = petsc.COMM_SELF if comm is None else comm
        first = self.jacobian(self.t0, self.start, self.start_rate, 1.0)
        matrix = petsc.Mat().createAIJ(size=first.shape, csr=(first.indptr, first.indices, first.data), comm=comm)

        def residual(ts: Any, t: float, y: Any, rate: Any, out: Any) -> None:
            out.setArray(self.residual(t, y.getArray(readonly=True), rate.getArray(readonly=True)))

        def jacobian(ts: Any, t: float, y: Any, rate: Any, shift: float, j: Any, preconditioner: Any) -> None:
            values = self.jacobian(t, y.getArray(readonly=True), rate.getArray(readonly=True), shift)
            preconditioner.setValuesCSR(values.indptr, values.indices, values.data)
            preconditioner.assemble()
            if j != preconditioner:
                j.assemble()

        ts = petsc.TS().create(comm=comm)
        ts.setIFunction(residual, self.vector(comm))
        ts.setIJacobian(jacobian, matrix)
        ts.setTime(self.t0)
        return ts

    def vector(self, comm: Any = None) -> Any:
        """The start as a PETSc vector."""
        petsc = needed("petsc4py.PETSc", "petsc", "petsc4py", "a vector of PETSc is one of its objects")
        return petsc.Vec().createWithArray(self.start.copy(), comm=petsc.COMM_SELF if comm is None else comm)


def petsc_problem(
    model: Model | System,
    start: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    t0: float = 0.0,
) -> PetscProblem:
    """A model for PETSc's TS: F(t, y, y') = 0 from compiled code, its sparse Jacobian, and a consistent start.

    `problem.ts()` needs `petsc4py`; `residual` and `jacobian` work with NumPy arrays alone. Models of index 2 and 3 go
    through `dd.reduce` first. Events, delays and noise are refused: TS knows nothing of them.

    Example
    -------
    >>> import numpy as np, daedalus as dd
    >>> m = dd.Model("rod")
    >>> u = m.state("u", 4, start=[1.0, 0.0, 0.0, 0.0])
    >>> m.equation(m.der(u), dd.laplacian(u, 0.25))
    >>> problem = dd.exchange.petsc(m)
    >>> problem.labels[0], bool(np.abs(problem.residual(0.0, problem.start, problem.start_rate)).max() < 1e-12)
    ('u[0]', True)
    >>> problem.jacobian(0.0, problem.start, problem.start_rate, shift=10.0).shape
    (4, 4)
    """
    system = as_system(model)
    left = [*(f"event {e.name}" for e in system.events), *(f"{v.name} (delayed)" for v in system.delayed)]
    left += [f"{v.name} (noise)" for v in system.noises]
    if left:
        raise InputError(
            "PETSc cannot use everything in this model.",
            listed(left, 6),
            because="TS takes F(t, y, y') = 0 and its Jacobian only.",
            remedy="dd.simulate, or the model without them",
        )
    request = read_request(
        model, (t0, t0 + 1.0), start, inputs, parameters, None, {"method": "bdf"}, "dd.exchange.petsc"
    )
    first = begin(find_road(request), t0, request.start)
    plant = first.settings.plant
    assert isinstance(plant, ImplicitPlant)
    if plant.index.largest > 1:
        raise InputError(
            f"The model is of index {plant.index.largest}.",
            because="the methods of TS take models of index 1 at most.",
            remedy="dd.exchange.petsc(dd.reduce(m))",
        )
    return PetscProblem(plant, first.row, first.drive, first.parameters, t0)
