"""How often each equation of a notebook is differentiated, and what follows without differentiating it.

The signature method gives offsets c and d (J. D. Pryce, BIT 41, 2001). An equation that is to be differentiated and
says x_j^(σ) = φ, with a coefficient free of unknowns, is left as it is: the derivatives of x_j are taken from φ
instead, as one does by hand with q' = v. That is a block elimination in the system Jacobian and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.analysis.structure.block_form import coarse_parts
from daedalus.analysis.structure.signature import Signature, raised, signature
from daedalus.deadline import poll
from daedalus.errors import SingularModelError
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.model import Model
from daedalus.model.names import derivative_name, element_label
from daedalus.model.system.equation_row import EquationRow
from daedalus.reduction.forms.linearity import has_steps, is_linear

Unknown = tuple[str, int]


@dataclass(frozen=True, eq=False)
class SolvedDerivatives:
    """The equations that are solved for a derivative: x_j^(order) = value, by the position of the unknown."""

    row: dict[int, int]  # unknown -> equation
    order: dict[int, int]
    value: dict[int, ca.SX]


def unknowns_of(book: Model) -> list[Unknown]:
    """Every element of every state and algebraic variable, in order of declaration."""
    return [
        (v.name, k) for v in book.written.variables.values() if v.kind in ("state", "algebraic") for k in range(v.size)
    ]


def unknown_label(book: Model, unknown: Unknown, order: int = 0) -> str:
    """The name of a derivative of an unknown."""
    name, k = unknown
    return element_label(derivative_name(name, order), book.written.variables[name].shape, k)


def highest_order(book: Model, residual: ca.SX) -> int:
    """The highest derivative of anything in some expressions."""
    return max((book.written.known[symbol_key(s)][2] for s in ca.symvar(residual)), default=0)


def jet_of(book: Model, unknowns: list[Unknown], highest: int) -> list[ca.SX]:
    """The symbols of the unknowns, of their first derivatives, and so on."""
    return [concatenate(book.written.derivative_scalar(n, k, r) for n, k in unknowns) for r in range(highest + 1)]


def signature_of(book: Model, residual: ca.SX, unknowns: list[Unknown], rows: Sequence[EquationRow]) -> Signature:
    """The signature of the equations in a notebook; refuses a singular structure."""
    s = signature(residual, jet_of(book, unknowns, highest_order(book, residual)))
    if not s.regular:
        raise _singular(book, s, unknowns, rows)
    return s


def raised_offsets(s: Signature, unknowns: list[Unknown], floors: np.ndarray) -> Signature:
    """The smallest offsets that reach `floors`; elements of one variable all have a derivative or none."""
    floors = floors.copy()
    while True:
        poll("reducing the index")
        s = raised(s, floors)
        mixed = _mixed(unknowns, s.d)
        if not len(mixed):
            return s
        floors[mixed] = 1


def _mixed(unknowns: list[Unknown], d: np.ndarray) -> list[int]:
    """Elements without a derivative whose variable has other elements with one."""
    with_derivative = {name for (name, _), order in zip(unknowns, d) if order > 0}
    return [j for j, (name, _) in enumerate(unknowns) if d[j] == 0 and name in with_derivative]


def solved_equations(
    book: Model,
    residual: ca.SX,
    s: Signature,
    unknowns: list[Unknown],
    floors: np.ndarray,
    slopes: ca.SX | None = None,
    steps: bool | None = None,
) -> SolvedDerivatives:
    """The equations to be differentiated that say x_j^(σ) = φ; no φ contains the left side of another one.

    slopes: the system Jacobian ∂f_i/∂x_j^(σ_ij), σ_ij = d_j - c_i, where it is known: one derivative for each equation
        costs more. steps: whether a step may stand in the equations, where that is known.
    """
    place = {u: j for j, u in enumerate(unknowns)}
    flow = SolvedDerivatives({}, {}, {})
    # What stands in the values taken so far: unknown -> highest order.
    inside: dict[int, int] = {}
    tight = s.tight & (s.orders >= 1) & (s.c[s.rows] >= 1) & (s.orders >= floors[s.columns])
    candidates: dict[int, list[tuple[int, int]]] = {}
    for i, j, order in zip(s.rows[tight].tolist(), s.columns[tight].tolist(), s.orders[tight].tolist()):
        candidates.setdefault(i, []).append((j, order))
    rows = elements(residual)
    steps = has_steps(residual) if steps is None else steps
    for i in sorted(candidates):
        found = _orders_in(book, rows[i], place)
        for j, order in candidates[i]:
            blocked = j in flow.row or inside.get(j, -1) >= order
            if blocked or any(own >= flow.order.get(k, np.inf) for k, own in found.items()):
                continue
            slope = None if slopes is None else slopes[i, j]
            value = solved_for(book, rows[i], unknowns[j], order, steps, slope)
            if value is None:
                continue
            flow.row[j], flow.order[j], flow.value[j] = i, order, value
            for k, highest in _orders_in(book, value, place).items():
                inside[k] = max(inside.get(k, -1), highest)
            break
    return flow


def _orders_in(book: Model, expression: ca.SX, place: Mapping[Unknown, int]) -> dict[int, int]:
    """The highest order of each unknown in an expression."""
    found: dict[int, int] = {}
    for scalar in ca.symvar(expression):
        name, k, order = book.written.known[symbol_key(scalar)]
        if (name, k) in place:
            found[place[name, k]] = max(found.get(place[name, k], -1), order)
    return found


def solved_for(
    book: Model, row: ca.SX, unknown: Unknown, order: int, steps: bool = True, slope: ca.SX | None = None
) -> ca.SX | None:
    """The equation solved for a derivative, where it is linear in it with a coefficient free of unknowns and inputs.

    steps: whether a step may stand in the equation. slope: its derivative by that, where it is known.
    """
    symbol = book.written.derivative_scalar(*unknown, order)
    if not steps and slope is not None and slope.is_one() and _is_left_side(row, symbol):
        return row.dep(1)
    slope = ca.jacobian(row, symbol) if slope is None else slope
    inside = {book.written.known[symbol_key(s)][0] for s in ca.symvar(slope)}
    if any(n == "t" or book.written.variables[n].kind != "parameter" for n in inside) or not is_linear(
        row, symbol, slope, steps
    ):
        return None
    return ca.densify(-ca.substitute(row, symbol, 0) / slope)


def _is_left_side(row: ca.SX, symbol: ca.SX) -> bool:
    """Whether an equation was written as symbol - φ."""
    return bool(row.is_op(ca.OP_SUB) and row.dep(0).is_symbolic() and symbol_key(row.dep(0)) == symbol_key(symbol))


def _singular(book: Model, s: Signature, unknowns: list[Unknown], rows: Sequence[EquationRow]) -> SingularModelError:
    parts = coarse_parts(s)
    few = [unknown_label(book, unknowns[j]) for j in parts.undetermined_unknowns]
    many = [rows[i].label for i in parts.too_many_equations]
    facts = [f"{', '.join(names[:8])} {text}" for names, text in (
        (few, "stand in too few equations"), (many, "are too many equations for the unknowns in them")
    ) if names]  # fmt: skip
    return SingularModelError(
        "The model cannot be reduced: its structure is singular.",
        facts,
        because="the equations cannot be matched with the unknowns one to one, however often they are differentiated.",
        remedy="dd.analyse(m), which names what is undetermined and what is redundant",
    )
