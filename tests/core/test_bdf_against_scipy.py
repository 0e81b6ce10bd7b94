"""BDF beside SciPy's BDF at the same tolerances: steps, and errors at the end."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedalus as dd
from daedalus import catalogue


def rates_of(system):
    """x' of a system that is linear in it, as a function (t, x) of NumPy arrays."""
    t, x, rate, p = (system.symbol(letter) for letter in ("t", "x", "xdot", "p"))
    at_rest = ca.substitute(system.residual, rate, ca.SX.zeros(rate.shape))
    solved = -ca.solve(ca.jacobian(system.residual, rate), at_rest)
    function = ca.Function("rates", [t, x, p], [solved])
    return lambda time, state: np.ravel(function(time, state, system.start["p"]))


@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
@pytest.mark.parametrize("name", ["lotka_volterra", "van_der_pol", "hires"])
def test_as_accurate_with_about_as_many_steps(name, rtol):
    known = catalogue.load(name)
    reference, system = known.reference, known.model.freeze()
    run = dd.simulate(known.model, known.span, method="bdf", rtol=rtol, atol=1e-3 * rtol)
    other = solve_ivp(rates_of(system), known.span, system.default_start, method="BDF", rtol=rtol, atol=1e-3 * rtol)
    sizes = np.cumsum([np.size(reference[key]) for key in reference])[:-1]
    theirs = dict(zip(reference, np.split(other.y[:, -1], sizes), strict=True))
    ours = max(reference.error(key, run[key][-1]) for key in reference)
    assert ours < 3 * max(reference.error(key, value) for key, value in theirs.items())
    assert run.work.steps < 1.5 * (len(other.t) - 1)
