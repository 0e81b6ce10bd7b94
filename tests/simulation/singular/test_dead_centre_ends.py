"""Implicit runs that stop at a dead centre say so; those that stop for something else do not."""

import casadi as ca
import numpy as np
import pytest
from tests.support.slider_cranks import pointed_groove, slider_crank, time_to_the_point

import daedalus as dd
from daedalus.simulation.result.ending import Obstacle
from daedalus.simulation.singular import stopped_places


# A last digit more or less, in the start: no run hangs on it.
@pytest.mark.parametrize("digits", [0, 1, -2])
@pytest.mark.parametrize(("method", "rtol"), [("radau5", 1e-8), ("radau9", 1e-9), ("radau5", 1e-4)])
def test_a_dead_centre_without_a_way_over_it_is_named(method, rtol, digits):
    """The motion turns round in the point of the groove, where the groove pushes in no direction."""
    model = pointed_groove(1.0 + digits * np.finfo(float).eps)
    tr = dd.simulate(model, 2.0, method=method, rtol=rtol, atol=1e-2 * rtol)
    assert (tr.success, tr.status) == (False, "stuck")
    assert tr.time[-1] == pytest.approx(time_to_the_point(), abs=1e-6)
    assert tr.stop.what == (
        f"the run comes near a singular configuration (a dead centre) at t = {tr.time[-1]:.6g}: groove hardly acts "
        "on the motion there, and the motion may go on in more than one way"
    )
    assert tr.stop.facts
    assert tr.stop.remedy == "another start, or a constraint that leads it through"
    assert (tr.stop.obstacle, tr.stop.equations) == (Obstacle.SINGULAR_CONFIGURATION, ("groove",))


def test_a_stop_behind_the_first_step_keeps_the_start():
    """All rows but the first may be too far from the constraints to be kept."""
    tr = dd.simulate(slider_crank(), 5.0, method="radau5", max_steps=1)
    assert tr.status == "step_limit"
    assert tr.at(0.0)["q"][0] == 0.3


@pytest.mark.parametrize("method", ["radau5", "radau9"])
def test_a_longer_rod_has_no_dead_centre(method):
    assert dd.simulate(slider_crank(rod=1.5), 5.0, method=method, rtol=1e-8, atol=1e-10).success


def test_another_fault_of_a_mechanism_is_left_as_it_is():
    """A force that has no value behind t = 0.2, where the mechanism is in good order."""
    m = dd.Model("pendulum")
    q, v = m.state("q", 2, start=[1.0, 0.0]), m.state("v", 2, start=[0.0, 0.0])
    pull, wind = m.algebraic("pull"), m.algebraic("wind", start=0.4)
    m.equation(m.der(q), v)
    m.equation(m.der(v), -pull * q + ca.vertcat(wind, -9.81))
    m.equation(wind**2 + m.time, 0.2, name="gust")
    m.equation(ca.sumsqr(q), 1.0)
    tr = dd.simulate(m, 1.0, method="radau5", locate_switches=False)
    assert not tr.success
    assert tr.stop.obstacle is Obstacle.IMPASSE
    assert tr.time[-1] == pytest.approx(0.2, abs=1e-6)


def test_large_systems_are_not_judged(monkeypatch):
    monkeypatch.setattr(stopped_places, "FULL_RANK", 3)
    tr = dd.simulate(pointed_groove(), 2.0, method="radau5", rtol=1e-8, atol=1e-10)
    assert tr.status.may_be_singular
