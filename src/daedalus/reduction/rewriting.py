"""A model written anew in the same symbols: what every conversion gives back, with the record of what was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.notebook import adopt, note_change
from daedalus.model.reopened import as_model
from daedalus.model.system.equation_row import EquationRow, Role
from daedalus.model.system.system import System
from daedalus.model.variables import Variable
from daedalus.model.written import Equation, by_equation
from daedalus.reduction.findings import Finding
from daedalus.reduction.reduction_record import FormOf, Reduction


class ReducedModel(Model):
    """A Model that another one was turned into.

    `reduction` is the record of what was done, `constraints` what solutions keep at zero.
    """

    def __init__(self, name: str = "model") -> None:
        super().__init__(name)
        self._kept: dict[str, Equation] = {}
        self._reduction: Reduction | None = None
        self._found: tuple[object, ...] = ()  # further parts of its snapshots, see `System.part`
        self._seen: Model | None = None  # what the original looks like, in its symbols
        self._form: FormOf | None = None  # of which reduction the model is another form

    def copy(self, name: str | None = None) -> ReducedModel:
        """Return an independent copy of the model, with the record of what was done to the original."""
        twin = ReducedModel()
        vars(twin).update(vars(super().copy(name)))
        twin._kept, twin._reduction, twin._found = dict(self._kept), self._reduction, self._found
        twin._seen, twin._form = self._seen, self._form
        return twin

    @property
    def reduction(self) -> Reduction:
        """What was done to the original."""
        if self._reduction is None:
            raise ModelError(
                f"The model {self.name!r} was not reduced.",
                because="it is another form of a model, without a change of index.",
                remedy="dd.reduce(m)",
            )
        return self._reduction

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be known of how the model was made, in sentences: what `dd.eliminate` put in."""
        own = () if self._reduction is None else self._reduction.notes
        return (*own, *(str(found) for found in self._found if isinstance(found, Finding)))

    @property
    def constraints(self) -> dict[str, ca.SX]:
        """The constraints and their derivatives that solutions keep at zero, whether or not they are stabilised."""
        return {name: ca.SX(kept.residual) for name, kept in self._kept.items()}

    def _watched(self) -> dict[str, Equation]:
        rows = [row for e in (*self.written.invariants.values(), *self.written.equations.values()) for row in e.rows]
        held = {row.level for row in rows if row.role in (Role.WRITTEN, Role.INVARIANT)}
        return {n: kept for n, kept in self._kept.items() if not all(row.level in held for row in kept.rows)}

    def _know(self, reduction: Reduction | None, *found: object) -> None:
        """Set the record and further parts; a snapshot that was taken already is one with them from now on."""
        self._reduction, self._found = reduction, found
        if self._frozen is not None:
            self._frozen = self._frozen.changed(parts=self._parts())

    def _drawn_book(self) -> Model | None:
        return self._seen

    def _parts(self) -> tuple[object, ...]:
        own = (part for part in (self._reduction, self._form) if part is not None)
        return (*super()._parts(), *own, *self._found)

    # -- files: the kept constraints travel behind all other expressions ---------------------------------------

    def _layout(self) -> dict[str, Any]:
        layout = super()._layout()
        own = list(self._kept.values())
        expressions = [*layout["expressions"], *(kept.residual for kept in own)]
        return {**layout, "kept": [kept.outline() for kept in own], "expressions": expressions}

    def _write_expressions(self, layout: dict[str, Any], prefix: str = "") -> None:
        super()._write_expressions(layout, prefix)
        outlines = layout.get("kept", [])
        first = len(layout["expressions"]) - len(outlines)
        for outline, residual in zip(outlines, layout["expressions"][first:]):
            kept = Equation.of(outline, residual, prefix)
            self._kept[kept.name] = kept

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "reduction": self._reduction, "form": self._form}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._reduction, self._form = state["reduction"], state.get("form")


def rewritten(model: Model, variables: Mapping[str, Variable | None]) -> ReducedModel:
    """A notebook with the same symbols, outputs, events and invariants but no equations yet.

    `variables` gives new descriptions by name; None leaves a variable out. States share the chain of their derivatives,
    so that expressions of either model are valid in both.
    """
    model = model.flat()
    twin = ReducedModel(model.name)
    twin.written.reset_labels(model.written.time)
    for old in model.written.variables.values():
        new = variables.get(old.name, old)
        if new is None:
            continue
        adopt(twin, new, model.written.symbols[old.name])
        if new.kind == "state":
            chain = model.written.derivatives.setdefault(old.name, []) if old.kind == "state" else []
            twin.written.derivatives[new.name] = chain
            twin.written.register_chain(new.name)
    twin.written.outputs = dict(model.written.outputs)
    gone = {
        old.name: old.unit
        for old in model.written.variables.values()
        if old.unit and old.name not in twin.written.variables
    }
    twin.written.output_units = {**model.written.output_units, **gone}
    twin.written.on_request = set(model.written.on_request)
    twin.written.events = dict(model.written.events)
    twin.written.invariants = dict(model.written.invariants)
    twin.written.choices = model.written.choices
    twin._seen = model._drawn_book()
    twin.written.aliases, twin.written.ledger = model.written.aliases, model.written.ledger
    twin._kept = dict(model._kept if isinstance(model, ReducedModel) else model._watched())
    if isinstance(model, ReducedModel):
        twin._form = model._form if model._reduction is None else FormOf(model._reduction)
    return twin


