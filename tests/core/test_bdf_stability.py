"""BDF on oscillations without damping: orders above 2 are given up where they only hold the step down."""

import bdf_problems as problems
import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def springs(damping):
    """Ten masses that follow cos t, held by springs with eigenvalues w (-damping ± i)."""
    m = dd.Model("springs")
    x, v = m.state("x", 10, start=np.ones(10)), m.state("v", 10, start=np.zeros(10))
    w = ca.DM(np.linspace(200, 2000, 10))
    m.equation(m.der(x), v)
    m.equation(m.der(v), -(w**2) * (x - ca.cos(m.time)) - 2 * damping * w * (v + ca.sin(m.time)))
    return m


@pytest.mark.parametrize("damping", [0.0, 0.001])
def test_stiff_springs_on_the_imaginary_axis(damping):
    run = dd.simulate(springs(damping), 10.0, method="bdf", rtol=1e-5, atol=1e-5)
    # 37 000 steps at the limit of stability of order 5: a twelfth of the shortest period each.
    assert run.work.steps < 20000
    assert run["x"][-1] == pytest.approx(np.cos(10.0), abs=1e-4)


@pytest.mark.parametrize(("rtol", "most"), [(1e-4, 4000), (1e-6, 15000)])
def test_an_elastic_beam(rtol, most):
    known = catalogue.load("beam")
    run = dd.simulate(known.model, known.span, method="bdf", rtol=rtol, atol=1e-3 * rtol)
    # 51 000 steps at both tolerances with every order.
    assert run.work.steps < most
    assert max(known.reference.error(key, run[key][-1]) for key in known.reference) < 1000 * rtol


def test_an_oscillation_that_is_asked_for_keeps_its_order():
    m = dd.Model("oscillator")
    x, v = m.state("x"), m.state("v")
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x)
    run = problems.Problem(m, [1, 0, 0, -1], 200.0).integrate(rtol=1e-7, atol=1e-7)
    assert run.x[-1, 0] == pytest.approx(np.cos(200.0), abs=1e-3)
    _, _, coefficients = run.dense()
    degrees = np.array([np.flatnonzero(piece[:, 0])[-1] for piece in coefficients])
    assert np.mean(degrees >= 4) > 0.9
