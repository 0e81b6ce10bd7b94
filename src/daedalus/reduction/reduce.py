"""`dd.reduce(m)`: an equivalent model of index at most one that remembers its constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from daedalus.algebra.rank_decision import FULL_RANK
from daedalus.errors import InputError, SingularModelError
from daedalus.model.model import Model
from daedalus.model.system.equation_row import Role
from daedalus.model.system.system import System
from daedalus.model.written import by_equation
from daedalus.reduction.findings import Finding, SingularAtStart
from daedalus.reduction.forms.first_order import to_first_order
from daedalus.reduction.forms.linearity import smooth_operations
from daedalus.reduction.forms.torn_model import torn_model
from daedalus.reduction.index.derivative_inputs import with_derivative_inputs
from daedalus.reduction.index.differentiate import DifferentiatedInputError, given_input_counts
from daedalus.reduction.index.given_inputs import check_smooth, with_inputs
from daedalus.reduction.index.position_and_velocity import with_both_levels
from daedalus.reduction.reduced_form import record, reduced_notebook, with_equations
from daedalus.reduction.reduction_plan import ReductionPlan, plan_reduction
from daedalus.reduction.redundancy.constraint_loops import closes_loops
from daedalus.reduction.redundancy.independent_constraints import Redundancy, redundancy_of
from daedalus.reduction.redundancy.repeated_equations import independent_equations
from daedalus.reduction.rewriting import ReducedModel, keep_rows, read_model, written_out
from daedalus.reduction.selection.dummy_derivatives import with_selected_states
from daedalus.reduction.stabilise import chosen_alpha, damped

STABILISATIONS = ("projection", "baumgarte", "ggl", "dummy_derivatives", None)


def reduce(
    model: Model | System,
    index: int = 1,
    stabilise: str | None = "projection",
    alpha: float | None = None,
    *,
    inputs: Mapping[str, object] | None = None,
    tear: bool = False,
) -> ReducedModel:
    """Return an equivalent model of lower index, whose equations determine all highest derivatives and algebraic
    variables.

    Equation i is differentiated c_i times (signature method of Pryce). The constraints and their lower derivatives are
    kept as invariants. An equation that gives a derivative, such as q' = v, is substituted into the others instead of
    being differentiated. The result is a Model with the same names and symbols. `n.reduction` describes what was done,
    and `n.constraints` holds the constraints with their derivatives.

    Parameters
    ----------
    model: any square model. If its sparsity pattern is misleading, equations are combined first, or combinations of
        unknowns get their own names; `n.reduction` says so. From redundant constraints of a mechanism, independent ones
        are selected.
    index: 1, or 0 to also turn algebraic variables into states.
    stabilise: how a run satisfies the constraints.
        "projection": they are invariants of the model, and `simulate` projects every step onto them.
        "baumgarte": f^(c) = 0 becomes (d/dt + alpha)^c f = 0.
        "ggl": for constraints on positions, both the constraint and its derivative stay as equations with one more
        multiplier each (Gear, Gupta, Leimkuhler 1985): a model of index 2 for implicit methods.
        "dummy_derivatives": constraints and all their derivatives are equations, each replacing the derivative of one
        state (Mattsson, Söderlind 1993): a model of index 1 for implicit methods, which drifts no more than their
        solver tolerance. The parameter "selection" holds which states are integrated. A run changes the selection where
        another one is better and notes when in `tr.notes`. Derivatives of second order get names, q_rate for q_dot.
        None: no stabilisation; the solution drifts.
    alpha: the rate of "baumgarte" in 1/time; by default the rate of the fastest motion at the start.
    inputs: expressions of `m.time`, parameters and states that replace inputs; these become outputs with the same
        names. If an input is differentiated and not given here, its derivatives `u_dot`, `u_ddot` are inputs of the
        result, too. `simulate(n, inputs={"u": ...})` computes them from an expression, a traced function or a smooth
        table, `dd.signal(..., kind="spline")`.
    tear: algebraic unknowns that follow from others by a division by a constant become outputs with the same names:
        aliases, chains, and all but a few unknowns of coupled equations. Implicit methods then solve for fewer
        unknowns.

    Raises
    ------
    InputError: an expression for an input jumps where it is differentiated. SingularModelError: nothing determines some
    unknown.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("pendulum")
    >>> p = m.coordinate("p", 2, start=[1, 0], rate=[0, 0])
    >>> m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p))); m.potential_energy(9.81 * p[1])
    >>> rod = m.constraint("rod", ca.sumsqr(p) - 1)
    >>> n = dd.reduce(m)
    >>> print(n.reduction)
    pendulum: structural index 3 before the reduction
      rod differentiated twice
      states: p[0], p[1], p_dot[0], p_dot[1]
      algebraic: rod
      2 start values may be chosen freely
      kept at zero by projection: rod; rod, differentiated once
    >>> tr = dd.simulate(n, 1.0)
    """
    book = read_model(model, "reduce")
    _check_arguments(index, stabilise, alpha)
    given = dict(inputs or {})
    try:
        found = reduced_with(book, given, index, stabilise, alpha, tear)
    except DifferentiatedInputError as error:
        if any(name in given for name in error.needed):
            raise
        found = with_derivative_inputs(
            book,
            error.needed,
            lambda twin, polynomials: reduced_with(twin, {**given, **polynomials}, index, stabilise, alpha, tear),
        )
    found._know(replace(found.reduction, for_a_run=False), *found._found)
    return found


def reduced_with(
    model: Model,
    given: Mapping[str, object],
    index: int = 1,
    stabilise: str | None = "projection",
    alpha: float | None = None,
    tear: bool = False,
) -> ReducedModel:
    """The reduced model with expressions in the place of inputs; no other input may have to be differentiated."""
    original = model.freeze()
    level = 1 if stabilise == "ggl" else index
    both_levels = stabilise == "ggl"
    try:
        known, redundancy = _planned(model, given, level, both_levels)
    except SingularModelError:
        alone = independent_equations(original)
        if alone is None:
            raise
        return _alone(alone, reduced_with(alone, given, index, stabilise, alpha, tear), original)
    if redundancy is None and known is not None and _singular_at_start(known):
        alone = independent_equations(original)
        if alone is not None:
            return _alone(alone, reduced_with(alone, given, index, stabilise, alpha, tear), original)

    def finished(planned: Callable[[bool], ReductionPlan]) -> ReducedModel:
        plan = planned(both_levels)
        if both_levels:
            n = with_both_levels(plan, original)
        elif stabilise == "dummy_derivatives" and (plan.constraints or plan.book.written.invariants):
            # Every derivative that may be dependent has an equation of its own in first order.
            n = with_selected_states(planned(True), original)
        else:
            n = _written(plan, original, stabilise, alpha)
        return _torn(n) if tear else n

    if redundancy is None:
        assert known is not None
        return finished(
            lambda first_order: known if first_order == both_levels else _plan(written_out(model), given, level, True)
        )
    redundancy.finish = lambda alone, findings: finished(
        lambda first_order: _with_findings(_plan(alone, given, level, first_order), findings)
    )
    return redundancy.model(redundancy.first)


def _alone(alone: ReducedModel, n: ReducedModel, original: System) -> ReducedModel:
    """The reduction of the equations that are independent, which knows of the others."""
    repeated = tuple(finding for finding in alone._found if isinstance(finding, Finding))
    n._know(replace(n.reduction, original=original, findings=(*repeated, *n.reduction.findings)), *n._found)
    return n


def _torn(n: ReducedModel) -> ReducedModel:
    """The reduced model with fewer algebraic unknowns, and the record of it."""
    found, torn = torn_model(n)
    labels, known = found.freeze().labels["z"], n.reduction.findings
    found._know(replace(n.reduction, algebraic=labels, findings=known if torn is None else (*known, torn)))
    return found


def _planned(
    model: Model, inputs: Mapping[str, object], index: int, first_order: bool
) -> tuple[ReductionPlan | None, Redundancy | None]:
    """The plan for a model with inputs put in, or which of its constraints repeat each other."""
    written = written_out(model)
    written._know(None, *smooth_operations(model.freeze()))
    try:
        plan = _plan(written, inputs, index, first_order)
    except SingularModelError:
        redundancy = redundancy_of(model, written) if model.written.mechanics.constraints else None
        if redundancy is None:
            raise
        return None, redundancy
    if not model.written.mechanics.constraints:
        return plan, None
    doubtful = _singular_at_start(plan) or (not plan.start_known and _may_repeat(model))
    return plan, redundancy_of(model, written) if doubtful else None


def _may_repeat(model: Model) -> bool:
    """Whether constraints close loops, and are few enough to be judged at a place where all of them hold."""
    rows = sum(constraint.expression.numel() for constraint in model.written.mechanics.constraints.values())
    return rows <= FULL_RANK and closes_loops(model)


def _singular_at_start(plan: ReductionPlan) -> bool:
    return any(isinstance(finding, SingularAtStart) for finding in plan.findings)


def _with_findings(plan: ReductionPlan, findings: tuple[Finding, ...]) -> ReductionPlan:
    return replace(plan, findings=(*findings, *plan.findings))


def _plan(written: ReducedModel, inputs: Mapping[str, object], index: int, first_order: bool) -> ReductionPlan:
    book = with_inputs(written, inputs)
    plan = plan_reduction(to_first_order(book) if first_order else book, index)
    counts = given_input_counts(written, inputs, plan.rows, plan.signature)
    check_smooth(written, inputs, counts)
    return replace(plan, inputs={**plan.inputs, **counts})


def _check_arguments(index: object, stabilise: object, alpha: object) -> None:
    if stabilise not in STABILISATIONS:
        raise InputError(
            f"stabilise={stabilise!r} is not valid.",
            because="it sets how the constraints are kept.",
            remedy='"projection", "baumgarte", "ggl", "dummy_derivatives" or None',
        )
    if index not in {"ggl": (1, 2), "dummy_derivatives": (1,)}.get(str(stabilise), (0, 1)) or isinstance(index, bool):
        raise InputError(
            f"index={index!r} is not supported.",
            because="a model is reduced to index 1, or to an ODE (index 0); index 2 is what the multipliers of "
            '"ggl" lead to.',
            remedy='index=1, or stabilise="ggl"',
        )
    if alpha is None:
        return
    number = isinstance(alpha, (int, float, np.integer, np.floating)) and not isinstance(alpha, bool)
    if stabilise != "baumgarte" or not number or not 0 < alpha < np.inf:  # type: ignore[operator]
        raise InputError(
            f"alpha={alpha!r} cannot be used.",
            f"stabilise={stabilise!r}",
            because="alpha is the positive rate at which Baumgarte's damping removes errors.",
            remedy='stabilise="baumgarte", alpha=10.0',
        )


# -- writing it ------------------------------------------------------------------------------------------------


def _written(plan: ReductionPlan, original: System, stabilise: str | None, alpha: float | None) -> ReducedModel:
    """The reduced model of a plan."""
    n = reduced_notebook(plan)
    constraints, role = plan.constraints, Role.WRITTEN
    c = plan.signature.c
    if stabilise == "baumgarte" and constraints:
        plain = with_equations(reduced_notebook(plan), plan, {i: plan.levels[i, int(c[i])] for i in constraints})
        alpha = float(alpha) if alpha is not None else chosen_alpha(plain.freeze())
        rows = {i: damped({k: plan.levels[i, k] for k in range(int(c[i]) + 1)}, int(c[i]), alpha) for i in constraints}
        role = Role.DAMPED
    else:
        rows = {i: plan.levels[i, int(c[i])] for i in constraints}
    with_equations(n, plan, rows, role)
    lower = plan.lower_levels
    levels, kept = [plan.level(*at) for at in lower], [plan.levels[at] for at in lower]
    if stabilise == "projection":
        n.written.invariants.update(by_equation(levels, kept, n.written.invariants))
    keep_rows(n, levels, kept)
    n._know(record(plan, n, original, stabilise, alpha), *smooth_operations(plan.system))
    return n
