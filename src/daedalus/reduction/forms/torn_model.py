"""A model with fewer algebraic unknowns: those that follow from others by a safe division become outputs.

Aliases such as v1 = -2 v2 go first, then chains of equations that each give one unknown; of coupled equations only the
torn unknowns stay (`tearing`). What is divided by is a constant, so that nothing can vanish, and a nonlinear equation
stays as it is with the formulas put in.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.model.expressions import at_values, concatenate, elements, symbol_key
from daedalus.model.notebook import declare
from daedalus.reduction.findings import TornUnknowns
from daedalus.reduction.forms.linearity import steps_with
from daedalus.reduction.forms.tearing import Tearing, balanced, tear
from daedalus.reduction.forms.torn_solve import constant_entries
from daedalus.reduction.rewriting import (
    ReducedModel,
    equation_rows,
    has_derivative,
    keep_further_names,
    part_of,
    rewritten,
    scalar_rows,
    start_value,
    substituted,
    write_rows,
)

Element = tuple[str, int]


def torn_model(book: ReducedModel) -> tuple[ReducedModel, TornUnknowns | None]:
    """The model with formulas in the place of all algebraic unknowns but the torn ones, and what was done."""
    rows, origins = scalar_rows(book), equation_rows(book)
    unknowns = [(v.name, k) for v in book.written.variables.values() if v.kind == "algebraic" for k in range(v.size)]
    symbols = [book.written.scalars[name, 0][k] for name, k in unknowns]
    candidates = [i for i, row in enumerate(rows) if not has_derivative(book, row)]
    if not unknowns or not candidates:
        return book, None
    own = concatenate(rows[i] for i in candidates)
    slopes = ca.jacobian(own, concatenate(symbols))
    cut = _cut(book, own, slopes, concatenate(symbols))
    if not cut.order:
        return book, None
    formulas = _formulas(rows, candidates, symbols, slopes, cut)
    n, new = _declared(book, unknowns, formulas)
    used = {candidates[r] for r, _ in cut.order}
    rest = [i for i in range(len(rows)) if i not in used]
    write_rows(n, [origins[i] for i in rest], [rows[i] for i in rest])
    old = [symbols[c] for c in new]
    substituted(n, concatenate(old), concatenate(new.values()))
    left = [unknowns[c] for c in range(len(unknowns)) if c not in formulas]
    return n, TornUnknowns(len(unknowns), tuple(book.written.variables[name].label(k) for name, k in left))


def _cut(book: ReducedModel, rows: ca.SX, slopes: ca.SX, unknowns: ca.SX) -> Tearing:
    """A tearing in which constants are divided by alone."""
    of_row, of_column = slopes.sparsity().get_triplet()
    jumps: set[int] = set()
    if steps_with(rows, unknowns):
        jumps = {r for r, row in enumerate(elements(rows)) if steps_with(row, unknowns)}
    safe = [flag and r not in jumps for r, flag in zip(of_row, constant_entries(slopes).tolist())]
    values = np.array(at_values(slopes, lambda s: start_value(book, s, 0.0)).nonzeros(), dtype=float)
    known = len(values) == len(of_row) and bool(np.all(np.isfinite(values)))
    places = np.array(of_row, dtype=int), np.array(of_column, dtype=int)
    found = tear(of_row, of_column, safe, slopes.shape, balanced(values, *places, slopes.shape) if known else None)
    assert found is not None
    return found


def _formulas(
    rows: list[ca.SX], candidates: list[int], symbols: list[ca.SX], slopes: ca.SX, cut: Tearing
) -> dict[int, ca.SX]:
    """Each unknown that follows, as an expression of the torn ones and of what is not an unknown."""
    place = {symbol_key(s): c for c, s in enumerate(symbols)}
    found: dict[int, ca.SX] = {}
    for r, c in cut.order:
        row = rows[candidates[r]]
        inside = ca.symvar(row)
        values = [found.get(place.get(symbol_key(s), -1), s) for s in inside]
        values = [ca.SX(0) if symbol_key(s) == symbol_key(symbols[c]) else v for s, v in zip(inside, values)]
        # The equation is small and the values are graphs: they are joined, not copied.
        rest = ca.Function("rest", inside, [row]).call(values)[0]
        found[c] = ca.densify(-rest / slopes[r, c])
    return found


def _declared(
    book: ReducedModel, unknowns: list[Element], formulas: dict[int, ca.SX]
) -> tuple[ReducedModel, dict[int, ca.SX]]:
    """The notebook without the unknowns that follow: they are outputs, and what is left of a vector has a new name."""
    by_name: dict[str, list[int]] = {}
    for c, (name, _) in enumerate(unknowns):
        by_name.setdefault(name, []).append(c)
    touched = [name for name, own in by_name.items() if any(c in formulas for c in own)]
    n = rewritten(book, dict.fromkeys(touched))
    new: dict[int, ca.SX] = dict(formulas)
    for name in touched:
        left = [c for c in by_name[name] if c not in formulas]
        if left:
            part = part_of(n, book.written.variables[name], "_torn", [unknowns[c][1] for c in left])
            new.update(zip(left, elements(declare(n, part))))
    torn = [c for c in new if c not in formulas]
    if torn:
        old = concatenate(book.written.scalars[unknowns[c][0], 0][unknowns[c][1]] for c in torn)
        put = concatenate(new[c] for c in torn)
        new.update(zip(formulas, elements(ca.densify(ca.substitute(concatenate(formulas.values()), old, put)))))
    for name in touched:
        whole = concatenate(new[c] for c in by_name[name])
        n.written.outputs[name] = ca.reshape(whole, *book.written.symbols[name].shape)
    keep_further_names(n)
    return n, new
