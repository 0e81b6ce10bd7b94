"""Laws that give an unknown as an expression are put in where the unknown stands: i = v / R, torque = k · angle."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import casadi as ca

from daedalus.model.assembly.flattening import Flattening
from daedalus.model.assembly.unknowns import MOVING, SHARED
from daedalus.model.expressions import concatenate, dense, elements, symbol_key

Law = tuple[int, int, ca.SX, set[int]]  # row among the laws, unknown, expression, unknowns in it


class Replacement(NamedTuple):
    """Symbols that are gone and what stands for them, as two columns: lists of thousands are slow to hand over."""

    gone: ca.SX
    put: ca.SX

    @staticmethod
    def of(gone: list[ca.SX], put: list[ca.SX]) -> Replacement:
        """That of symbols and expressions one by one."""
        return Replacement(concatenate(gone), concatenate(put))

    def column(self, expressions: ca.SX) -> ca.SX:
        """A column of expressions with what stands for the symbols that are gone."""
        if not self.gone.numel() or not expressions.numel():
            return expressions
        return dense(ca.substitute([expressions], [self.gone], [self.put])[0])

    def each(self, expressions: list[ca.SX]) -> list[ca.SX]:
        """The same of expressions of any shape."""
        if not self.gone.numel() or not expressions:
            return expressions
        # As one column: the time that CasADi takes for many expressions grows faster than their number.
        found = elements(self.column(concatenate(expressions)))
        sizes = [e.numel() for e in expressions]
        if len(found) == len(expressions) and all(size == 1 for size in sizes):
            return found
        rest = iter(found)
        columns = (ca.vertcat(ca.SX(0, 1), *itertools.islice(rest, size)) for size in sizes)
        return [ca.reshape(column, e.shape) for column, e in zip(columns, expressions)]

    def then(self, further: Replacement) -> Replacement:
        """Both, one after the other."""
        gone = ca.vertcat(self.gone, further.gone)
        return Replacement(gone, ca.vertcat(further.column(self.put), further.put))


def chosen_laws(work: Flattening, known: Replacement) -> list[Law]:
    """The laws that are used as definitions: each unknown once, and none through itself."""
    written = [work.rows[k].residual for k in work.laws]
    offers: list[tuple[int, int, ca.SX]] = []
    for place, residual in enumerate(written):
        assert residual is not None
        offers += [(place, x, expression) for x, expression in _offered(work, residual)]
    expressions = known.column(concatenate(expression for _, _, expression in offers))
    met = _met(work, expressions, list(dict.fromkeys(x for _, x, _ in offers)))
    used: set[int] = set()
    inside: dict[int, set[int]] = {}  # the unknowns in what defines an unknown
    chosen: list[Law] = []
    for (place, x, _), expression, seen in zip(offers, elements(expressions), met):
        if place in used or x in inside or _leads_to(seen, x, inside):
            continue
        used.add(place)
        inside[x] = seen
        chosen.append((place, x, expression, seen))
    return chosen


def _met(work: Flattening, expressions: ca.SX, unknowns: list[int]) -> list[set[int]]:
    """Which of the unknowns stand in each expression."""
    found: list[set[int]] = [set() for _ in range(expressions.numel())]
    if unknowns:
        symbols = concatenate(work.unknowns.symbols[x] for x in unknowns)
        for row, place in zip(*ca.jacobian_sparsity(expressions, symbols).get_triplet()):
            found[row].add(unknowns[place])
    return found


def _offered(work: Flattening, residual: ca.SX) -> list[tuple[int, ca.SX]]:
    """The unknowns that a law x − f = 0 or f − x = 0 gives, each with f: roots that may go."""
    operation = residual.op()
    if operation not in (ca.OP_SUB, ca.OP_ADD):
        return []
    left, right = residual.dep(0), residual.dep(1)
    flip = operation == ca.OP_ADD
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
        below = Replacement.of([work.unknowns.symbols[y] for y in needed], [values[y] for y in needed])
        values.update(zip(names, below.each([own[x] for x in names])))
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
