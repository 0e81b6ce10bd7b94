"""Events are kept: guards that jump, that time decides, that are faster than the steps, at the start and at the end."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples
from tests.support.records_of import records_of

import daedalus as dd
from daedalus.simulation.result.records_on_the_way import Touched

METHODS = ["auto", "tsit5", "dop853", "radau5", "radau9", "bdf", "rodas5p"]


def clockwork(guard, **options):
    """x' = 1 from 0, z = 2 x, an input, and an event whose reset leaves its guard alone."""
    m = dd.Model("clockwork")
    x, y, z, _ = m.state("x", start=0.0), m.state("y", start=0.0), m.algebraic("z"), m.input("u")
    m.equation(m.der(x), 1.0)
    m.equation(m.der(y), 0.0)
    m.equation(z, 2 * x)
    m.event("e", guard(m), reset={"y": y + 1}, **options)
    return m


def times(m, span, method, u=0.0, **options):
    tr = dd.simulate(m, span, method=method, inputs={"u": u}, **options)
    assert tr.success, tr.stop_reason
    assert tr["y"][-1] == len(tr.events)
    return np.array([event.time for event in tr.events])


HALVES = np.arange(1, 20) * 0.05
JUMPING = [
    (lambda m: ca.fmod(m.time, 0.1) - 0.05, np.append(HALVES, 1.0)),
    (lambda m: ca.fmod(m["x"], 0.1) - 0.05, np.append(HALVES, 1.0)),
    (lambda m: ca.if_else(ca.sin(20 * m.time) > 0, 1, -1), np.arange(1, 7) * np.pi / 20),
    (lambda m: ca.if_else(ca.sin(20 * m["x"]) > 0, 1, -1), np.arange(1, 7) * np.pi / 20),
    (lambda m: ca.fmod(m.time, 0.1) < 0.05, np.arange(1, 11) * 0.1),
    (lambda m: ca.floor(4 * m["x"]) - 1.5, [0.5]),
    (lambda m: ca.floor(4 * m["z"]) - 1.5, [0.25]),
    (lambda m: ca.sign(m["x"] - 0.3), [0.3]),
    (lambda m: dd.all_of(m["x"] > 0.3, m["z"] < 1.4, m.time > 0.5), [0.5]),
    (lambda m: dd.any_of(m["x"] > 0.6, ca.fmod(m.time, 0.4) > 0.3), [0.3, 0.6]),
    (lambda m: dd.negate(m["x"] < 0.7), [0.7]),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("guard", "wanted"), JUMPING)
