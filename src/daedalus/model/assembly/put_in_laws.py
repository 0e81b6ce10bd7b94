"""Laws that give an unknown as an expression are put in where the unknown stands: i = v / R, torque = k · angle."""

from __future__ import annotations

import itertools

import casadi as ca

from daedalus.model.assembly.flattening import Flattening
from daedalus.model.assembly.unknowns import MOVING, SHARED
from daedalus.model.expressions import concatenate, dense, elements, symbol_key

Law = tuple[int, int, ca.SX, set[int]]  # row among the laws, unknown, expression, unknowns in it


def replaced(expressions: list[ca.SX], old: list[ca.SX], new: list[ca.SX]) -> list[ca.SX]:
    """Expressions with other expressions in the place of symbols, in one go."""
    return replaced_columns(expressions, ca.vertcat(*old), ca.vertcat(*new)) if expressions and old else expressions


def replaced_columns(expressions: list[ca.SX], old: ca.SX, new: ca.SX) -> list[ca.SX]:
    """The same with symbols and what stands for them as columns."""
    if not expressions or not old.numel():
        return expressions
    # As one column: the time that CasADi takes for many expressions grows faster than their number.
    found = elements(dense(ca.substitute([concatenate(expressions)], [old], [new])[0]))
    sizes = [e.numel() for e in expressions]
    if len(found) == len(expressions) and all(size == 1 for size in sizes):
        return found
    rest = iter(found)
    columns = (ca.vertcat(ca.SX(0, 1), *itertools.islice(rest, size)) for size in sizes)
    return [ca.reshape(column, e.shape) for column, e in zip(columns, expressions)]


def chosen_laws(work: Flattening, old: list[ca.SX], new: list[ca.SX]) -> list[Law]:
    """The laws that are used as definitions: each unknown once, and none through itself."""
    written = [work.rows[k].residual for k in work.laws]
    offers: list[tuple[int, int, ca.SX]] = []
    for place, residual in enumerate(written):
        assert residual is not None
        offers += [(place, x, expression) for x, expression in _offered(work, residual)]
    expressions = replaced([expression for _, _, expression in offers], old, new)
    used: set[int] = set()
    inside: dict[int, set[int]] = {}  # the unknowns in what defines an unknown
    chosen: list[Law] = []
    number = work.unknowns.number
    for (place, x, _), expression in zip(offers, expressions):
        if place in used or x in inside:
            continue
        seen = {number[key] for s in ca.symvar(expression) if (key := symbol_key(s)) in number}
        if _leads_to(seen, x, inside):
            continue
        used.add(place)
        inside[x] = seen
        chosen.append((place, x, expression, seen))
    return chosen


def _offered(work: Flattening, residual: ca.SX) -> list[tuple[int, ca.SX]]:
    """The unknowns that a law x − f = 0 or f − x = 0 gives, each with f: roots that may go."""
    if residual.is_constant() or residual.is_symbolic() or residual.op() not in (ca.OP_SUB, ca.OP_ADD):
        return []
    left, right = residual.dep(0), residual.dep(1)
    flip = residual.op() == ca.OP_ADD
    found = []
    for own, other in ((left, right), (right, left)):
        key = symbol_key(own) if own.is_symbolic() else None
        if key is None or key not in work.unknowns.number:
            continue
        root, sign = work.sums.root(work.unknowns.number[key])
        rank = work.unknowns.rank[root]
        if rank < MOVING and rank != SHARED and root not in work.value:
            value = -other if flip else other
            found.append((root, value if sign > 0 else -value))
    return found


def _leads_to(seen: set[int], x: int, inside: dict[int, set[int]]) -> bool:
    """Whether an unknown stands behind a set of unknowns, through what defines them."""
    waiting, met = list(seen), set(seen)
    while waiting:
        y = waiting.pop()
        if y == x:
            return True
        further = inside.get(y, set()) - met
        met |= further
        waiting += further
    return False


def law_values(work: Flattening, laws: list[Law]) -> dict[int, ca.SX]:
    """The defined unknowns as expressions of what is left, level by level."""
    own = {x: expression for _, x, expression, _ in laws}
    level = dict[int, int]()
    inside = {x: [y for y in seen if y in own] for _, x, _, seen in laws}
    for x in own:
        _set_level(x, inside, level)
    values: dict[int, ca.SX] = {}
    for height in sorted(set(level.values())):
        names = [x for x in own if level[x] == height]
        needed = sorted({y for x in names for y in inside[x]})
        expressions = replaced([own[x] for x in names], [work.unknowns.symbols[y] for y in needed],
                               [values[y] for y in needed])  # fmt: skip
        values.update(zip(names, expressions))
    return values


def _set_level(x: int, inside: dict[int, list[int]], level: dict[int, int]) -> None:
    """The level of an unknown above those that define it, without recursion: chains may be long."""
    waiting = [x]
    while waiting:
        top = waiting[-1]
        missing = [y for y in inside[top] if y not in level]
        if missing:
            waiting += missing
            continue
        level[top] = 1 + max((level[y] for y in inside[top]), default=-1)
        waiting.pop()
