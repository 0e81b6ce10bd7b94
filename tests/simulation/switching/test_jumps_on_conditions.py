"""Whether equations jump on a condition: one answer for the choice of a run and for its derivatives."""

import casadi as ca
import pytest

import daedalus as dd
from daedalus.differentiation.events.jumping_conditions import jumping_conditions
from daedalus.simulation.switching.jumps_on_conditions import jumps_on_states

# The slope of x by x, and whether it jumps somewhere.
LAWS = {
    "sign": (lambda x: -ca.sign(x), True),
    "one step": (lambda x: ca.if_else(x > 0.5, -1, -2), True),
    "far away": (lambda x: ca.if_else(x > 1000, -1, -2), True),
    "nanometres": (lambda x: ca.if_else(x > 0, -1e-9, 1e-9), True),
    "stiff with preload": (lambda x: ca.if_else(x < 0, 1e-3 - 1e8 * x, 0), True),
    "corner": (lambda x: -ca.fabs(x), False),
    "stiff corner": (lambda x: ca.if_else(x < 0, -1e8 * x, 0) - 9.81, False),
    "two steps that make none": (lambda x: ca.if_else(x > 0, 1, 0) + ca.if_else(x <= 0, 1, 0) - x, False),
}


@pytest.mark.parametrize("law", LAWS)
def test_runs_and_derivatives_agree_on_what_jumps(law):
    slope, jumps = LAWS[law]
    m = dd.Model(law)
    x = m.state("x", start=1.0, nominal=1e-9 if law == "nanometres" else 1.0)
    m.equation(m.der(x), slope(x))
    system = m.freeze()
    assert jumps_on_states(system) is jumps
    assert bool(jumping_conditions(system)) is jumps
