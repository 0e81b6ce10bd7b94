"""All that is written in a model: its variables with their symbols and derivatives, equations, outputs, events, parts.

A notebook has one (`m.written`). The doors of a model write in it; other rooms read it, and write in those of models
that they make.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from daedalus.model.assembly.ledger import Ledger
from daedalus.model.assembly.written_assembly import WrittenAssembly
from daedalus.model.drawing.sketch import Sketch
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.expressions import column, symbol_key
from daedalus.model.lazy_values import cached_property
from daedalus.model.mechanics.written_mechanics import WrittenMechanics
from daedalus.model.names import Shape, derivative_name, element_label, element_labels, matrix_of_shape
from daedalus.model.system.equation_row import EquationRow, Role, common_name, free_name, rows_of, together
from daedalus.model.system.equation_rows import MANY_ROWS, ComponentRows
from daedalus.model.system.state_choice import StateChoice
from daedalus.model.system.symbol_places import LARGE_ARRAY, Elements, SymbolPlaces
from daedalus.model.variables import PLAIN, Manner, Variable

Outline = tuple[str, tuple[EquationRow, ...], Role]


@dataclass(frozen=True)
class Equation:
    """One equation, or something that solutions keep at zero, 0 = residual, possibly with several components.

    origins: where each component comes from; empty for what was written under this very name. role: then what it is.
    """

    name: str
    residual: ca.SX
    origins: tuple[EquationRow, ...] = ()
    role: Role = Role.WRITTEN

    @cached_property
    def rows(self) -> Sequence[EquationRow]:
        """Where each component comes from, with the label that it has under this name."""
        count = int(self.residual.numel())
        if not self.origins and count >= MANY_ROWS:
            return ComponentRows(self.name, count, self.role)
        labels = element_labels(self.name, () if count == 1 else (count,))
        if not self.origins:
            return rows_of(self.name, labels, self.role)
        return tuple(replace(row, label=label) for row, label in zip(self.origins, labels, strict=True))

    def outline(self) -> Outline:
        """All but the expression, for copies, parts and files."""
        return self.name, self.origins, self.role

    @staticmethod
    def of(outline: Outline, residual: ca.SX, prefix: str = "") -> Equation:
        """The equation of an outline, possibly inside another model, where names have a prefix."""
        name, origins, role = outline
        return Equation(prefix + name, residual, tuple(row.prefixed(prefix) for row in origins), role)


@dataclass(frozen=True)
class WrittenEvent:
    """One written event: when `guard` passes zero, `resets` (name -> new value) apply together."""

    name: str
    guard: ca.SX
    direction: int
    resets: dict[str, ca.SX]
    terminal: bool
    purpose: EventPurpose = EventPurpose.MODEL
    manner: Manner = PLAIN


class Written:
    """The record behind a notebook; nothing is checked here, and whoever changes it tells the notebook."""

    def __init__(self) -> None:
        self.time = ca.SX.sym("t")
        self.variables: dict[str, Variable] = {}
        self.symbols: dict[str, ca.SX] = {}
        self.derivatives: dict[str, list[ca.SX]] = {}
        self.equations: dict[str, Equation] = {}
        self.outputs: dict[str, ca.SX] = {}
        self.output_units: dict[str, str] = {}  # also of variables that became outputs
        self.on_request: set[str] = set()  # outputs and unknowns that pictures show if asked
        self.events: dict[str, WrittenEvent] = {}
        self.invariants: dict[str, Equation] = {}
        self.choices: tuple[StateChoice, ...] = ()
        self.mechanics = WrittenMechanics()
        self.sketch = Sketch()
        self.assembly = WrittenAssembly()
        self.aliases: dict[str, str] = {}  # further names of variables and of their derivatives
        self.ledger: Ledger | None = None
        self.reset_labels()

    def copied(self) -> Written:
        """The same under the same symbols.

        Both have one chain of derivatives: what one of them makes later is the other's too.
        """
        twin = Written.__new__(Written)
        twin.time = self.time
        states = [v.name for v in self.variables.values() if v.kind == "state"]
        twin.derivatives = {name: self.derivatives.setdefault(name, []) for name in states}
        twin.variables, twin.symbols = dict(self.variables), dict(self.symbols)
        twin.known, twin.scalars = self.known.copied(), dict(self.scalars)
        for name in twin.derivatives:
            twin.register_chain(name)
        twin.equations, twin.invariants = dict(self.equations), dict(self.invariants)
        twin.outputs, twin.output_units = dict(self.outputs), dict(self.output_units)
        twin.on_request, twin.events = set(self.on_request), dict(self.events)
        twin.choices, twin.ledger, twin.aliases = self.choices, self.ledger, dict(self.aliases)
        twin.mechanics, twin.sketch = self.mechanics.copy(), self.sketch.copy()
        twin.assembly = self.assembly.copy()
        return twin

    # -- symbols -----------------------------------------------------------------------------------------------

    def reset_labels(self, time: ca.SX | None = None) -> None:
        """Know no symbol but the time; `time`: under a symbol that exists."""
        self.time = self.time if time is None else time
        # symbol key -> (variable name, element, order of derivative)
        self.known = SymbolPlaces()
        self.scalars: dict[tuple[str, int], Sequence[ca.SX]] = {}
        self.register("t", self.time, 0, ())

    def enter(self, variable: Variable, symbol: ca.SX) -> None:
        """Put a checked description under a symbol that nobody else writes in."""
        self.variables[variable.name] = variable
        self.symbols[variable.name] = symbol
        self.register(variable.name, symbol, 0, variable.shape)

    def register(self, name: str, symbol: ca.SX, order: int, shape: Shape) -> None:
        """Know the elements of a symbol."""
        self.scalars[name, order] = [symbol] if shape == () else Elements(symbol)
        self.known.enter(name, symbol, order)

    def register_chain(self, name: str) -> None:
        """Know every derivative of a state, also those that a copy of this model made."""
        for order, symbol in enumerate(self.derivatives[name], 1):
            if (name, order) not in self.scalars:
                self.register(name, symbol, order, self.variables[name].shape)

    def forget(self, name: str) -> None:
        """Take a variable out again, with all that was noted of its symbols."""
        self.variables.pop(name, None)
        self.symbols.pop(name, None)
        for order in range(len(self.derivatives.pop(name, [])) + 1):
            for scalar in self.scalars.pop((name, order), []):
                self.known.pop(symbol_key(scalar))

    def derivative_symbol(self, name: str, order: int) -> ca.SX:
        """The symbol of the order-th time derivative of a state, made on first use."""
        chain = self.derivatives.setdefault(name, [])
        variable = self.variables[name]
        while len(chain) < order:
            chain.append(new_symbol(derivative_name(name, len(chain) + 1), variable.shape))
        self.register_chain(name)
        return self.symbols[name] if order == 0 else chain[order - 1]

    def derivative_scalar(self, name: str, k: int, order: int) -> ca.SX:
        """Element k of the order-th derivative of a state."""
        self.derivative_symbol(name, order)
        return self.scalars[name, order][k]

    # -- names -------------------------------------------------------------------------------------------------

    def first_keys(self) -> dict[str, int]:
        """The keys of the symbols of all variables, of vectors those of their first elements."""
        return {name: key for key, (name, k, order) in self.known.items() if not k and not order}

    def free_name(self, wanted: str) -> str:
        """A name that nothing in the model has."""
        while wanted in self.variables or wanted in self.outputs or wanted in self.events:
            wanted += "_"
        return wanted

    def labels(self) -> dict[int, str]:
        """Symbol key -> the user's name, for printing."""
        return {key: self.label(*place) for key, place in self.known.items()}

    def label(self, name: str, k: int, order: int) -> str:
        """The user's name of an element of a variable or of its derivative."""
        shape = () if name == "t" else self.variables[name].shape
        return element_label(derivative_name(name, order), shape, k)


def new_symbol(label: str, shape: Shape) -> ca.SX:
    """A symbol whose elements print as users write them: `x[0]`, not CasADi's `x_0`."""
    if shape == ():
        return ca.SX.sym(label)
    rows, columns = matrix_of_shape(shape)
    if rows * columns >= LARGE_ARRAY:
        return ca.SX.sym(label, rows, columns)  # one by one takes longer than all that follows; names come from labels
    scalars = [ca.SX.sym(element_label(label, shape, k)) for k in range(rows * columns)]
    together = ca.vertcat(*scalars)
    return together if columns == 1 else ca.reshape(together, rows, columns)


def by_equation(
    rows: Sequence[EquationRow], residuals: Sequence[ca.SX], taken: Iterable[str] = ()
) -> dict[str, Equation]:
    """Scalar rows collected into columns by the equation they are components of, under names that are not taken."""
    found: dict[str, Equation] = {}
    names, k = set(taken), 0
    while k < len(rows):
        count = together(rows, k)
        own = tuple(rows[k : k + count])
        name = free_name(common_name(own), names)
        names.add(name)
        found[name] = Equation(name, column(ca.vertcat(*residuals[k : k + count])), own)
        k += count
    return found
