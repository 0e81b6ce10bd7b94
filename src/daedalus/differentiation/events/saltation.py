"""Sensitivities through an event: the time of the event moves, and the reset is differentiated.

At an event with guard g(t, x, u, p) = 0 and reset x⁺ = r(t, x, u, p)

    dτ/dθ = -(g_x S + g_θ) / (g_t + g_x f⁻)
    S⁺ = r_x S + r_θ + (r_x f⁻ + r_t - f⁺) dτ/dθ          f⁺ = f(t, x⁺, u, p)

(M. A. Aizerman, F. R. Gantmacher 1958; I. A. Hiskens, M. A. Pai, Trajectory sensitivity analysis of hybrid systems,
IEEE Transactions on Circuits and Systems I 47, 2000). Algebraic variables in g and r are put in as z(t, x, u, p) first,
so that they are differentiated too. Where the guard's rate vanishes the event grazes and no derivative exists.
"""

from __future__ import annotations

import casadi as ca

from daedalus.differentiation.variational.variational import Variational


def guard_rates(v: Variational) -> ca.SX:
    """g_t + g_x f of every event, as an expression of (t, x, u, p)."""
    guards = v.form.applied(v.system, v.system.guards)
    return ca.densify(ca.jacobian(guards, v.t) + ca.mtimes(ca.jacobian(guards, v.x), v.form.xdot))


def event_times(v: Variational) -> ca.SX:
    """dτ/dθ of every event, (events, m), as an expression of x and S."""
    guards = v.form.applied(v.system, v.system.guards)
    change = ca.mtimes(ca.jacobian(guards, v.v), v.seeds(v.S))
    rates = guard_rates(v)
    return ca.vertcat(*(-ca.densify(change[e, :]) / rates[e] for e in range(guards.numel())))


def written(v: Variational) -> ca.SX:
    """y with what resets write into x and nothing else, one event after the other."""
    after = v.form.applied(v.system, v.system.resets)
    rest = v.y[v.x.numel() :]
    return ca.vertcat(*(ca.vertcat(v.on_state(after[e, :].T), rest) for e in range(after.size1())))


def resets(v: Variational) -> ca.SX:
    """y behind each event, one event after the other, as an expression of the arguments.

    Nothing jumps at an event without reset, wherever its time moves.
    """
    after = v.form.applied(v.system, v.system.resets)
    times = event_times(v)
    rows = []
    for e in range(after.size1()):
        if not v.system.events[e].resets:
            rows.append(v.y)
            continue
        new = ca.densify(after[e, :].T)
        before, slope = v.form.xdot, ca.jacobian(new, v.x)
        behind = ca.substitute(v.form.xdot, v.x, new)
        jump = ca.mtimes(slope, before) + ca.jacobian(new, v.t) - behind
        S = ca.mtimes(ca.jacobian(new, v.v), v.seeds(v.S)) + ca.mtimes(jump, times[e, :])
        rows.append(v.on_state(v.layout.packed_symbols(new, S, v.W)))
    return ca.vertcat(*rows)
