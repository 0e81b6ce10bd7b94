"""Door 1: a model written as equations 0 = F(t, x', x, z, u, p)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.doors.many_components import ManyComponents, many_components
from daedalus.model.expressions import (
    EQUATION_REMEDY,
    LOGICAL,
    as_expression,
    as_matrix,
    as_written,
    column,
    concatenate,
    dense,
    elements,
    has_nan,
    has_three_axes,
    is_inequality,
    is_logical,
    nan_inside,
    operation,
    sides_of_arrays,
    split_equalities,
    symbol_key,
)
from daedalus.model.input_rates import input_rate
from daedalus.model.names import check_name, with_article
from daedalus.model.notebook import Notebook, size_text
from daedalus.model.plain_numbers import without_unit
from daedalus.model.printing import expression_text
from daedalus.model.system.equation_row import Role
from daedalus.model.variables import check_shape, make_variable, shape_of_values
from daedalus.model.written import Equation

UNKNOWNS = ("state", "algebraic")
# What is compared or combined is no equation, nor is a number; None: a number or a symbol.
NOT_EQUATED = frozenset((None, ca.OP_LT, ca.OP_LE, ca.OP_NE, *LOGICAL))
# From this many components on, the symbols of an equation are looked at all at once.
MANY_COMPONENTS = 500


class EquationDoor(Notebook):
    """Declare variables, differentiate, write equations."""

    # -- variables ---------------------------------------------------------------------------------------------

    def state(
        self,
        name: str,
        shape: int | tuple[int, ...] = (),
        *,
        start: object = None,
        rate: object = None,
        unit: str = "",
        nominal: object = 1.0,
        lower: object = None,
        upper: object = None,
    ) -> ca.SX:
        """Declare a variable whose derivative appears in the equations; returns its symbol.

        Parameters
        ----------
        name: unique in the model; `part.sub.name` is allowed.
        shape: `()` scalar, `n` column, `(rows, columns)` matrix, or three numbers for a field in space, whose symbols
            come as a NumPy array.
        start: the value at the start. It is fixed and never changed. One number fills every element, and `None` inside
            a list leaves that element free.
        rate: the first derivative at the start, if the equations are of second order in this variable.
        unit: a label, see `dd.units`.
        nominal: the typical size; it scales the absolute tolerance and Newton's residuals.
        lower, upper: bounds for optimisation; `start` is checked against them.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> float(dd.simulate(m, 1.0)["x"][-1])
        0.3678...
        """
        check_name(name, "state")
        dims = check_shape(shape, name, 3)
        own = make_variable(
            name, "state", dims, start=start, rate=rate, unit=unit, nominal=nominal, lower=lower, upper=upper
        )
        return as_written(self._declare(own), dims)

    def algebraic(
        self,
        name: str,
        shape: int | tuple[int, ...] = (),
        *,
        start: object = None,
        unit: str = "",
        nominal: object = 1.0,
        lower: object = None,
        upper: object = None,
    ) -> ca.SX:
        """Declare an unknown without a derivative. Its `start` is a guess. Keywords as in `state`.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("resistor")
        >>> q = m.state("q", start=1.0); i = m.algebraic("i", unit="A")
        >>> m.equation(m.der(q), -i)
        >>> m.equation(2.0 * i, q, name="Ohm")
        >>> float(dd.simulate(m, 1.0)["i"][0])
        0.5
        """
        check_name(name, "algebraic")
        dims = check_shape(shape, name, 3)
        own = make_variable(name, "algebraic", dims, start=start, unit=unit, nominal=nominal, lower=lower, upper=upper)
        return as_written(self._declare(own), dims)

    def input(
        self,
        name: str,
        shape: int | tuple[int, ...] = (),
        *,
        unit: str = "",
        nominal: object = 1.0,
        lower: object = None,
        upper: object = None,
    ) -> ca.SX:
        """Declare a signal from outside. Pass its value with `simulate(..., inputs={name: ...})`.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("integrator")
        >>> x = m.state("x", start=0.0); u = m.input("u")
        >>> m.equation(m.der(x), u)
        >>> round(float(dd.simulate(m, 2.0, inputs={"u": 3.0})["x"][-1]), 9)
        6.0
        """
        check_name(name, "input")
        dims = check_shape(shape, name)
        return self._declare(make_variable(name, "input", dims, unit=unit, nominal=nominal, lower=lower, upper=upper))

    def parameter(
        self,
        name: str,
        value: object = None,
        *,
        shape: int | tuple[int, ...] = (),
        unit: str = "",
        nominal: object = 1.0,
    ) -> ca.SX:
        """Declare a constant of the model. It has the shape of `value`, unless you pass `shape`.

        `nominal` is its typical size, if the value is zero (for example a leakage that may occur). Checks of
        derivatives change the parameter by this size.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("spring")
        >>> k = m.parameter("k", [1.0, 2.0], unit="N/m")
        >>> k.shape
        (2, 1)
        """
        check_name(name, "parameter")
        dims, value = check_shape(shape, name, 3), without_unit(value, str(unit or ""), name)
        if value is not None and dims == ():
            dims = shape_of_values(value, name)
        own = make_variable(name, "parameter", dims, start=value, unit=unit, nominal=nominal)
        return as_written(self._declare(own), dims)

    @property
    def time(self) -> ca.SX:
        """The symbol t."""
        return ca.SX(self.written.time)

    # -- derivatives -------------------------------------------------------------------------------------------

    def der(self, expression: object) -> ca.SX:
        """The time derivative of a state, of an input, or of any expression of these and of time (chain rule).

        You can differentiate a derivative: the model is converted to first order, and `x_dot` becomes a state. The
        derivative of an input u is the input `u_dot`. A run computes it from the signal for u: an expression, a
        function of time that can be traced, a linear table (once), or a spline (as often as its order).

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("ball")
        >>> y = m.state("y", start=10.0, rate=0.0)
        >>> m.equation(m.der(m.der(y)), -9.81)
        >>> round(float(dd.simulate(m, 1.0)["y_dot"][-1]), 9)
        -9.81
        >>> m = dd.Model("high pass"); v = m.state("v", start=0.0); u = m.input("u")
        >>> m.equation(m.der(v), m.der(u) - v)
        >>> round(float(dd.simulate(m, 1.0, inputs={"u": lambda t: t**2})["v"][-1]), 6)      # 2 (t - 1 + exp(-t))
        0.735759
        """
        if has_three_axes(expression):
            return as_written(self.der(as_matrix(expression)), expression.shape)
        value = as_expression(expression, "The argument of der")
        whole = self._whole_state(value)
        if whole is not None:
            return +self.written.derivative_symbol(*whole)
        value = self._expression(value, "The argument of der")
        self._check_differentiable(value)
        scalars = elements(value)
        known = [self.written.known.get(symbol_key(s)) if s.is_symbolic() else None for s in scalars]
        if all(k is not None and k[0] != "t" and self.written.variables[k[0]].kind == "state" for k in known):
            # A state, or entries of states: their derivative symbols, without a detour through the chain rule.
            rates = [self.written.derivative_scalar(n, k, order + 1) for n, k, order in known]  # type: ignore[misc]
            return ca.reshape(ca.vertcat(*rates), *value.shape)
        return self._chain_rule(value)

    def _whole_state(self, value: ca.SX) -> tuple[str, int] | None:
        """The state whose symbol a value is, or whose derivative, element by element, and the order one above."""
        first = value[0]
        name, k, order = self.written.known.get(symbol_key(first), ("t", 0, 0)) if first.is_symbolic() else ("t", 0, 0)
        if k or name == "t" or self.written.variables[name].kind != "state":
            return None
        own = self.written.derivative_symbol(name, order)
        same = own.shape == value.shape and ca.is_equal(own, value)
        return (name, order + 1) if same else None

    def _chain_rule(self, value: ca.SX) -> ca.SX:
        symbols, rates = [self.written.time], [ca.SX(1)]
        for symbol in ca.symvar(value):
            name, k, order = self.written.known[symbol_key(symbol)]
            kind = "time" if name == "t" else self.written.variables[name].kind
            if kind in ("state", "input"):
                symbols.append(symbol)
                rates.append(self._rate_scalar(name, k, order))
        result = ca.jtimes(column(value), concatenate(symbols), concatenate(rates))
        return ca.reshape(ca.densify(result), *value.shape)

    def _rate_scalar(self, name: str, k: int, order: int) -> ca.SX:
        """The derivative of an element of a state's derivative of an order, or of an input."""
        if self.written.variables[name].kind == "input":
            return self.written.scalars[input_rate(self, name, self.der), 0][k]
        return self.written.derivative_scalar(name, k, order + 1)

    def _check_differentiable(self, value: ca.SX) -> None:
        for name, k, _ in self._check_symbols(value, "The argument of der"):
            kind = "time" if name == "t" else self.written.variables[name].kind
            delayed = kind == "input" and self.written.variables[name].delayed
            if kind == "algebraic" or delayed:
                label = self.written.variables[name].label(k)
                raise ModelError(
                    f"{label} has no derivative in this model.",
                    f"{label} is {'a delayed signal' if delayed else 'an algebraic variable'}",
                    because="only states and inputs have derivatives that the equations may use.",
                    remedy=f'm.state("{name}", ...) if its derivative is part of the equations',
                )

    # -- equations ---------------------------------------------------------------------------------------------

    def equation(self, left: object, right: object = ..., *, name: str | None = None) -> None:
        """Write `left == right`; one argument means `left == 0`, or an equality `a == b`, or a list of these.

        Raises a ModelError that names the cause for different shapes, booleans, inequalities, symbols of other models,
        and equations (or single components) that simplify to a constant.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("circle")
        >>> x = m.state("x", 2, start=[1, 0])
        >>> m.equation(m.der(x), [x[1], -x[0]], name="rotation")
        >>> m.equations
        {'rotation': ['x_dot[0] - x[1] = 0', 'x_dot[1] + x[0] = 0']}
        """
        if name is None:
            numbers = itertools.count(len(self.written.equations) + 1)
            name = next(own for k in numbers if (own := f"equation_{k}") not in self.written.equations)
        self._check_equation_name(name, "equation", 'name="balance"')
        residual, sides = self._residual(left, right, name)
        self._check_residual(residual, sides, name)
        self._changed()
        self.written.equations[name] = Equation(name, residual)

    def invariant(self, name: str, left: object, right: object = ...) -> None:
        """Declare a quantity that the solutions keep: `left == right`; a single argument as in `equation`.

        The equations imply it, so it needs no unknown: the norm of a quaternion, an energy, a mass balance, or any
        surplus equation. It may contain states, time and parameters. Every step of an explicit or implicit method is
        projected onto it, and `analyse` and `tr.drift()` list it. The start must satisfy it, and free start values are
        computed from it. If the equations do not keep it, you get an error with its rate of change.

        Example
        -------
        >>> import daedalus as dd, casadi as ca
        >>> m = dd.Model("orbit")
        >>> x = m.state("x", 2, start=[1, 0])
        >>> m.equation(m.der(x), [x[1], -x[0]])
        >>> m.invariant("radius", ca.sumsqr(x) - 1)
        >>> bool(dd.simulate(m, 20.0, rtol=1e-3).drift()["radius"] < 1e-14)
        True
        """
        self._check_equation_name(name, "invariant", 'm.invariant("norm", ca.sumsqr(q) - 1)')
        residual, sides = self._residual(left, right, name, "invariant")
        self._check_residual(residual, sides, name, "invariant")
        for found, k, _ in self._check_symbols(residual, f"Invariant {name!r}"):
            kind = "time" if found == "t" else self.written.variables[found].kind
            if kind in ("algebraic", "input"):
                label = self.written.variables[found].label(k)
                raise ModelError(
                    f"Invariant {name!r} contains {label}.",
                    f"{label} is {with_article(kind)}",
                    because="runs are held to an invariant by moving their states.",
                    remedy="states, time and parameters in it, or m.equation(...) with one unknown more",
                )
        self._keep(name, residual, Role.DECLARED)

    def _check_equation_name(self, name: object, what: str, example: str) -> None:
        """Refuse what is not a text, and names of other equations and invariants."""
        if not isinstance(name, str) or not name:
            raise ModelError(
                f"The name of an {what} is a text.",
                f"got {name!r}",
                because=f"errors and results use the name of an {what}.",
                remedy=example,
            )
        for kind, known in (("equation", self.written.equations), ("invariant", self.written.invariants)):
            if name in known:
                raise ModelError(
                    f"The {kind} name {name!r} is taken.",
                    f"it stands for {expression_text(known[name].residual[0], self.written.labels())} = 0",
                    because=f"errors and results use the name of an {kind}.",
                    remedy="another name=" if what == "equation" else "another name for the invariant",
                )

    def _residual(self, left: object, right: object, name: str, what: str = "equation") -> tuple[ca.SX, list[ca.SX]]:
        """The components below each other, equalities as differences, and the two sides if there are two."""
        where = f"{what.capitalize()} {name!r}"
        if has_three_axes(left) or has_three_axes(right):
            left, right = sides_of_arrays(left, right, where)
        if right is ...:
            rows = left if isinstance(left, (list, tuple)) and len(left) else [left]
            whole = concatenate(as_expression(row, where, EQUATION_REMEDY) for row in rows)
            many = self._many_components(whole)
            differences = None if many is None or not many.has_equality else many.differences()
            if differences is not None:
                return differences, []
            residuals, found = ([], False) if many is not None and not many.has_equality else split_equalities(whole)
            return (column(ca.vertcat(*residuals)) if found else whole), []
        one, two = (as_expression(side, where, EQUATION_REMEDY) for side in (left, right))
        sides = [one, two]
        if one.shape != two.shape:
            # A constant fills a vector; anything else must fit.
            if two.is_scalar() and two.is_constant():
                two = ca.repmat(two, *one.shape)
            elif one.is_scalar() and one.is_constant():
                one = ca.repmat(one, *two.shape)
            else:
                raise ModelError(
                    f"The two sides of {what} {name!r} have different shapes.",
                    f"left {size_text(one)}, right {size_text(two)}",
                    because="each component of the left side equals one of the right side; a list is a column.",
                    remedy="write as many components on both sides",
                )
        return column(dense(one - two)), sides

    def _check_residual(self, whole: ca.SX, sides: Sequence[ca.SX], name: str, what: str = "equation") -> None:
        """Refuse components that are no equations; shared subexpressions are looked at once, not per component."""

        def where(k: int) -> str:
            single = whole.numel() == 1
            return f"{what.capitalize()} {name!r}" if single else f"Component {k} of {what} {name!r}"

        many = self._many_components(whole)
        if many is None or many.has_equality:
            _check_sides(sides, name, what)
        if many is not None:
            for k in many.suspects(NOT_EQUATED):
                _check_form(whole[k], where(k))
            depends = many.depends.tolist()
        else:
            residuals = elements(whole)
            for k, residual in enumerate(residuals):
                if operation(residual) in NOT_EQUATED:
                    _check_form(residual, where(k))
            try:
                seen = self._check_symbols(whole, f"{what.capitalize()} {name!r}")
            except ModelError:
                for k, residual in enumerate(residuals):
                    self._check_symbols(residual, where(k))
                raise
            if has_nan(whole):
                raise nan_inside(next(where(k) for k, residual in enumerate(residuals) if has_nan(residual)))
            unknowns = [
                self.written.scalars[n, o][k]
                for n, k, o in seen
                if n != "t" and self.written.variables[n].kind in UNKNOWNS
            ]
            depends = [bool(unknowns)] * len(residuals)
            if unknowns and len(residuals) > 1:
                depends = ca.which_depends(whole, ca.vertcat(*unknowns), 1, True)
        if not all(depends):
            k = depends.index(False)
            raise self._without_unknown(whole[k], where(k))

    def _many_components(self, whole: ca.SX) -> ManyComponents | None:
        """What stands in many components, without a look at single symbols; None where they are few, where a symbol is
        not the model's, and where a NaN stands in them."""
        if whole.numel() < MANY_COMPONENTS or 32 * whole.numel() < sum(v.size for v in self.written.variables.values()):
            return None
        kinds = {name: v.kind for name, v in self.written.variables.items()}
        unknown = [symbol for name, symbol in self.written.symbols.items() if kinds[name] in UNKNOWNS]
        unknown += [symbol for chain in self.written.derivatives.values() for symbol in chain]
        others = [symbol for name, symbol in self.written.symbols.items() if kinds[name] not in UNKNOWNS]
        return many_components(whole, concatenate(unknown), concatenate([self.written.time, *others]))

    def _without_unknown(self, residual: ca.SX, where: str) -> ModelError:
        names = sorted({self.written.label(*self.written.known[symbol_key(s)]) for s in ca.symvar(residual)})
        return ModelError(
            f"{where} contains no unknown.",
            f"it contains only {', '.join(names[:6])}",
            because="an equation determines a state, a derivative or an algebraic variable.",
            remedy="declare one of them with m.algebraic(...)",
        )


