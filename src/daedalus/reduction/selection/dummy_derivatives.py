"""The form of index 1 in which every constraint takes the place of one derivative: dummy derivatives.

With w for the values of the derivatives, all equations f(t, w, x, z) = 0 and all differentiated constraints hold, and
x' = w for selected states alone; the others follow from the constraints h(t, x) = 0 and are dependent (S. E. Mattsson,
G. Söderlind, SIAM J. Sci. Comput. 14, 1993). Which states are selected stands in parameters, so that another choice
needs no new model (S. E. Mattsson, H. Olsson, H. Elmqvist, Dynamic selection of states in Dymola, Modelica Workshop
2000). Any choice with a regular ∂h/∂x_D gives the same solution: H (x' - w) = 0 along h = 0, and its selected part is
zero.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import SYMBOLIC_SOLVE
from daedalus.errors import ModelError
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.names import derivative_name
from daedalus.model.notebook import declare
from daedalus.model.system.equation_row import EquationRow, Role, derivative_row
from daedalus.model.system.state_choice import StateChoice
from daedalus.model.system.system import System
from daedalus.model.variables import make_variable
from daedalus.model.written import Equation, WrittenEvent
from daedalus.reduction.forms.first_order import rate_variable
from daedalus.reduction.forms.orthogonal_solve import solve_orthogonal
from daedalus.reduction.index.derivative_values import DerivativeValues, derivative_values
from daedalus.reduction.index.offsets import Unknown, unknown_label
from daedalus.reduction.index.regularity import start_point
from daedalus.reduction.reduced_form import record, reduced_notebook
from daedalus.reduction.reduction_plan import ReductionPlan
from daedalus.reduction.rewriting import ReducedModel, keep_rows, substituted, write_rows
from daedalus.reduction.selection.choice_groups import Entry, Level, choice_groups, invariant_entries
from daedalus.reduction.selection.dominant_columns import BOUND, dominant_columns, partners

PARAMETER = "selection"
EVENT = "another_selection"


def with_selected_states(plan: ReductionPlan, original: System) -> ReducedModel:
    """The planned model with a choice of states in parameters, and the one that is best at the start."""
    groups = choice_groups(plan)
    matrices = [_start_matrix(plan, group[0]) for group in groups]
    if plan.book.written.invariants and any(dominant_columns(matrix) is None for matrix in matrices):
        # What the model keeps follows from the constraints, or fixes more than they do: it is kept by projection.
        groups = choice_groups(plan, with_invariants=False)
        matrices = [_start_matrix(plan, group[0]) for group in groups]
    _refuse_large(groups)
    n = reduced_notebook(plan)
    entries = [e for group in groups for level in group for e in level.entries]
    lowered = _lowered(plan, n, entries)
    own = [e for e in entries if e[1] + 1 == plan.order(e[0])]
    values = derivative_values(plan, n, _highest_rows(plan), own)
    _write(plan, n, groups, values, lowered)
    _name_higher_derivatives(plan, n, original)
    chosen = [_chosen(matrix, group[0]) for matrix, group in zip(matrices, groups)]
    parameter = n.written.variables[n.written.choices[0].parameter] if groups else None
    if parameter is not None:
        flat = [float(flag) for part in chosen for flag in part[0]]
        n.written.variables[parameter.name] = make_variable(parameter.name, "parameter", parameter.shape, start=flat)
    lower = plan.lower_levels
    keep_rows(n, [plan.level(*at) for at in lower], [plan.levels[at] for at in lower])
    dependent = {e for group, part in zip(groups, chosen) for level in group for e in _taken(level, part[1])}
    reduction = record(plan, n, original, "dummy_derivatives")
    labels = {e: unknown_label(plan.book, plan.unknowns[e[0]], e[1]) for e in entries}
    selected = tuple(labels[e] for e in sorted(entries) if e not in dependent)
    n._know(replace(reduction, selected=selected, dependent=tuple(labels[e] for e in sorted(dependent))))
    return n


def _taken(level: Level, columns: list[int]) -> list[Entry]:
    return [level.entries[k] for k in columns]


def _highest_rows(plan: ReductionPlan) -> dict[int, ca.SX]:
    """The equations of the reduced model: differentiated constraints in the place of the constraints."""
    c, own = plan.signature.c, set(plan.constraints)
    return {i: plan.levels[i, int(c[i]) if i in own else 0] for i in range(len(plan.rows))}


def _lowered(plan: ReductionPlan, n: ReducedModel, entries: list[Entry]) -> list[tuple[ca.SX, ca.SX]]:
    """States for derivatives of higher order among the entries: pairs of the derivative and what stands for it."""
    wanted: dict[tuple[str, int], list[int]] = {}
    for j in sorted({j for j, _ in entries if plan.order(j) > 1}):
        name, k = plan.unknowns[j]
        for order in range(1, plan.order(j)):
            wanted.setdefault((name, order), []).append(k)
    stands = []
    for (name, order), chosen in wanted.items():
        variable = rate_variable(n, plan.book.written.variables[name], order, chosen, "state")
        for k, symbol in zip(chosen, elements(declare(n, variable))):
            stands.append((plan.book.written.derivative_scalar(name, k, order), symbol))
            highest = plan.book.written.derivative_scalar(name, k, order + 1)
            if not any((name, order + 1) == key and k in own for key, own in wanted.items()):
                stands.append((highest, n.der(symbol)))
    return stands


# -- the choice at the start -----------------------------------------------------------------------------------


def _start_matrix(plan: ReductionPlan, level: Level) -> np.ndarray:
    """The matrix of a level in nominal values at the start; at random values where nothing is known of the start."""
    matrix = level.matrix
    symbols = ca.symvar(matrix)
    function = ca.Function("matrix", [concatenate(symbols)], [ca.densify(matrix)])
    point = start_point(plan.book, plan.system, symbols, plan.index)
    nominal = np.array([plan.book.written.variables[name].nominal[k] for name, k in _owners(plan, level)])
    if point is not None:
        found = function(np.array([point[symbol_key(s)] for s in symbols])).full() * nominal
        if dominant_columns(found) is not None:
            return found
    draw = np.random.default_rng(1993)
    return function(draw.uniform(0.4, 1.6, len(symbols))).full() * nominal


def _owners(plan: ReductionPlan, level: Level) -> list[tuple[str, int]]:
    return [plan.unknowns[j] for j, _ in level.entries]


def _chosen(matrix: np.ndarray, level: Level) -> tuple[list[bool], list[int]]:
    """Which entries of the pattern are one, and the dependent columns."""
    pattern = level.matrix.sparsity()
    columns = dominant_columns(matrix)
    rows_of, columns_of = pattern.get_triplet()
    if columns is None:
        raise _singular(level)
    allowed = np.zeros(matrix.shape, dtype=bool)
    allowed[rows_of, columns_of] = True
    partner = partners(matrix, columns, allowed)
    return [partner[i] == a for i, a in zip(rows_of, columns_of)], columns


def _singular(level: Level) -> ModelError:
    return ModelError(
        'stabilise="dummy_derivatives" does not fit this model.',
        f"{', '.join(level.names[:6])} cannot be solved for any of the unknowns there",
        because="each constraint takes the place of the derivative of one state, which has to follow from it.",
        remedy='stabilise="projection"; dd.analyse(m) names constraints that follow from others',
    )


def _refuse_large(groups: list[list[Level]]) -> None:
    for group in groups:
        names = group[0].names
        if len(names) > SYMBOLIC_SOLVE:
            raise ModelError(
                'stabilise="dummy_derivatives" does not fit this model.',
                f"{len(names)} constraints share their states: {', '.join(names[:4])}, …",
                because=f"rating a choice of states would take one formula of more than {SYMBOLIC_SOLVE} equations.",
                remedy='stabilise="projection", which grows with the number of constraints alone',
            )


# -- writing ---------------------------------------------------------------------------------------------------


def _write(
    plan: ReductionPlan,
    n: ReducedModel,
    groups: list[list[Level]],
    values: DerivativeValues,
    lowered: list[tuple[ca.SX, ca.SX]],
) -> None:
    """Equations, the parameter of the choice and the events that call for another one."""
    stand = {symbol_key(s): new for s, new in lowered}
    counts = [group[0].matrix.nnz() for group in groups]
    name = n.written.free_name(PARAMETER)
    c, last = plan.signature.c, len(plan.rows)
    # Each equation with its place: they stand where they were written, new ones last.
    rows = [(i, plan.level(i, int(c[i]) if i in plan.constraints else 0)) for i in values.rows]
    residuals = _in_new_states(list(values.rows.values()), lowered)
    if groups:
        flags = elements(declare(n, make_variable(name, "parameter", (sum(counts),), start=0.0)))
    for g, group in enumerate(groups):
        own = flags[sum(counts[:g]) : sum(counts[: g + 1])]
        event = ""
        if len(group[0].entries) > len(group[0].rows):
            event = n.written.free_name(EVENT if len(groups) == 1 else f"{EVENT}_{g + 1}")
            n.written.events[event] = WrittenEvent(event, _guard(plan, group[0], own), -1, {}, True)
        pairs = list(zip(*group[0].matrix.sparsity().get_triplet()))
        entries = tuple((sum(counts[:g]) + e, a, i) for e, (i, a) in enumerate(pairs))
        states = tuple(tuple(_state(plan, n, entry, stand) for entry in level.entries) for level in group)
        n.written.choices += (StateChoice(name, states, tuple(level.rows for level in group), entries, event),)
        for level, elements_of in zip(group, states):
            constraints = _in_new_states(elements(level.constraints), lowered)
            for a, (entry, state) in enumerate(zip(level.entries, elements_of)):
                mine = [(own[e], constraints[i]) for e, (i, column) in enumerate(pairs) if column == a]
                source, written = values.source.get(entry, last), _value(plan, entry, values, stand)
                (value,) = _in_new_states([written], lowered)
                tie = (1 - sum(flag for flag, _ in mine)) * (n.written.derivative_scalar(*state, 1) - value)
                rows.append((source, _tie_row(plan, entry, source)))
                residuals.append(tie + sum(flag * row for flag, row in mine))
    # Below a derivative with a name each state has its derivative for a neighbour, whether or not it may be dependent.
    chosen = {entry for group in groups for level in group for entry in level.entries}
    for j in sorted({j for j, _ in chosen if plan.order(j) > 1}):
        for entry in [(j, order) for order in range(plan.order(j) - 1) if (j, order) not in chosen]:
            state = _state(plan, n, entry, stand)
            rows.append((last, _tie_row(plan, entry, last)))
            residuals.append(n.written.derivative_scalar(*state, 1) - _value(plan, entry, values, stand))
    order = sorted(range(len(rows)), key=lambda k: rows[k][0])
    write_rows(n, [rows[k][1] for k in order], [residuals[k] for k in order])
    _put_into_others(plan, n, values, lowered)


def _in_new_states(rows: list[ca.SX], lowered: list[tuple[ca.SX, ca.SX]]) -> list[ca.SX]:
    """Expressions with states in the place of derivatives of higher order."""
    if not lowered or not rows:
        return rows
    old, new = (concatenate(side) for side in zip(*lowered))
    return elements(ca.densify(ca.substitute(concatenate(rows), old, new)))


def _state(plan: ReductionPlan, n: ReducedModel, entry: Entry, stand: dict[int, ca.SX]) -> tuple[str, int]:
    """The element of a state of the reduced model that an entry is."""
    name, k = plan.unknowns[entry[0]]
    if entry[1] == 0:
        return name, k
    symbol = stand[symbol_key(plan.book.written.derivative_scalar(name, k, entry[1]))]
    return n.written.known[symbol_key(symbol)][:2]


def _value(plan: ReductionPlan, entry: Entry, values: DerivativeValues, stand: dict[int, ca.SX]) -> ca.SX:
    """The value of the derivative of an entry."""
    if entry in values.value:
        return values.value[entry]
    return stand[symbol_key(plan.book.written.derivative_scalar(*plan.unknowns[entry[0]], entry[1] + 1))]


def _tie_row(plan: ReductionPlan, entry: Entry, source: int) -> EquationRow:
    """What the equation of an entry is: the one that gives its derivative, or says that it is one."""
    if source < len(plan.rows):
        row = plan.rows[source]
        return row if row.role is Role.DERIVATIVE else replace(row, role=Role.SELECTED)
    unknown, order = plan.unknowns[entry[0]], entry[1]
    return derivative_row(unknown_label(plan.book, unknown, order + 1), unknown_label(plan.book, unknown, order))


def _guard(plan: ReductionPlan, level: Level, flags: list[ca.SX]) -> ca.SX:
    """(bound - r) / (bound + r) with r the largest entry of A_D⁻¹ A_S in nominal values: negative where r is too large.

    A_D and A_S are A with columns chosen by the parameters.
    """
    nominal = [plan.book.written.variables[name].nominal[k] for name, k in _owners(plan, level)]
    matrix = ca.mtimes(level.matrix, ca.diag(ca.DM(nominal)))
    pattern = matrix.sparsity()
    count, size = matrix.shape
    chosen = ca.SX(size, count)
    for flag, i, a in zip(flags, *pattern.get_triplet()):
        chosen[a, i] = flag
    free = ca.diag(1 - ca.sum2(chosen))
    square, rest = ca.densify(ca.mtimes(matrix, chosen)), ca.densify(ca.mtimes(matrix, free))
    largest = ca.SX(0)
    for entry in elements(ca.vec(solve_orthogonal(square, rest))):
        largest = ca.fmax(largest, ca.fabs(entry))
    return (BOUND - largest) / (BOUND + largest)


def _name_higher_derivatives(plan: ReductionPlan, n: ReducedModel, original: System) -> None:
    """Derivatives that had a name before, such as q_ddot, are outputs of that name."""
    rates = _rates(plan)
    for v in original.of_kind("state"):
        own: list[Unknown | None] = [(v.name, k) for k in range(v.size)]
        for order in range(2, min(original.orders[v.name]) + 1):
            own = [None if unknown is None else rates.get(unknown) for unknown in own]
            rate = own[0][0] if own and own[0] is not None else ""
            whole = rate in n.written.variables and own == [(rate, k) for k in range(v.size)]
            if whole and n.written.variables[rate].shape == v.shape and n.written.variables[rate].kind == "state":
                n.written.outputs.setdefault(derivative_name(v.name, order), n.written.derivative_symbol(rate, 1))


def _rates(plan: ReductionPlan) -> dict[Unknown, Unknown]:
    """Which state stands for the derivative of which, by the equations that say so."""
    found = {}
    for row, residual in zip(plan.rows, elements(plan.residual)):
        if row.role is Role.DERIVATIVE:
            inside = {
                order: (name, k)
                for name, k, order in (plan.book.written.known[symbol_key(s)] for s in ca.symvar(residual))
            }
            if inside.keys() == {0, 1}:
                found[inside[1]] = inside[0]
    return found


def _put_into_others(
    plan: ReductionPlan, n: ReducedModel, values: DerivativeValues, lowered: list[tuple[ca.SX, ca.SX]]
) -> None:
    """Outputs and events read the values of derivatives.

    Invariants that are equations now are not projected on; nor are declared ones, alone they would lead off those.
    """
    tops = {e: plan.book.written.derivative_scalar(*plan.unknowns[e[0]], e[1] + 1) for e in values.value}
    held = {row.level for choice in n.written.choices for level in choice.constraints for row in level}
    kept: dict[str, Equation] = {}
    for name, invariant in plan.book.written.invariants.items():
        moving = all(invariant_entries(plan, row) for row in elements(invariant.residual))
        declared = invariant.rows[0].role is Role.DECLARED
        if declared or (moving and invariant.rows[0].level in held):
            kept[name] = n.written.invariants.pop(name)
    equations = dict(n.written.equations)
    known = {symbol_key(symbol) for symbol in tops.values()}
    pairs = [(tops[e], value) for e, value in values.value.items()]
    pairs += [(old, new) for old, new in lowered if symbol_key(old) not in known]
    if pairs:
        old, new = (concatenate(side) for side in zip(*pairs))
        substituted(n, old, new)
        # Equations have their values already, and ties keep their derivative.
        n.written.equations = equations
    n._kept.update(kept)
