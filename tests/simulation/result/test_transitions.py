"""Transitions of runs: what happened, in order, of every kind, kept by pickles and files."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.event_records import TurnedCondition
from daedalus.simulation.sliding.rest import StatesAtSteps, with_rests


@pytest.fixture(autouse=True)
def few_calls(monkeypatch):
    """Each function is called some hundred times at most: compiling would take longer."""
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")


def told(tr):
    return [(t.kind.value, t.guard, round(t.time, 6)) for t in tr.transitions]


def relay():
    """Falls to zero, slides, is pushed off at t = 1.5, comes back from t = 2 on, slides again from t = 2.5 on."""
    m = dd.Model("relay")
    x = m.state("x", start=1.0)
    push = ca.if_else(m.time > 1.5, 3.0, 0.0) - ca.if_else(m.time > 2.0, 3.0, 0.0)
    m.equation(m.der(x), 0.5 - 2.0 * ca.sign(x) + push)
    return m


RELAY = [
    ("slides", "x > 0", 0.666667),
    ("switch", "1.5 < t", 1.5),
    ("leaves", "x > 0", 1.5),
    ("switch", "2 < t", 2.0),
    ("slides", "x > 0", 2.5),
]


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_a_relay_slides_leaves_and_slides_again(method):
    assert told(dd.simulate(relay(), 3.0, method=method)) == RELAY


def test_rows_of_save_at_change_nothing():
    tr = dd.simulate(relay(), 3.0, save_at=[0.0, 3.0])
    assert told(tr) == RELAY
    assert [float(t.before["x"]) for t in tr.transitions] == pytest.approx([0.0, 0.0, 0.0, 0.75, 0.0], abs=1e-9)


def test_pickles_and_files_keep_them(tmp_path):
    tr = dd.simulate(relay(), 3.0)
    assert told(pickle.loads(pickle.dumps(tr))) == RELAY
    tr.save(tmp_path / "run.nc")
    assert told(dd.load(tmp_path / "run.nc")) == RELAY


def test_backwards_in_time():
    m = dd.Model("ramp")
    x = m.state("x", start=4.0)
    m.equation(m.der(x), ca.if_else(x < 1.0, 1.0, 3.0) + ca.if_else(m.time < 0.5, 1.0, 0.0))
    assert told(dd.simulate(m, (2.0, 0.0))) == [("switch", "x < 1", 1.0), ("switch", "t < 0.5", 0.5)]


def test_a_tank_comes_to_rest_and_moves_again():
    m = dd.Model("tap")
    x = m.state("x", start=0.25)
    m.equation(m.der(x), ca.fmax(m.time - 2.0, 0.0) - ca.sign(x) * ca.sqrt(ca.fabs(x)))
    kinds = [(kind, guard) for kind, guard, _ in told(dd.simulate(m, 3.0))]
    assert kinds[0] == ("rests", "x > 0")
    assert kinds[-1] == ("leaves", "x > 0")


def test_events_clocks_and_what_they_assign():
    m = dd.Model("counted")
    x, n, u = m.state("x", start=0.0), m.discrete("n", start=0.0), m.discrete("u", start=1.0)
    m.equation(m.der(x), u)
    m.event("full", x - 0.75, direction=1, reset={"x": 0.0, "n": n + 1})
    m.schedule([1.0], {"u": -0.5})
    tr = dd.simulate(m, 2.0)
    assert told(tr) == [("event", "full", 0.75), ("clock", "schedule_1", 1.0)]
    full, clock = tr.transitions
    assert (full.reset, clock.reset) == (("x", "n"), ("u",))
    assert (float(full.before["x"]), float(full.after["x"]), float(full.after["n"])) == pytest.approx((0.75, 0.0, 1.0))
    assert (float(clock.before["u"]), float(clock.after["u"])) == (1.0, -0.5)
    # A run that goes on from the end does not tell again what has happened there.
    half = dd.simulate(m, 1.0)
    assert told(half)[-1] == ("clock", "schedule_1", 1.0)
    assert told(dd.simulate(m, (1.0, 2.0), start=half.end)) == []


def test_what_a_clock_brings_about_is_told_behind_it():
    m = dd.Model("sampled alarm")
    x, d = m.state("x", start=0.0), m.discrete("d", start=0.0)
    m.discrete("seen", start=0.0)
    m.equation(m.der(x), 1.0)
    m.every(9.0, {"d": x}, offset=1.0, name="sample")
    m.every(9.0, {"seen": d}, offset=1.0, after="sample", name="copy")
    m.when(d > 0.5, {"x": x + 10}, name="alarm")
    m.event("passes", x - 1.0, direction=1, reset={"x": x + 0.5})
    tr = dd.simulate(m, 1.5)
    assert [told[1] for told in told(tr)] == ["passes", "sample", "alarm", "copy"]
    assert [float(tr.transitions[k].before["x"]) for k in (0, 2)] == pytest.approx([1.0, 1.5])
    assert [event.round for event in tr.outcome.events] == [0, 1]


def test_contacts_close_and_frictions_stick():
    m = dd.Model("drop")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    x, w = m.state("x", start=0.0), m.state("w", start=1.0)
    floor, drag = m.unilateral("floor", h, restitution=0.5), m.friction("drag", w, kinetic=2.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81 + floor)
    m.equation(m.der(x), w)
    m.equation(m.der(w), drag)
    tr = dd.simulate(m, 0.6)
    first = np.sqrt(2 / 9.81)
    assert told(tr) == [("closes", "floor", round(first, 6)), ("sticks", "drag", 0.5)]
    bounce = tr.transitions[0]
    assert float(bounce.after["v"]) == pytest.approx(-0.5 * float(bounce.before["v"]))


def test_a_smooth_run_has_none():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    assert dd.simulate(m, 1.0).transitions == []


def test_a_run_that_crosses_by_rounding_what_it_rests_on_rests_there():
    """Rounding turns the condition to and fro while the run rests: nothing happens at these turns."""
    m = dd.Model("tank")
    h = m.state("h", start=1.0)
    m.equation(m.der(h), ca.if_else(h > 0, -ca.sqrt(ca.fabs(h)), 0))
    system = m.freeze()
    turns = [TurnedCondition(t, "h > 0", value) for t, value in ((2.0, 0.0), (2.1, 1.0), (2.2, 0.0))]
    times, states = np.array([0.0, 2.0, 2.1, 2.2]), np.array([1.0, 0.0, 0.0, 0.3])
    path = StatesAtSteps(times, states[:, None], lambda t: states[times == t])
    found = with_rests(system, turns, path, (0.0, 3.0), Drive(np.zeros(0)), np.zeros(0), 1e-6)
    assert [(turn.time, turn.kind.value) for turn in found] == [(2.0, "rests"), (2.2, "leaves")]


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_a_run_that_begins_at_rest_says_so_and_when_it_leaves(method):
    """An empty tank is filled from t = 1 on, by an inflow that is still zero at that moment."""
    m = dd.Model("tank")
    h, inflow = m.state("h", start=0.0), m.input("inflow")
    m.equation(m.der(h), inflow - ca.sqrt(ca.fmax(h, 0)))
    ramp = dd.signal([0.0, 1.0, 2.0], [0.0, 0.0, 1.0], kind="linear")
    tr = dd.simulate(m, 2.0, inputs={"inflow": ramp}, method=method)
    assert told(tr) == [("rests", "h > 0", 0.0), ("leaves", "h > 0", 1.0)]
    assert told(dd.simulate(m, 0.9, inputs={"inflow": ramp}, method=method)) == [("rests", "h > 0", 0.0)]
    # What is filled from the start on never rests, and a run that goes on does not begin anew.
    steady = dd.simulate(m, 2.0, inputs={"inflow": 0.5}, method=method)
    assert "rests" not in {transition.kind.value for transition in steady.transitions}
    rest = dd.simulate(m, (0.5, 2.0), start=tr.at(0.5), inputs={"inflow": ramp}, method=method)
    assert told(rest) == [("leaves", "h > 0", 1.0)]


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_tanks_that_run_empty_one_behind_the_other_rest_once_each(method):
    m = dd.Model("two")
    a, b = m.state("a", start=1.0), m.state("b", start=0.0)
    m.equation(m.der(a), -ca.sqrt(ca.fmax(a, 0)))
    m.equation(m.der(b), ca.sqrt(ca.fmax(a, 0)) - 0.5 * ca.sqrt(ca.fmax(b, 0)))
    tr = dd.simulate(m, 12.0, method=method)
    assert [(kind, guard) for kind, guard, _ in told(tr)] == [("rests", "a > 0"), ("rests", "b > 0")]
    assert tr.transitions[0].time == pytest.approx(2.0, abs=1e-3)
    empty = dd.simulate(m, 1.0, start={"a": 0.0, "b": 0.0}, method=method)
    assert told(empty) == [("rests", "a > 0", 0.0), ("rests", "b > 0", 0.0)]


def test_a_rest_that_a_reset_ends_is_told_again_when_it_comes_back():
    m = dd.Model("refilled")
    h = m.state("h", start=0.0)
    m.equation(m.der(h), -ca.sqrt(ca.fmax(h, 0)))
    m.when(m.time > 1, {"h": 0.25}, name="refill")
    kinds = [(kind, guard) for kind, guard, _ in told(dd.simulate(m, 3.0))]
    assert kinds == [("rests", "h > 0"), ("event", "refill"), ("leaves", "h > 0"), ("rests", "h > 0")]
