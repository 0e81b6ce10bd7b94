"""A system in the form that plans are computed in: x' = f and 0 = g at every instant.

Of each equation that holds one derivative, times a number or a parameter, that derivative is solved for. Derivatives
that only follow from several equations together (accelerations behind a mass matrix) become algebraic unknowns of their
own: x' = y with 0 = g(t, x, z, y, u, p). Nothing is inverted by formulas, so that derivatives stay short.

A constraint c that was differentiated c times stands here as (d/dt + α)^c c = 0 (Baumgarte): the same along motions
that begin on it, but a search may leave it on its way, and comes back. Without it drift over the duration makes a
search from a good guess fail (measured: 6 of 48 point-to-point motions of a pendulum in space, none with it).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import casadi as ca

from daedalus.model.expressions import column, concatenate, elements, symbol_key
from daedalus.model.system.equation_row import Role
from daedalus.model.system.once import remembered
from daedalus.model.system.system import System
from daedalus.reduction.stabilise import damped


@dataclass(frozen=True)
class StageForm:
    """x' = rates and 0 = equations, of (t, x, unknowns, u, p).

    unknowns: the algebraic variables z, then the derivatives y that have no formula; labels name them, sizes are their
    nominal values. damping: the symbol of the rate α in the equations.
    """

    system: System
    rates: ca.SX
    equations: ca.SX
    unknowns: ca.SX
    labels: tuple[str, ...]
    waiting: tuple[int, ...]  # the states whose derivatives are among the unknowns
    equation_labels: tuple[str, ...]
    damping: ca.SX

    def applied(self, expression: ca.SX) -> ca.SX:
        """An expression of (t, x', x, z, u, p) without derivatives."""
        return ca.densify(ca.substitute([expression], [self.system.symbol("xdot")], [self.rates])[0])


@remembered
def stage_form(system: System) -> StageForm:
    """The form of a system of index 0 or 1; made once and kept with it.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("two masses")
    >>> x, v, a = m.state("x"), m.state("v"), m.state("a")
    >>> m.equation(m.der(x), v); m.equation(m.der(v) + m.der(a), 1); m.equation(m.der(v) - x * m.der(a), 0)
    >>> form = stage_form(m.freeze())
    >>> form.labels, form.equations.numel()
    (('v_dot', 'a_dot'), 2)
    """
    damping = ca.SX.sym("damping")
    residual, rates = _damped_residual(system, damping), system.symbol("xdot")
    jacobian = ca.jacobian(residual, rates)
    rows, columns = jacobian.sparsity().get_triplet()
    entries = {place: jacobian[place] for place in zip(rows, columns)}
    count = Counter(rows)
    parameters = {symbol_key(s) for s in elements(system.symbol("p"))}
    solved: dict[int, int] = {}  # derivative -> row
    for (row, place), entry in entries.items():
        plain = all(symbol_key(s) in parameters for s in ca.symvar(entry))
        if count[row] == 1 and place not in solved and plain:
            solved[place] = row
    formulas = elements(rates)
    zero = ca.SX.zeros(rates.numel(), 1)
    without = ca.substitute([residual], [rates], [zero])[0]
    for place, row in solved.items():
        formulas[place] = -without[row] / entries[row, place]
    f = concatenate(formulas)
    waiting = tuple(k for k in range(rates.numel()) if k not in solved)
    left = [row for row in range(residual.numel()) if row not in set(solved.values())]
    equations = ca.substitute([residual[left]], [rates], [f])[0] if left else ca.SX(0, 1)
    unknowns = concatenate([system.symbol("z"), *(rates[k] for k in waiting)])
    labels = (*system.labels["z"], *(system.labels["xdot"][k] for k in waiting))
    return StageForm(
        system,
        f,
        ca.densify(equations),
        unknowns,
        labels,
        waiting,
        tuple(system.equation_labels[k] for k in left),
        damping,
    )


def _damped_residual(system: System, damping: ca.SX) -> ca.SX:
    """The residual with lower levels added to constraints that were differentiated."""
    kept = {**system.invariants, **system.watched}
    entries = [entry for expression in kept.values() for entry in elements(column(expression))]
    levels = {row.level: entry for row, entry in zip((*system.invariant_rows, *system.watched_rows), entries)}
    rows = elements(system.residual)
    for k, row in enumerate(system.rows):
        if row.times and row.role is Role.WRITTEN:
            below = [levels.get(replace(row, times=times).level) for times in range(row.times)]
            lower = {times: level for times, level in enumerate(below) if level is not None}
            if len(lower) == row.times:
                rows[k] = damped({**lower, row.times: rows[k]}, row.times, damping)
    return concatenate(rows)
