"""One stage of a flow in machine code: its value, Jacobian and second derivative, and those of the projection.

Every function has the arguments (t, x, u, p, k, z, m). With an explicit tableau and x' = f(t, x, u, p) the stage is
k = f; else it is a residual F(t, x, u, p, k, z) = 0 for k = x' and z. m multiplies its equations where the second
derivative Σ m_e ∇²F_e is wanted. Only one stage is compiled: the loops over stages and steps are in the core.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import casadi as ca
import numpy as np

from daedalus.compilation import Compiled, compile_function
from daedalus.errors import SolverError
from daedalus.model.expressions import concatenate, nonzeros
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm, find_explicit_form
from daedalus.reduction.forms.no_form import FormObstacle, NoForm
from daedalus.simulation.plant.projection import corrected

# Formulas that are this many times longer than the equations they solve are not worth it inside an implicit stage.
SHORTER = 3.0
# Beyond this many instructions derivatives with and without parameters are one function: two take too long to prepare.
LARGE = 1000
# Parameters are last: without them a Jacobian is the same list of nonzeros, cut short.
LETTERS = ("x", "u", "k", "z", "p")
ARGUMENTS = ("t", "x", "u", "p", "k", "z")


class Derivatives:
    """An expression with its first and second derivatives by variables, each made and compiled on first use.

    The functions have the arguments of a stage; the second derivative those with multipliers.
    """

    def __init__(self, name: str, expression: ca.SX, variables: ca.SX, plain: list[ca.SX], weighted: list[ca.SX]):
        self._name, self._expression, self._variables = name, expression, variables
        self._plain, self._weighted = plain, weighted

    @cached_property
    def value(self) -> Compiled:
        """The expression itself."""
        return compile_function(ca.Function(self._name, self._plain, [self._expression]))

    @cached_property
    def _jacobian(self) -> ca.SX:
        return ca.jacobian(self._expression, self._variables)

    @property
    def jacobian(self) -> ca.Sparsity:
        """The pattern of the first derivative."""
        return self._jacobian.sparsity()

    @cached_property
    def linear(self) -> Compiled:
        """The expression and its first derivative."""
        outputs = [self._expression, self._jacobian]
        return compile_function(ca.Function(f"{self._name}_linear", self._plain, outputs))

    @cached_property
    def _hessian(self) -> ca.SX:
        return ca.tril(ca.hessian(ca.dot(self._weighted[-1], self._expression), self._variables)[0])

    @property
    def hessian(self) -> ca.Sparsity:
        """The pattern of the second derivative, lower half."""
        return self._hessian.sparsity()

    @cached_property
    def curvature(self) -> Compiled:
        """Σ m_e ∇²e of the rows e, lower half."""
        return compile_function(ca.Function(f"{self._name}_curvature", self._weighted, [self._hessian]))


class Stage:
    """The stage functions of a system, each compiled on first use.

    implicit: whether the stage is a residual F(t, x, u, p, k, z) rather than k = f(t, x, u, p).
    written: whether that residual is the model's own, z among its unknowns, even where x' and z have formulas.
    kept: whether steps are moved onto the invariants.
    symbols: those of t, x, u, p, k and z.
    """

    def __init__(self, system: System, implicit: bool, written: bool = False, kept: bool = True) -> None:
        self.system, self._kept = system, kept
        self.key = (implicit, written, kept)
        self.form = None if written and implicit and not (kept and system.invariants) else _form_of(system)
        self.written = self.form is None or (written and implicit)
        self.implicit = implicit or self.form is None
        self.symbols = {letter: system.symbol(letter) for letter in ("t", "x", "u", "p")}
        self.symbols["k"] = ca.SX.sym("k", system.sizes["x"])
        # z is solved for in the stage only where it is no expression of the others.
        self.symbols["z"] = system.symbol("z") if self.written else ca.SX(0, 1)
        self._made: dict[tuple[str, bool], Any] = {}
        self._large: dict[str, bool] = {}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of entries of x, u, k, z, p."""
        return {letter: int(self.symbols[letter].numel()) for letter in LETTERS}

    @cached_property
    def offsets(self) -> dict[str, int]:
        """Where each of x, u, k, z, p begins in the columns of the patterns."""
        begins = np.cumsum([0, *(self.sizes[letter] for letter in LETTERS)])
        return dict(zip(LETTERS, (int(k) for k in begins)))

    @cached_property
    def expression(self) -> ca.SX:
        """f, or the residual F."""
        k = self.symbols["k"]
        if self.written or self.form is None:
            return ca.densify(ca.substitute(self.system.residual, self.system.symbol("xdot"), k))
        return ca.densify(k - self.form.xdot if self.implicit else self.form.xdot)

    @cached_property
    def depends_on_time(self) -> bool:
        """Whether t appears in the equations or in what is kept by projection."""
        kept = self.projected
        both = self.expression if kept is None else ca.vertcat(self.expression, kept)
        return bool(ca.depends_on(both, self.symbols["t"]))

    def main(self, parameters: bool) -> Derivatives:
        """The stage itself, differentiated by the parameters too or not."""
        return self._derivatives("stage", self.expression, parameters)

    def projection(self, parameters: bool) -> Derivatives | None:
        """One correction of the state at the end of a step towards the invariants; None where there are none."""
        return None if self.projected is None else self._derivatives("projection", self.projected, parameters)

    @cached_property
    def projected(self) -> ca.SX | None:
        """One correction of a state as an expression of (t, x, u, p); None where nothing is kept."""
        if not self.system.invariants or not self._kept:
            return None
        # Invariants are of x alone wherever z is not an expression.
        form = self.form or ExplicitForm(self.system.symbol("xdot"), self.system.symbol("z"))
        kept = concatenate(self.system.invariants.values())
        unsolved = ca.vertcat(self.system.symbol("xdot"), self.system.symbol("z"))
        if self.form is None and ca.depends_on(kept, unsolved):
            raise SolverError(
                "The invariants of this model cannot be kept in a flow.",
                "they contain derivatives or algebraic variables that are not expressions of the states",
                because="the projection changes states only.",
                remedy="dd.reduce(m, stabilise=None)",
            )
        return corrected(self.system, form)

    def tensor(self, parameters: bool) -> tuple[list[tuple[int, int, int]], Compiled]:
        """All second derivatives of f: (equation, first variable, second <= first) of each, and their values."""
        key = ("tensor", parameters)
        if key not in self._made:
            entries, values = self._second_derivatives(self._variables(parameters))
            function = ca.Function("tensor", self._arguments(False), [ca.densify(values)])
            self._made[key] = entries, compile_function(function)
        return self._made[key]

    def _second_derivatives(self, variables: ca.SX) -> tuple[list[tuple[int, int, int]], ca.SX]:
        jacobian = ca.jacobian(self.expression, variables)
        first = list(zip(*jacobian.sparsity().get_triplet()))
        second = ca.jacobian(nonzeros(jacobian) if first else ca.SX(0, 1), variables)
        entries, kept = [], []
        for place, (row, column) in enumerate(_nonzeros(second.sparsity())):
            equation, variable = first[row]
            if column <= variable:
                entries.append((equation, variable, column))
                kept.append(second.nz[place])
        return entries, ca.vertcat(*kept) if kept else ca.SX(0, 1)

    def _variables(self, parameters: bool) -> ca.SX:
        return ca.vertcat(*(self.symbols[letter] for letter in LETTERS if parameters or letter != "p"))

    def _arguments(self, with_multipliers: bool, size: int = 0) -> list[ca.SX]:
        multipliers = ca.SX.sym("m", size) if with_multipliers else ca.SX(0, 1)
        return [*(self.symbols[letter] for letter in ARGUMENTS), multipliers]

    def _derivatives(self, name: str, expression: ca.SX, parameters: bool) -> Derivatives:
        large = self.sizes["p"] > 0 and not parameters and self._is_large(name, expression)
        key = (name, (parameters or large) and self.sizes["p"] > 0)
        if key not in self._made:
            self._made[key] = self._differentiated(name, expression, self._variables(key[1]))
        return self._made[key]

    def _is_large(self, name: str, expression: ca.SX) -> bool:
        if name not in self._large:
            length = ca.Function("length", self._arguments(False), [expression]).n_instructions()
            self._large[name] = length > LARGE
        return self._large[name]

    def _differentiated(self, name: str, expression: ca.SX, variables: ca.SX) -> Derivatives:
        weighted = self._arguments(True, expression.numel())
        return Derivatives(name, expression, variables, self._arguments(False), weighted)


