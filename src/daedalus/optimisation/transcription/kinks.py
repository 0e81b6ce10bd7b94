"""Costs with kinks, such as |u| for fuel or max(0, x), written so that derivatives exist everywhere.

A cost that grows with |e| is least where s is as small as s >= e and s >= -e allow, with s in the place of |e|:

    min c |e|   =   min c s   with   s >= e,  s >= -e      for c > 0

Likewise max(a, b) with s >= a and s >= b, min(a, b) = -max(-a, -b), and the length of a vector with s² >= x² + y², one
around the other where that is written. Searches by derivatives stop at kinks; on the right there are none. Where the
cost falls with |e|, or not in proportion, the kink stays. What may not exceed a bound, such as |u| + |v| <= 1 or the
integral of |u|, is written in the same way: whatever obeys it with s obeys it as it was written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from daedalus.model.expressions import BENDS, elements, symbol_key

KINKS = (*BENDS, ca.OP_SQRT)
# A cost with more operations is taken as it is.
MOST_OPERATIONS = 20_000
# The least that bounds are: zero or any number, and where squares are divided by it, a small share of their size.
LEAST = {ca.OP_FMAX: -np.inf, ca.OP_FMIN: -np.inf}
DIVIDES = 1e-5


@dataclass(frozen=True)
class SmoothCost:
    """A cost of the symbols of a problem and of `bounds`, each of which is at least as large as its `sides`.

    bounds: (k, 1); sides: (m, 1), each minus its bound, so that it may not be positive. lower: of the bounds, positive
    ones as a share of their size. kinks: what stood where the bounds are, (k, 1).
    """

    cost: ca.SX
    bounds: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    sides: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    lower: tuple[float, ...] = ()
    kinks: ca.SX = field(default_factory=lambda: ca.SX(0, 1))


def smooth_cost(
    cost: ca.SX, constants: ca.SX, values: np.ndarray, within: ca.SX | None = None, divided: bool = False
) -> SmoothCost:
    """A cost without the kinks that it grows with; `constants`: symbols that a search does not move, with values.

    within: where given, only kinks of these symbols and of parameters of the problem are replaced.
    divided: lengths are bounded by s >= (x² + y²) / s. Where they are zero s² >= x² + y² has no slope, and the
        multiplier of a rate grows without end (H. Benson, R. Vanderbei, Mathematical Programming 95, 2003).

    Example
    -------
    >>> u, x = ca.SX.sym("u"), ca.SX.sym("x")
    >>> found = smooth_cost(2 * ca.fabs(u) + x**2, ca.SX(0, 1), np.zeros((1, 0)))
    >>> found.bounds.numel(), found.sides.numel()
    (1, 2)
    >>> smooth_cost(x**2 - ca.fabs(u), ca.SX(0, 1), np.zeros((1, 0))).bounds.numel()
    0
    """
    plain = SmoothCost(cost)
    symbols = ca.symvar(cost)
    written = ca.Function("cost", symbols, [cost])
    if written.n_instructions() > MOST_OPERATIONS or not has_kinks(cost):
        return plain
    kept: set[int] = set()
    while True:
        found, order = _rewritten(written, symbols, kept, divided)
        wrong = [
            place
            for j, place in enumerate(order)
            if not (_presses(found, j, constants, values) and _is_within(found, j, within))
        ]
        if not wrong:
            return found if order else plain
        kept |= set(wrong)


def has_kinks(expression: ca.SX) -> bool:
    """Whether an expression contains an operation that may have a kink."""
    written = ca.Function("written", ca.symvar(expression), [expression])
    return any(written.instruction_id(k) in KINKS for k in range(written.n_instructions()))


def _rewritten(
    written: ca.Function, symbols: list[ca.SX], kept: set[int], divided: bool
) -> tuple[SmoothCost, list[int]]:
    """The cost with a bound in the place of each kink but those that are kept; where these kinks were."""
    work: list[ca.SX] = [ca.SX(0)] * written.sz_w()
    bounds, sides, kinks, lower, order = [ca.SX(0, 1)], [ca.SX(0, 1)], [ca.SX(0, 1)], list[float](), list[int]()
    cost = ca.SX(0)
    for k in range(written.n_instructions()):
        operation, into, of = written.instruction_id(k), written.instruction_output(k), written.instruction_input(k)
        if operation == ca.OP_CONST:
            work[into[0]] = ca.SX(written.instruction_constant(k))
        elif operation == ca.OP_INPUT:
            work[into[0]] = symbols[of[0]]
        elif operation == ca.OP_OUTPUT:
            cost = work[of[0]]
        elif k not in kept and _is_kink(operation, work[of[0]]):
            a, bound = work[of[0]], ca.SX.sym(f"bound_{k}")
            sign, kink = -1.0 if operation == ca.OP_FMIN else 1.0, ca.SX.unary(operation, a) if len(of) == 1 else None
            kinks.append(sign * (ca.SX.binary(operation, a, work[of[1]]) if kink is None else kink))
            if operation == ca.OP_SQRT:
                sides.append(a / bound - bound if divided else a - bound**2)
            else:
                sides += [sign * a - bound, sign * (-a if operation == ca.OP_FABS else work[of[1]]) - bound]
            bounds.append(bound)
            order.append(k)
            lower.append(DIVIDES if divided and operation == ca.OP_SQRT else LEAST.get(operation, 0.0))
            work[into[0]] = sign * bound
        elif len(of) == 1:
            work[into[0]] = ca.SX.unary(operation, work[of[0]])
        else:
            work[into[0]] = ca.SX.binary(operation, work[of[0]], work[of[1]])
    # A kink within another holds the bound of that one, which stands for it.
    within = ca.substitute(kinks, bounds[1:], kinks[1:]) if order else kinks
    return SmoothCost(cost, ca.vertcat(*bounds), ca.vertcat(*sides), tuple(lower), ca.vertcat(*within)), order


def _is_kink(operation: int, a: ca.SX) -> bool:
    """Whether an operation has a kink: a root has one where it is that of squares alone."""
    if operation != ca.OP_SQRT:
        return operation in KINKS
    terms = [a]
    while terms:
        term = terms.pop()
        kind, parts = term.op() if not term.is_leaf() else None, [term.dep(k) for k in range(term.n_dep())]
        if kind == ca.OP_ADD:
            terms += parts
        elif not (kind == ca.OP_SQ or (kind == ca.OP_MUL and ca.is_equal(parts[0], parts[1], 2))):
            return False
    return True


def _presses(found: SmoothCost, j: int, constants: ca.SX, values: np.ndarray) -> bool:
    """Whether the cost, or another bound, grows with a bound in proportion, wherever a search goes, and none falls."""
    known = {symbol_key(s) for s in elements(constants)}
    # Of its own sides a bound is subtracted; those of others that hold it are larger with it.
    own = [k for k, side in enumerate(elements(found.sides)) if _owner(found, side) == j]
    others = [side for k, side in enumerate(elements(found.sides)) if k not in own]
    slopes = ca.jacobian(ca.vertcat(found.cost, *others), found.bounds[j])
    slopes = ca.densify(slopes)
    if any(symbol_key(s) not in known for s in ca.symvar(slopes)):
        return False
    at = np.asarray(ca.Function("slopes", [constants], [slopes]).map(len(values))(values.T))
    at = at.reshape(slopes.numel(), len(values), order="F") if at.size else at
    return bool(np.all(at >= 0) and np.all(at.sum(axis=0) > 0))


def _is_within(found: SmoothCost, j: int, within: ca.SX | None) -> bool:
    """Whether the sides of a bound hold nothing but some symbols and other bounds."""
    if within is None:
        return True
    known = {symbol_key(s) for s in (*elements(within), *elements(found.bounds))}
    own = [side for side in elements(found.sides) if _owner(found, side) == j]
    return all(symbol_key(s) in known for s in ca.symvar(ca.vertcat(*own)))


def _owner(found: SmoothCost, side: ca.SX) -> int:
    """Which bound a side belongs to: the last that it holds, because what lies around a kink comes behind it."""
    return max(k for k, bound in enumerate(elements(found.bounds)) if ca.depends_on(side, bound))