def keep_further_names(n: Model) -> None:
    """Make outputs of the further names of variables that have become outputs: a further name is one of a variable."""
    gone = {
        name: own
        for name, own in n.written.aliases.items()
        if own in n.written.outputs and own not in n.written.variables
    }
    n.written.outputs.update({name: n.written.outputs[own] for name, own in gone.items()})
    n.written.output_units.update(
        {name: n.written.output_units[own] for name, own in gone.items() if own in n.written.output_units}
    )
    n.written.aliases = {name: own for name, own in n.written.aliases.items() if name not in gone}


def substituted(book: Model, old: ca.SX, new: ca.SX) -> None:
    """Replace symbols in everything that is written in a notebook."""
    if not old.numel():
        return

    def changed(expression: ca.SX) -> ca.SX:
        return ca.densify(ca.substitute(expression, old, new))

    note_change(book)
    book.written.equations = {n: replace(e, residual=changed(e.residual)) for n, e in book.written.equations.items()}
    book.written.outputs = {n: changed(e) for n, e in book.written.outputs.items()}
    book.written.invariants = {n: replace(e, residual=changed(e.residual)) for n, e in book.written.invariants.items()}
    if isinstance(book, ReducedModel):
        book._kept = {n: replace(e, residual=changed(e.residual)) for n, e in book._kept.items()}
    book.written.events = {
        n: replace(e, guard=changed(e.guard), resets={k: changed(v) for k, v in e.resets.items()})
        for n, e in book.written.events.items()
    }


def written_out(model: Model) -> ReducedModel:
    """A copy in which the equations of all doors are written out."""
    twin = rewritten(model, {})
    twin.written.equations = dict(model.flat().all_equations())
    return twin


def equation_rows(book: Model) -> list[EquationRow]:
    """Where every scalar equation comes from, in order."""
    return [row for e in book.written.equations.values() for row in e.rows]


def write_rows(book: Model, rows: Sequence[EquationRow], residuals: Sequence[ca.SX]) -> None:
    """Write scalar equations; components of one equation become one again where all of them are there."""
    note_change(book)
    book.written.equations.update(by_equation(rows, residuals, book.written.equations))


def keep_rows(book: ReducedModel, rows: Sequence[EquationRow], residuals: Sequence[ca.SX]) -> None:
    """Note what solutions keep at zero, in the place of what was noted of the same levels before."""
    new = {row.level for row in rows}
    old = {name: kept for name, kept in book._kept.items() if not all(row.level in new for row in kept.rows)}
    book._kept = {**old, **by_equation(rows, residuals, old)}


def as_state(variable: Variable) -> Variable:
    """An algebraic variable turned into a state; its written start stays a guess."""
    guess = tuple(0.0 if value is None else value for value in variable.start)
    empty = (None,) * variable.size
    return replace(variable, kind="state", start=empty, rate=empty, guess=guess)


def as_algebraic(variable: Variable) -> Variable:
    """A state without derivative turned into an algebraic variable."""
    return replace(variable, kind="algebraic")


def read_model(model: Model | System, verb: str) -> Model:
    """The notebook of a model or snapshot; an error where it has a choice of states that the verb cannot keep."""
    book = as_model(model)
    if book.written.choices and verb in ("reduce", "to_semi_explicit"):
        raise ModelError(
            f"{verb} does not accept a model with dummy derivatives.",
            f"the constraints of {book.name!r} are equations in the place of the derivatives of dependent states",
            because="a run changes which equations hold.",
            remedy=f"dd.{verb}(m) with the model before its reduction",
        )
    return book


def has_derivative(book: Model, row: ca.SX) -> bool:
    """Whether an equation contains a derivative."""
    return any(book.written.known[symbol_key(s)][2] for s in ca.symvar(row))


def start_value(book: Model, symbol: ca.SX, otherwise: float = np.nan) -> float:
    """The written value of a symbol, or another where nothing is written."""
    name, k, order = book.written.known[symbol_key(symbol)]
    if name == "t":
        return 0.0
    variable = book.written.variables[name]
    written = {0: variable.start, 1: variable.rate}.get(order) or (None,) * variable.size
    value = None if variable.kind == "input" else written[k]
    return otherwise if value is None else float(value)


def part_of(book: Model, variable: Variable, suffix: str, chosen: Sequence[int]) -> Variable:
    """A variable of its own for some elements of another one."""
    kept = ("start", "nominal", "lower", "upper")
    parts: dict[str, Any] = {key: tuple(getattr(variable, key)[k] for k in chosen) for key in kept}
    shape = variable.shape if len(chosen) == variable.size else (len(chosen),)
    name = book.written.free_name(variable.name + suffix)
    return replace(variable, name=name, shape=shape, rate=(None,) * len(chosen), guess=(), **parts)


def scalar_rows(book: Model) -> list[ca.SX]:
    """The scalar equations in order."""
    return [row for e in book.written.equations.values() for row in elements(e.residual)]