def stage_of(system: System, implicit: bool, written: bool = False, kept: bool = True) -> Stage:
    """The stage functions of a system, made once and kept with it."""
    return once(system, Stage, implicit, written, kept)


def written_is_shorter(system: System) -> bool:
    """Whether the equations as written, z among the unknowns, are much shorter than the formulas for x'."""
    form = _form_of(system)
    if form is None:
        return True
    arguments = system.symbols()
    lengths = [ca.Function("length", arguments, [e]).n_instructions() for e in (form.xdot, system.residual)]
    return bool(lengths[0] > SHORTER * lengths[1])


def _form_of(system: System) -> ExplicitForm | None:
    """x' and z as expressions, or None where they need a nonlinear or large solve."""
    found = find_explicit_form(system)
    if not isinstance(found, NoForm):
        return found
    if found.obstacle is FormObstacle.SINGULAR:
        raise found.error
    return None


def _nonzeros(pattern: ca.Sparsity) -> Iterator[tuple[int, int]]:
    """(row, column) in CasADi's order."""
    return zip(*pattern.get_triplet())


def entries_of(pattern: ca.Sparsity) -> list[tuple[int, int, int]]:
    """(place, row, column) of every nonzero in CasADi's order."""
    return [(place, row, column) for place, (row, column) in enumerate(_nonzeros(pattern))]
