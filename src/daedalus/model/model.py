"""The notebook one writes a dynamic system in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.doors.drawing import DrawingDoor
from daedalus.model.doors.equations import EquationDoor
from daedalus.model.drawing.sketch import Drawing
from daedalus.model.expressions import elements
from daedalus.model.mechanics.mechanics_part import Mechanics, motion_of
from daedalus.model.mechanics.motion_functions import MotionFunctions
from daedalus.model.names import check_name, did_you_mean
from daedalus.model.notebook import Equation, WrittenEvent, size_text
from daedalus.model.printing import expression_text
from daedalus.model.switching.events import EventDoor
from daedalus.model.system.formulas import expressions_of, formulas_of
from daedalus.model.system.freeze import freeze
from daedalus.model.system.system import System
from daedalus.model.variables import Variable


class Model(EquationDoor, EventDoor, DrawingDoor):
    """A dynamic system 0 = F(t, x', x, z, u, p), written down piece by piece.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator")
    >>> x = m.state("x", start=1.0, unit="m")
    >>> v = m.state("v", start=0.0, unit="m/s")
    >>> k = m.parameter("k", 4.0)
    >>> m.equation(m.der(x), v)
    >>> m.equation(m.der(v), -k * x)
    >>> m
    Model('oscillator': 2 states, 1 parameter, 2 equations)
    >>> tr = dd.simulate(m, 1.0)
    """

    def __init__(self, name: str = "model") -> None:
        super().__init__(name)

    # -- what is written ---------------------------------------------------------------------------------------

    @property
    def variables(self) -> dict[str, Variable]:
        """All variables by name, in order of declaration."""
        return dict(self._variables)

    @property
    def inputs(self) -> dict[str, Variable]:
        """The inputs by name."""
        return {n: v for n, v in self._variables.items() if v.kind == "input"}

    @property
    def parameters(self) -> dict[str, Variable]:
        """The parameters by name."""
        return {n: v for n, v in self._variables.items() if v.kind == "parameter"}

    @property
    def outputs(self) -> dict[str, ca.SX]:
        """The outputs by name."""
        return {n: ca.SX(v) for n, v in self._outputs.items()}

    @property
    def equations(self) -> dict[str, list[str]]:
        """The equations as text in the model's names."""
        return {
            name: [f"{expression_text(r, self._labels())} = 0" for r in elements(equation.residual)]
            for name, equation in self._all_equations().items()
        }

    def __repr__(self) -> str:
        counts = [
            (len([v for v in self._variables.values() if v.kind == kind]), kind)
            for kind in ("state", "algebraic", "input", "parameter")
        ]
        counts.append((sum(e.residual.numel() for e in self._all_equations().values()), "equation"))
        words = [f"{n} {word}{'' if n == 1 or word == 'algebraic' else 's'}" for n, word in counts if n]
        return f"Model({self.name!r}: {', '.join(words) or 'empty'})"

    # -- snapshots and copies ----------------------------------------------------------------------------------

    def freeze(self) -> System:
        """An immutable snapshot of the model, the same object until the next writing call.

        Raises a ModelError when the equations are too few or too many for the unknowns.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> m.freeze() is m.freeze()
        True
        """
        if self._frozen is None:
            self._frozen = freeze(self)
        return self._frozen

    def mechanics(self) -> MotionFunctions:
        """M, h, τ, G and γ of the equations of motion as functions, and the accelerations for given numbers.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("two masses")
        >>> x = m.coordinate("x", 2, start=[0.0, 1.0], rate=[0.0, 0.0])
        >>> m.kinetic_energy(0.5 * (2.0 * m.rate(x)[0] ** 2 + m.rate(x)[1] ** 2))
        >>> m.potential_energy(0.5 * 3.0 * (x[1] - x[0] - 0.5) ** 2)
        >>> m.mechanics().accelerations()["x_ddot"]
        array([ 0.75, -1.5 ])
        """
        return motion_of(self.freeze())

    def _parts(self) -> tuple[object, ...]:
        book = self._drawn_book()
        return (*super()._parts(), Mechanics(book if self._mechanics.positions else None), Drawing(book))

    def _drawn_book(self) -> Model | None:
        """A copy to draw results from; None where nothing moves and no shape was written."""
        return self.copy() if self._mechanics.positions or self._sketch.shapes else None

    def copy(self, name: str | None = None) -> Model:
        """A model of its own that shares the symbols, so that old expressions stay valid in both.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("a")
        >>> x = m.state("x", start=1.0)
        >>> n = m.copy("b")
        >>> n.equation(n.der(x), -x)
        >>> len(m.equations), len(n.equations)
        (0, 1)
        """
        twin = Model(self.name if name is None else name)
        twin._time = self._time
        twin._reset_labels()
        for variable in self._variables.values():
            twin._adopt(variable, self._symbols[variable.name])
        for state in self._variables.values():
            # One chain for both: a derivative that one of them makes later is the other's too.
            if state.kind == "state":
                twin._derivatives[state.name] = self._derivatives.setdefault(state.name, [])
                twin._register_chain(state.name)
        twin._equations = dict(self._equations)
        twin._outputs = dict(self._outputs)
        twin._events = dict(self._events)
        twin._invariants = dict(self._invariants)
        twin._choices = self._choices
        twin._mechanics = self._mechanics.copy()
        twin._sketch = self._sketch.copy()
        return twin

    def include(
        self,
        prefix: str,
        other: Model,
        *,
        inputs: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> None:
        """Put a model inside this one; its names get the prefix, its symbols are new: `m["left.x"]`.

        Parameters
        ----------
        inputs: expressions of this model, by input name, that take the place of inputs of `other`.
        parameters: expressions or numbers that take the place of its parameters.

        Example
        -------
        >>> import daedalus as dd
        >>> tank = dd.Model("tank")
        >>> h = tank.state("h", start=1.0); q = tank.input("q")
        >>> tank.equation(tank.der(h), q - h)
        >>> m = dd.Model("two tanks")
        >>> m.include("upper", tank, inputs={"q": 0.0})
        >>> m.include("lower", tank, inputs={"q": m["upper.h"]})
        >>> list(m.variables)
        ['upper.h', 'lower.h']
        """
        check_name(prefix, "part")
        if not isinstance(other, Model):
            raise ModelError(
                "include takes a Model.",
                f"got {type(other).__name__}",
                because="only a model brings names and equations along.",
                remedy='m.include("part", model)',
            )
        bound = self._bindings(other, inputs or {}, "input") | self._bindings(other, parameters or {}, "parameter")
        for name in (*other._variables, *other._outputs, *other._events):
            if name not in bound:
                self._check_free(f"{prefix}.{name}", "part")
        for name in other._equations:
            if f"{prefix}.{name}" in self._equations:
                raise ModelError(
                    f"The equation name {f'{prefix}.{name}'!r} is taken.",
                    f"the model {self.name!r} has an equation of that name",
                    because="errors and results speak of an equation by its name.",
                    remedy="another name for the part",
                )
        declared = [name for name in other._variables if name not in bound]
        try:
            self._write_part(other, prefix, bound)
        except ModelError:
            for name in declared:
                self._forget(f"{prefix}.{name}")
            raise

    def _write_part(self, other: Model, prefix: str, bound: Mapping[str, ca.SX]) -> None:
        """Declare the variables of a part, then write its equations, outputs and events in the new symbols."""
        old, new = [other._time], [self._time]
        for name, variable in list(other._variables.items()):
            old.append(other._symbols[name])
            new.append(bound[name] if name in bound else self._declare(variable.renamed(f"{prefix}.{name}")))
            for order, symbol in enumerate(other._derivatives.get(name, []), 1):
                old.append(symbol)
                new.append(self._derivative_symbol(f"{prefix}.{name}", order))
        layout = other._translated(old, new)
        for (name, *_), residual in zip(layout["equations"], layout["expressions"]):
            self._check_residuals(elements(residual), f"{prefix}.{name}")
        self._write_expressions(layout, prefix + ".")

    def _bindings(self, other: Model, given: Mapping[str, object], kind: str) -> dict[str, ca.SX]:
        bound = {}
        for name, value in given.items():
            variable = other._variables.get(name)
            known = [v.name for v in other._variables.values() if v.kind == kind]
            if variable is None or variable.kind != kind:
                raise ModelError(
                    f"The model {other.name!r} has no {kind} {name!r}.",
                    f"it has {', '.join(known[:8])}" if known else f"it has no {kind}s",
                    because=f"{kind}s= binds the {kind}s of the part.",
                    remedy=did_you_mean(name, known),
                )
            where = f"The {kind} {name!r} of {other.name!r}"
            expression, symbol = self._expression(value, where), other._symbols[name]
            if expression.is_scalar() and expression.is_constant():
                expression = ca.repmat(expression, *symbol.shape)
            if expression.shape != symbol.shape:
                raise ModelError(
                    f"{where} has the wrong shape.",
                    f"{size_text(symbol)} expected, {size_text(expression)} given",
                    because="every element takes one value.",
                    remedy="an expression of that shape, or one number",
                )
            bound[name] = expression
        return bound

    def _translated(self, old: list[ca.SX], new: list[ca.SX]) -> dict[str, Any]:
        """Everything written in this notebook, in other symbols."""
        layout = self._layout()
        function = ca.Function("notebook", old, layout["expressions"])
        return {**layout, "expressions": [ca.densify(e) for e in function.call(new)]}

    def _layout(self) -> dict[str, Any]:
        """Names in order plus the flat list of expressions that belongs to them."""
        events = list(self._events.values())
        return {
            "equations": [e.outline() for e in self._equations.values()],
            "outputs": list(self._outputs),
            "events": [(e.name, e.direction, e.terminal, list(e.resets), e.purpose) for e in events],
            "invariants": [kept.outline() for kept in self._invariants.values()],
            "choices": self._choices,
            "mechanics": self._mechanics.outline(),
            "sketch": self._sketch.outline(),
            "expressions": [
                *(e.residual for e in self._equations.values()),
                *self._outputs.values(),
                *(x for e in events for x in (e.guard, *e.resets.values())),
                *(kept.residual for kept in self._invariants.values()),
                *self._mechanics.expressions(),
                *self._sketch.expressions(),
            ],
        }

    def _write_expressions(self, layout: dict[str, Any], prefix: str = "") -> None:
        """The inverse of `_layout`: put equations, outputs and events into this notebook."""
        self._changed()
        rest = iter(layout["expressions"])
        for outline in layout["equations"]:
            equation = Equation.of(outline, next(rest), prefix)
            self._equations[equation.name] = equation
        for name in layout["outputs"]:
            self._outputs[prefix + name] = next(rest)
        for name, direction, terminal, targets, purpose in layout["events"]:
            guard = next(rest)
            resets = {prefix + target: next(rest) for target in targets}
            self._events[prefix + name] = WrittenEvent(prefix + name, guard, direction, resets, terminal, purpose)
        for outline in layout["invariants"]:
            kept = Equation.of(outline, next(rest), prefix)
            self._invariants[kept.name] = kept
        self._choices += tuple(choice.prefixed(prefix) for choice in layout.get("choices", ()))
        self._mechanics.add(layout["mechanics"], rest, prefix)
        if "sketch" in layout:
            self._sketch.add(layout["sketch"], rest, prefix)

    # -- pickling: expressions travel as plain formulas --------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        chains = {name: len(chain) for name, chain in self._derivatives.items()}
        symbols = [self._time, *self._symbols.values(), *(s for chain in self._derivatives.values() for s in chain)]
        layout = self._layout()
        return {
            **layout,
            "name": self.name,
            "variables": [replace(v) for v in self._variables.values()],
            "chains": chains,
            "expressions": formulas_of(symbols, layout["expressions"]),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["name"])  # type: ignore[misc]
        for variable in state["variables"]:
            self._declare(variable)
        for name, length in state["chains"].items():
            self._derivative_symbol(name, length)
        symbols = [self._time, *self._symbols.values(), *(s for chain in self._derivatives.values() for s in chain)]
        self._write_expressions({**state, "expressions": expressions_of(state["expressions"], symbols)})


def as_system(model: Model | System) -> System:
    """The snapshot of a model; a System is its own."""
    if isinstance(model, System):
        return model
    if isinstance(model, Model):
        return model.freeze()
    raise ModelError(
        "A model is expected here.",
        f"got {type(model).__name__}",
        because="every verb works on a Model or on the System that m.freeze() gives.",
        remedy="dd.simulate(m, ...) with m = dd.Model(...)",
    )
