"""Steps over kinks: Newton's method arrives although the Jacobian at the beginning belongs to the other side."""

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus import catalogue
from daedalus.simulation.result.records_on_the_way import SwitchesCrossed


def limiter(gain=3.0):
    """Index 1: z = -gain max(z - s, 0) for s = 1 - t. From the side z > s the old Jacobian points away."""
    m = dd.Model("limiter")
    x, z = m.state("x", start=0.0), m.algebraic("z")
    m.equation(m.der(x), z)
    m.equation(z, 2 * m.time - gain * ca.fmax(z - 1, 0))
    return m


@pytest.mark.parametrize("method", ["radau3", "radau5", "radau9", "bdf"])
def test_a_kink_of_z_that_no_step_meets_is_crossed(method):
    tr = dd.simulate(limiter(), 2.0, method=method, locate_switches=False, rtol=1e-7)
    assert tr.success, tr.stop_reason
    # z = 2 t up to 1, then (2 t + 3) / 4.
    assert tr["z"][-1] == pytest.approx(7 / 4, rel=1e-7)
    assert tr["x"][-1] == pytest.approx(0.25 + 0.25 * (4 - 0.25) + 0.75 * 1.5, rel=1e-5)


@pytest.mark.parametrize("locate", [True, False])
@pytest.mark.parametrize(
    ("method", "rtol"),
    [(method, rtol) for method in ("radau5", "radau9") for rtol in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)]
    + [("bdf", rtol) for rtol in (1e-4, 1e-6, 1e-7, 1e-8)],
)
def test_the_charge_pump_passes_kinks_that_coincide(method, rtol, locate):
    """Gate, source and drain change their regions together; all is quasi-static, so the plateau has a closed form."""
    known = catalogue.load("charge_pump")
    saved = [1.05e-6, 1.195e-6, 1.2e-6]
    tr = dd.simulate(
        known.model, known.span, method=method, rtol=rtol, atol=1e-3 * rtol, locate_switches=locate, save_at=saved
    )
    assert tr.success, tr.stop_reason
    # Where kinks are not located, luck says how near to one a step ends: of 40 runs by radau9 near 1e-8, 5e-6
    # of it apart, two have errors of up to 4.6e-9.
    assert known.reference.error("gate", tr["gate"][-1]) < max(1e-9 if locate else min(rtol, 1e-8), 0.1 * rtol)
    # On the last ramp the transistor is off; of index 2, the current i = -Qg' has no error test on the way.
    depleted = 4e-12 * 0.035 * 2e9 / (2 * np.sqrt(0.0175**2 - (0.2 - 0.035 * np.sqrt(1.01) - 1.01)))
    assert tr["current"][-1] == pytest.approx(depleted, rel=max(5e-6, (100 if method == "bdf" else 20) * rtol))
    # 10 V on the way down: the channel is saturated, Q = C_ox/3 (V - Us - Vt), and the capacitors share it.
    gate, source, drain = tr["voltage"][1]
    threshold = 0.2 + 0.035 * (np.sqrt(1.01 + source) - np.sqrt(1.01))
    charge = 4e-12 / 3 * (gate - source - threshold)
    assert (gate, 1.6e-12 * source, 0.4e-12 * drain) == pytest.approx((10.0, charge, charge), rel=1e-4)


def test_nearly_equal_runs_of_the_charge_pump_end_alike():
    """An error of z before the last step, of Newton's method or rounding, does not have that step divided for ever."""
    known = catalogue.load("charge_pump")
    ends = []
    for k in range(40):
        rtol = 1e-9 * (1 + 5e-6 * (k - 20))
        tr = dd.simulate(known.model, known.span, method="radau9", rtol=rtol, atol=1e-3 * rtol, locate_switches=False)
        ends.append(tr["current"][-1])
        assert tr.time[-1] - tr.time[-2] > 1e-6 * (known.span[1] - known.span[0])
    assert ends == pytest.approx([np.median(ends)] * 40, rel=1e-6)


@pytest.mark.parametrize("method", ["radau5", "radau9", "bdf"])
@pytest.mark.parametrize("before", [1e-16, 2e-16, 3e-16])
def test_a_switch_within_rounding_of_the_end_happens_at_the_end(before, method):
    """z is a slope: a step of some spacings of time from the switch to the end would give the rounding errors of x."""
    m = dd.Model("late switch")
    x, z = m.state("x", start=0.0), m.algebraic("z")
    m.equation(m.der(x), z + 0.1 * ca.sin(x))
    late = x - (np.sin(1.0) - before)
    m.equation(x - ca.if_else(late > 0, late**2, 0), ca.sin(m.time))
    tr = dd.simulate(m, 1.0, method=method, rtol=1e-6)
    assert tr.success, tr.stop_reason
    assert tr["z"][-1] == pytest.approx(np.cos(1.0) - 0.1 * np.sin(np.sin(1.0)), abs=1e-6)