def _check_sides(sides: Sequence[ca.SX], name: str, what: str) -> None:
    """Refuse an equality inside a left or a right side."""
    if any(not side.is_valid_input() and split_equalities(side)[1] for side in sides):
        raise ModelError(
            f"{what.capitalize()} {name!r} has an == inside a left and a right side.",
            because="the comma already stands for the equality.",
            remedy="m.equation(a == b) or m.equation(a, b)"
            if what == "equation"
            else f"m.invariant({name!r}, a == b) or m.invariant({name!r}, a, b)",
        )


def _check_form(residual: ca.SX, where: str) -> None:
    """Refuse inequalities, logic and what folded to a constant."""
    if is_inequality(residual) or is_logical(residual):
        raise ModelError(
            f"{where} is {'an inequality' if is_inequality(residual) else 'a logical expression'}.",
            because="a model is made of equations; bounds belong to lower=, upper= or an event.",
            remedy="m.event(...) where something switches",
        )
    if residual.is_constant():
        value = float(residual)
        meaning = {0.0: "it says nothing", 1.0: "it is a comparison that always holds, or can never be zero"}
        raise ModelError(
            f"{where} simplified to the constant {value:g}.",
            f"it contains no symbol, so {meaning.get(value, 'it can never hold')}",
            because="both sides are the same, or Python evaluated the comparison before the model saw it.",
            remedy=EQUATION_REMEDY,
        )
