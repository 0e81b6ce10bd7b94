"""The machine code of one system: what all kinds of plants share, and the kind with x' = f(t, x, u, p)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.errors import InputError, SolverError
from daedalus.model.expressions import concatenate
from daedalus.model.names import element_label, flat_index, split_index
from daedalus.model.system import System
from daedalus.reduction.explicit_form import explicit_form
from daedalus.simulation.projection import projection


class Plant:
    """A system with compiled functions, each made on first use; a row of its runs is x, or more than that.

    row_parts: which columns of a row hold a vector; vectors that are not there are computed from it.
    """

    row_parts: Mapping[str, slice]
    guards: Any
    resets: Any
    readout: Any
    projection: Any
    invariants: Any
    constraints: Any

    def __init__(self, system: System) -> None:
        self.system = system
        self.notes: tuple[str, ...] = system.prepared.get("notes", ())

    @cached_property
    def invariant_labels(self) -> list[str]:
        """The name of every entry of `invariants`."""
        return [
            element_label(name, () if value.is_scalar() else (value.numel(),), k)
            for name, value in self.system.invariants.items()
            for k in range(value.numel())
        ]

    @cached_property
    def constraint_rows(self) -> list[int]:
        """Which equations contain no derivative."""
        pattern = ca.jacobian_sparsity(self.system.residual, self.system.symbol("xdot"))
        return sorted(set(range(pattern.size1())) - set(pattern.row()))

    @cached_property
    def output_slices(self) -> dict[str, tuple[slice, tuple[int, ...]]]:
        """Where each output lies in the readout, and its shape."""
        places, offset = {}, self.system.sizes["z"]
        for name, expression in self.system.outputs.items():
            rows, columns = expression.shape
            shape: tuple[int, ...] = () if expression.is_scalar() else (rows,) if columns == 1 else (rows, columns)
            places[name] = (slice(offset, offset + rows * columns), shape)
            offset += rows * columns
        return places

    def output_place(self, name: str) -> tuple[slice, tuple[int, ...]]:
        """The place of an output or of one element of it in the readout."""
        stem, index = split_index(name)
        if stem not in self.output_slices:
            raise self.system.unknown_name(name)
        place, shape = self.output_slices[stem]
        if index is None:
            return place, shape
        k = flat_index(shape, index)
        if k is None:
            raise InputError(f"{name} does not exist.", f"{stem} has shape {shape}")
        return slice(place.start + k, place.start + k + 1), ()


class ExplicitPlant(Plant):
    """Compiled functions of (t, x, u, p) for a system x' = f(t, x, u, p)."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.row_parts = {"x": slice(None)}
        self.form = explicit_form(system)

    def _compiled(self, name: str, expression: ca.SX) -> Compiled:
        arguments = [self.system.symbol(letter) for letter in ("t", "x", "u", "p")]
        return compile_function(ca.Function(name, arguments, [ca.densify(expression)]))

    @cached_property
    def rhs(self) -> Compiled:
        """x' = f(t, x, u, p)."""
        return self._compiled("rhs", self.form.xdot)

    @cached_property
    def guards(self) -> Compiled:
        """The guards of the events."""
        return self._compiled("guards", self.form.applied(self.system, self.system.guards))

    @cached_property
    def resets(self) -> Compiled:
        """The states after each event, one event after the other."""
        after = self.form.applied(self.system, self.system.resets)
        return self._compiled("resets", ca.vec(after.T))

    @cached_property
    def readout(self) -> Compiled:
        """Algebraic variables, then the outputs below each other."""
        outputs = concatenate(self.system.outputs.values())
        return self._compiled("readout", ca.vertcat(self.form.z, self.form.applied(self.system, outputs)))

    @cached_property
    def projection(self) -> Compiled | None:
        """The state moved onto the invariants; None where there are none, or too many to be kept so."""
        try:
            projected = projection(self.system, self.form)
        except SolverError as error:
            self.notes += (f"the invariants are not kept: {'; '.join(error.facts)}",)
            return None
        return None if projected is None else self._compiled("projection", projected)

    @cached_property
    def invariants(self) -> Compiled:
        """What solutions keep at zero, below each other."""
        kept = concatenate(self.system.invariants.values())
        return self._compiled("invariants", self.form.applied(self.system, kept))

    @cached_property
    def constraints(self) -> Compiled:
        """The equations without a derivative, as left by x and z = g(t, x, u, p)."""
        rows = self.constraint_rows
        return self._compiled("constraints", self.form.applied(self.system, self.system.residual[rows]))


def plant_of(system: System) -> ExplicitPlant:
    """The explicit plant of a system, made once and kept with it."""
    plant = system.prepared.get("plant")
    if plant is None:
        with system.lock:
            plant = system.prepared.setdefault("plant", ExplicitPlant(system))
    return plant


def by_shape(flat: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(N, size) column-major to (N,), (N, n) or (N, rows, columns)."""
    if shape == ():
        return flat[:, 0]
    if len(shape) == 1:
        return flat
    return flat.reshape(len(flat), shape[1], shape[0]).transpose(0, 2, 1)