@pytest.mark.parametrize("locate", [True, False])
@pytest.mark.parametrize("method", ["radau3", "radau5", "radau9", "bdf"])
@pytest.mark.parametrize("kink", [0.5, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize("slope", [0.05, 0.7, 1.4, 30.0])
def test_the_slope_behind_the_last_kink_is_right_at_the_end(slope, kink, method, locate):
    """z is the slope of a prescribed x: a step over the kink gives a mean, and no run ends with that."""
    m = dd.Model("prescribed")
    x = m.state("x", start=0.0)
    z = m.algebraic("z")
    m.equation(m.der(x), z + 0.1 * ca.sin(x))
    late = m.time - kink
    m.equation(x, ca.sin(m.time) + ca.if_else(late > 0, (slope - 1) * ca.sin(late), 0))
    tr = dd.simulate(m, 1.0, method=method, rtol=1e-5, locate_switches=locate)
    assert tr.success, tr.stop_reason
    late, end = 1 - kink, np.sin(1) + (slope - 1) * np.sin(1 - kink)
    exact = np.cos(1) + (slope - 1) * np.cos(late) - 0.1 * np.sin(end)
    assert tr["z"][-1] == pytest.approx(exact, rel=2e-4, abs=2e-4)


@pytest.mark.parametrize("method", ["radau5", "radau9", "bdf", "auto"])
def test_every_kink_of_the_charge_pump_is_located_to_the_end(method):
    """The run never gives up locating, and steps do not shrink on the way to a kink: few are rejected."""
    known = catalogue.load("charge_pump")
    for rtol in (1e-4, 1e-6, 1e-8):
        tr = dd.simulate(known.model, known.span, method=method, rtol=rtol, atol=1e-3 * rtol)
        assert not records_of(tr, SwitchesCrossed)
        if method == "radau5":
            assert tr.work.steps < 120
            assert tr.work.rejected < 20


@pytest.mark.parametrize("method", ["radau5", "radau9", "bdf"])
def test_the_unit_of_time_does_not_matter(method):
    """A run of microseconds takes the steps of the same run in seconds; its multiplier counts in them all the same."""

    def works(second):
        m = dd.Model("driven")
        x = m.state("x", start=0.0)
        y = m.state("y", start=1.0)
        force = m.algebraic("force", nominal=1 / second)
        m.equation(m.der(x), force)
        m.equation(m.der(y) * second, -y + x)
        m.equation(x, ca.sin(9 * m.time / second) / 9)
        tr = dd.simulate(m, second, method=method, rtol=1e-7)
        assert tr["force"][-1] * second == pytest.approx(np.cos(9.0), abs=2e-3)
        return tr.work.steps, tr.work.rejected

    assert works(1.0) == works(2.0**-20)


def test_a_quiet_time_promises_nothing():
    """Nothing moves before t = 1; the step across must not end after one correction of Newton's method."""
    m = dd.Model("waking")
    x, z = m.state("x", start=0.0), m.algebraic("z", start=0.0)
    drive = ca.fmax(m.time - 1, 0)
    m.equation(m.der(x), z)
    m.equation(z + z**3, 10 * drive)
    tr = dd.simulate(m, 3.0, method="radau5", locate_switches=False)
    assert tr["z"][-1] + tr["z"][-1] ** 3 == pytest.approx(20.0, rel=1e-6)


@pytest.mark.parametrize("rtol", [1e-6, pytest.param(1e-8, marks=pytest.mark.wide)])
def test_an_explicit_run_across_kinks_still_gives_way_to_an_implicit_one(rtol):
    """Steps that no longer end at the kinks of the gate forgot to look for stiffness: 266480 of them for 1013."""
    known = catalogue.load("nand_gate")
    tr = dd.simulate(known.model, known.span, rtol=rtol)
    assert tr.success, tr.stop_reason
    assert records_of(tr, SwitchesCrossed)
    assert tr.work.steps < 5000
    assert known.reference.error("y", tr.end["y"]) < 100 * rtol


@pytest.mark.wide
def test_a_method_that_was_asked_for_stays_across_kinks():
    known = catalogue.load("nand_gate")
    tr = dd.simulate(known.model, 1.0, method="dop853")
    assert tr.success, tr.stop_reason
    assert tr.method == "dop853"
