"""Variational equations of stiff systems: the implicit methods of `dd.simulate` on 0 = y' - F(t, y, u, p).

States and sensitivities are one system in one error test, as with explicit methods; Newton's matrix is its exact
Jacobian (f_x in every diagonal block, f_xx S below the first), ordered and factorised as a sparse matrix. A row of the
run is (y, y').
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation import Compiled, compile_function
from daedalus.differentiation import kept_invariants, saltation
from daedalus.differentiation.augmented import Augmented
from daedalus.differentiation.case import Case, core_inputs
from daedalus.differentiation.error_controlled import check_finished, event_call, refuse_second_order_events
from daedalus.differentiation.recorded import PassedEvent, Recorded
from daedalus.simulation.methods import choose_method
from daedalus.simulation.trajectory import Dense, Work


@dataclass(frozen=True, eq=False)
class ImplicitFunctions:
    """What the core integrates, and guards, resets and projection of its rows."""

    model: Any
    guards: Compiled | None
    resets: Compiled | None
    projection: Compiled | None


def run_implicit(case: Case, augmented: Augmented, y0: np.ndarray) -> Recorded:
    """Integrate y with the implicit method of the case."""
    functions = _functions_of(augmented)
    u, tables = core_inputs(case)
    call = {name: value for name, value in case.settings.call.items() if name in ("rtol", "max_step", "max_steps")}
    call |= {name: value for name, value in case.limits.items() if value is not None}
    sizes = augmented.variational.directions.sizes(case.system, case.p)
    atol = augmented.tolerances(case.settings.call["atol"], sizes)
    call["atol"] = np.concatenate([atol, np.ones(len(atol))])
    if functions.projection is not None and "projection" in case.settings.call:
        call["projection"] = functions.projection.core
    if functions.guards is not None:
        resets = functions.resets.core if functions.resets is not None else None
        call |= {**event_call(augmented), "guards": functions.guards.core, "resets": resets}
    if tables:
        call["tables"] = tables
    rate = augmented.rhs.core(np.array([case.t0]), y0, _at_start(case, u), case.p)[0]
    chosen = choose_method(case.method, call["rtol"], call.get("step")).core
    row = np.concatenate([y0, rate])
    run = _core.integrate(functions.model, chosen, case.t0, case.t1, row, u, case.p, **call)
    size = len(y0)
    events = tuple(PassedEvent(guard, t, before[:size], after[:size]) for guard, t, before, after in run.events)
    if augmented.variational.order == 2:
        refuse_second_order_events(case, [event.guard for event in events])
    check_finished(case, run)
    work = Work(run.steps, run.rejected, run.rhs_calls, run.jacobians, run.factorisations, run.newton, run.seconds)
    rows = np.ascontiguousarray(run.x[:, :size])
    return Recorded(run.t, rows, lambda: _dense(run, size), run.status, work, events)


def _at_start(case: Case, u: np.ndarray) -> np.ndarray:
    """The inputs at the start with the weights of the first interval of the grid."""
    weights = np.zeros(case.intervals)
    weights[:1] = 1.0
    return np.concatenate([case.u0, weights])


def _dense(run: Any, size: int) -> Dense:
    starts, ends, coefficients = run.dense()
    return Dense(starts, ends, np.ascontiguousarray(coefficients[:, :, :size]))


def _functions_of(augmented: Augmented) -> ImplicitFunctions:
    """The functions, made once and kept with the augmented system."""
    kept = augmented.__dict__
    if "_implicit" not in kept:
        kept["_implicit"] = _made(augmented)
    return kept["_implicit"]


def _made(augmented: Augmented) -> ImplicitFunctions:
    v = augmented.variational
    t, y, u, p = v.arguments
    rate, nothing, slopes = ca.SX.sym("rate", y.numel()), ca.SX(0, 1), ca.SX.sym("udot", u.numel())
    arguments = [t, rate, y, nothing, u, p]
    residual = ca.densify(rate - v.rhs)
    by_rate, by_state = ca.jacobian(residual, rate), ca.jacobian(residual, y)
    moved = ca.densify(ca.jacobian(residual, t) + ca.mtimes(ca.jacobian(residual, u), slopes))
    functions = [
        compile_function(ca.Function("residual", arguments, [residual])),
        compile_function(ca.Function("jacobian", arguments, [by_rate, by_state])),
        compile_function(ca.Function("drift", [*arguments, slopes], [moved])),
    ]
    dot, whole = by_rate.sparsity(), by_state.sparsity()
    patterns = (list(dot.colind()), list(dot.row()), list(whole.colind()), list(whole.row()))
    code, slope_code, drift = (function.core for function in functions)
    model = _core.ImplicitModel(code, slope_code, y.numel(), y.numel(), *patterns, [], [], drift=drift)
    augmented.__dict__["_implicit_code"] = functions

    row = ca.SX.sym("row", 2 * y.numel())

    def of_rows(name: str, expression: ca.SX) -> Compiled:
        return compile_function(
            ca.Function(name, [t, row, u, p], [ca.densify(ca.substitute(expression, y, row[: y.numel()]))])
        )

    guards = resets = projection = None
    rates = row[y.numel() :]
    if v.system.events:
        guards = of_rows("guards", v.on_state(v.form.applied(v.system, v.system.guards)))
        if v.order == 1:
            after = ca.reshape(saltation.resets(v), y.numel(), len(v.system.events))
            resets = of_rows("resets", ca.vec(ca.vertcat(after, ca.repmat(rates, 1, len(v.system.events)))))
    if v.system.invariants and augmented.plant.projection is not None:
        way = kept_invariants.exact if v.system.events else kept_invariants.tangential
        projection = of_rows("projection", ca.vertcat(way(v), rates))
    return ImplicitFunctions(model, guards, resets, projection)
