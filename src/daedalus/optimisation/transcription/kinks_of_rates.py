"""Kinks in rates of states, such as m' = -|T| / c of a rocket: searched for with a bound s >= |T| in their place.

At T = 0, where a rocket coasts, |T| has no slope. Where the cost wants mass, less than s is never burned:

    m' = -s / c,   s² >= T·T           the best plan has s = |T| wherever the cost presses s down

(B. Acikmese, S. Ploen, Convex programming approach to powered descent guidance, Journal of Guidance, Control, and
Dynamics 30, 2007). Whether it does is known behind the search: where s is larger than |T| at some point, the rates are
not kept, and the problem is searched for once more as it was written.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.model.expressions import elements, symbol_key
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.transcription.kinks import has_kinks, smooth_cost
from daedalus.optimisation.transcription.smooth_parts import constants_of, slope_sign

# What all rates together may be off along a plan, as a share of the size of a state.
KEPT = 1e-4


def signs_of_rates(description: Description, goes_on: bool = False) -> tuple[float, ...]:
    """For each state 1 where a bound may stand for the kinks of its rate, -1 for those of its negative, 0 elsewhere.

    goes_on: a further phase follows, which may ask for any state. Empty where there is nothing to replace.
    """
    constants, values = constants_of(description, ca.SX.sym("share"), np.zeros(1))
    found = []
    for state, rate in zip(elements(description.system.symbol("x")), elements(description.form.rates)):
        tried = _pressed(description, state, goes_on) if has_kinks(rate) else ()
        signs = [sign for sign in tried if smooth_cost(sign * rate, constants, values).bounds.numel()]
        found.append(signs[0] if signs else 0.0)
    return tuple(found) if any(found) else ()


def _pressed(description: Description, state: ca.SX, goes_on: bool) -> tuple[float, ...]:
    """Which way the problem may press a state: 1 down, -1 up; none where nothing is asked of it."""
    if ca.depends_on(description.final, state) and (sign := slope_sign(description, description.final, state)):
        return (sign,)
    ends = {value.state for value in description.ends}
    position = [symbol_key(s) for s in elements(description.system.symbol("x"))].index(symbol_key(state))
    said = [description.final, description.running, *(s.expression for s in description.stand_ins)]
    said += [condition.expression for condition in description.conditions]
    asked = goes_on or position in ends or symbol_key(state) in description.bounds
    return (-1.0, 1.0) if asked or any(ca.depends_on(part, state) for part in said) else ()


def rates_are_kept(plan: Any) -> bool:
    """Whether the states of a plan change at its points as the model says."""
    made = plan.transcription
    if not made.description.relaxed or not len(made.layout.points):
        return True
    mesh, n = made.layout.mesh, made.stage.model_states
    interval = mesh.point_interval
    tau = (mesh.point_shares - mesh.shares[interval]) / mesh.widths[interval]
    own = plan.interpolant
    rates = own.functions.rates(*own.instants(interval, tau))[:, :n]
    off = plan.duration * mesh.point_weights @ np.abs(own.slopes(interval, tau)[:, :n] - rates)
    return bool(np.all(off <= KEPT * own.state_sizes))
