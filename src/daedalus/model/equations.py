"""Door 1: a model written as equations 0 = F(t, x', x, z, u, p)."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.expressions import (
    BOOL_REMEDY,
    as_expression,
    column,
    concatenate,
    elements,
    is_inequality,
    nan_constants,
    split_equalities,
    symbol_key,
)
from daedalus.model.names import check_name, did_you_mean, shape_text
from daedalus.model.notebook import Equation, Notebook, WrittenEvent
from daedalus.model.variables import check_shape, make_variable

UNKNOWNS = ("state", "algebraic")


class EquationDoor(Notebook):
    """Declare variables, differentiate, write equations, outputs and events."""

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
        shape: `()` scalar, `n` column, `(rows, columns)` matrix.
        start: value at the start, given (not moved by any stage); one number fills every element, `None` inside a
            list leaves that element free.
        rate: value of the first derivative at the start, where the equations are of second order in this variable.
        unit: a label, see `dd.units`.
        nominal: the usual size; scales the absolute tolerance and Newton's residuals.
        lower, upper: bounds, for optimisation and as a check of `start`.

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
        dims = check_shape(shape, name)
        return self._declare(
            make_variable(
                name, "state", dims, start=start, rate=rate, unit=unit, nominal=nominal, lower=lower, upper=upper
            )
        )

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
        """Declare an unknown without a derivative; `start` is a guess. Keywords as in `state`.

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
        dims = check_shape(shape, name)
        return self._declare(
            make_variable(name, "algebraic", dims, start=start, unit=unit, nominal=nominal, lower=lower, upper=upper)
        )

    def input(
        self, name: str, shape: int | tuple[int, ...] = (), *, unit: str = "", nominal: object = 1.0,
        lower: object = None, upper: object = None,
    ) -> ca.SX:
        """Declare a signal from outside; its value comes with `simulate(..., inputs={name: ...})`.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("integrator")
        >>> x = m.state("x", start=0.0); u = m.input("u")
        >>> m.equation(m.der(x), u)
        >>> float(dd.simulate(m, 2.0, inputs={"u": 3.0})["x"][-1])
        6.0
        """
        check_name(name, "input")
        dims = check_shape(shape, name)
        return self._declare(
            make_variable(name, "input", dims, unit=unit, nominal=nominal, lower=lower, upper=upper)
        )

    def parameter(
        self, name: str, value: object = None, *, shape: int | tuple[int, ...] = (), unit: str = ""
    ) -> ca.SX:
        """Declare a constant of the model; the shape is that of `value` unless `shape` says otherwise.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("spring")
        >>> k = m.parameter("k", [1.0, 2.0], unit="N/m")
        >>> k.shape
        (2, 1)
        """
        check_name(name, "parameter")
        dims = check_shape(shape, name)
        if value is not None and dims == ():
            array = np.array(value.full() if hasattr(value, "full") else value, dtype=object)
            dims = check_shape(array.shape, name)
        return self._declare(make_variable(name, "parameter", dims, start=value, unit=unit))

    @property
    def time(self) -> ca.SX:
        """The symbol t."""
        return ca.SX(self._time)

    # -- derivatives -------------------------------------------------------------------------------------------

    def der(self, expression: object) -> ca.SX:
        """The time derivative of a state, or of any expression of states and time (chain rule).

        The derivative of a derivative is allowed: the model reduces itself to first order, `x_dot` then is a state.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("ball")
        >>> y = m.state("y", start=10.0, rate=0.0)
        >>> m.equation(m.der(m.der(y)), -9.81)
        >>> float(dd.simulate(m, 1.0)["y_dot"][-1])
        -9.81
        """
        value = as_expression(expression, "The argument of der")
        self._check_differentiable(value)
        scalars = elements(value)
        known = [self._known.get(symbol_key(s)) if s.is_symbolic() else None for s in scalars]
        if all(k is not None and k[0] != "t" and self._variables[k[0]].kind == "state" for k in known):
            # A state, or entries of states: their derivative symbols, without a detour through the chain rule.
            rates = [self._derivative_scalar(n, k, order + 1) for n, k, order in known]  # type: ignore[misc]
            return ca.reshape(ca.vertcat(*rates), *value.shape)
        return self._chain_rule(value)

    def _chain_rule(self, value: ca.SX) -> ca.SX:
        present = {self._known[symbol_key(s)] for s in ca.symvar(value)}
        moving = sorted({(n, o) for n, _, o in present if n != "t" and self._variables[n].kind == "state"})
        symbols = [self._time, *(self._derivative_symbol(n, o) for n, o in moving)]
        rates = [ca.SX(1), *(self._derivative_symbol(n, o + 1) for n, o in moving)]
        result = ca.jtimes(column(value), concatenate(symbols), concatenate(rates))
        return ca.reshape(ca.densify(result), *value.shape)

    def _check_differentiable(self, value: ca.SX) -> None:
        for name, k, _ in self._check_symbols(value, "The argument of der"):
            kind = "time" if name == "t" else self._variables[name].kind
            if kind in ("algebraic", "input"):
                label = self._variables[name].label(k)
                article = "an algebraic variable" if kind == "algebraic" else "an input"
                raise ModelError(
                    f"{label} has no derivative in this model.",
                    f"{label} is {article}",
                    because="only states have derivatives that the equations may use.",
                    remedy=f'm.state("{name}", ...) if its derivative is part of the equations',
                )

    # -- equations ---------------------------------------------------------------------------------------------

    def equation(self, left: object, right: object = None, *, name: str | None = None) -> None:
        """Write `left == right`; one argument means `left == 0`, or an equality `a == b`, or a list of these.

        Refused with the culprit named: shapes that differ, booleans, inequalities, symbols of other models, and
        equations (or single components) that folded to a constant.

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
            number = len(self._equations) + 1
            while f"equation_{number}" in self._equations:
                number += 1
            name = f"equation_{number}"
        where = f"Equation {name!r}"
        if not isinstance(name, str):
            raise ModelError("The name of an equation is a text.", f"got {name!r}", remedy='name="balance"')
        if name in self._equations:
            raise ModelError(f"The equation name {name!r} is taken.", remedy="another name=")
        residuals = self._residuals(left, right, where)
        self._check_residuals(residuals, name)
        self._changed()
        self._equations[name] = Equation(name, ca.vertcat(*residuals))

    def _residuals(self, left: object, right: object, where: str) -> list[ca.SX]:
        if right is None:
            rows = left if isinstance(left, (list, tuple)) else [left]
            scalars = [s for row in rows for s in elements(as_expression(row, where))]
            return split_equalities(ca.vertcat(*scalars))[0]
        one, two = as_expression(left, where), as_expression(right, where)
        if any(split_equalities(side)[1] for side in (one, two)):
            raise ModelError(
                f"{where} has an == inside a left and a right side.", remedy="m.equation(a == b) or m.equation(a, b)"
            )
        if one.shape != two.shape:
            # A constant fills a vector; anything else must fit.
            if two.is_scalar() and two.is_constant():
                two = ca.repmat(two, *one.shape)
            elif one.is_scalar() and one.is_constant():
                one = ca.repmat(one, *two.shape)
            else:
                raise ModelError(
                    f"The two sides of equation {where.split(' ', 1)[1]} have different shapes.",
                    f"left {_size_text(one)}, right {_size_text(two)}",
                    remedy="write as many components on both sides",
                )
        return elements(ca.densify(one - two))

    def _check_residuals(self, residuals: list[ca.SX], name: str) -> None:
        """Refuse components that are no equations; shared subexpressions are looked at once, not per component."""
        where = [f"Component {k} of equation {name!r}" for k in range(len(residuals))]
        if len(residuals) == 1:
            where = [f"Equation {name!r}"]
        for residual, place in zip(residuals, where):
            _check_form(residual, place)
        whole = ca.vertcat(*residuals)
        try:
            seen = self._check_symbols(whole, f"Equation {name!r}")
        except ModelError:
            for residual, place in zip(residuals, where):
                self._check_symbols(residual, place)
            raise
        for k in nan_constants(whole):
            raise ModelError(
                f"{where[k]} contains the constant NaN.",
                because="math.sin(x), float(x) and writing a symbol into a float array turn symbols into NaN.",
                remedy="np.sin or casadi.sin, and lists instead of np.zeros",
            )
        unknowns = [self._scalars[n, o][k] for n, k, o in seen if n != "t" and self._variables[n].kind in UNKNOWNS]
        rows = set(ca.jacobian_sparsity(whole, ca.vertcat(*unknowns)).row()) if unknowns else set()
        for k in range(len(residuals)):
            if k not in rows:
                raise self._without_unknown(residuals[k], where[k])

    def _without_unknown(self, residual: ca.SX, where: str) -> ModelError:
        names = sorted({self._owner.labels[symbol_key(s)] for s in ca.symvar(residual)})
        return ModelError(
            f"{where} contains no unknown.",
            f"it contains only {', '.join(names[:6])}",
            because="an equation determines a state, a derivative or an algebraic variable.",
            remedy="declare one of them with m.algebraic(...)",
        )

    # -- outputs and events ------------------------------------------------------------------------------------

    def output(self, name: str, expression: object) -> None:
        """Name a quantity that is evaluated along every result: `tr[name]`.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=2.0)
        >>> m.equation(m.der(x), -x)
        >>> m.output("energy", 0.5 * x**2)
        >>> float(dd.simulate(m, 1.0)["energy"][0])
        2.0
        """
        check_name(name, "output")
        self._check_free(name, "output")
        value = as_expression(expression, f"Output {name!r}")
        self._check_symbols(value, f"Output {name!r}")
        self._changed()
        self._outputs[name] = value

    def event(
        self,
        name: str,
        guard: object,
        *,
        direction: int = 0,
        reset: Mapping[str, object] | None = None,
        terminal: bool = False,
    ) -> None:
        """Let something happen when `guard` passes zero.

        Parameters
        ----------
        guard: scalar expression; the event is located where it is zero.
        direction: -1 falling, +1 rising, 0 both.
        reset: new values of states by name; all read the values before the event and apply together.
        terminal: the run ends at the event.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("ball")
        >>> h = m.state("h", start=1.0); v = m.state("v", start=0.0)
        >>> m.equation(m.der(h), v); m.equation(m.der(v), -9.81)
        >>> m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
        >>> tr = dd.simulate(m, 1.0)
        >>> tr.events[0].name, round(tr.events[0].time, 4)
        ('bounce', 0.4515)
        """
        check_name(name, "event")
        self._check_free(name, "event")
        value = as_expression(guard, f"The guard of event {name!r}")
        if not value.is_scalar():
            raise ModelError(f"The guard of event {name!r} is not a scalar.", _size_text(value), remedy="one event each")
        if is_inequality(value):
            value = value.dep(0) - value.dep(1)
        if value.is_constant():
            raise ModelError(f"The guard of event {name!r} is the constant {float(value):g}.", "it never passes zero")
        self._check_symbols(value, f"The guard of event {name!r}")
        if direction not in (-1, 0, 1):
            raise ModelError(f"The direction of event {name!r} is {direction!r}.", remedy="-1 falling, 1 rising, 0 both")
        resets = {target: self._reset_value(name, target, new) for target, new in (reset or {}).items()}
        self._changed()
        self._events[name] = WrittenEvent(name, value, int(direction), resets, bool(terminal))

    def _reset_value(self, event: str, target: str, new: object) -> ca.SX:
        where = f"The reset of {target} in event {event!r}"
        symbol = self._lookup(target)
        keys = [self._known.get(symbol_key(s)) for s in elements(symbol)] if symbol.is_valid_input() else [None]
        if any(k is None or k[0] == "t" or self._variables[k[0]].kind != "state" for k in keys):
            raise ModelError(
                f"{where} is not possible.",
                f"{target} is not a state",
                because="only states keep the value that an event gives them.",
                remedy=did_you_mean(target, [v.name for v in self._variables.values() if v.kind == "state"]),
            )
        value = as_expression(new, where)
        self._check_symbols(value, where)
        if value.is_scalar() and not symbol.is_scalar():
            value = ca.repmat(value, *symbol.shape)
        if value.shape != symbol.shape:
            raise ModelError(f"{where} has the wrong shape.", f"{_size_text(symbol)} expected, {_size_text(value)} given")
        return value


def _check_form(residual: ca.SX, where: str) -> None:
    """Refuse inequalities and what folded to a constant."""
    if is_inequality(residual):
        raise ModelError(
            f"{where} is an inequality.",
            because="a model is made of equations; bounds belong to lower=, upper= or an event.",
            remedy="m.event(...) where something switches",
        )
    if residual.is_constant():
        value = float(residual)
        fact = "it says nothing" if value == 0 else "it can never hold"
        raise ModelError(
            f"{where} folded to the constant {value:g}.",
            f"no symbol is left in it, so {fact}",
            because="both sides are the same, or Python evaluated the comparison before the model saw it.",
            remedy=BOOL_REMEDY,
        )


def _size_text(expression: ca.SX) -> str:
    rows, columns = expression.shape
    return shape_text(() if expression.is_scalar() else (rows,) if columns == 1 else (rows, columns))

