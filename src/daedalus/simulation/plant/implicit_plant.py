"""The machine code of a system that implicit methods take as it is written: 0 = F(t, x', x, z, u, p).

A row of a run is y = (x, z, x'), so everything that a trajectory needs is a function of (t, y, u, p).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.analysis.structure.written_structure import VariableIndex, variable_index
from daedalus.compilation import Compiled, compile_function, compile_loops
from daedalus.compilation.foreign_calls import calls_foreign_code
from daedalus.errors import SolverError
from daedalus.model.expressions import nonzeros
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.once import By
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.forms.linearity import may_step
from daedalus.reduction.switches import switches_of
from daedalus.simulation.plant.charges import charges_of
from daedalus.simulation.plant.held_levels import held_levels
from daedalus.simulation.plant.plant import SELDOM, Plant, invariant_projection
from daedalus.simulation.plant.projection import moved_onto

# Parameters and discrete variables stay the same from step to step.
SELDOM_IN_RESIDUAL = (ARGUMENTS.index("p"),)


class ImplicitPlant(Plant):
    """Compiled residual and Jacobian of a system, and everything else as functions of (t, y, u, p)."""

    is_implicit = True

    def __init__(self, system: System, index: VariableIndex | None = None, origin: System | None = None) -> None:
        super().__init__(system)
        self._origin = system if origin is None else origin
        n, nz = system.sizes["x"], system.sizes["z"]
        self.row_parts = {"x": slice(0, n), "z": slice(n, n + nz), "xdot": slice(n + nz, 2 * n + nz)}
        self.width = 2 * n + nz
        self.index = variable_index(system) if index is None else index

    @property
    def row_width(self) -> int:
        """How many columns a row of a run has: x, z and x'."""
        return self.width

    @cached_property
    def deep_columns(self) -> np.ndarray:
        """Which columns of a row hold z and x' of a higher index, which states give better than steps do.

        Behind a condition rows know their mode, which the states alone need not tell; of such models none.
        """
        deep, system = self.deep_by_index, self.system
        if deep.any() and (switches_of(system) is not None or system.guards.numel() > len(system.events)):
            return np.zeros(self.width, dtype=bool)
        return deep

    @cached_property
    def deep_by_index(self) -> np.ndarray:
        """The same, also where a run has to tell in which mode they follow from the states."""
        deep, system = np.zeros(self.width, dtype=bool), self.system
        if self.index.largest < 2 or system.choices:
            return deep
        index, n = np.asarray(self.index.index), system.sizes["x"]
        deep[self.row_parts["z"]] = index[n:] > 1
        deep[self.row_parts["xdot"]] = index[:n] > 1
        return deep

    @cached_property
    def _y(self) -> ca.SX:
        return ca.SX.sym("y", self.width)

    def in_rows(self, expression: ca.SX) -> ca.SX:
        """An expression of (t, x', x, z, u, p) in terms of (t, y, u, p)."""
        letters = [letter for letter in ("x", "z", "xdot") if self.system.sizes[letter]]
        parts = [self._y[self.row_parts[letter]] for letter in letters]
        return ca.substitute([expression], self.system.symbols(letters), parts)[0]

    def _compiled(self, name: str, expression: ca.SX, *more: ca.SX) -> Compiled:
        arguments = [self.system.symbol("t"), self._y, self.system.symbol("u"), self.system.symbol("p"), *more]
        return compile_function(ca.Function(name, arguments, [ca.densify(self.in_rows(expression))]), seldom=SELDOM)

    @cached_property
    def jacobians(self) -> tuple[ca.SX, ca.SX]:
        """∂F/∂x' and ∂F/∂(x, z), sparse."""
        structure = structure_of(self.system)
        return structure.slopes("xdot"), structure.slopes("x", "z")

    @cached_property
    def patterns(self) -> tuple[ca.Sparsity, ca.Sparsity]:
        """Where ∂F/∂x' and ∂F/∂(x, z) have entries."""
        structure = structure_of(self.system)
        if structure.has_long_slopes:
            return structure.pattern("xdot"), structure.pattern("x", "z")
        dot, whole = (matrix.sparsity() for matrix in self.jacobians)
        return dot, whole

    @cached_property
    def functions(self) -> tuple[Compiled, Compiled]:
        """F and its Jacobians as functions of (t, x', x, z, u, p)."""
        arguments = self.system.symbols()
        residual = self.system.function
        if not residual.sparsity_out(0).is_dense():
            residual = ca.Function("residual", arguments, [ca.densify(self.system.residual)])
        compiled = compile_function(residual, seldom=SELDOM_IN_RESIDUAL)

        def jacobian() -> ca.Function:
            return ca.Function("jacobian", arguments, list(self.jacobians))

        structure = structure_of(self.system)
        slopes = structure.long_slopes() if structure.has_long_slopes else None
        loops = None if slopes is None else compile_loops("jacobian", slopes.rows, jacobian)
        structure.compiled_slopes()
        return compiled, compile_function(jacobian(), seldom=SELDOM_IN_RESIDUAL) if loops is None else loops

    @cached_property
    def charged(self) -> tuple[Compiled, Compiled, list[int]] | None:
        """F without the currents into charges, the charges by equation; its Jacobians; the equations that have some."""
        found = charges_of(self.system, By(self._origin))
        if found is None or self.index.largest > 1 or structure_of(self.system).has_long_slopes:
            return None
        arguments, whole = self.system.symbols(), self.patterns[1]
        unknowns = ca.vertcat(*self.system.symbols(("x", "z")))
        slopes = ca.jacobian(found.rest, unknowns)
        if (whole + slopes.sparsity()).nnz() > whole.nnz():
            return None
        functions = ca.Function("charged", arguments, [found.rest, found.charge])
        parts = [self.jacobians[0], ca.project(slopes, whole), ca.project(found.slopes, self.patterns[0])]
        jacobians = ca.Function("charged_jacobian", arguments, parts)
        return (
            compile_function(functions, seldom=SELDOM_IN_RESIDUAL),
            compile_function(jacobians, seldom=SELDOM_IN_RESIDUAL),
            list(found.rows),
        )

    @cached_property
    def drift(self) -> Compiled:
        """∂F/∂t + ∂F/∂u u' as a function of (t, x', x, z, u, p, u')."""
        structure, slopes = structure_of(self.system), ca.SX.sym("udot", self.system.sizes["u"])
        moved = structure.slopes("t") + ca.mtimes(structure.slopes("u"), slopes)
        arguments = self.system.symbols()
        return compile_function(
            ca.Function("drift", [*arguments, slopes], [ca.densify(moved)]), seldom=SELDOM_IN_RESIDUAL
        )

    @cached_property
    def product(self) -> Compiled:
        """∂F/∂x' v' + ∂F/∂(x, z) v as a function of (t, x', x, z, u, p, v', v_x, v_z): no matrix is made for it."""
        system, letters = self.system, ("xdot", "x", "z")
        along = [ca.SX.sym(f"along_{letter}", system.sizes[letter]) for letter in letters]
        structure = structure_of(system)
        if calls_foreign_code(system.function):
            slopes = structure.slopes("xdot"), structure.slopes("x", "z")
            moved = ca.mtimes(slopes[0], along[0]) + ca.mtimes(slopes[1], ca.vertcat(*along[1:]))
        else:
            moved = ca.jtimes(system.residual, structure.symbols(*letters), ca.vertcat(*along))
        function = ca.Function("product", [*system.symbols(), *along], [ca.densify(moved)])
        return compile_function(function, seldom=SELDOM_IN_RESIDUAL)

    @cached_property
    def model(self) -> Any:
        """What the core integrates."""
        residual, jacobian = self.functions
        found = self.core_model(residual.core, jacobian.core)
        if structure_of(self.system).has_long_slopes:
            _core.give_back_memory()
        return found

    @cached_property
    def model_with_drift(self) -> Any:
        """The same for methods that need the time derivative of F."""
        residual, jacobian = self.functions
        return self.core_model(residual.core, jacobian.core, self.drift.core)

    def core_model(
        self, residual: Any, jacobian: Any, drift: Any = None, dependent: Sequence[int] = (), held: Sequence[int] = ()
    ) -> Any:
        """The description for the core around its functions; without a drift the core takes differences in t.

        `dependent` are states whose derivative has the coefficient zero for the parameters of a run, `held` equations
        that have no derivative then.
        """
        dot, whole = self.patterns
        n = self.system.sizes["x"]
        patterns = (list(dot.colind()), list(dot.row()), list(whole.colind()), list(whole.row()))
        index, level = self.index.index.tolist(), self.index.level.tolist()
        if self.index.largest == 1:
            index = level = []
        sizes = (n, n + self.system.sizes["z"])
        charged = self.charged if residual is self.functions[0].core and not (dependent or held) else None
        rest, slopes, rows = (None, None, []) if charged is None else charged
        return _core.ImplicitModel(
            residual, jacobian, *sizes, *patterns, index, level, drift, list(dependent), list(held),
            autonomous=self.is_autonomous, curved=self.curved,
            charged=None if rest is None else rest.core,
            charged_jacobian=None if slopes is None else slopes.core, charged_rows=rows,
            constant_slopes=self.has_constant_slopes,
        )  # fmt: skip

    @cached_property
    def curved(self) -> list[int]:
        """Unknowns of index 3 in which the equations are nonlinear, by their place in (x, z)."""
        if self.index.largest < 3:
            return []
        unknowns, whole = structure_of(self.system).symbols("x", "z"), self.jacobians[1]
        deep = [k for k, index in enumerate(self.index.index.tolist()) if index >= 3]
        return [k for k in deep if ca.depends_on(nonzeros(whole[:, k]), unknowns[k])]

    @cached_property
    def is_autonomous(self) -> bool:
        """Whether neither time nor an input stands in the equations."""
        system = self.system
        return not ca.depends_on(system.residual, ca.vertcat(system.symbol("t"), system.symbol("u")))

    @cached_property
    def has_constant_slopes(self) -> bool:
        """Whether many equations are linear with coefficients that parameters alone change."""
        structure = structure_of(self.system)
        return structure.has_long_slopes and structure.letters_in_slopes <= {"p"} and not may_step(self.system)

    @cached_property
    def without_derivative(self) -> np.ndarray:
        """The states whose derivative occurs in no equation: algebraic variables by use."""
        return np.flatnonzero(np.diff(np.array(self.patterns[0].colind())) == 0)

    @cached_property
    def rhs(self) -> Any:
        """The implicit model itself: the core solves it."""
        return SimpleNamespace(core=self.model)

    @cached_property
    def resets(self) -> Compiled:
        """The rows after each event, one event after the other; z and x' are solved for by the core."""
        return self.resets_to(self.system.resets, self.system.assigned)

    def resets_to(self, states: ca.SX, held: ca.SX) -> Compiled:
        """The same from expressions for the states and the discrete variables after each event, in order of writing."""
        count, order = len(self.reset_order), self.reset_order
        rest = ca.horzcat(self.system.symbol("z").T, self.system.symbol("xdot").T)
        parts = (states[order, :], ca.repmat(rest, count, 1), held[order, :])
        return self._compiled("resets", ca.vec(ca.horzcat(*parts).T))

    def _onto_invariants(self) -> Any:
        """By a formula, by a sparse solve for x where it would be too long; z and x' stay."""
        held, x = held_levels(self.system, self.index), self.system.symbol("x")
        others = self.system.symbols(("xdot", "z", "t", "u", "p"))
        try:
            state = moved_onto(held, x, self.system.nominal["x"] ** 2, others)
        except SolverError:
            return invariant_projection(self.system, held, x.numel() + self.system.symbol("z").numel())
        return self._compiled("projection", ca.vertcat(state, self.system.symbol("z"), self.system.symbol("xdot")))

    @cached_property
    def has_constraints(self) -> bool:
        """Whether there is anything beside its differential equations that a row of a run obeys."""
        return self.system.has_invariants or bool(self.constraint_rows)

    @cached_property
    def onto_written(self) -> Any:
        """The states moved onto the equations of (t, x, u, p) alone; None where there are none, or none can be kept."""
        residual, structure = self.system.residual, structure_of(self.system)
        rows = sorted(structure.rows_with("x") - structure.rows_with("xdot", "z"))
        if not rows:
            return None
        with suppress(SolverError):
            return self._shortest_way("onto_written", residual[rows])
        return None
