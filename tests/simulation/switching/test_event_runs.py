"""Events in runs: located, in order, with resets that read the values before."""

import numpy as np
import pytest

import daedalus as dd


def ball(restitution=0.8):
    m = dd.Model("ball")
    h = m.state("h", start=1.0)
    v = m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -10.0)
    m.event("bounce", h, direction=-1, reset={"v": -restitution * v})
    return m


def bounce_times(restitution, count):
    first = np.sqrt(2 / 10.0)
    flights = 2 * first * restitution ** np.arange(1, count)
    return first + np.concatenate([[0.0], np.cumsum(flights)])


@pytest.mark.parametrize("method", ["tsit5", "dopri5", "dop853", "bs3"])
def test_bouncing_ball_against_its_closed_form(method):
    tr = dd.simulate(ball(), 2.5, method=method, rtol=1e-10)
    expected = [t for t in bounce_times(0.8, 12) if t < 2.5]
    np.testing.assert_allclose([e.time for e in tr.events], expected, rtol=1e-9)
    assert all(e.name == "bounce" for e in tr.events)
    first = tr.events[0]
    assert first.after["v"] == pytest.approx(-0.8 * first.before["v"])
    assert abs(first.before["h"]) < 1e-12


def test_two_samples_share_the_time_of_an_event_and_at_gives_the_later():
    tr = dd.simulate(ball(), 1.0, rtol=1e-10)
    t = tr.events[0].time
    k = np.flatnonzero(tr.time == t)
    assert len(k) == 2
    assert tr["v"][k[0]] < 0 < tr["v"][k[1]]
    assert tr.at(t)["v"] == tr["v"][k[1]]


def test_terminal_event_ends_the_run():
    m = ball()
    m.event("apex", m["v"], direction=-1, terminal=True)
    tr = dd.simulate(m, 10.0, start={"v": 1.0}, rtol=1e-10)
    assert tr.success
    assert tr.status == "event"
    assert tr.stop_reason == "event 'apex' ended the run at t = 0.1"
    assert tr.time[-1] == pytest.approx(0.1, rel=1e-9)


def test_zeno_is_reported():
    tr = dd.simulate(ball(0.5), 10.0)
    assert tr.status == "chattering"
    assert not tr.success
    assert tr.stop.what == f"events follow each other without progress at t = {tr.stop.time:.6g}, the last one 'bounce'"
    assert tr.time[-1] == pytest.approx(np.sqrt(0.2) * 3, rel=1e-3)


def test_resets_read_values_before_and_apply_together():
    m = dd.Model("swap")
    a, b = m.state("a", start=0.0), m.state("b", start=5.0)
    m.equation(m.der(a), 1.0)
    m.equation(m.der(b), 0.0)
    m.event("swap", a - 1.0, direction=1, reset={"a": b, "b": a})
    tr = dd.simulate(m, 2.0, rtol=1e-10)
    assert len(tr.events) == 1
    assert tr["b"][-1] == pytest.approx(1.0, rel=1e-9)
    assert tr["a"][-1] == pytest.approx(6.0, rel=1e-9)


def test_guards_may_contain_time_inputs_outputs_and_derivatives():
    m = dd.Model("clock")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), m.time)
    m.event("tick", m.time - 0.5)
    m.event("fast", m.der(x) - 1.0, direction=1)
    tr = dd.simulate(m, 2.0, rtol=1e-9)
    assert [(e.name, round(e.time, 9)) for e in tr.events] == [("tick", 0.5), ("fast", 1.0)]


def test_a_double_crossing_inside_one_long_step_is_found():
    m = dd.Model("hump")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), 1.0 - 2.0 * m.time)
    m.event("high", x - 0.2)
    tr = dd.simulate(m, 1.0, rtol=1e-2, atol=1e-1)
    np.testing.assert_allclose([e.time for e in tr.events], [0.5 - np.sqrt(0.05), 0.5 + np.sqrt(0.05)], rtol=1e-6)
