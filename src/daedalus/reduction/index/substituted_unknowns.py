"""Expression substitution in a model: combinations of unknowns become states with names of their own.

The method is in `analysis.structure.expression_substitution`; here the new unknowns are declared and the equations
written.
"""

from __future__ import annotations

import casadi as ca

from daedalus.analysis.structure.expression_substitution import Substitution, substituted, substitutions
from daedalus.analysis.structure.signature import Signature
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.notebook import declare
from daedalus.model.system.equation_row import EquationRow, definition_row
from daedalus.model.variables import Variable
from daedalus.reduction.findings import CombinedUnknowns
from daedalus.reduction.index.differentiate import Differentiation
from daedalus.reduction.index.offsets import SolvedDerivatives, Unknown, signature_of, unknown_label, unknowns_of
from daedalus.reduction.index.regularity import SystemJacobian, always_singular
from daedalus.reduction.rewriting import ReducedModel, equation_rows, rewritten, scalar_rows, write_rows

NOTHING_SOLVED = SolvedDerivatives({}, {}, {})


class _NotebookSymbols:
    """The unknowns of a notebook by position; those that are not among `unknowns` come behind."""

    def __init__(self, book: Model, unknowns: list[Unknown]) -> None:
        self._book = book
        self._unknowns = [*unknowns, *(u for u in unknowns_of(book) if u not in set(unknowns))]
        self._place = {u: j for j, u in enumerate(self._unknowns)}
        self._along = Differentiation(book, self._unknowns, NOTHING_SOLVED)

    def symbol(self, position: int, order: int) -> ca.SX:
        return self._book.written.derivative_scalar(*self._unknowns[position], order)

    def place(self, symbol: ca.SX) -> tuple[str, int, int]:
        name, k, order = self._book.written.known[symbol_key(symbol)]
        if (name, k) in self._place:
            return "y", order, self._place[name, k]
        if name == "t":
            return "t", 0, 0
        return ("u" if self._book.written.variables[name].kind == "input" else "p"), order, k

    def differentiated(self, expression: ca.SX, times: int = 1) -> ca.SX:
        for _ in range(times):
            expression = self._along.derivative(expression)
        return expression


def with_substitution(
    work: ReducedModel, residual: ca.SX, s: Signature, unknowns: list[Unknown], rows: list[EquationRow]
) -> tuple[ReducedModel, CombinedUnknowns] | None:
    """The model with a combination of unknowns named, and what was done; None where no such step lowers the value."""
    jacobian = SystemJacobian(work, residual, s, unknowns)
    before = int(s.d.sum() - s.c.sum())
    symbols = _NotebookSymbols(work, unknowns)
    for block in always_singular(work, jacobian):
        for step in substitutions(symbols, s, jacobian.matrix, block):
            found = _written(work, symbols, residual, s, unknowns, rows, step)
            if _value(found[0]) < before:
                return found
    return None


def _value(book: Model) -> float:
    """Σ d - Σ c of the structure; infinite where it is singular."""
    s = signature_of(book, concatenate(scalar_rows(book)), unknowns_of(book), equation_rows(book))
    return float(s.d.sum() - s.c.sum()) if s.regular else float("inf")


def _written(
    work: ReducedModel, symbols: _NotebookSymbols, residual: ca.SX, s: Signature, unknowns: list[Unknown],
    rows: list[EquationRow], step: Substitution,
) -> tuple[ReducedModel, CombinedUnknowns]:  # fmt: skip
    """The model with the new unknowns of a step, and what they stand for."""
    new = rewritten(work, {})
    leader = unknowns[step.leader]
    names = {j: _declared(new, work, unknowns[j], leader) for j in step.ratios}
    equations, definitions = substituted(
        symbols, _NotebookSymbols(new, unknowns), elements(residual), s, step, len(unknowns)
    )
    write_rows(new, [*rows, *map(definition_row, names.values())], [*equations, *definitions])
    second = unknown_label(work, leader, step.low[step.leader])
    told = ((name, unknown_label(work, unknowns[j], step.low[j]), second) for j, name in names.items())
    return new, CombinedUnknowns(tuple(told))


def _declared(new: ReducedModel, work: Model, unknown: Unknown, leader: Unknown) -> str:
    """A state for a combination, named after the two unknowns in it."""
    stems = [name if work.written.variables[name].size == 1 else f"{name}{k}" for name, k in (unknown, leader)]
    name = new.written.free_name(f"{stems[0]}_with_{stems[1].rpartition('.')[2]}")
    old = work.written.variables[unknown[0]]
    nominal = (old.nominal[unknown[1]],)
    declare(new, Variable(name, "state", (), "", (None,), (None,), nominal, (-float("inf"),), (float("inf"),), (0.0,)))
    return name
