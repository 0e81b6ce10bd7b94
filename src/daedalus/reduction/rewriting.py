"""A model written anew in the same symbols: what every conversion gives back, with the record of what was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca

from daedalus.errors import ModelError
from daedalus.model.expressions import column, elements
from daedalus.model.mechanics.written_mechanics import WrittenMechanics
from daedalus.model.model import Model
from daedalus.model.names import counted, element_label
from daedalus.model.notebook import Equation, WrittenEvent
from daedalus.model.system.system import System
from daedalus.model.variables import Variable

TIMES = {0: "", 1: "once", 2: "twice"}


def times_text(times: int) -> str:
    """How often, in words: `once`, `twice`, `3 times`."""
    return TIMES.get(times, f"{times} times")


def level_name(name: str, times: int) -> str:
    """The name of a differentiated equation: `rod, differentiated twice`."""
    return f"{name}, differentiated {times_text(times)}" if times else name


@dataclass(frozen=True, eq=False)
class Reduction:
    """What `dd.reduce` did; `print(n.reduction)` tells it.

    original: the snapshot of the model before. structural_index: that of the model before, from its pattern.
    differentiated: how often each equation was differentiated, by its name (those that were). inputs: how often each
    input was differentiated. states, algebraic: the unknowns of the reduced model. stabilise, alpha: as used.
    degrees_of_freedom: how many start values may be chosen freely. notes: what else should be known. selected,
    dependent: with "dummy_derivatives", the states whose derivatives are integrated at the start and those that follow
    from the constraints there; a run changes the choice where another one is better.
    """

    original: System
    structural_index: int
    stabilise: str | None
    alpha: float | None = None
    differentiated: dict[str, int] = field(default_factory=dict)
    inputs: dict[str, int] = field(default_factory=dict)
    states: tuple[str, ...] = ()
    algebraic: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    degrees_of_freedom: int = 0
    notes: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    dependent: tuple[str, ...] = ()

    def with_selection(self, selected: tuple[str, ...], dependent: tuple[str, ...]) -> Reduction:
        """The same with the choice of states."""
        return replace(self, selected=selected, dependent=dependent)

    @property
    def text(self) -> str:
        """The record in words."""
        lines = [f"{self.original.name}: nothing to differentiate, the equations determine every highest derivative"]
        if self.stabilise == "ggl":
            lines = [f"{self.original.name}: no constraint has to be differentiated twice, the index is 2 at most"]
        if self.differentiated:
            lines = [f"{self.original.name}: structural index {self.structural_index} before the reduction"]
        for times in sorted(set(self.differentiated.values())):
            names = [name for name, count in self.differentiated.items() if count == times]
            lines.append(f"  {_listed(collected(names))} differentiated {times_text(times)}")
        lines += [f"  input {name} differentiated {times_text(times)}" for name, times in self.inputs.items() if times]
        lines.append(f"  states: {_listed(self.states)}")
        if self.algebraic:
            lines.append(f"  algebraic: {_listed(self.algebraic)}")
        lines.append(f"  {counted(self.degrees_of_freedom, 'start value')} may be chosen freely")
        if self.original.invariants:
            lines[-1] += f", less what {_listed(list(self.original.invariants))} fixes"
        if self.constraints:
            lines.append(f"  {_TREATMENTS[self.stabilise].format(alpha=self.alpha)}: {_listed(self.constraints, '; ')}")
        if self.dependent:
            lines.append(f"  selected at the start: {_listed(self.selected)}; dependent: {_listed(self.dependent)}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def __str__(self) -> str:
        return self.text


_TREATMENTS = {
    "projection": "kept at zero by projection",
    "baumgarte": "damped towards zero (Baumgarte, alpha = {alpha:g})",
    "ggl": "written as equations (Gear, Gupta, Leimkuhler)",
    "dummy_derivatives": "equations in the place of the derivatives of dependent states",
    None: "zero at the start and free to drift",
}


def _listed(names: Sequence[str], mark: str = ", ", most: int = 8) -> str:
    if not names:
        return "none"
    return mark.join(names[:most]) + (f"{mark}… ({len(names)} in all)" if len(names) > most else "")


def collected(names: Sequence[str]) -> list[str]:
    """Names with `e[0]`, `e[1]`, ... in a row written as `e`."""
    found, k = [], 0
    while k < len(names):
        stem, together = _together(names, k)
        found.append(stem)
        k += together
    return found


class ReducedModel(Model):
    """A Model that another one was turned into.

    `reduction` is the record of what was done, `constraints` what solutions keep at zero.
    """

    def __init__(self, name: str = "model") -> None:
        super().__init__(name)
        self._kept: dict[str, ca.SX] = {}
        self._reduction: Reduction | None = None
        self._redundancy: Any = None  # its redundant constraints, which a run may choose anew

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
    def constraints(self) -> dict[str, ca.SX]:
        """The constraints and their derivatives that solutions keep at zero, whether or not they are stabilised."""
        return {name: ca.SX(value) for name, value in self._kept.items()}

    def _watched(self) -> dict[str, ca.SX]:
        held = {*self._invariants, *self._equations}
        return {name: value for name, value in self._kept.items() if name not in held}

    # -- files: the kept constraints travel behind all other expressions ---------------------------------------

    def _layout(self) -> dict[str, Any]:
        layout = super()._layout()
        return {**layout, "kept": list(self._kept), "expressions": [*layout["expressions"], *self._kept.values()]}

    def _write_expressions(self, layout: dict[str, Any], prefix: str = "") -> None:
        super()._write_expressions(layout, prefix)
        names = layout.get("kept", [])
        first = len(layout["expressions"]) - len(names)
        self._kept.update((prefix + name, layout["expressions"][first + k]) for k, name in enumerate(names))

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "reduction": self._reduction}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._reduction = state["reduction"]


def rewritten(model: Model, variables: Mapping[str, Variable | None]) -> ReducedModel:
    """A notebook with the same symbols, outputs, events and invariants but no equations yet.

    `variables` gives new descriptions by name; None leaves a variable out. States share the chain of their derivatives,
    so that expressions of either model are valid in both.
    """
    twin = ReducedModel(model.name)
    twin._time = model._time
    twin._reset_labels()
    for old in model._variables.values():
        new = variables.get(old.name, old)
        if new is None:
            continue
        twin._adopt(new, model._symbols[old.name])
        if new.kind == "state":
            chain = model._derivatives.setdefault(old.name, []) if old.kind == "state" else []
            twin._derivatives[new.name] = chain
            twin._register_chain(new.name)
    twin._outputs = dict(model._outputs)
    twin._events = dict(model._events)
    twin._invariants = dict(model._invariants)
    twin._choices = model._choices
    twin._mechanics = WrittenMechanics()
    if isinstance(model, ReducedModel):
        twin._kept = dict(model._kept)
    return twin


def substituted(book: Model, old: ca.SX, new: ca.SX) -> None:
    """Replace symbols in everything that is written in a notebook."""
    if not old.numel():
        return

    def changed(expression: ca.SX) -> ca.SX:
        return ca.densify(ca.substitute(expression, old, new))

    book._changed()
    book._equations = {n: Equation(n, changed(e.residual)) for n, e in book._equations.items()}
    book._outputs = {n: changed(e) for n, e in book._outputs.items()}
    book._invariants = {n: changed(e) for n, e in book._invariants.items()}
    if isinstance(book, ReducedModel):
        book._kept = {n: changed(e) for n, e in book._kept.items()}
    book._events = {
        n: WrittenEvent(n, changed(e.guard), e.direction, {k: changed(v) for k, v in e.resets.items()}, e.terminal)
        for n, e in book._events.items()
    }


def written_out(model: Model) -> ReducedModel:
    """A copy in which the equations of all doors are written out."""
    twin = rewritten(model, {})
    twin._equations = dict(model._all_equations())
    return twin


def row_labels(book: Model) -> list[str]:
    """The name of every scalar equation, in order."""
    return [
        element_label(e.name, () if e.residual.numel() == 1 else (e.residual.numel(),), k)
        for e in book._equations.values()
        for k in range(e.residual.numel())
    ]


def write_rows(book: Model, names: list[str], rows: list[ca.SX]) -> None:
    """Write scalar equations by name; components of one equation become one again where all of them are there."""
    book._changed()
    for name, residual in by_equation(names, rows).items():
        book._equations[name] = Equation(name, residual)


def by_equation(names: Sequence[str], rows: Sequence[ca.SX]) -> dict[str, ca.SX]:
    """Scalar rows collected into columns by the equation they are components of."""
    found, k = {}, 0
    while k < len(names):
        stem, together = _together(names, k)
        found[stem] = column(ca.vertcat(*rows[k : k + together]))
        k += together
    return found


def _together(names: Sequence[str], first: int) -> tuple[str, int]:
    """The name and number of the rows from `first` on that are components 0, 1, 2, ... of one equation."""
    stem, mark, rest = names[first].partition("[0]")
    count = 0
    while first + count < len(names) and names[first + count] == f"{stem}[{count}]{rest}":
        count += 1
    # A single component of a longer equation keeps its own name.
    return (stem + rest, count) if mark and count > 1 else (names[first], 1)


def as_state(variable: Variable) -> Variable:
    """An algebraic variable turned into a state; its written start stays a guess."""
    guess = tuple(0.0 if value is None else value for value in variable.start)
    empty = (None,) * variable.size
    return replace(variable, kind="state", start=empty, rate=empty, guess=guess)


def as_algebraic(variable: Variable) -> Variable:
    """A state without derivative turned into an algebraic variable."""
    return replace(variable, kind="algebraic")


def check_model(model: object, verb: str) -> Model:
    """A Model, or an error that says why a snapshot, or one whose equations depend on a choice, does not do."""
    if isinstance(model, Model) and model._choices and verb in ("reduce", "to_semi_explicit"):
        raise ModelError(
            f"{verb} takes no model with a choice of states.",
            f"the constraints of {model.name!r} are equations in the place of the derivatives of dependent states",
            because="which equations hold is a matter of the parameter that a run changes.",
            remedy=f"dd.{verb}(m) with the model before its reduction",
        )
    if isinstance(model, Model):
        return model
    raise ModelError(
        f"{verb} takes a Model.",
        f"got {type(model).__name__}",
        because="the result is a Model again, with the names that were written.",
        remedy=f"dd.{verb}(m) with m = dd.Model(...)",
    )


def scalar_rows(book: Model) -> list[ca.SX]:
    """The scalar equations in order."""
    return [row for e in book._equations.values() for row in elements(e.residual)]
