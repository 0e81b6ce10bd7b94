"""The derivatives of some states as values: from an equation that gives one, else as algebraic variables of their own.

An equation m v' = f(x, z) with a constant m says what v' is: no new unknown is needed. Where derivatives are coupled,
M(q) v' = f, each gets a name.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.notebook import declare
from daedalus.reduction.forms.first_order import rate_variable
from daedalus.reduction.index.offsets import solved_for
from daedalus.reduction.reduction_plan import ReductionPlan
from daedalus.reduction.rewriting import ReducedModel
from daedalus.reduction.selection.choice_groups import Entry


@dataclass(eq=False)
class DerivativeValues:
    """What stands for the derivatives of the entries: value by entry, the equation it was taken from, and the rest.

    rows: the other equations of the reduced model, by number, with all values put in.
    """

    value: dict[Entry, ca.SX] = field(default_factory=dict)
    source: dict[Entry, int] = field(default_factory=dict)
    rows: dict[int, ca.SX] = field(default_factory=dict)


def derivative_values(
    plan: ReductionPlan, n: ReducedModel, rows: dict[int, ca.SX], entries: list[Entry]
) -> DerivativeValues:
    """Values of the highest derivatives of some entries of the state; unknowns that are needed are declared in n."""
    book, found = plan.book, DerivativeValues(rows=dict(rows))
    top = {e: book.written.derivative_scalar(*plan.unknowns[e[0]], e[1] + 1) for e in entries}
    given = [e for e in entries if e[0] in plan.flow.row]
    for entry in given:
        found.value[entry], found.source[entry] = plan.flow.value[entry[0]], plan.flow.row[entry[0]]
        found.rows.pop(found.source[entry])
    _put_in(found.rows, top, found.value)
    others = [e for e in entries if e not in found.value]
    keys = {symbol_key(top[e]): e for e in others}
    using: dict[Entry, list[int]] = {e: [] for e in others}
    for i, row in found.rows.items():
        for s in ca.symvar(row) if i not in plan.constraints else ():
            if symbol_key(s) in keys:
                using[keys[symbol_key(s)]].append(i)
    left = []
    for entry in others:
        for i in (i for i in using[entry] if i in found.rows):
            value = solved_for(book, found.rows[i], plan.unknowns[entry[0]], entry[1] + 1)
            if value is not None and not any(symbol_key(s) in keys for s in ca.symvar(value)):
                found.value[entry], found.source[entry] = value, i
                del found.rows[i]
                break
        else:
            left.append(entry)
    found.value.update(_declared(plan, n, left))
    new = {e: found.value[e] for e in others}
    _put_in(found.rows, top, new)
    values = {k: found.value[e] for k, e in enumerate(given)}
    _put_in(values, top, new)
    found.value.update({e: values[k] for k, e in enumerate(given)})
    return found


def _put_in(rows: dict[int, ca.SX], top: dict[Entry, ca.SX], value: dict[Entry, ca.SX]) -> None:
    """Replace derivatives by values in all rows at once."""
    if not value or not rows:
        return
    old, new = concatenate(top[e] for e in value), concatenate(value.values())
    changed = elements(ca.densify(ca.substitute(concatenate(rows.values()), old, new)))
    rows.update(zip(rows, changed))


def _declared(plan: ReductionPlan, n: ReducedModel, entries: list[Entry]) -> dict[Entry, ca.SX]:
    """Algebraic variables for derivatives, one a variable of the model and order."""
    by_variable: dict[tuple[str, int], list[tuple[int, Entry]]] = {}
    for entry in entries:
        name, k = plan.unknowns[entry[0]]
        by_variable.setdefault((name, entry[1] + 1), []).append((k, entry))
    found = {}
    for (name, order), own in by_variable.items():
        variable = rate_variable(n, plan.book.written.variables[name], order, [k for k, _ in own], "algebraic")
        for (_, entry), symbol in zip(own, elements(column(declare(n, variable)))):
            found[entry] = symbol
    return found
