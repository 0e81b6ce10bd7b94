"""Unknowns that follow from a force by a nonlinear equation have its index; their start values must not grow."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def guided():
    """s = sin(t) is prescribed, so that the force is f = -sin(t); r with sinh(r) = 3 f follows from it at index 3."""
    m = dd.Model("guided")
    s, v = m.state("s", start=0.0), m.state("v", start=1.0)
    f, r = m.algebraic("f"), m.algebraic("r")
    m.equation(m.der(s), v)
    m.equation(m.der(v), f)
    m.equation(s, ca.sin(m.time))
    m.equation(ca.sinh(r), 3 * f - 2)
    return m


@pytest.mark.parametrize("method", ["radau5", "radau9"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8, 1e-10])
def test_it_runs_at_every_tolerance(method, rtol):
    tr = dd.simulate(guided(), 2.0, method=method, rtol=rtol, atol=rtol / 100)
    assert tr.success, tr.stop_reason
    assert tr.work.rejected < tr.work.steps
    np.testing.assert_allclose(tr["r"][-1], np.arcsinh(-3 * np.sin(2.0) - 2), atol=1e-3)
    np.testing.assert_allclose(tr["s"][-1], np.sin(2.0), atol=1e-7)
