"""Bounces that come to rest: a run ends there with the reason, and never falls through what it bounced on."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def pendulum_with_a_stop(restitution, constrained):
    """A pendulum of length 1 that hits a stop at x = 0.3, by its rod (index 3) or by its angle."""
    m = dd.Model("stopped")
    if constrained:
        q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
        m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
        m.potential_energy(9.81 * q[1])
        m.constraint("rod", (ca.sumsqr(q) - 1) / 2)
        x, reset = q[0], {"q_dot": -restitution * m.rate(q)}
    else:
        angle = m.state("angle", start=np.pi / 2, rate=0.0)
        m.equation(m.der(m.der(angle)), -9.81 * ca.sin(angle))
        x, reset = ca.sin(angle), {"angle_dot": -restitution * m.der(angle)}
    m.output("x", x)
    m.event("stop", x - 0.3, direction=-1, reset=reset)
    return m


def ball(restitution):
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -restitution * v})
    return m


def check_rested(tr, position, lowest, time, error=1e-6):
    assert not tr.success
    assert tr.status == "chattering"
    assert tr.stop.time == pytest.approx(time, abs=0.01)
    assert tr.stop.what == (
        f"events follow each other without progress at t = {tr.stop.time:.6g}, the last one {tr.stop.event!r}"
    )
    assert tr[position].min() > lowest - error


@pytest.mark.parametrize("rtol", [1e-6, 1e-4, 1e-8])
@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5"])
@pytest.mark.parametrize("constrained", [True, False])
def test_a_pendulum_comes_to_rest_at_its_stop(method, constrained, rtol):
    # The last flights are shorter than rounding resolves: 0.3 is no power of two, so the guard is lost in noise.
    tr = dd.simulate(pendulum_with_a_stop(0.5, constrained), 6.0, method=method, rtol=rtol)
    check_rested(tr, "x", 0.3, 2.550, error=rtol)
    assert tr.stop.event == "stop"


@pytest.mark.parametrize("rtol", [1e-6, 1e-4, 1e-8])
@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5"])
def test_a_plastic_impact_of_a_constrained_body(method, rtol):
    tr = dd.simulate(pendulum_with_a_stop(0.0, True), 6.0, method=method, rtol=rtol)
    check_rested(tr, "x", 0.3, 0.522, error=rtol)
    assert len(tr.events) == 1


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "bdf", "rodas5p"])
def test_a_plastic_impact_is_no_hole_in_the_floor(method):
    check_rested(dd.simulate(ball(0.0), 5.0, method=method), "h", 0.0, 0.4515)
    check_rested(dd.simulate(ball(0.5), 5.0, method=method), "h", 0.0, 1.354)


def ball_with_drag(restitution, floor, drag=0.3):
    """The drag turns at the height of every flight: each of them has two events, its impact and that switch."""
    m = dd.Model("drag")
    h, v = m.state("h", start=1.5), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81 - drag * v * ca.fabs(v))
    m.event("bounce", h - floor, direction=-1, reset={"v": -restitution * v})
    return m


@pytest.mark.parametrize("method", ["auto", "radau5", "tsit5", "radau9", "bdf", "rodas5p"])
def test_what_turns_within_a_flight_is_no_way_through_the_floor(method):
    """The switch of |v| made the impact before it forgotten, and what rounding left of a flight fell through."""
    tr = dd.simulate(ball_with_drag(0.5, 0.488), 6.0, method=method)
    assert tr.status == "chattering"
    assert tr.stop.event == "bounce"
    assert tr["h"].min() > 0.488 - 1e-9


@pytest.mark.wide
@pytest.mark.parametrize("seed", range(12))
def test_random_bounces_never_fall_through(seed):
    rng = np.random.default_rng(seed)
    m = ball_with_drag(rng.choice([0.0, 0.3, 0.5, 0.7]), rng.uniform(0.1, 0.9), rng.uniform(0.0, 1.0))
    for method in ("auto", "radau5", "bdf", "rodas5p"):
        for rtol in (1e-4, 1e-6, 1e-8):
            tr = dd.simulate(m, 6.0, method=method, rtol=rtol)
            floor = tr.events[0].before["h"]
            assert tr["h"].min() > floor - 50 * rtol, (method, rtol)


def test_backwards_in_time():
    m = dd.Model("thrown")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("floor", h, direction=-1, reset={"v": 0.0})
    check_rested(dd.simulate(m, (0.0, -5.0)), "h", 0.0, -0.4515)


@pytest.mark.parametrize("rate", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("end", [5.0, -5.0])
def test_what_goes_on_through_zero_goes_on(rate, end):
    """A reset that slows the motion down, or counts, lets it pass."""
    m = dd.Model("gate")
    x, v, n = m.state("x", start=1.0), m.state("v", start=-np.sign(end)), m.state("n", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), 0.0)
    m.equation(m.der(n), 0.0)
    m.event("pass", x, direction=-1, reset={"v": rate * v, "n": n + 1})
    tr = dd.simulate(m, end)
    assert tr.success
    assert (tr["n"][-1], len(tr.events)) == (1, 1)
    assert tr["x"][-1] == pytest.approx(-4 * rate)


def test_a_stick_state_may_let_go_to_either_side():
    m = dd.Model("stick")
    v, stuck = m.state("v", start=1.0), m.state("stuck", start=0.0)
    force = -ca.cos(m.time)
    m.equation(m.der(v), (1 - stuck) * (force - 0.5))
    m.equation(m.der(stuck), 0.0)
    m.event("stop", v, direction=-1, reset={"v": 0.0, "stuck": 1.0})
    m.event("go", force + 0.9, direction=-1, reset={"stuck": 0.0})
    tr = dd.simulate(m, 10.0)
    assert tr.success
    assert [e.name for e in tr.events] == ["stop", "go"]
    assert tr["v"][-1] < 0


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "radau9"])
@pytest.mark.parametrize("counts", [False, True])
def test_guards_on_multipliers_and_accelerations_go_on(method, counts):
    """Guards that no slope of x shows in the row of an implicit method: with a reset that counts, and with none."""
    m = pendulum_with_a_stop(0.5, constrained=True)
    del m.written.events["stop"]
    n = m.state("n", start=0.0)
    m.equation(m.der(n), 0.0)
    reset = {"n": n + 1} if counts else {}
    m.event("pull", m["rod"] + 20, direction=-1, reset=reset)
    tr = dd.simulate(m, 3.0, method=method, rtol=1e-7)
    assert tr.success
    # The force in the rod is 3 g sin(angle); by angle to 1e-12: scipy's DOP853.
    assert [e.time for e in tr.events] == pytest.approx([0.3940161, 1.5779371, 2.7618581], abs=2e-4)
    assert tr["n"][-1] == (3 if counts else 0)
