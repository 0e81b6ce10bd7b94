"""Derivatives that are given at a start are judged by the equations as written, not by formulas that divide by zero."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def vanishing(seed):
    """(x1 - a x2)(x2' + b) = 0 beside x1' = u - x1, and a start where the factor is zero."""
    draw = np.random.default_rng(seed)
    a, b, u = draw.uniform(0.5, 2.0, 3)
    m = dd.Model(f"vanishing {seed}")
    x1, x2 = m.state("x1", start=1.0), m.state("x2", start=1.0 / a)
    m.equation(m.der(x1), u - x1)
    m.equation((x1 - a * x2) * (m.der(x2) + b), 0.0, name="either")
    return m, a, b, u


@pytest.mark.parametrize("seed", range(4))
def test_a_derivative_that_nothing_determines_may_be_given(seed):
    m, a, _b, u = vanishing(seed)
    start = {"x2_dot": (u - 1.0) / a}  # along x1 = a x2
    for own in (start, dd.initialise(m, start)):
        for method in ("auto", "radau5"):
            tr = dd.simulate(m, 1.0, start=own, method=method, rtol=1e-8)
            end = u + (1 - u) * np.exp(-1)
            assert tr.success
            assert [tr["x1"][-1], a * tr["x2"][-1]] == pytest.approx([end, end], rel=1e-6)
        # An explicit method cannot begin there, and says why.
        with pytest.raises(dd.SingularModelError, match="either cannot be solved for x2_dot at the start"):
            dd.simulate(m, 1.0, start=own, method="dop853")
    with pytest.raises(dd.SingularModelError, match="either cannot be solved for x2_dot at the start"):
        dd.simulate(m, 1.0)


def test_the_known_system():
    m = catalogue.load("small_dae", example="start_switched").model
    tr = dd.simulate(m, 1.0, start={"x1": 1.0, "x2": 1.0, "x2_dot": -0.5}, inputs={"u": 0.5})
    assert tr["x2"][-1] == pytest.approx(0.5 + 0.5 * np.exp(-1), rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_a_derivative_that_contradicts_is_refused_with_what_is_true(seed):
    m, _a, b, _u = vanishing(seed)
    # Away from the factor's zero the equations give x2' = -b.
    with pytest.raises(dd.InconsistentStartError, match=rf"(?s)x2_dot contradicts.*the equations give -{b:g}:"):
        dd.simulate(m, 1.0, start={"x1": 2.0, "x2_dot": 3.0})
    # On it x1' is determined still, and nothing is said of x2'.
    with pytest.raises(dd.InconsistentStartError) as error:
        dd.simulate(m, 1.0, start={"x1_dot": 5.0, "x2_dot": 3.0})
    assert "x1_dot" in str(error.value)
    assert "x2_dot = " not in str(error.value)


def left_open(seed):
    """Equations that lose an unknown at the start, the values that may be given for it, and where they lead."""
    draw = np.random.default_rng(seed)
    a, b, u = draw.uniform(0.5, 2.0, 3)
    m = dd.Model(f"open {seed}")
    x1, x2 = m.state("x1", start=1.0), m.state("x2", start=1.0 / a)
    m.equation(m.der(x1), u - x1)
    along, apart = (u - 1.0) / a, -b
    if seed % 3 == 0:  # x2' is algebraic
        z = m.algebraic("z")
        m.equation(m.der(x2), z)
        m.equation((x1 - a * x2) * (z + b), 0.0)
    elif seed % 3 == 1:  # two algebraic variables in between
        z = m.algebraic("z", 2)
        m.equation([m.der(x2), z[0]], [z[0] + z[1], 2 * z[1]])
        m.equation((x1 - a * x2) * (z[0] + z[1] + b), 0.0)
    else:  # an equation for a sum of derivatives
        m.equation((x1 - a * x2) * (m.der(x1) + m.der(x2) + b - u + x1), 0.0)
    end = u + (1 - u) * np.exp(-0.5)
    return m, {along: end / a, apart: 1 / a - b * 0.5}


@pytest.mark.parametrize("seed", range(6))
def test_values_that_follow_from_given_derivatives_are_known(seed):
    m, ends = left_open(seed)
    for rate, end in ends.items():
        for start in ({"x2_dot": rate}, dd.initialise(m, {"x2_dot": rate})):
            tr = dd.simulate(m, 0.5, start=start, rtol=1e-8)
            assert tr.success
            assert tr["x2_dot"][0] == pytest.approx(rate)
            assert tr["x2"][-1] == pytest.approx(end, rel=1e-5)
    with pytest.raises(dd.SingularModelError, match=r"cannot be solved for|leave x2_dot open at the start"):
        dd.simulate(m, 0.5, start={"x2_dot": next(iter(ends))}, method="dop853")
    if seed % 3 != 1:
        for start in ({}, {"x1_dot": dd.initialise(m)["x1_dot"]}):
            with pytest.raises(dd.SingularModelError, match="cannot be solved for"):
                dd.simulate(m, 0.5, start=start)
