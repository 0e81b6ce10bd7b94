"""A start at which an equation loses the unknown it is solved for: refused, or run as what it is."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.records_of_methods import ImplicitChosen


def valve():
    """u x' + x = 0: an ODE while u ≠ 0, x = 0 otherwise."""
    m = dd.Model("valve")
    x, u = m.state("x", start=1.0), m.input("u")
    m.equation(u * m.der(x) + x)
    return m


def meeting(start):
    """x1' + x1 = u, (x1 - x2) x2' + x1 - x2 = 0: not unique on x1 = x2."""
    m = dd.Model("meeting")
    x, u = m.state("x", 2, start=start), m.input("u")
    m.equation(m.der(x[0]) + x[0] - u, name="first")
    m.equation((x[0] - x[1]) * m.der(x[1]) + x[0] - x[1], name="second")
    return m


def test_an_algebraic_unknown_that_nothing_determines():
    # x1' = x1 + 1 and x1' x2 = -2: at x1 = -1 nothing is left before x2, which was infinite along a whole run.
    m = dd.Model("slides")
    x1, x2 = m.state("x1", start=0.5), m.state("x2")
    m.equation(x1 - m.der(x1) + 1, name="first")
    m.equation(m.der(x1) * x2 + 2, name="second")
    assert np.all(np.isfinite(dd.simulate(m, 1.0)["x2"]))
    with pytest.raises(dd.SingularModelError) as caught:
        dd.simulate(m, 1.0, start={"x1": -1.0})
    assert str(caught.value) == (
        "second cannot be solved for x2 at the start.\n"
        "  x1 + 1, the factor of x2, is zero at x1 = -1\n"
        "  Because the structure of the model changes there: an equation loses the unknown it is solved for.\n"
        '  Try: another value of x1, or dd.analyse(m, at={"x1": -1}), which says what the model is there'
    )


@pytest.mark.parametrize("start", [[1.0, 1.0], [0.1 + 0.2, 0.3]])
def test_no_branch_is_picked_where_solutions_are_not_unique(start):
    # The factor x1 - x2 cancels, so that a division alone would not notice; equal to rounding counts as equal.
    with pytest.raises(dd.SingularModelError, match=r"second cannot be solved for x_dot\[1\] at"):
        dd.simulate(meeting(start), 1.0, inputs={"u": 0.5})
    assert dd.simulate(meeting([1.0, 0.0]), 1.0, inputs={"u": 0.5}).success


def test_an_input_that_turns_an_ode_into_an_algebraic_equation():
    tr = dd.simulate(valve(), 1.0, inputs={"u": 0.0}, start={"x": 0.0})
    assert tr.success
    assert np.all(tr["x"] == 0)
    assert tr.records[0] == ImplicitChosen("radau5", "u, the factor of x_dot, is zero at u = 0")
    with pytest.raises(dd.InconsistentStartError) as caught:
        dd.simulate(valve(), 1.0, inputs={"u": 0.0})
    assert str(caught.value).startswith("equation_1 and the given x = 1 disagree by 1.")
    assert 'Try: start=dd.initialise(m, {...}, free=["x"]), which becomes 0' in str(caught.value)
    with pytest.raises(dd.SingularModelError):
        dd.simulate(valve(), 1.0, inputs={"u": 0.0}, method="tsit5")


def test_small_coefficients_are_no_zeros():
    m = dd.Model("capacitor")
    v, capacity = m.state("v", start=1.0), m.parameter("C", 1e-15)
    m.equation(capacity * m.der(v), -1e-15 * v)
    assert dd.simulate(m, 1.0)["v"][-1] == pytest.approx(np.exp(-1), rel=1e-5)


def test_a_divisor_that_passes_through_zero_is_told():
    tr = dd.simulate(meeting([0.0, 1.0]), 2.0, inputs={"u": 1.0})
    (told,) = tr.records[1:]
    assert (told.divisor, told.unknown, told.equation) == ("x[0] - x[1]", "x_dot[1]", "second")
    # x1 = 1 - exp(-t) and x2 = 1 - t meet at t = 0.567, the root of exp(-t) = t.
    assert (told.begin, told.end) == pytest.approx((0.5671432904, 0.5671432904), abs=1e-6)
    assert str(told) == tr.notes[1]
    assert len(dd.simulate(meeting([1.0, 0.0]), 1.0, inputs={"u": 0.5}).notes) == 1
