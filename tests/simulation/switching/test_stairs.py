"""floor, ceil, fmod and remainder of states: steps end at every whole number, so that runs keep their order."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.reduction.switches import switches_of
from daedalus.simulation.result.records_on_the_way import JumpNotLocated, SwitchesLocated

METHODS = ["tsit5", "dop853", "radau5", "radau9", "bdf", "rodas5p"]


def one_state(rate, start):
    m = dd.Model("stairs")
    x = m.state("x", start=start)
    m.equation(m.der(x), rate(x))
    return m


@pytest.mark.parametrize("method", METHODS)
def test_a_quantised_controller_follows_its_exact_solution(method):
    """A tank that drains with x' = -floor(x) / 2: from 4.25 it needs 1/8, then 2/3, 1 and 2 s to 1, and rests there."""
    m = one_state(lambda x: -ca.floor(x) / 2, 4.25)
    saved = [0.125, 0.125 + 2 / 3, 1.125 + 2 / 3, 1.125 + 2 / 3 + 1.5]
    tr = dd.simulate(m, saved[-1], method=method, rtol=1e-8, atol=1e-10, save_at=saved)
    np.testing.assert_allclose(tr["x"], [4, 3, 2, 1.25], atol=2e-8)
    assert tr.work.rejected <= 20
    over = dd.simulate(m, saved[-1], method=method, rtol=1e-8, atol=1e-10, locate_switches=False)
    assert over.work.rejected > tr.work.rejected


def test_work_is_that_of_the_smooth_pieces():
    """Three switches; steps that go on for more than half a unit beyond one see the next stair, and are repeated."""
    tr = dd.simulate(one_state(lambda x: -ca.floor(x) / 2, 4.25), 3.0, method="tsit5", rtol=1e-8)
    assert (tr.work.steps, tr.work.rejected) == (9, 3)
    assert tr.records[-1] == SwitchesLocated(3, ("floor(x)",))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("start", [-1.3, 0.0, 0.2])
def test_a_saw_of_a_state(method, start):
    """x' = 1 + fmod(x, 1/2): exponentials from tooth to tooth, upwards from a negative start too."""
    end, x, t = 2.5, start, 0.0
    while t < end:
        tooth = 0.5 * np.trunc(x / 0.5 + 1e-9)
        top = min(v for v in np.arange(-3, 8) * 0.5 if v > x + 1e-9)
        # x - tooth grows like e^t - 1 from its value.
        need = np.log((1 + top - tooth) / (1 + x - tooth))
        spent = min(need, end - t)
        x, t = tooth - 1 + (1 + x - tooth) * np.exp(spent), t + spent
    tr = dd.simulate(one_state(lambda x: 1 + ca.fmod(x, 0.5), start), end, method=method, rtol=1e-9, atol=1e-11)
    assert tr["x"][-1] == pytest.approx(x, rel=2e-7)


@pytest.mark.parametrize(
    ("stairs", "step"),
    [
        (lambda x: ca.ceil(x), lambda k: k + 1.0),
        (lambda x: ca.floor(x), lambda k: float(k)),
        (lambda x: x - ca.remainder(x - 0.5, 1.0) - 0.5, lambda k: float(k)),
        (lambda x: ca.if_else(ca.fmod(x, 2) >= 1, 3.0, 1.0), lambda k: 3.0 if k % 2 else 1.0),
    ],
)
def test_every_operation_with_stairs(stairs, step):
    """x' = 1 + s(x) with a constant s between whole numbers: the time to 4 is a sum of fractions."""
    end = sum(1 / (1 + step(k)) for k in range(4))
    tr = dd.simulate(one_state(lambda x: 1 + stairs(x), 0.0), end, method="dop853", rtol=1e-9, atol=1e-11)
    assert tr["x"][-1] == pytest.approx(4.0, abs=1e-8)
    assert tr.work.rejected <= 4


def test_rest_on_a_whole_number_has_the_value_there():
    tr = dd.simulate(one_state(lambda x: ca.floor(x) - 2, 2.0), 1.0, method="tsit5")
    assert np.all(tr["x"] == 2.0)
    assert dd.simulate(one_state(lambda x: -ca.floor(x), -1.0), 0.5, method="tsit5")["x"][-1] == pytest.approx(-0.5)


def test_stairs_that_keep_a_root_defined_stay_and_a_run_says_so():
    m = one_state(lambda x: ca.sqrt(1 + x - ca.floor(x)) + ca.fabs(x - 0.25), 0.0)
    found = switches_of(m.freeze())
    assert (found.conditions, found.left) == (("x - 0.25 > 0",), ("floor",))
    tr = dd.simulate(m, 2.0, method="tsit5")
    assert JumpNotLocated("floor") in tr.records
    finer = dd.simulate(m, 2.0, method="tsit5", rtol=1e-9, locate_switches=False)
    assert tr["x"][-1] == pytest.approx(finer["x"][-1], rel=1e-3)


def test_derivatives_across_steps_of_a_quantiser():
    """End value over gain and start, against differences of runs."""
    m = dd.Model("drain")
    gain, x = m.parameter("gain", 0.5), m.state("x", start=4.25)
    m.equation(m.der(x), -gain * ca.floor(x))
    at = lambda g: float(dd.simulate(m, 1.5, parameters={"gain": g}, rtol=1e-10, atol=1e-12)["x"][-1])  # noqa: E731
    slope = (at(0.5 + 1e-5) - at(0.5 - 1e-5)) / 2e-5
    found = dd.sensitivities(m, 1.5, wrt="parameters", rtol=1e-10, atol=1e-12)
    assert float(found.d("x", "gain")) == pytest.approx(slope, rel=1e-5)
