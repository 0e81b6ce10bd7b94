"""The notebook behind every door of a model: who is declared, under which symbol, and who may appear where."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.assembly.ledger import Ledger
from daedalus.model.assembly.written_assembly import WrittenAssembly
from daedalus.model.event_purpose import EventPurpose
from daedalus.model.expressions import (
    EXPRESSION_REMEDY,
    as_expression,
    column,
    elements,
    has_nan,
    nan_inside,
    plain_shape,
    symbol_key,
)
from daedalus.model.interrupts import weak_values
from daedalus.model.names import (
    Shape,
    check_name,
    derivative_name,
    did_you_mean,
    element_label,
    element_labels,
    flat_index,
    listed,
    shape_text,
    split_derivative,
    split_index,
    with_article,
)
from daedalus.model.system.equation_row import EquationRow, Role, common_name, free_name, rows_of, together
from daedalus.model.system.state_choice import StateChoice
from daedalus.model.system.symbol_places import LARGE_ARRAY, SymbolPlaces
from daedalus.model.system.system import System
from daedalus.model.variables import PLAIN, Manner, Variable

# All notebooks in use, oldest first, to say "x belongs to the model 'arm'" when it turns up in another one.
_BOOKS: weakref.WeakValueDictionary[int, Notebook] = weak_values()
_NUMBERS = itertools.count()


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

    @property
    def rows(self) -> tuple[EquationRow, ...]:
        """Where each component comes from, with the label that it has under this name."""
        count = int(self.residual.numel())
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


class Notebook:
    """Declared variables with their symbols and derivatives, and the checks that every door shares."""

    def __init__(self, name: str) -> None:
        self.name = str(name)
        self._frozen: System | None = None
        self._motion: dict[str, Equation] | None = None  # the equations of motion, until the next change
        self._time = ca.SX.sym("t")
        self._variables: dict[str, Variable] = {}
        self._symbols: dict[str, ca.SX] = {}
        self._derivatives: dict[str, list[ca.SX]] = {}
        self._equations: dict[str, Equation] = {}
        self._outputs: dict[str, ca.SX] = {}
        self._output_units: dict[str, str] = {}  # also of variables that became outputs
        self._on_request: set[str] = set()  # outputs that pictures show where they are asked for
        self._events: dict[str, WrittenEvent] = {}
        self._invariants: dict[str, Equation] = {}
        self._choices: tuple[StateChoice, ...] = ()
        self._assembly = WrittenAssembly()
        self._aliases: dict[str, str] = {}  # further names of variables and of their derivatives
        self._ledger: Ledger | None = None
        # For parts, until the next change.
        self._translation: tuple[int, ca.Function, dict[str, Any], dict[str, Any]] | None = None
        self._reset_labels()
        _BOOKS[next(_NUMBERS)] = self

    def _reset_labels(self) -> None:
        # symbol key -> (variable name, element, order of derivative)
        self._known = SymbolPlaces()
        self._scalars: dict[tuple[str, int], list[ca.SX]] = {}
        self._register("t", self._time, 0, ())

    # -- declaring ---------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """Called before every change of the notebook."""
        self._frozen = None
        self._motion = None
        self._translation = None

    def _check_free(self, name: str, what: str) -> None:
        written = self._assembly
        for kind, names in (
            ("output", self._outputs), ("event", self._events), ("variable", self._variables),
            ("part", written.parts), ("port", written.ports), ("further name", written.names),
        ):  # fmt: skip
            if name in names:
                taken = self._variables[name].kind if kind == "variable" else kind
                raise ModelError(
                    f"The name {name!r} is taken.",
                    f"it is already {with_article(taken)} of the model {self.name!r}",
                    because="every name in a model is unique.",
                    remedy=f"another name for the {what}",
                )
        if name in ("t", "time") and what != "part":  # names of a part are behind a dot
            raise ModelError(
                f"The name {name!r} is taken.",
                "it is the time of every model",
                because="every name in a model is unique.",
                remedy="m.time, or another name",
            )

    def _free_name(self, wanted: str) -> str:
        """A name that nothing in the model has."""
        while wanted in self._variables or wanted in self._outputs or wanted in self._events:
            wanted += "_"
        return wanted

    def _declare(self, variable: Variable) -> ca.SX:
        """Put a checked description into the notebook and return a copy of its new symbol."""
        check_name(variable.name, variable.kind)
        self._check_free(variable.name, variable.kind)
        return self._adopt(variable, new_symbol(variable.name, variable.shape))

    def _adopt(self, variable: Variable, symbol: ca.SX) -> ca.SX:
        """Put a checked description under a symbol that nobody else writes in, and return a copy of that."""
        self._changed()
        self._enter(variable, symbol)
        return +symbol

    def _enter(self, variable: Variable, symbol: ca.SX) -> None:
        """The same for many in a row, after `_changed`."""
        self._variables[variable.name] = variable
        self._symbols[variable.name] = symbol
        self._register(variable.name, symbol, 0, variable.shape)

    def _register(self, name: str, symbol: ca.SX, order: int, shape: Shape) -> None:
        self._scalars[name, order] = [symbol] if shape == () else elements(symbol)
        self._known.enter(name, symbol, order)

    def _share(self, other: Notebook) -> None:
        """Take in all variables of another notebook under their own symbols; this one has none yet.

        Both have one chain of derivatives: what one of them makes later is the other's too.
        """
        self._time = other._time
        for state in other._variables.values():
            if state.kind == "state":
                self._derivatives[state.name] = other._derivatives.setdefault(state.name, [])
        self._variables, self._symbols = dict(other._variables), dict(other._symbols)
        self._known, self._scalars = other._known.copied(), dict(other._scalars)
        for name in self._derivatives:
            self._register_chain(name)

    def _keys(self) -> dict[str, int]:
        """The keys of the symbols of all variables, of vectors those of their first elements."""
        return {name: key for key, (name, k, order) in self._known.items() if not k and not order}

    def _derivative_symbol(self, name: str, order: int) -> ca.SX:
        """The symbol of the order-th time derivative of a state, made on first use."""
        chain = self._derivatives.setdefault(name, [])
        variable = self._variables[name]
        while len(chain) < order:
            chain.append(new_symbol(derivative_name(name, len(chain) + 1), variable.shape))
        self._register_chain(name)
        return self._symbols[name] if order == 0 else chain[order - 1]

    def _register_chain(self, name: str) -> None:
        """Know every derivative of a state, also those that a copy of this model made."""
        for order, symbol in enumerate(self._derivatives[name], 1):
            if (name, order) not in self._scalars:
                self._register(name, symbol, order, self._variables[name].shape)

    def _derivative_scalar(self, name: str, k: int, order: int) -> ca.SX:
        """Element k of the order-th derivative of a state."""
        self._derivative_symbol(name, order)
        return self._scalars[name, order][k]

    def _forget(self, name: str) -> None:
        """Take a variable out again, with all that was noted of its symbols."""
        self._changed()
        self._variables.pop(name, None)
        self._symbols.pop(name, None)
        for order in range(len(self._derivatives.pop(name, [])) + 1):
            for scalar in self._scalars.pop((name, order), []):
                self._known.pop(symbol_key(scalar))

    def _keep(self, name: str, expression: ca.SX, role: Role = Role.INVARIANT) -> None:
        """Note what solutions keep at zero beside the equations."""
        self._changed()
        self._invariants[name] = Equation(name, expression, role=role)

    def _watched(self) -> dict[str, Equation]:
        """What solutions keep at zero without being held to it; a reduced model has such constraints."""
        return {}

    def _parts(self) -> tuple[object, ...]:
        """What a snapshot keeps of how it was made, see `System.part`."""
        return ()

    def _all_equations(self) -> dict[str, Equation]:
        """The written equations and those that other doors derive from what was written there."""
        return self._equations

    # -- looking up --------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> ca.SX:
        """The symbol (or output expression) of any name: `m["left.x"]`, `m["x[1]"]`, `m["x_dot"]`."""
        return +self._lookup(name)

    def __contains__(self, name: object) -> bool:
        try:
            self._lookup(str(name))
        except ModelError:
            return False
        return True

    def _lookup(self, name: str) -> ca.SX:
        if name in ("t", "time"):
            return self._time
        stem, index = split_index(str(name))
        if stem in self._assembly.names:
            variable, order = self._assembly.names[stem]
            return self._derivative_symbol(variable, order) if order else self._symbols[variable]
        if name in self._aliases:
            return self._lookup(self._aliases[name])
        if stem in self._aliases:
            return self._lookup(self._aliases[stem] + name[len(stem) :])
        if stem in self._symbols:
            symbol, shape = self._symbols[stem], self._variables[stem].shape
        elif stem in self._outputs:
            symbol = self._outputs[stem]
            shape = plain_shape(symbol)
        else:
            origin, order = split_derivative(stem)
            if order == 0 or origin not in self._variables or self._variables[origin].kind != "state":
                raise self._unknown(str(name))
            symbol, shape = self._derivative_symbol(origin, order), self._variables[origin].shape
        if index is None:
            return symbol
        position = flat_index(shape, index)
        if position is None:
            raise ModelError(
                f"{name} does not exist.",
                f"{stem} is {shape_text(shape)}",
                because="elements count from 0, rows before columns.",
                remedy=f"{element_label(stem, shape, 0)}",
            )
        return column(symbol)[position]

    def _unknown(self, name: str) -> ModelError:
        known = [*self._variables, *self._outputs, *self._assembly.names]
        fact = f"it has {listed(known, 8)}" if known else "it has no variables yet"
        origin, order = split_derivative(split_index(name)[0])
        if order and origin in self._variables:
            fact = f"{origin} is {with_article(self._variables[origin].kind)} and has no derivative"
        return ModelError(
            f"The model {self.name!r} has no variable {name!r}.",
            fact,
            because="only declared variables have names.",
            remedy=did_you_mean(name, known),
        )

    # -- checking expressions ----------------------------------------------------------------------------------

    def _expression(self, value: object, where: str, remedy: str = EXPRESSION_REMEDY) -> ca.SX:
        """What the user wrote as an expression in this model's symbols, free of NaN."""
        expression = as_expression(value, where, remedy)
        if expression.is_constant():
            return expression  # checked for NaN already
        self._check_symbols(expression, where)
        if has_nan(expression):
            raise nan_inside(where)
        return expression

    def _scalar(self, value: object, where: str, because: str, one_each: str, remedy: str = EXPRESSION_REMEDY) -> ca.SX:
        """The same, of one element; one_each: what to write instead of several."""
        expression = self._expression(value, where, remedy)
        if not expression.is_scalar():
            raise ModelError(
                f"{where} is not a scalar.", f"it is {size_text(expression)}", because=because, remedy=one_each
            )
        return expression

    def _check_symbols(self, expression: ca.SX, where: str) -> list[tuple[str, int, int]]:
        """Every symbol must be this model's. Returns who appears."""
        seen = []
        for scalar in ca.symvar(expression):
            key = symbol_key(scalar)
            if key not in self._known:
                for name in self._derivatives:
                    self._register_chain(name)
            if key not in self._known:
                raise self._foreign(scalar, key, where)
            seen.append(self._known[key])
        return seen

    def _kinds_in(self, expression: ca.SX, where: str) -> dict[str, str]:
        """Who appears, with their kinds; t is the "time"."""
        names = [name for name, _, _ in self._check_symbols(expression, where)]
        return {name: "time" if name == "t" else self._variables[name].kind for name in names}

    def _foreign(self, scalar: ca.SX, key: int, where: str) -> ModelError:
        owner = next((book for book in list(_BOOKS.values()) if key in book._known), None)
        label = scalar.name() if owner is None else owner._label(*owner._known[key])
        if owner is not None:
            return ModelError(
                f"{where} contains a symbol of another model.",
                f"{label} belongs to the model {owner.name!r}, not to {self.name!r}",
                because="every model has symbols of its own.",
                remedy="m.time" if label == "t" else f'm.include("part", other) and then m["part.{label}"]',
            )
        stem = split_derivative(split_index(label)[0])[0]
        return ModelError(
            f"{where} contains a symbol that no model declared.",
            f"the symbol prints as {label!r}",
            because="every symbol of a model comes from the model itself.",
            remedy="m.time"
            if label == "t"
            else f'm.state("{stem}"), m.input("{stem}") or m.parameter("{stem}", value)',
        )

    def _labels(self) -> dict[int, str]:
        """Symbol key -> the user's name, for printing."""
        return {key: self._label(*place) for key, place in self._known.items()}

    def _label(self, name: str, k: int, order: int) -> str:
        """The user's name of an element of a variable or of its derivative."""
        shape = () if name == "t" else self._variables[name].shape
        return element_label(derivative_name(name, order), shape, k)


