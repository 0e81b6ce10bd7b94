"""What the structure of a model asks for before its highest derivatives are determined: the plan of a reduction."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.analysis.structure.expression_substitution import MOST_SUBSTITUTIONS
from daedalus.analysis.structure.signature import Signature
from daedalus.model.expressions import column, concatenate, symbol_key
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.reduction.index.differentiate import Differentiation, check_inputs, differentiated_inputs
from daedalus.reduction.index.offsets import (
    SolvedDerivatives,
    Unknown,
    raised_offsets,
    signature_of,
    solved_equations,
    unknown_label,
    unknowns_of,
)
from daedalus.reduction.index.regularity import (
    MisleadingStructureError,
    SystemJacobian,
    always_singular,
    repaired_equations,
    singular_at,
    start_point,
)
from daedalus.reduction.index.substituted_unknowns import with_substitution
from daedalus.reduction.rewriting import ReducedModel, as_state, rewritten, row_labels, scalar_rows

SINGULAR_THERE = "their matrix is singular there"


@dataclass(frozen=True, eq=False)
class Plan:
    """What the structure asks for: offsets, the equations that are put in instead, and all derivatives of the others.

    book: a notebook with every unknown a state, in whose symbols everything is written. levels: (equation, times).
    """

    book: ReducedModel
    system: System
    unknowns: list[Unknown]
    labels: list[str]
    residual: ca.SX
    signature: Signature
    index: int
    flow: SolvedDerivatives
    levels: dict[tuple[int, int], ca.SX]
    inputs: dict[str, int]
    notes: tuple[str, ...]

    @property
    def constraints(self) -> list[int]:
        """The equations that are differentiated."""
        solved = set(self.flow.row.values())
        return [i for i in range(len(self.labels)) if self.signature.c[i] and i not in solved]

    def order(self, j: int) -> int:
        """The highest derivative of an unknown in the reduced model."""
        return self.flow.order.get(j, int(self.signature.d[j]))


def plan_reduction(book: ReducedModel, index: int = 1, substitutions: int = 0) -> Plan:
    """Find out what has to be differentiated; refuses models that are singular and inputs that have no derivative.

    `substitutions` counts the expressions that got a name of their own on the way here.
    """
    system = book.freeze()
    unknowns, labels = unknowns_of(book), row_labels(book)
    algebraic = {v.name: as_state(v) for v in book._variables.values() if v.kind == "algebraic"}
    work = rewritten(book, algebraic)
    residual = concatenate(scalar_rows(book))
    floors = np.maximum(_floors(book, unknowns), 1 - index)
    found = signature_of(work, residual, unknowns, labels)
    structural = found.index or 0
    s = raised_offsets(found, unknowns, floors)
    notes: list[str] = []
    jacobian = SystemJacobian(work, residual, s, unknowns)
    singular = always_singular(work, jacobian)
    if singular:
        try:
            residual, named = repaired_equations(work, system, unknowns, singular, labels, structural)
        except MisleadingStructureError:
            other = with_substitution(work, residual, found, unknowns, labels)
            if other is None or substitutions >= MOST_SUBSTITUTIONS:
                raise
            plan = plan_reduction(other[0], index, substitutions + 1)
            return replace(plan, index=structural, notes=(other[1], *plan.notes))
        notes = [f"{new}, which contains fewer derivatives" for old, new in zip(labels, named) if old != new]
        labels = named
        s = raised_offsets(signature_of(work, residual, unknowns, labels), unknowns, floors)
        jacobian = SystemJacobian(work, residual, s, unknowns)
    notes += _notes_at_start(work, system, jacobian, unknowns, labels, s)
    counts = differentiated_inputs(work, residual, s)
    check_inputs(counts, labels, work, residual, s)
    flow = solved_equations(work, residual, s, unknowns, floors)
    levels = Differentiation(work, unknowns, flow).levels(residual, s)
    return Plan(work, system, unknowns, labels, residual, s, structural, flow, levels, counts, tuple(notes))


def _floors(book: Model, unknowns: list[Unknown]) -> np.ndarray:
    """The orders up to which outputs and events need the unknowns."""
    place = {u: j for j, u in enumerate(unknowns)}
    floors = np.zeros(len(unknowns), dtype=int)
    used = [*book._outputs.values(), *(e.guard for e in book._events.values())]
    used += [new for e in book._events.values() for new in e.resets.values()]
    set_by_events = [column(book._lookup(target)) for e in book._events.values() for target in e.resets]
    for expressions, further in ((used, 0), (set_by_events, 1)):
        for symbol in ca.symvar(concatenate(expressions)) if expressions else ():
            name, k, order = book._known[symbol_key(symbol)]
            if (name, k) in place and (order or further):
                floors[place[name, k]] = max(floors[place[name, k]], order + further)
    return floors


def _notes_at_start(
    book: Model, system: System, jacobian: SystemJacobian, unknowns: list[Unknown], labels: list[str], s: Signature
) -> list[str]:
    """Say so where the start is a point at which the highest derivatives do not follow."""
    if not jacobian.symbols or not s.c.any():
        return []
    point = start_point(book, system, jacobian.symbols, s.index or 1)
    if point is None:
        return []
    return [
        f"at the start {_listed([labels[i] for i in block.equations])} cannot be solved for "
        f"{_listed([unknown_label(book, unknowns[j], int(s.d[j])) for j in block.unknowns])}: " + SINGULAR_THERE
        for block in singular_at(jacobian, point)
    ]


def _listed(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
