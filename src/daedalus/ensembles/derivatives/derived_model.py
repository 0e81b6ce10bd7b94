"""A model with derivatives of its states by selected values, as formulas of rows y = (x, S), S column by column.

With S = ∂x/∂θ for parameters, inputs or start values θ the variational equation S' = ∂f/∂x S + ∂f/∂θ is integrated
beside x' = f. Accelerations and multipliers of a reduced model are formulas too, by a solve that is written out, and
are differentiated with it. Behind every step x is moved onto what the model keeps, c = 0, and S with it, until
∂c/∂x S + ∂c/∂θ = 0 (`differentiation/variational/kept_invariants.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.compilation.lanes.lane_formulas import kernel_formulas
from daedalus.differentiation.differentiable_system import in_all_directions
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.variational.chain_rule import expression_of
from daedalus.differentiation.variational.kept_invariants import tangential
from daedalus.differentiation.variational.variational import Variational, given_seeds
from daedalus.model.expressions import column
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.instruction_list import Instructions
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm, find_shorter_form
from daedalus.reduction.forms.no_form import NoForm
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.singular.rank_watch import rank_watch_of

Columns = tuple[tuple[str, int], ...]  # letter and position of every value that is varied


@dataclass(frozen=True, eq=False)
class DerivedModel:
    """Formulas of (t, y, u, p) for a system in which x' and z are formulas."""

    system: System
    form: ExplicitForm
    columns: Columns

    @cached_property
    def directions(self) -> Directions:
        """What is varied, in the order of the model."""
        x, u, p = (tuple(sorted(k for own, k in self.columns if own == letter)) for letter in ("x", "u", "p"))
        return Directions(x, u, p)

    @cached_property
    def places(self) -> list[int]:
        """Which column of `directions` each of ours is."""
        return [self.directions.column_of(letter, k) for letter, k in self.columns]

    @cached_property
    def _arguments(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX]:
        t, x, u, p = self.system.symbols(("t", "x", "u", "p"))
        return t, x, ca.SX.sym("S", x.numel(), len(self.columns)), u, p

    def _along(self, expression: ca.SX) -> ca.SX:
        """The derivative of an expression of (t, x, u, p) by every column, side by side."""
        _, x, S, u, p = self._arguments
        given = given_seeds(self.directions, u, p, ca.SX(0, 1))[:, self.places]
        v, seeds = ca.vertcat(x, u, p), ca.densify(ca.vertcat(S, given))
        if len(self.columns) < x.numel():
            return ca.jtimes(expression, v, seeds)
        return ca.mtimes(ca.jacobian(expression, v), seeds)

    def _function(self, expression: ca.SX) -> ca.Function:
        """An expression of (t, x, S, u, p) as a function of (t, y, u, p)."""
        t, x, S, u, p = self._arguments
        n = x.numel()
        inner, y = ca.Function("inner", [t, x, S, u, p], [ca.densify(expression)]), ca.SX.sym("y", n + S.numel())
        whole = inner(t, y[:n], ca.reshape(y[n:], *S.shape), u, p)
        return ca.Function("with_derivatives", [t, y, u, p], [whole], {"cse": True})

    @cached_property
    def slopes(self) -> Instructions:
        """y'."""
        return self._slopes(self.form)

    @cached_property
    def shorter_slopes(self) -> Instructions | None:
        """y' with divisions by parameters; None where there is no such form."""
        form = find_shorter_form(self.system)
        return None if isinstance(form, NoForm) else self._slopes(form)

    def _slopes(self, form: ExplicitForm) -> Instructions:
        return _read(self._function(ca.vertcat(form.xdot, ca.vec(self._along(form.xdot)))))

    @cached_property
    def careful(self) -> Instructions:
        """x' by formulas that no value makes fail."""
        return _read(self._function(self.form.xdot))

    @cached_property
    def kept(self) -> Instructions | None:
        """y moved onto what the model keeps, at once, so that nothing is left to go; None where that is nothing."""
        if not self.system.invariants:
            return None
        v = Variational(self.system, self.form, self.directions, 1, full=True)
        n, m = v.x.numel(), len(self.columns)
        # Of the variational equations y has S row by row.
        there = [*range(n), *(n + i * m + k for k in self.places for i in range(n))]
        y = ca.SX.sym("y", n + n * m)
        moved = ca.Function("tangential", v.arguments, [tangential(v)])(v.t, y[np.argsort(there).tolist()], v.u, v.p)
        left = ca.densify(ca.SX(0.0))
        return _read(ca.Function("kept", [v.t, y, v.u, v.p], [ca.densify(moved[there]), left], {"cse": True}))

    @cached_property
    def independence(self) -> Instructions | None:
        """log |det| of the constraints; None where nothing is watched."""
        measure = rank_watch_of(plant_of(self.system))
        if measure is None:
            return None
        t, x, _, u, p = self._arguments
        return _read(self._function(measure.by_parameters(t, x, u, p)))

    def following(self, names: tuple[str, ...]) -> Compiled:
        """The derivatives of what follows from the states, all columns of a name after another, in machine code."""
        return once(self.system, _following, self, names)

    def expression(self, name: str) -> ca.SX:
        """What a name is, as an expression of (t, x, u, p)."""
        return self.form.applied(self.system, column(expression_of(self.system, name)[0]))


def derived_model(system: System, names: tuple[str, ...]) -> DerivedModel | None:
    """The model with derivatives by elements of some names; None where the system lacks one, or has no formulas.

    Declared invariants of an ODE hold nothing here: its derivatives are those in all directions.
    """
    return once(in_all_directions(system), _derived, names)


def _derived(system: System, names: tuple[str, ...]) -> DerivedModel | None:
    plant = plant_of(system)
    known = {label: (letter, k) for letter in ("x", "u", "p") for k, label in enumerate(system.labels[letter])}
    if not isinstance(plant, ExplicitPlant) or any(name not in known for name in names):
        return None
    return DerivedModel(system, plant.form, tuple(known[name] for name in names))


def _following(system: System, model: DerivedModel, names: tuple[str, ...]) -> Compiled:
    parts = [ca.vec(model._along(model.expression(name))) for name in names]
    return compile_function(model._function(ca.vertcat(*parts)))


def _read(function: ca.Function) -> Instructions:
    return kernel_formulas(function, "the formulas of derivatives")