def new_symbol(label: str, shape: Shape) -> ca.SX:
    """A symbol whose elements print as users write them: `x[0]`, not CasADi's `x_0`."""
    if shape == ():
        return ca.SX.sym(label)
    rows, columns = (*shape, 1)[:2]
    if rows * columns >= LARGE_ARRAY:
        return ca.SX.sym(label, rows, columns)  # one by one takes longer than all that follows; names come from labels
    scalars = [ca.SX.sym(element_label(label, shape, k)) for k in range(rows * columns)]
    return ca.reshape(ca.vertcat(*scalars), rows, columns)


def size_text(expression: ca.SX) -> str:
    """The shape of an expression in words."""
    return shape_text(plain_shape(expression))


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


def shaped_like(symbol: ca.SX, value: ca.SX, where: str, because: str, *, numbers_alone: bool = False) -> ca.SX:
    """A value in the shape of a symbol, one entry for all elements (`numbers_alone`: one number), or refused."""
    if value.is_scalar() and (not numbers_alone or value.is_constant()):
        value = ca.repmat(value, *symbol.shape)
    if value.shape != symbol.shape:
        raise ModelError(
            f"{where} has the wrong shape.",
            f"{size_text(symbol)} expected, {size_text(value)} given",
            because=because,
            remedy=f"an expression of that shape, or one {'number' if numbers_alone else 'for all elements'}",
        )
    return value
