"""The notebook behind every door of a model: who is declared, under which symbol, and who may appear where."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.expressions import (
    EXPRESSION_REMEDY,
    as_expression,
    as_written,
    column,
    has_nan,
    nan_inside,
    plain_shape,
    symbol_key,
)
from daedalus.model.interrupts import weak_values
from daedalus.model.names import (
    check_name,
    did_you_mean,
    element_label,
    flat_index,
    listed,
    shape_text,
    split_derivative,
    split_index,
    with_article,
)
from daedalus.model.system.equation_row import Role
from daedalus.model.system.system import System
from daedalus.model.variables import Variable
from daedalus.model.written import Equation, Written, new_symbol

# All notebooks in use, oldest first, to say "x belongs to the model 'arm'" when it turns up in another one.
_BOOKS: weakref.WeakValueDictionary[int, Notebook] = weak_values()
_NUMBERS = itertools.count()


class Notebook:
    """What is written in a model (`written`), and the checks that every door shares."""

    def __init__(self, name: str) -> None:
        self.name = str(name)
        self.written = Written()
        self._frozen: System | None = None
        self._motion: dict[str, Equation] | None = None  # the equations of motion, until the next change
        # For parts, until the next change.
        self._translation: tuple[int, ca.Function, dict[str, Any], dict[str, Any]] | None = None
        _BOOKS[next(_NUMBERS)] = self

    # -- declaring ---------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """Called before every change of the notebook."""
        self._frozen = None
        self._motion = None
        self._translation = None

    def _check_free(self, name: str, what: str) -> None:
        written = self.written.assembly
        for kind, names in (
            ("output", self.written.outputs), ("event", self.written.events), ("variable", self.written.variables),
            ("part", written.parts), ("port", written.ports), ("further name", written.names),
        ):  # fmt: skip
            if name in names:
                taken = self.written.variables[name].kind if kind == "variable" else kind
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

    def _declare(self, variable: Variable) -> ca.SX:
        """Put a checked description into the notebook and return a copy of its new symbol."""
        check_name(variable.name, variable.kind)
        self._check_free(variable.name, variable.kind)
        return self._adopt(variable, new_symbol(variable.name, variable.shape))

    def _adopt(self, variable: Variable, symbol: ca.SX) -> ca.SX:
        """Put a checked description under a symbol that nobody else writes in, and return a copy of that."""
        self._changed()
        self.written.enter(variable, symbol)
        return +symbol

    def _forget(self, name: str) -> None:
        """Take a variable out again."""
        self._changed()
        self.written.forget(name)

    def _keep(self, name: str, expression: ca.SX, role: Role = Role.INVARIANT) -> None:
        """Note what solutions keep at zero beside the equations."""
        self._changed()
        self.written.invariants[name] = Equation(name, expression, role=role)

    def _watched(self) -> dict[str, Equation]:
        """What solutions keep at zero without being held to it; a reduced model has such constraints."""
        return {}

    def _parts(self) -> tuple[object, ...]:
        """What a snapshot keeps of how it was made, see `System.part`."""
        return ()

    def all_equations(self) -> dict[str, Equation]:
        """The equations that you wrote and those derived from energies, bodies and connections."""
        return self.written.equations

    # -- looking up --------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> ca.SX:
        """The symbol (or output expression) of any name: `m["left.x"]`, `m["x[1]"]`, `m["x_dot"]`."""
        if isinstance(name, (list, tuple, dict, set, np.ndarray)):
            raise ModelError("A model is asked for one name.", f"got {name!r}"[:120], remedy='m["x"]')
        symbol = +self._lookup(name)
        stem = split_derivative(self.written.aliases.get(name, name))[0]
        own = self.written.variables.get(name) or self.written.variables.get(stem)
        return symbol if own is None or name in self.written.outputs else as_written(symbol, own.shape)

    def __contains__(self, name: object) -> bool:
        try:
            self._lookup(str(name))
        except ModelError:
            return False
        return True

    def _lookup(self, name: str) -> ca.SX:
        if name in ("t", "time"):
            return self.written.time
        stem, index = split_index(str(name))
        if stem in self.written.assembly.names:
            variable, order = self.written.assembly.names[stem]
            return self.written.derivative_symbol(variable, order) if order else self.written.symbols[variable]
        if name in self.written.aliases:
            return self._lookup(self.written.aliases[name])
        if stem in self.written.aliases:
            return self._lookup(self.written.aliases[stem] + name[len(stem) :])
        if stem in self.written.symbols:
            symbol, shape = self.written.symbols[stem], self.written.variables[stem].shape
        elif stem in self.written.outputs:
            symbol = self.written.outputs[stem]
            shape = plain_shape(symbol)
        else:
            origin, order = split_derivative(stem)
            if order == 0 or origin not in self.written.variables or self.written.variables[origin].kind != "state":
                raise self._unknown(str(name))
            symbol, shape = self.written.derivative_symbol(origin, order), self.written.variables[origin].shape
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
        known = [*self.written.variables, *self.written.outputs, *self.written.assembly.names]
        fact = f"it has {listed(known, 8)}" if known else "it has no variables yet"
        origin, order = split_derivative(split_index(name)[0])
        if order and origin in self.written.variables:
            fact = f"{origin} is {with_article(self.written.variables[origin].kind)} and has no derivative"
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
            if key not in self.written.known:
                for name in self.written.derivatives:
                    self.written.register_chain(name)
            if key not in self.written.known:
                raise self._foreign(scalar, key, where)
            seen.append(self.written.known[key])
        return seen

    def _kinds_in(self, expression: ca.SX, where: str) -> dict[str, str]:
        """Who appears, with their kinds; t is the "time"."""
        names = [name for name, _, _ in self._check_symbols(expression, where)]
        return {name: "time" if name == "t" else self.written.variables[name].kind for name in names}

    def _foreign(self, scalar: ca.SX, key: int, where: str) -> ModelError:
        owner = next((book for book in list(_BOOKS.values()) if key in book.written.known), None)
        label = scalar.name() if owner is None else owner.written.label(*owner.written.known[key])
        if owner is not None:
            return ModelError(
                f"{where} contains a symbol of another model.",
                f"{label} belongs to the model {owner.name!r}, not to {self.name!r}",
                because="each model has its own symbols.",
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


def size_text(expression: ca.SX) -> str:
    """The shape of an expression in words."""
    return shape_text(plain_shape(expression))


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


def declare(book: Notebook, variable: Variable) -> ca.SX:
    """Put a checked description into a model that another room writes, and return a copy of its new symbol."""
    return book._declare(variable)


def adopt(book: Notebook, variable: Variable, symbol: ca.SX) -> ca.SX:
    """The same under a symbol that nobody else writes in."""
    return book._adopt(variable, symbol)


def note_change(book: Notebook) -> None:
    """To be called before what is written in a model is changed by another room."""
    book._changed()


def checked_expression(book: Notebook, value: object, where: str) -> ca.SX:
    """What is given to another room as an expression in the symbols of a model, free of NaN."""
    return book._expression(value, where)


def checked_symbols(book: Notebook, expression: ca.SX, where: str) -> list[tuple[str, int, int]]:
    """Who appears in an expression of a model: a name, the entry of it, and how often it is differentiated."""
    return book._check_symbols(expression, where)


def add_force(book: Notebook, name: str, force: ca.SX, k: int | slice = slice(None)) -> None:
    """Add a generalised force, or one component of it."""
    book._changed()
    velocity = book.written.mechanics.velocities.get(name)
    size = book.written.symbols[velocity.velocity].numel() if velocity else book.written.variables[name].size
    total = ca.SX(book.written.mechanics.applied.get(name, ca.SX.zeros(size)))
    total[k] += force
    book.written.mechanics.applied[name] = total
