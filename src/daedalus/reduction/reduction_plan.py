"""What the structure of a model asks for before its highest derivatives are determined: the plan of a reduction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.analysis.kept_decisions import NotADecisionError, kept_decision
from daedalus.analysis.structure.expression_substitution import MOST_SUBSTITUTIONS
from daedalus.analysis.structure.signature import Signature
from daedalus.model.expressions import column, concatenate, symbol_key
from daedalus.model.model import Model
from daedalus.model.system.equation_row import EquationRow
from daedalus.model.system.system import System
from daedalus.reduction.findings import CombinedEquations, Finding, HoldsForValues, SingularAtStart
from daedalus.reduction.forms.linearity import may_step, operations_of
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
    LARGEST_AT_START,
    MisleadingStructureError,
    SystemJacobian,
    always_singular,
    repaired_equations,
    singular_at,
    start_point,
)
from daedalus.reduction.index.substituted_unknowns import with_substitution
from daedalus.reduction.rewriting import ReducedModel, as_state, equation_rows, rewritten, scalar_rows


@dataclass(frozen=True, eq=False)
class ReductionPlan:
    """What the structure asks for: offsets, the equations that are put in instead, and all derivatives of the others.

    book: a notebook with every unknown a state, in whose symbols everything is written. levels: (equation, times).
    start_known: whether the matrix of the highest derivatives was looked at where the model starts.
    """

    book: ReducedModel
    system: System
    unknowns: list[Unknown]
    rows: list[EquationRow]
    residual: ca.SX
    signature: Signature
    index: int
    flow: SolvedDerivatives
    levels: dict[tuple[int, int], ca.SX]
    inputs: dict[str, int]
    findings: tuple[Finding, ...]
    start_known: bool = True

    @property
    def constraints(self) -> list[int]:
        """The equations that are differentiated."""
        solved = set(self.flow.row.values())
        return [i for i in range(len(self.rows)) if self.signature.c[i] and i not in solved]

    @property
    def put_in(self) -> dict[int, int]:
        """Equations that give a derivative of which higher ones were written: how often each was differentiated."""
        found: dict[int, int] = {}
        for j, order in zip(self.signature.columns.tolist(), self.signature.orders.tolist()):
            times = order - self.flow.order.get(j, order)
            if times > 0:
                found[self.flow.row[j]] = max(found.get(self.flow.row[j], 0), times)
        return dict(sorted(found.items()))

    @property
    def differentiated(self) -> list[EquationRow]:
        """Every equation that was differentiated, as a constraint or to be put in, with how often."""
        return [self.level(i, times) for i, times in self.times.items()]

    @property
    def times(self) -> dict[int, int]:
        """How often each of them was differentiated."""
        return dict(sorted(({i: int(self.signature.c[i]) for i in self.constraints} | self.put_in).items()))

    @property
    def lower_levels(self) -> list[tuple[int, int]]:
        """(equation, times) of every constraint and its lower derivatives, level by level."""
        c = self.signature.c
        most = int(c[self.constraints].max(initial=0)) if self.constraints else 0
        return [(i, times) for times in range(most) for i in self.constraints if c[i] > times]

    @property
    def lowered_index(self) -> int:
        """The index of the equations as they are differentiated here: one more than that where an unknown has none."""
        most = int(self.signature.c[self.constraints].max(initial=0)) if self.constraints else 0
        return max(self.index, most + int(bool(most) and bool(np.any(self.signature.d == 0))))

    def level(self, i: int, times: int) -> EquationRow:
        """Where an equation comes from that was differentiated so often."""
        return self.rows[i].differentiated(times)

    def order(self, j: int) -> int:
        """The highest derivative of an unknown in the reduced model."""
        return self.flow.order.get(j, int(self.signature.d[j]))


def plan_reduction(book: ReducedModel, index: int = 1, substitutions: int = 0) -> ReductionPlan:
    """Find out what has to be differentiated; refuses models that are singular and inputs that have no derivative.

    `substitutions` counts the expressions that got a name of their own on the way here.
    """
    system = book.freeze()
    unknowns, rows = unknowns_of(book), equation_rows(book)
    algebraic = {v.name: as_state(v) for v in book.written.variables.values() if v.kind == "algebraic"}
    work = rewritten(book, algebraic)
    residual = concatenate(scalar_rows(book))
    floors = np.maximum(_floors(book, unknowns), 1 - index)
    found = signature_of(work, residual, unknowns, rows)
    structural = found.index or 0
    s = raised_offsets(found, unknowns, floors)
    findings: list[Finding] = []
    jacobian = SystemJacobian(work, residual, s, unknowns)
    singular = always_singular(work, jacobian)
    if singular:
        try:
            residual, combined, held = repaired_equations(work, system, unknowns, singular, rows, structural)
        except MisleadingStructureError:
            other = with_substitution(work, residual, found, unknowns, rows)
            if other is None or substitutions >= MOST_SUBSTITUTIONS:
                raise
            plan = plan_reduction(other[0], index, substitutions + 1)
            return replace(plan, index=structural, findings=(other[1], *plan.findings))
        findings = [CombinedEquations(new) for old, new in zip(rows, combined) if old != new]
        if held:
            values = dict(zip(system.labels["p"], system.start["p"].tolist()))
            findings.append(HoldsForValues(tuple((name, values[name]) for name in held)))
        rows = combined
        s = raised_offsets(signature_of(work, residual, unknowns, rows), unknowns, floors)
        jacobian = SystemJacobian(work, residual, s, unknowns)
    at_start = _singular_at_start(work, system, jacobian, unknowns, rows, s)
    findings += at_start or []
    counts = differentiated_inputs(work, residual, s)
    check_inputs(counts, rows, work, residual, s)
    steps = None if singular or operations_of(system) is None else may_step(system)
    flow = solved_equations(work, residual, s, unknowns, floors, jacobian.matrix, steps)
    levels = Differentiation(work, unknowns, flow).levels(residual, s)
    return ReductionPlan(
        work,
        system,
        unknowns,
        rows,
        residual,
        s,
        structural,
        flow,
        levels,
        counts,
        tuple(findings),
        at_start is not None,
    )


def _floors(book: Model, unknowns: list[Unknown]) -> np.ndarray:
    """The orders up to which outputs and events need the unknowns."""
    place = {u: j for j, u in enumerate(unknowns)}
    floors = np.zeros(len(unknowns), dtype=int)
    used = [*book.written.outputs.values(), *(e.guard for e in book.written.events.values())]
    used += [new for e in book.written.events.values() for new in e.resets.values()]
    set_by_events = [column(book[target]) for e in book.written.events.values() for target in e.resets]
    for expressions, further in ((used, 0), (set_by_events, 1)):
        for symbol in ca.symvar(concatenate(expressions)) if expressions else ():
            name, k, order = book.written.known[symbol_key(symbol)]
            if (name, k) in place and (order or further):
                floors[place[name, k]] = max(floors[place[name, k]], order + further)
    return floors


def _singular_at_start(
    book: Model, system: System, jacobian: SystemJacobian, unknowns: list[Unknown], rows: list[EquationRow],
    s: Signature,
) -> list[SingularAtStart] | None:  # fmt: skip
    """Say so where the start is a point at which the highest derivatives do not follow; None where it is not known."""
    if not jacobian.symbols or not s.c.any():
        return []

    def found() -> list[int] | None:
        point = start_point(book, system, jacobian.symbols, s.index or 1)
        return None if point is None else singular_at(jacobian, point)

    def read(plain: Any) -> list[int] | None:
        own = [] if plain is None else plain
        if not isinstance(own, list) or not all(type(b) is int and 0 <= b < len(jacobian.blocks) for b in own):
            raise NotADecisionError
        return None if plain is None else own

    # Of large systems less is computed than reading them back takes.
    if len(unknowns) > LARGEST_AT_START:
        numbers = found()
    else:
        about = (system.digest, s.index, s.c.tolist(), s.d.tolist())
        numbers = kept_decision("blocks that are singular at the start", about, found, lambda own: own, read)
    return (
        None
        if numbers is None
        else [
            SingularAtStart(
                tuple(rows[i].label for i in block.equations),
                tuple(unknown_label(book, unknowns[j], int(s.d[j])) for j in block.unknowns),
            )
            for block in (jacobian.blocks[b] for b in numbers)
        ]
    )