def test_guards_that_jump(guard, wanted, method):
    assert times(clockwork(guard), 1.0, method) == pytest.approx(np.asarray(wanted), abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("of", ["t", "x"])
def test_a_fast_guard_whose_reset_does_not_touch_it(of, method):
    """An event that has fired is armed again once its guard has left zero."""
    found = times(clockwork(lambda m: ca.sin(np.pi * m[of] / 0.01)), 1.0, method)
    assert found == pytest.approx(np.arange(101) * 0.01, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("speed", [-1.0, 0.0])
def test_a_ball_on_the_floor_that_moves_down_bounces_at_the_start(method, speed):
    m = dd.Model("ball")
    h, v = m.state("h", start=0.0), m.state("v", start=speed)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("floor", h, direction=-1, reset={"v": 1.0})
    tr = dd.simulate(m, 0.1, method=method)
    assert tr.events[0].time == pytest.approx(0.0, abs=1e-9)
    assert tr["h"].min() > -1e-9
    assert tr["h"][-1] == pytest.approx(0.1 - 0.5 * 9.81 * 0.01, abs=1e-6)


def test_one_that_moves_up_does_not_and_one_past_zero_is_told():
    m = dd.Model("ball")
    h, v = m.state("h", start=0.0), m.state("v", start=1.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("floor", h, direction=-1, terminal=True)
    tr = dd.simulate(m, 1.0)
    assert [e.time for e in tr.events] == pytest.approx([2 / 9.81], abs=1e-9)
    tr = dd.simulate(m, 0.1, start={"h": -0.5})
    assert tr.events == []
    assert "the guard of 'floor' is past zero at the start: it fires when it crosses zero again" in tr.notes


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "guard", [lambda m: m["x"] - 1, lambda m: m.time - 1, lambda m: m["x"] >= 1, lambda m: m.time >= 1]
)
def test_an_event_exactly_at_the_end_happens(guard, method):
    assert times(clockwork(guard), 1.0, method) == pytest.approx([1.0], abs=1e-12)
    assert len(times(clockwork(guard), 0.999, method)) == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("meet", [0.25, 0.5, 0.6, 1.0])
@pytest.mark.parametrize("guard", [lambda m: ca.sin(4 * np.pi * m["x"]), lambda m: ca.sin(4 * np.pi * m.time)])
def test_two_joined_runs_equal_one(guard, meet, method):
    m = clockwork(guard)
    whole = times(m, 1.2, method)
    first = dd.simulate(m, meet, method=method, inputs={"u": 0})
    second = dd.simulate(m, (meet, 1.2), start=first.end, method=method, inputs={"u": 0})
    joined = [e.time for e in (*first.events, *second.events)]
    assert joined == pytest.approx(whole, abs=1e-9)
    middle = dd.simulate(m, 1.2, method=method, inputs={"u": 0}).at(meet)
    later = dd.simulate(m, (meet, 1.2), start=middle, method=method, inputs={"u": 0})
    assert [e.time for e in later.events] == pytest.approx([t for t in whole if t > meet + 1e-9], abs=1e-9)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_inequalities_on_held_tables(method):
    """A table 0, 1, 0, 2: u >= 1 holds at 1, u > 1 does not."""
    table = dd.signal([0.0, 0.2, 0.5, 0.8], [0.0, 1.0, 0.0, 2.0], kind="hold")
    for guard, wanted in (
        (lambda m: m["u"] >= 1, [0.2, 0.8]),
        (lambda m: m["u"] > 1, [0.8]),
        (lambda m: m["u"] <= 0, [0.5]),
        (lambda m: m["u"] < 1, [0.5]),
        (lambda m: m["u"] - 1, [0.2, 0.8]),
    ):
        assert times(clockwork(guard), 1.0, method, u=table) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p"])
def test_a_reset_that_carries_another_guard_across_zero(method):
    m = dd.Model("cascade")
    x, a, b = (m.state(name, start=0.0) for name in "xab")
    for state, rate in ((x, 1.0), (a, 0.0), (b, 0.0)):
        m.equation(m.der(state), rate)
    m.event("first", x - 0.5, reset={"a": 2.0})
    m.event("second", a - 1, direction=1, reset={"b": a + 1})
    m.event("third", b >= 3, terminal=True)
    tr = dd.simulate(m, 1.0, method=method)
    assert [e.name for e in tr.events] == ["first", "second", "third"]
    assert [e.time for e in tr.events] == pytest.approx([0.5] * 3)
    assert (tr.status, float(tr.end["b"])) == ("event", 3.0)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=examples(5), deadline=None)
@given(
    data=st.data(),
    source=st.sampled_from(["t", "x", "z", "u"]),
    kind=st.sampled_from(["smooth", "periodic", "jumping"]),
    direction=st.sampled_from([-1, 0, 1]),
)
def test_random_guards_with_known_times(data, method, source, kind, direction):
    """Count and times of all events, whatever the guard is of."""
    scale = 2.0 if source == "z" else 1.0

    def value(m):
        return m[source] / scale

    if kind == "smooth":
        roots = sorted(data.draw(st.lists(st.integers(1, 19), min_size=1, max_size=4, unique=True)))
        roots = np.array(roots) / 20 + 0.013
        sign = data.draw(st.sampled_from([-1, 1]))
        guard = lambda m: sign * np.prod([value(m) - r for r in roots])  # noqa: E731
        rising = [sign * (-1) ** (len(roots) - 1 - k) > 0 for k in range(len(roots))]
    else:
        frequency, phase = data.draw(st.integers(3, 60)), data.draw(st.floats(0.1, 3.0))
        turns = np.arange(1, 2 * frequency)
        roots = (np.pi * turns - phase) / (np.pi * frequency)
        keep = (roots > 1e-6) & (roots < 1 - 1e-6)
        roots, rising = roots[keep], (turns % 2 == 0)[keep]
        wave = lambda m: ca.sin(np.pi * frequency * value(m) + phase)  # noqa: E731
        guard = wave if kind == "periodic" else lambda m: ca.if_else(wave(m) > 0, 2.0, -1.0)
    wanted = [t for t, up in zip(roots, rising) if direction == 0 or up == (direction > 0)]
    ramp = dd.signal([0.0, 1.0], [0.0, 1.0], kind="linear")
    found = times(clockwork(guard, direction=direction), 1.0, method, u=ramp)
    assert found == pytest.approx(np.array(wanted), abs=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_a_touch_without_a_change_of_sign_is_told_and_fires_nothing(method):
    """cos(x) + 1 touches zero at pi, and comes no nearer than 0.01 where it is raised by that."""
    m = dd.Model("touch")
    x, n = m.state("x", start=0.0), m.discrete("n")
    m.equation(m.der(x), 1.0)
    m.event("touches", ca.cos(x) + 1, reset={"n": n + 1})
    m.event("misses", ca.cos(x) + 1.01)
    tr = dd.simulate(m, 6.0, method=method, rtol=1e-7)
    assert tr.events == []
    assert tr["n"][-1] == 0
    (told,) = records_of(tr, Touched)
    assert told.event == "touches"
    assert told.time == pytest.approx(np.pi, abs=1e-3)


@pytest.mark.parametrize("method", ["rk4", "euler", "gauss2", "radau5", "implicit_euler", "sdirk3", "lobatto_iiic3"])
@pytest.mark.parametrize("power", [2, 3])
@pytest.mark.parametrize("place", [0.5, 0.25 + 0.125 / 3, 0.375])
def test_a_touch_at_the_very_end_of_a_step_is_one_and_a_crossing_is_no_touch(method, power, place):
    """Steps of 1/8 end, or are looked at inside, just where the guard is zero."""
    m = dd.Model("touch")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), 1.0)
    m.event("meets", (x - place) ** power)
    tr = dd.simulate(m, 1.0, method=method, step=0.125)
    assert [event.time for event in tr.events] == pytest.approx([] if power == 2 else [place], abs=1e-5)
    assert len(records_of(tr, Touched)) == (power == 2)
