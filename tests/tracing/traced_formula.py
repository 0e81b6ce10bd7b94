"""The formula behind a function of time and state, for tests of tracing."""

import casadi as ca

from daedalus.scipy_calls.ivp_arguments import Arguments
from daedalus.tracing.trace import trace, traced_column
from daedalus.tracing.traced_number import TracedNumber


def traced(fun, n, args=(), vectorized=False):
    """The formula of fun(t, y, *args) as a function of numbers, or the reason."""
    t, y, given = ca.SX.sym("t"), ca.SX.sym("y", n), Arguments(args)
    p = ca.SX.sym("p", given.values.size)
    reason = ""
    for level in given.levels():

        def make(column, level=level):
            state = y if column else traced_column(y).reshape((n, 1) if vectorized else (n,))
            return (t if column else TracedNumber(t), state, *given.rebuilt(level, p, column))

        found = trace(fun, make, n)
        reason = found.reason
        if found.expression is not None:
            function = ca.Function("f", [t, y, p], [found.expression])
            return lambda time, state: function(time, state, given.values).full().reshape(-1)
    return reason


def refusal(fun, n=2, args=()):
    """The reason why fun leaves no formula."""
    reason = traced(fun, n, args)
    assert isinstance(reason, str), "was traced"
    return reason
