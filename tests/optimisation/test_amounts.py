"""Amounts stay at zero or above, also where nobody bounds them."""

import casadi as ca
import pytest
from tests.support.optima import ode

import daedalus as dd
from daedalus.optimisation.search.never_negative import never_negative


def ethanol() -> dd.OptimalControl:
    """Fermentation of ethanol with feed (C. T. Chen, C. Hwang, Chemical Engineering Communications 97, 1990).

    Without bounds on a, b and c searches pass the poles at c = -16 and b = -0.22, and do not come back.
    """

    def rates(a, b, c, v, feed):
        grown, made = 0.408 / (1 + c / 16) * b / (0.22 + b), b / (1 + c / 71.5) / (0.44 + b)
        return [grown * a - feed * a / v, -10 * grown * a + feed * (150 - b) / v, made * a - feed * c / v, feed]

    m, x, (feed,) = ode("a b c v", "feed", rates, [1.0, 150.0, 0.0, 10.0])
    ocp = dd.OptimalControl(m, 61.2)
    ocp.start()
    ocp.bound(feed, 0, 12)
    ocp.bound("v", 0, 200)
    ocp.minimise(final=-x[2] * x[3])
    return ocp


@pytest.mark.wide
def test_a_search_that_went_below_zero_is_kept_above():
    plan = ethanol().solve()
    assert plan.success, plan
    assert plan.objective == pytest.approx(-20841.2, rel=1e-4)
    assert any("no motion takes a, b, c below zero" in note for note in plan.notes)


def test_states_that_stay_above_zero_are_found():
    assert list(never_negative(ethanol()._description).values()) == ["a", "b", "c"]
    # x and v of a thrown ball may fall; what decays to another amount does not; u may take from y.
    m = dd.Model("mixed")
    x, v, y, s, u = (*(m.state(name, start=1.0) for name in "xvys"), m.input("u"))
    m.equation([m.der(each) for each in (x, v, y, s)], [v, -9.81, u - y, y**2 - ca.sqrt(s * s + 1) * s])
    ocp = dd.OptimalControl(m, 1.0)
    ocp.start()
    for low, kept in ((-1.0, ["s"]), (0.0, ["y", "s"])):
        ocp.bound(u, low, 1.0)
        assert list(never_negative(ocp._description).values()) == kept
