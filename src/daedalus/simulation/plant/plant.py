"""The machine code of one system: right-hand side, readout, guards, resets, each made on first use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.compilation import Compiled, compile_function
from daedalus.errors import InputError, SolverError
from daedalus.model.expressions import concatenate, nonzeros, plain_shape
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import element_label, flat_index, split_index
from daedalus.model.system.closed_loop import opened
from daedalus.model.system.open_algebraics import smallest_taken
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.findings import EquationsSetApart
from daedalus.reduction.forms.linear_form import always_singular
from daedalus.reduction.reduction_record import Reduction
from daedalus.simulation.plant.projection import projected_state
from daedalus.simulation.result.records import Record
from daedalus.simulation.result.records_of_models import InvariantsNotKept, Reduced, SmallestTaken

# Parameters and discrete variables, the last of (t, y, u, p), stay the same from step to step.
SELDOM = (3,)


class Plant(ABC):
    """What a run needs of a system: functions of (t, x, u, p), each with the object that the core takes as `core`.

    row_parts: which columns of a row of a run hold a vector; what is not there is computed from it.
    is_implicit: whether a row is (x, z, x') and the core solves F(t, x', x, z, u, p) = 0 itself.
    """

    is_implicit = False

    def __init__(self, system: System) -> None:
        self.system = system
        self.row_parts = {"x": slice(None)}
        reduction = opened(system).part(Reduction)
        told = reduction.told if reduction is not None and reduction.for_a_run else ()
        repeated = opened(system).part(EquationsSetApart)
        told = told if repeated is None else (repeated, *told)
        smallest = smallest_taken(system)
        self.notes: tuple[Record, ...] = (
            *((SmallestTaken(smallest),) if smallest else ()),
            *(Reduced(finding) for finding in told),
        )

    @cached_property
    def columns(self) -> dict[str, tuple[slice, tuple[int, ...]]]:
        """Names whose values stand side by side in a row of a run: where, and their shape."""
        found = {}
        for name, place in self.system.places.items():
            part, span = self.row_parts.get(place.letter or ""), place.span
            if part is not None and isinstance(span, slice) and name not in ("t", "time"):
                offset = part.start or 0
                found[name] = (slice(offset + span.start, offset + span.stop), place.shape)
        return found

    def _compiled(self, name: str, expression: ca.SX, *more: ca.SX) -> Compiled:
        arguments = [*self.system.symbols(("t", "x", "u", "p")), *more]
        return compile_function(ca.Function(name, arguments, [ca.densify(expression)]), seldom=SELDOM)

    @property
    def deep_columns(self) -> np.ndarray:
        """Which columns of a row hold z and x' of a higher index, which states give better than steps do: none."""
        return np.zeros(self.row_width, dtype=bool)

    @property
    def row_width(self) -> int:
        """How many columns a row of a run has."""
        return self.system.sizes["x"]

    @cached_property
    def located_guards(self) -> ca.SX:
        """The guards of events, without those of clocks, and then of switches."""
        events = self.system.events
        located = [k for k, event in enumerate(events) if not event.is_clock]
        return self.system.guards[[*located, *range(len(events), self.system.guards.numel())]]

    @cached_property
    def reset_order(self) -> list[int]:
        """The events in the order of the rows of `resets`: those with guards, then clocks."""
        return sorted(range(len(self.system.events)), key=lambda k: self.system.events[k].is_clock)

    @cached_property
    def resets_in_order(self) -> ca.SX:
        """States, then discrete variables behind each event, one row an event."""
        return ca.horzcat(self.system.resets, self.system.assigned)[self.reset_order, :]

    def compiled_values(self, name: str, expression: ca.SX) -> Compiled:
        """An expression of (t, x', x, z, u, p) as a function of (t, row, u, p)."""
        return self._compiled(name, self._in_rows(expression))

    def _in_rows(self, expression: ca.SX) -> ca.SX:
        """An expression with z and x' as a row of the run gives them."""
        return expression

    @cached_property
    @abstractmethod
    def rhs(self) -> Any:
        """x' = f(t, x, u, p)."""

    @property
    def rates(self) -> Any:
        """x' as explicit runs ask for it at every evaluation."""
        return self.rhs

    @cached_property
    def projection(self) -> Any:
        """The row moved onto the invariants; None where there are none, or none that can be kept so, which is told."""
        if not self.system.invariants:
            return None
        try:
            return self._onto_invariants()
        except SolverError as error:
            self.notes += (InvariantsNotKept(tuple(error.facts)),)
            return None

    def _onto_invariants(self) -> Any:
        return self._shortest_way("projection", self._in_rows(concatenate(self.system.invariants.values())))

    def _shortest_way(self, name: str, kept: ca.SX) -> Any:
        """States moved onto expressions of (t, x, u, p): by a formula, by a sparse solve where it would be too long."""
        try:
            moved = projected_state(self.system, kept)
        except SolverError:
            return invariant_projection(self.system, kept)
        return Plant._compiled(self, name, moved)  # not as functions of rows

    def _called(self, name: str, expression: ca.SX) -> Compiled:
        """An expression as a function that the core calls."""
        return self.compiled_values(name, expression)

    def _read(self, name: str, expression: ca.SX) -> Any:
        """An expression as a function that is evaluated at rows of a run."""
        return self.compiled_values(name, expression)

    def read_values(self, name: str, expression: ca.SX) -> Any:
        """An expression of (t, x', x, z, u, p) as a function of (t, row, u, p) that is evaluated at rows of a run."""
        return self._read(name, expression)

    @cached_property
    def guards(self) -> Compiled:
        """The guards of the events."""
        return self._called("guards", self.located_guards)

    @cached_property
    def resets(self) -> Compiled:
        """The states after each event, one event after the other."""
        return self._called("resets", ca.vec(self.resets_in_order.T))

    @cached_property
    def readout(self) -> Any:
        """Algebraic variables, then the outputs below each other."""
        return self._read("readout", concatenate([self.system.symbol("z"), *self.system.outputs.values()]))

    @cached_property
    def invariants(self) -> Any:
        """What solutions keep at zero, below each other."""
        return self._read("invariants", concatenate(self.system.invariants.values()))

    @cached_property
    def watched(self) -> Any:
        """What solutions keep at zero without being held to it, below each other."""
        return self._read("watched", concatenate(self.system.watched.values()))

    @cached_property
    def constraints(self) -> Any:
        """The equations without a derivative, with x' and z as a row of the run gives them."""
        return self._read("constraints", self.system.residual[self.constraint_rows])

    @cached_property
    def has_constraints(self) -> bool:
        """Whether there is anything beside its differential equations that a state of a run obeys."""
        return self.system.has_invariants

    @cached_property
    def invariant_labels(self) -> list[str]:
        """The name of every entry of `invariants`."""
        return labels_of(self.system.invariants)

    @cached_property
    def constraint_rows(self) -> list[int]:
        """Which equations contain no derivative."""
        return structure_of(self.system).rows_without("xdot")

    @cached_property
    def output_slices(self) -> dict[str, tuple[slice, tuple[int, ...]]]:
        """Where each output lies in the readout, and its shape."""
        places, offset = {}, self.system.sizes["z"]
        for name, expression in self.system.outputs.items():
            size = int(expression.numel())
            places[name] = (slice(offset, offset + size), plain_shape(expression))
            offset += size
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


