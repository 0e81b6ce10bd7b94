"""Door 4, second half: parts inside a model, `m.add` and `m.include`, and what joins them, `m.connect`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.assembly.component import Component
from daedalus.model.assembly.connecting import check_ports, check_signals
from daedalus.model.assembly.handle import Handle
from daedalus.model.assembly.port import Port
from daedalus.model.assembly.signed_terms import sums_of
from daedalus.model.assembly.tree_text import tree_text
from daedalus.model.assembly.written_assembly import Connection, PartNote, SumRows
from daedalus.model.doors.ports import PortDoor
from daedalus.model.expressions import concatenate, dense, symbol_key
from daedalus.model.input_rates import join_rates, with_rates
from daedalus.model.names import check_name, did_you_mean
from daedalus.model.notebook import shaped_like
from daedalus.model.variables import Variable, make_variable
from daedalus.model.written import new_symbol


class PartDoor(PortDoor):
    """Put parts into a model and join them."""

    def include(
        self,
        prefix: str,
        other: Any,
        *,
        inputs: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> Handle:
        """Put a model inside this one. Its names get the prefix and its symbols are new: `m["left.x"]`.

        Returns a handle: `left.x`, `left.port`. Inputs that you do not connect stay inputs, `left.u`.

        Parameters
        ----------
        inputs: expressions of this model that replace inputs of `other`, by name. To connect two models in a loop, use
            `m.connect` later.
        parameters: expressions or numbers that replace its parameters.

        Example
        -------
        >>> import daedalus as dd
        >>> tank = dd.Model("tank")
        >>> h = tank.state("h", start=1.0); q = tank.input("q")
        >>> tank.equation(tank.der(h), q - h)
        >>> m = dd.Model("two tanks")
        >>> upper = m.include("upper", tank, inputs={"q": 0.0})
        >>> lower = m.include("lower", tank)
        >>> m.connect(upper.h, lower.q)
        >>> list(m.variables)
        ['upper.h', 'lower.h', 'lower.q']
        """
        check_name(prefix, "part")
        if not isinstance(other, PartDoor):
            raise ModelError(
                "include takes a Model.",
                f"got {type(other).__name__}",
                because="only a model has names and equations.",
                remedy='m.include("part", model)',
            )
        bound = self._bindings(other, inputs or {}, "input") | self._bindings(other, parameters or {}, "parameter")
        self._put_in(prefix, other, bound, {}, PartNote(other.name, strict=False))
        return Handle(self, prefix)

    def add(self, part: Any, name: str | None = None, *, nominal: Mapping[str, float] | None = None) -> Handle:
        """Add a component to the model: one of `dd.components`, or your own model with ports.

        Returns a handle with its ports, variables and inner components. Expressions in the keywords of a component use
        the symbols of this model.

        Parameters
        ----------
        part: `dd.components.electrical.Resistor("r1", resistance=100.0)`, a Model, or a function that makes one.
        name: its name in this model; by default its own name.
        nominal: typical sizes of its variables, for example `{"current": 1e-3}` in a circuit of milliamperes. They
        scale the tolerances.

        Example
        -------
        >>> import daedalus as dd
        >>> C = dd.components
        >>> m = dd.Model("RC")
        >>> source = m.add(C.electrical.VoltageSource("source", voltage=1.0))
        >>> r = m.add(C.electrical.Resistor("r", resistance=1.0))
        >>> c = m.add(C.electrical.Capacitor("c", capacitance=1.0))
        >>> ground = m.add(C.electrical.Ground("ground"))
        >>> m.connect(source.plus, r.plus); m.connect(r.minus, c.plus)
        >>> m.connect(source.minus, c.minus, ground.pin)
        >>> round(float(dd.simulate(m, 1.0)["c.voltage"][-1]), 4)
        0.6321
        """
        if isinstance(part, type) and issubclass(part, Component):
            raise part._misused()
        if callable(part) and not isinstance(part, (PartDoor, Component)):
            part = part()
        if isinstance(part, Component):
            path = part.name if name is None else name
            check_name(path, "part")
            template = part.template(self._blank)
            bound, values = self._read_keywords(path, part, template)
            values |= _with_sizes(path, template, nominal)
            self._put_in(path, template, bound, values, PartNote(part.title(), ideal=part.ideal))
            for word, expression in bound.items():
                self.written.outputs[f"{path}.{word}"] = expression
                self.written.output_units[f"{path}.{word}"] = template.written.variables[word].unit
                self.written.assembly.driven.add(f"{path}.{word}")
            return Handle(self, path)
        if not isinstance(part, PartDoor):
            raise ModelError(
                "add takes a part.",
                f"got {type(part).__name__}",
                because="a part is one of dd.components, or a Model with ports.",
                remedy='m.add(dd.components.electrical.Ground("ground"))',
            )
        if part is self:
            raise ModelError(
                f"The model {self.name!r} cannot be a part of itself.",
                "it is to be added to itself",
                because="a part must be complete before it is added.",
                remedy='m.include("copy", m) for a copy of the model inside itself',
            )
        path = part.name if name is None else name
        check_name(path, "part")
        self._put_in(path, part, {}, _with_sizes(path, part, nominal), PartNote(part.name if path != part.name else ""))
        return Handle(self, path)

    def connect(self, *ends: Any) -> None:
        """Connect ports of one domain, or one signal to inputs of components.

        Connected ports share their voltage, position, pressure or temperature. Their currents, forces, flows or heat
        flows add up to zero. For signals, one end is the source (an output, a variable or any expression), and the
        others are inputs of components.

        Example
        -------
        >>> import daedalus as dd
        >>> C = dd.components
        >>> m = dd.Model("two springs in a row")
        >>> wall = m.add(C.translational.Ground("wall"))
        >>> a = m.add(C.translational.Spring("a", stiffness=2.0))
        >>> mass = m.add(C.translational.Mass("mass", mass=1.0))
        >>> m.connect(wall.flange, a.flange_a); m.connect(a.flange_b, mass.flange)
        >>> round(float(dd.simulate(m, 1.0, start={"mass.position": 1.0})["mass.position"][-1]), 4)
        0.1559
        """
        ports = [end for end in ends if isinstance(end, Port)]
        if len(ports) == len(ends) and ends:
            check_ports(self, ports)
            self._changed()
            self.written.assembly.connections.append(Connection("", tuple(port._note.name for port in ports)))
            return
        source, targets = check_signals(self, ends)
        self._changed()
        for name in targets:
            self.written.assembly.sources[name] = source
            join_rates(self, name, self.der)  # type: ignore[attr-defined]

    def diagram(self, path: str | None = None) -> str:
        """Draw the components and their connections, with one colour per domain. Writes SVG to `path` and returns it as
        text.

        Example
        -------
        >>> import daedalus as dd
        >>> C = dd.components.electrical
        >>> m = dd.Model("lamp")
        >>> battery, lamp = m.add(C.VoltageSource("battery", voltage=12.0)), m.add(C.Resistor("lamp", resistance=6.0))
        >>> m.connect(battery.plus, lamp.plus); m.connect(battery.minus, lamp.minus)
        >>> m.diagram()[:4]
        '<svg'
        """
        from daedalus.display.diagram import diagram

        return diagram(self, path)

    def __str__(self) -> str:
        return tree_text(self) if self.written.assembly.parts else super().__str__()

    # -- writing a part ----------------------------------------------------------------------------------------

    if TYPE_CHECKING:  # what the model itself has, below all its doors

        def _blank(self, name: str) -> Any:
            """An empty model, for the templates of ready parts and for what connections come to."""

        def _layout(self) -> dict[str, Any]: ...

        def _write_expressions(self, layout: dict[str, Any], prefix: str = "") -> None: ...

    def _read_keywords(
        self, path: str, part: Component, template: PartDoor
    ) -> tuple[dict[str, ca.SX], dict[str, Variable]]:
        """Expressions that take the place of parameters, and descriptions of the others with their values."""
        bound: dict[str, ca.SX] = {}
        values: dict[str, Variable] = {}
        for word, value in part.values.items():
            if value is None:
                continue
            keyword, word = word, part.symbol(word)
            if isinstance(value, ca.SX) and not value.is_constant():
                where = f"{word}= of {path}"
                bound[word] = self._scalar(value, where, "a part has one such quantity.", "one component of it")
                continue
            number = ca.DM(value) if isinstance(value, ca.SX) else value
            described = template.written.variables[word]
            if type(number) is float:
                values[word] = replace(described, start=(number,))
            else:
                own = make_variable(f"{path}.{word}", "parameter", (), start=number, unit=described.unit)
                part.check_number(keyword, float(own.start[0] or 0.0))
                values[word] = replace(own, nominal=described.nominal)
        return bound, values

    def _put_in(
        self, prefix: str, other: PartDoor, bound: Mapping[str, ca.SX], values: Mapping[str, Variable], note: PartNote
    ) -> None:
        """Take in the variables, equations and everything else of a part, all of it or nothing."""
        if prefix in self.written.assembly.parts:
            title = self.written.assembly.parts[prefix].title
            raise ModelError(
                f"The name {prefix!r} is taken.",
                f"it is already a part of the model {self.name!r}{f', {title}' if title else ''}",
                because="every name in a model is unique.",
                remedy=f"another name, such as {prefix + '_2'!r}",
            )
        for name in (prefix, *(f"{prefix}.{name}" for name in _names_of(other) if name not in bound)):
            self._check_free(name, "part")
        for name in other.written.equations:
            if f"{prefix}.{name}" in self.written.equations:
                raise ModelError(
                    f"The equation name {f'{prefix}.{name}'!r} is taken.",
                    f"the model {self.name!r} has an equation of that name",
                    because="errors and results use the name of an equation.",
                    remedy="another name for the part",
                )
        try:
            self._write_part(other, prefix, bound, values)
        except ModelError:
            for name in other.written.variables:
                if name not in bound:
                    self._forget(f"{prefix}.{name}")
            raise
        written = self.written.assembly
        written.parts[prefix] = note
        if note.strict:
            unknowns = [
                v for v in other.written.variables.values() if v.kind in ("state", "algebraic") and v.shape == ()
            ]
            written.fluid.update(f"{prefix}.{v.name}" for v in unknowns)

    def _write_part(
        self, other: PartDoor, prefix: str, bound: Mapping[str, ca.SX], values: Mapping[str, Variable]
    ) -> None:
        """Declare the variables of a part, then write everything else of it in the new symbols."""
        translated = other._translator()
        new, chains = [self.written.time], {name: len(chain) for name, chain in other.written.derivatives.items()}
        self._changed()
        for name, variable in list(other.written.variables.items()):
            if name in bound:
                new.append(bound[name])
            else:
                own = values.get(name, variable).renamed(f"{prefix}.{name}")
                symbol = new_symbol(own.name, own.shape)
                self.written.enter(own, symbol)
                new.append(symbol)
            for order in range(1, chains.get(name, 0) + 1):
                new.append(self.written.derivative_symbol(f"{prefix}.{name}", order))
        layout, sums = translated(new)
        if not bound:
            self.written.assembly.sums[prefix] = sums
        else:
            for (name, *_), residual in zip(layout["equations"], layout["expressions"]):
                self._check_residual(residual, (), f"{prefix}.{name}")  # type: ignore[attr-defined]
        self._write_expressions(layout, prefix + ".")
        for name in self._moved_quantities(other, bound):
            del self.written.outputs[f"{prefix}.{name}"]
            self.written.on_request.discard(f"{prefix}.{name}")

    def _moved_quantities(self, other: PartDoor, bound: Mapping[str, ca.SX]) -> list[str]:
        """Quantities of a part whose capacitance, mass, ... varies: C v is no charge there, since i = C v'."""
        moved = [other.written.symbols[name] for name, value in bound.items() if not self._is_steady(value)]
        if not moved:
            return []
        column = concatenate(ca.vec(symbol) for symbol in moved)
        outputs = other.written.outputs
        return [
            name
            for name in sorted(other.written.on_request)
            if name in outputs and ca.depends_on(outputs[name], column)
        ]

    def _is_steady(self, value: ca.SX) -> bool:
        """Whether an expression contains parameters only."""
        known = (self.written.known.get(symbol_key(symbol), ("", 0, 0))[0] for symbol in ca.symvar(value))
        return all(
            name in self.written.variables and self.written.variables[name].kind == "parameter" for name in known
        )

    def _translator(self) -> Callable[[list[ca.SX]], tuple[dict[str, Any], dict[str, SumRows]]]:
        """Gives all that is written now in other symbols: of time, then of each variable and its derivatives.

        With it the equations as signed sums, in the names of this model.

        The function behind it is kept until the notebook changes: a ready part is put in many times.
        """
        chains = sum(map(len, self.written.derivatives.values()))
        if self._translation is None or self._translation[0] != chains:
            old = [self.written.time]
            for name, symbol in self.written.symbols.items():
                old += [symbol, *self.written.derivatives.get(name, ())]
            layout = self._layout()
            function = ca.Function("notebook", old, [dense(e) for e in layout["expressions"]])
            self._translation = chains, function, layout, sums_of(self)
        _, function, layout, sums = self._translation
        return lambda new: ({**layout, "expressions": function.call(new)}, sums)

    def _bindings(self, other: PartDoor, given: Mapping[str, object], kind: str) -> dict[str, ca.SX]:
        bound = {}
        for name, value in given.items():
            variable = other.written.variables.get(name)
            known = [v.name for v in other.written.variables.values() if v.kind == kind]
            if variable is None or variable.kind != kind:
                raise ModelError(
                    f"The model {other.name!r} has no {kind} {name!r}.",
                    f"it has {', '.join(known[:8])}" if known else f"it has no {kind}s",
                    because=f"{kind}s= binds the {kind}s of the part.",
                    remedy=did_you_mean(name, known),
                )
            where = f"The {kind} {name!r} of {other.name!r}"
            expression = self._expression(value, where)
            bound[name] = shaped_like(
                other.written.symbols[name], expression, where, "every element takes one value.", numbers_alone=True
            )
        if kind == "parameter" or not bound:
            return bound
        own = [v.name for v in other.written.variables.values() if v.kind == kind]
        return with_rates(own, bound, self.der)  # type: ignore[attr-defined]


def _names_of(part: PartDoor) -> tuple[str, ...]:
    """What a part brings along by name."""
    return (*part.written.variables, *part.written.outputs, *part.written.events)


def _with_sizes(path: str, part: PartDoor, nominal: Mapping[str, float] | None) -> dict[str, Variable]:
    """The variables of a part that `nominal=` gives a usual size."""
    known = {v.name: v for v in part.written.variables.values() if v.kind in ("state", "algebraic")}
    found: dict[str, Variable] = {}
    for name, size in (nominal or {}).items():
        if name not in known:
            raise ModelError(
                f"The part {path} has no variable {name!r} to give a size.",
                f"it has {', '.join(list(known)[:12])}{', …' if len(known) > 12 else ''}",
                because="nominal= says how large the variables of a part usually are.",
                remedy=did_you_mean(name, known),
            )
        own = known[name]
        sized = make_variable(f"{path}.{name}", own.kind, own.shape, unit=own.unit, nominal=size)
        found[name] = replace(own, nominal=sized.nominal)
    return found
