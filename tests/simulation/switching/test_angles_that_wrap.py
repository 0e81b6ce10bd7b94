"""atan2 jumps from π to -π: runs end steps there, slide along it, and agree with the integral of a sawtooth."""

import itertools

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad
from tests.support.records_of import records_of

import daedalus as dd
from daedalus.reduction.angle_cut import continued_angle, sector_guard
from daedalus.simulation.result.records_on_the_way import SlidesAlong, SwitchesLocated


def wrapped(angle):
    """An angle between -π and π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


def phase_detector(speed=2.0):
    """θ' = ω, y' = atan2(sin θ, cos θ)."""
    m = dd.Model("phase detector")
    w, angle, y = m.parameter("w", speed), m.state("angle", start=0.3), m.state("y", start=0.0)
    m.equation(m.der(angle), w)
    m.equation(m.der(y), ca.atan2(ca.sin(angle), ca.cos(angle)))
    return m


def detected(speed, time, start=0.3):
    """y in closed form."""
    return (wrapped(start + speed * time) ** 2 - wrapped(start) ** 2) / (2 * speed)


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "radau9", "bdf", "rodas5p"])
def test_the_jump_is_located_by_every_method(method):
    tr = dd.simulate(phase_detector(), 20.0, method=method)
    # Between its jumps y is a parabola. Only the first steps of bdf miss it, which begins anew with order 1: each of
    # 12 restarts has an error within the tolerance.
    error = 12 * 1e-6 * np.abs(tr["y"]).max() if method == "bdf" else 1e-9
    assert tr.end["y"] == pytest.approx(detected(2.0, 20.0), abs=error)


@pytest.mark.parametrize("seed", range(6))
def test_random_orbits_of_a_point(seed):
    """The angle of a point on an ellipse of any place and size, also around other points than the origin."""
    rng = np.random.default_rng(seed)
    radii, middle = rng.uniform(0.5, 2, 2), rng.uniform(-0.4, 0.4, 2)
    speed, phase = rng.uniform(-3, 3), rng.uniform(0, 6)
    m = dd.Model("orbit")
    turn, sum_ = m.state("turn", start=phase), m.state("sum", start=0.0)
    m.equation(m.der(turn), speed)
    m.equation(m.der(sum_), ca.atan2(middle[1] + radii[1] * ca.sin(turn), middle[0] + radii[0] * ca.cos(turn)))
    tr = dd.simulate(m, 10.0, rtol=1e-9, atol=1e-12)

    def angle(t):
        at = phase + speed * t
        return np.arctan2(middle[1] + radii[1] * np.sin(at), middle[0] + radii[0] * np.cos(at))

    first = np.arcsin(-middle[1] / radii[1])
    crossed = np.concatenate([(np.array([first, np.pi - first]) + 2 * np.pi * k - phase) / speed for k in range(-9, 9)])
    ends = np.concatenate([[0.0], np.sort(crossed[(crossed > 0) & (crossed < 10)]), [10.0]])
    expected = sum(quad(angle, low, high, epsabs=1e-11)[0] for low, high in itertools.pairwise(ends))
    assert tr.end["sum"] == pytest.approx(expected, abs=1e-7)


def test_an_angle_that_leads_to_the_jump_from_both_sides_slides():
    m = dd.Model("repelled")
    x = m.state("x", start=2.0)
    m.equation(m.der(x), ca.atan2(ca.sin(x), ca.cos(x)))
    tr = dd.simulate(m, 3.0)
    assert tr.end["x"] == pytest.approx(np.pi, abs=1e-12)
    assert len(tr.time) < 100
    assert records_of(tr, SlidesAlong)


def test_conditions_on_time_events_and_outputs():
    m = dd.Model("clock")
    y, count = m.state("y", start=0.0), m.discrete("count", start=0)
    hand = ca.atan2(ca.sin(2 * m.time + 0.3), ca.cos(2 * m.time + 0.3))
    m.equation(m.der(y), hand)
    m.output("hand", hand)
    m.event("past", hand, direction=-1, reset={"count": count + 1})
    tr = dd.simulate(m, 20.0)
    assert tr.end["y"] == pytest.approx(detected(2.0, 20.0), abs=1e-9)
    assert tr.end["count"] == 6
    assert np.trapezoid(tr["hand"], tr.time) == pytest.approx(tr.end["y"], abs=1e-9)


def test_derivatives_and_sweeps_cross_the_jump():
    m, h = phase_detector(), 1e-5
    sens = dd.sensitivities(m, 20.0, wrt=("start", "parameters"))
    assert sens.d("y", "w") == pytest.approx((detected(2 + h, 20.0) - detected(2 - h, 20.0)) / (2 * h), rel=1e-6)
    by_start = (detected(2.0, 20.0, 0.3 + h) - detected(2.0, 20.0, 0.3 - h)) / (2 * h)
    assert sens.d("y", "angle") == pytest.approx(by_start, rel=1e-6)
    speeds = np.linspace(1.0, 3.0, 12)
    en = dd.sweep(m, 20.0, over={"w": speeds}, save_at="end")
    assert np.ravel(en["y"]) == pytest.approx(detected(speeds, 20.0), abs=1e-8)


def test_a_point_on_the_jump_is_not_linearised_and_one_beside_it_is():
    m = phase_detector()
    assert dd.linearise(m, at={"angle": 3.0, "y": 0.0}).A[1, 0] == pytest.approx(1.0)
    with pytest.raises(dd.SolverError, match="jump at this point"):
        dd.linearise(m, at={"angle": np.pi, "y": 0.0})


@pytest.mark.parametrize("written", [
    lambda a: ca.atan(ca.sin(a) / ca.cos(a)),
    lambda a: ca.atan(ca.tan(a)),
    lambda a: ca.atan(1 / (ca.cos(a) / ca.sin(a))),
    lambda a: ca.atan(-3 * ca.sin(a) / (-3 * ca.cos(a))),
])  # fmt: skip
@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_the_angle_of_a_quotient_jumps_where_its_divisor_passes_zero(written, method):
    """The discriminator of a Costas loop, atan(Q / I): a sawtooth of half a turn."""
    m = dd.Model("discriminator")
    angle, y, of_time = m.state("angle", start=0.3), m.state("y", start=0.0), m.state("of_time", start=0.0)
    m.equation(m.der(angle), 2.0)
    m.equation(m.der(y), written(angle))
    m.equation(m.der(of_time), written(2 * m.time + 0.3))
    tr = dd.simulate(m, 20.0, method=method)
    end, begin = ((a + np.pi / 2) % np.pi - np.pi / 2 for a in (40.3, 0.3))
    assert (tr.end["y"], tr.end["of_time"]) == pytest.approx([(end**2 - begin**2) / 4] * 2, abs=1e-6)


def test_an_angle_that_cannot_reach_the_jump_has_no_switch():
    m = dd.Model("tyre")
    speed, side = m.state("speed", start=10.0), m.state("side", start=1.0)
    m.equation(m.der(speed), -0.1)
    m.equation(m.der(side), -ca.atan2(side, ca.sqrt(speed**2 + 0.01)))
    tr = dd.simulate(m, 5.0)
    assert not records_of(tr, SwitchesLocated)


def test_the_angle_in_its_sectors_is_that_of_the_library():
    y, x = ca.SX.sym("y"), ca.SX.sym("x")
    angle = ca.Function("angle", [y, x], [continued_angle(y, x, sector_guard(y, x) > 0)])
    at = np.radians(np.linspace(-179.5, 180.0, 720))
    found = angle(np.sin(at)[None, :], np.cos(at)[None, :]).full().ravel()
    assert found == pytest.approx(np.arctan2(np.sin(at), np.cos(at)), abs=1e-15)