def named_expressions(system: System, names: Sequence[str]) -> list[ca.SX]:
    """Variables, derivatives, their elements and outputs by name, each as a column in a system's symbols."""
    outputs, symbols = system.outputs, {letter: system.symbol(letter) for letter in ARGUMENTS}

    def expression(name: str) -> ca.SX:
        if name in ("t", "time"):
            return symbols["t"]
        if name in outputs:
            return ca.vec(ca.densify(outputs[name]))
        place = system.place(name)
        return ca.vertcat(*(symbols[letter][int(k)] for letter, k in zip(place.letters, place.positions)))

    return [expression(name) for name in names]


def labels_of(expressions: Mapping[str, ca.SX]) -> list[str]:
    """The name of every entry of expressions below each other."""
    return [
        element_label(name, () if value.is_scalar() else (value.numel(),), k)
        for name, value in expressions.items()
        for k in range(value.numel())
    ]


def by_shape(flat: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(N, size) column-major to (N,), (N, n), (N, rows, columns) and so on, without a copy; (M, N, size) too."""
    if shape == ():
        return flat[..., 0]
    if len(shape) == 1:
        return flat
    lead, last = flat.ndim - 1, flat.ndim - 2 + len(shape)
    turned = flat.reshape(*flat.shape[:-1], *shape[::-1])
    return turned.transpose(*range(lead), *range(last, lead - 1, -1))


# Keep many invariants that share variables: the shortest way onto them by a sparse solve instead of a formula.
#
# With invariants c(t, x) = 0, J = ∂c/∂x and W the squares of the nominal values, Gauss–Newton's correction solves
#
#     [W⁻¹ Jᵀ; J 0] (d; m) = (0; −c)
#
# which is what the core does for the constraints of a mechanism, with W⁻¹ in place of the masses.


def invariant_projection(system: System, kept: ca.SX, further: int = 0) -> SimpleNamespace:
    """The projection onto expressions of (t, x, u, p) as the core takes it, as `core`; its code is in `functions`.

    further: entries of a row behind its states, which stay as they are.
    Raises a SolverError where the invariants depend on each other everywhere: then they determine no way.
    """
    t, own, u, p = system.symbols(("t", "x", "u", "p"))
    x = ca.SX.sym("row", own.numel() + further)
    arguments, kept = [t, x, u, p], ca.substitute(kept, own, x[: own.numel()])
    jacobian = ca.jacobian(kept, x)
    moved = sorted(set(jacobian.sparsity().get_triplet()[1]))
    resting = sorted(set(range(x.numel())) - set(moved))
    nominal = np.maximum(np.abs(np.append(system.nominal["x"], np.ones(further))), NOT_ZERO)
    weights = ca.diag(ca.SX(ca.DM(1.0 / nominal[moved] ** 2)))
    count, states = kept.numel(), len(moved)
    steep = jacobian[:, moved]
    matrix = ca.vertcat(ca.horzcat(weights, steep.T), ca.horzcat(steep, ca.SX(count, count)))
    if always_singular(matrix):
        raise SolverError(
            "The invariants of this model cannot be kept by projection.",
            f"{count} of them depend on each other",
            because="the projection onto them is not unique.",
            remedy="leave out those that follow from the others",
        )
    nothing = [ca.SX.zeros(states + count), *([ca.SX.zeros(len(resting))] if resting else [])]
    functions = {
        "matrix": compile_function(ca.Function("matrix", arguments, [nonzeros(matrix), *nothing])),
        "invariants": compile_function(ca.Function("invariants", arguments, [ca.densify(kept)])),
    }
    pattern = matrix.sparsity()
    places = [*moved, *range(x.numel(), x.numel() + count)]
    model = _core.LinearModel(
        functions["matrix"].core, x.numel(), states + count, pattern.colind(), pattern.row(), places, resting
    )
    rows = list(range(states, states + count))
    core = _core.Projection(model, None, [], functions["invariants"].core, rows, None, None, nominal)
    return SimpleNamespace(core=core, functions=functions)
