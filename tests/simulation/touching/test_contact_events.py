"""What contacts and events of a model do on the way: names, times and order, against closed forms."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.records_of_methods import ContactsStepped, OverlapAtStart
from daedalus.simulation.result.records_on_the_way import PastAtStart

G = 9.81


def flat(m, name="b", place=(0.0, 0.1), velocity=(0.0, 0.0), mass=1.0, sides=(0.4, 0.2), **more):
    body = m.body(name, mass=mass, inertia=0.1, orientation="planar", position=list(place), velocity=list(velocity),
                  **{"rotation": 0.0, "angular_velocity": 0.0, **more})  # fmt: skip
    body.shape("box", size=list(sides))
    return body


def weighty(name="m"):
    m = dd.Model(name)
    m.gravity([0.0, -G])
    return m


def told(tr):
    return [event.name for event in tr.events]


def test_a_block_sticks_when_its_speed_is_spent():
    m = weighty()
    m.contact(flat(m, velocity=(3.0, 0.0)), dd.ground, friction=0.3)
    tr = dd.simulate(m, 2.0)
    assert told(tr) == ["b_ground.sticks"]
    assert tr.events[0].time == pytest.approx(3.0 / (0.3 * G), abs=1e-6)
    assert [(t.kind, t.guard) for t in tr.transitions] == [("sticks", "b_ground")]


@pytest.mark.parametrize(("force", "name", "when"), [
    (lambda t: [2.0 * t, 0.0], "slips", 0.3 * G / 2.0),
    (lambda t: [0.0, 5.0 * t**2], "opens", np.sqrt(G / 5.0)),
    pytest.param(lambda t: [0.0, G * (1 - ca.cos(t))], "opens", np.pi / 2, marks=pytest.mark.wide),
])  # fmt: skip
def test_a_contact_lets_go_when_the_force_is_enough(force, name, when):
    m = weighty()
    b = flat(m)
    b.apply_force(force(m.time), at=[0.0, -0.1], frame="world")
    m.contact(b, dd.ground, friction=0.3)
    tr = dd.simulate(m, 2.0)
    assert tr.events[0].name == f"b_ground.{name}"
    assert tr.events[0].time == pytest.approx(when, abs=2e-6)


def test_a_ball_closes_at_every_bounce():
    m = weighty()
    b = m.body("ball", mass=1.0, inertia=0.004, orientation="planar", position=[0, 1.1], velocity=[0, 0], rotation=0.0,
               angular_velocity=0.0)  # fmt: skip
    b.shape("sphere", size=0.1)
    m.contact(b, dd.ground, restitution=0.5, friction=0.0)
    tr = dd.simulate(m, 1.2)
    fall = np.sqrt(2 / G)
    assert set(told(tr)) == {"ball_ground.closes"}
    assert [e.time for e in tr.events[:3]] == pytest.approx([fall, 2 * fall, 2.5 * fall], abs=1e-6)
    first = tr.events[0]
    assert float(first.after["ball.velocity"][1]) == pytest.approx(-0.5 * float(first.before["ball.velocity"][1]))


def test_a_short_push_on_a_body_at_rest_is_not_missed():
    push = 8.0

    def force(t):
        return ca.if_else(ca.fabs(t - 2.03) < 0.01, push, 0.0)

    m = weighty()
    b = flat(m)
    b.apply_force([force(m.time), 0.0], at=[0.0, -0.1], frame="world")
    m.contact(b, dd.ground, friction=0.3)
    tr = dd.simulate(m, 4.0)
    speed = (push - 0.3 * G) * 0.02
    way = 0.5 * speed * 0.02 + speed**2 / (2 * 0.3 * G)
    assert told(tr) == ["b_ground.slips", "b_ground.sticks"]
    assert tr["b.position"][-1, 0] == pytest.approx(way, rel=2e-3)


def test_forces_that_swing_slip_and_stick_as_dry_friction_does():
    # The same law as m.friction, which locates its changes by complementarity of forces and accelerations.
    m = weighty()
    b = flat(m)
    b.apply_force([4.0 * ca.sin(8.0 * m.time), 0.0], at=[0.0, -0.1], frame="world")
    m.contact(b, dd.ground, friction=0.3)
    r = dd.Model("friction")
    x, v = r.state("x", start=0.0), r.state("v", start=0.0)
    r.equation(r.der(x), v)
    r.equation(r.der(v), 4.0 * ca.sin(8.0 * r.time) + r.friction("f", v, kinetic=0.3 * G))
    one, two = dd.simulate(m, 0.4), dd.simulate(r, 0.4, rtol=1e-9)
    assert [name.split(".")[1] for name in told(one)] == [name.split(".")[1] for name in told(two)]
    assert [e.time for e in one.events] == pytest.approx([e.time for e in two.events], abs=2e-5)


def test_events_and_clocks_of_the_model_act():
    m = weighty()
    b = flat(m, place=(0.0, 1.0), velocity=(1.0, 0.0))
    force, low = m.discrete("force", start=0.0), m.discrete("low", start=0)
    b.apply_force([force, 0.0])
    m.contact(b, dd.ground, friction=0.0, restitution=0.5)
    m.every(0.1, {"force": -5.0 * b.velocity[0]})
    m.when(b.position[1] < 0.3, {"low": low + 1}, name="sinks")
    tr = dd.simulate(m, 0.7)
    assert told(tr)[:2] == ["sinks", "b_ground.closes"]
    assert tr.events[0].time == pytest.approx(np.sqrt(2 * 0.7 / G), abs=1e-7)
    assert tr["low"][-1] == 1
    # The sampled loop by hand: v' = -5 v_k over each period.
    assert tr["b.velocity"][-1, 0] == pytest.approx(0.5**7, rel=1e-6)


def test_python_code_of_a_clock_reads_contact_forces():
    m = weighty()
    b = flat(m, place=(0.0, 0.3))
    m.discrete("felt", start=0.0)
    seen = []

    def look(t, values, memory):
        seen.append((t, *values))
        return (values[0],), memory

    m.contact(b, dd.ground, friction=0.3)
    m.every(0.25, call=look, reads=["b_ground.normal"], writes=["felt"])
    tr = dd.simulate(m, 1.0)
    assert [t for t, _ in seen] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert [f for _, f in seen] == pytest.approx([0.0, G, G, G, G], rel=1e-6, abs=1e-9)
    assert tr["felt"][-1] == pytest.approx(G, rel=1e-6)


@pytest.mark.parametrize("options", [{}, {"step": 1e-3}])
def test_a_terminal_event_ends_the_run(options):
    m = weighty()
    b = flat(m, velocity=(3.0, 0.0))
    m.contact(b, dd.ground, friction=0.3)
    m.event("there", b.position[0] - 1.0, terminal=True)
    tr = dd.simulate(m, 2.0, **options)
    assert tr.status == "event"
    assert tr.events[-1].name == "there"
    assert tr["b.position"][-1, 0] == pytest.approx(1.0, abs=1e-9)


def test_code_that_fails_keeps_what_was_computed():
    m = weighty()
    m.contact(flat(m, place=(0.0, 0.3)), dd.ground)
    m.discrete("u")

    def fails(t, values, memory):
        if t > 0.4:
            raise RuntimeError("no signal")
        return (0.0,), memory

    m.every(0.25, call=fails, reads=["b.position"], writes=["u"])
    tr = dd.simulate(m, 1.0)
    assert not tr.success
    assert tr.time[-1] == 0.5
    assert tr.status == "call_failed"
    assert tr.outcome.stop.event == "clock_1"


def test_dry_friction_of_what_is_no_body_is_refused():
    m = weighty()
    m.contact(flat(m), dd.ground)
    v = m.state("v", start=1.0)
    m.equation(m.der(v), m.friction("brake", v, kinetic=1.0))
    with pytest.raises(dd.InputError, match=r"cannot be combined with every m\.friction"):
        dd.simulate(m, 1.0)


def test_dry_friction_by_the_normal_force_of_a_contact_is_refused():
    m = weighty()
    b = flat(m)
    m.contact(b, dd.ground)
    rub = m.friction("f", m["b.velocity"][0], kinetic=m["b_ground.normal"])
    b.apply_force(ca.vertcat(rub, ca.SX.zeros(b.size - 1)))
    with pytest.raises(dd.InputError, match="limits on no force"):
        dd.simulate(m, 1.0)


def test_events_of_contacts_are_saved(tmp_path):
    m = weighty()
    m.contact(flat(m, place=(0.0, 0.2), velocity=(1.0, 0.0)), dd.ground, friction=0.3)
    tr = dd.simulate(m, 0.3)
    tr.save(tmp_path / "run.nc")
    again = dd.load(tmp_path / "run.nc")
    assert [(e.name, e.time) for e in again.events] == [(e.name, e.time) for e in tr.events]
    assert np.array_equal(again.events[0].after["b.velocity"], tr.events[0].after["b.velocity"])


def row_of_balls(count):
    m = dd.Model("row")
    m.gravity([0, 0])
    for k in range(count):
        ball = m.body(f"b{k}", mass=1.0, inertia=0.004, orientation="planar", position=[0.2 * k - 0.1 * (k == 0), 1.0],
                      velocity=[1.0 * (k == 0), 0.0], rotation=0.0, angular_velocity=0.0)  # fmt: skip
        ball.shape("sphere", size=0.1)
    m.contact("all", friction=0.0, restitution=1.0)
    return m


@pytest.mark.parametrize("count", [5, 14])
def test_event_driven_runs_of_many_bodies_strike_one_after_the_other(count):
    m = row_of_balls(count)
    tr = dd.simulate(m, 0.3, method="event_driven")
    speeds = [tr[f"b{k}.velocity"][-1, 0] for k in range(count)]
    assert speeds == pytest.approx([0.0] * (count - 1) + [1.0], abs=1e-9)
    (record,) = [record for record in tr.records if isinstance(record, ContactsStepped)]
    assert (record.located, record.impacts, record.reason) == (True, count - 1, "method='event_driven'")
    assert [event.name for event in tr.events] == [f"b{k}_b{k + 1}.closes" for k in range(count - 1)]
    # Steps of one length list none, and say so.
    equal = dd.simulate(m, 0.3, method="time_stepping")
    assert not equal.events
    assert "tr.events lists no contacts of these steps (method='event_driven' does)" in str(equal.records[0])


def test_a_run_says_how_contacts_were_run_and_why():
    def record(count, **options):
        tr = dd.simulate(row_of_balls(count), 0.02, **options)
        return next(record for record in tr.records if isinstance(record, ContactsStepped))

    assert "located, steps of" in str(record(2))
    assert str(record(2)).split(";")[0].endswith("by the tolerance, because only 2 bodies touch")
    assert record(13).reason == "13 bodies touch in a row, and impacts pass from one to the next"
    assert (
        record(13, method="time_stepping").longest <= 1.001e-3
    )  # a hundredth of the time in which a body goes as far as it is large
    assert record(2, method="time_stepping", step=0.01).reason == "method='time_stepping'"
    assert record(2, step=0.01).reason == "step= is given"
    with pytest.raises(dd.InputError, match="An event-driven run with hard contacts takes no step="):
        record(2, method="event_driven", step=0.01)
    with pytest.raises(dd.InputError, match="'radau5' does not solve hard contacts"):
        record(2, method="radau5")


@pytest.mark.parametrize(("word", "value"), [
    ("step", -1), ("step", 0.0), ("step", float("nan")), ("step", "a"), ("max_step", -1), ("time_limit", 0.0),
    ("max_steps", -1), ("rtol", float("nan")),
])  # fmt: skip
def test_limits_that_are_no_positive_numbers_are_refused(word, value):
    with pytest.raises(dd.InputError, match=f"{word} must be a positive number"):
        dd.simulate(row_of_balls(2), 0.01, **{word: value})


def test_a_step_too_short_for_the_span_is_refused():
    with pytest.raises(dd.InputError, match="step is too short for the span"):
        dd.simulate(row_of_balls(2), 0.01, step=1e-300)


def test_bodies_that_overlap_at_the_start_are_told():
    m = weighty()
    flat(m, "a", place=(0.0, 0.09))
    flat(m, "b", place=(0.1, 0.25))
    m.contact("all")
    tr = dd.simulate(m, 0.1)
    (found,) = [record for record in tr.records if isinstance(record, OverlapAtStart)]
    assert (found.one, found.other, found.pairs) == ("b", "a", 2)
    assert found.depth == pytest.approx(0.04)
    assert ", and another pair does; the first step moves them apart" in str(found)
    flat_on_floor = weighty()
    b = flat(flat_on_floor)
    flat_on_floor.contact(b, dd.ground)
    assert OverlapAtStart not in map(type, dd.simulate(flat_on_floor, 0.1).records)


def test_forces_that_are_not_unique_are_those_of_least_norm():
    # A beam on three posts: of all shares with the same sum and moment, that of least norm is a straight line.
    m = weighty()
    beam = m.body("beam", mass=6.0, inertia=2.0, orientation="planar", position=[0, 1.05], velocity=[0, 0],
                  rotation=0.0, angular_velocity=0.0)  # fmt: skip
    beam.shape("box", size=[2.0, 0.1])
    places = (-0.8, 0.1, 0.9)
    for k, place in enumerate(places):
        post = flat(m, f"post{k}", place=(place, 0.5), sides=(0.1, 1.0))
        m.contact(beam, post, friction=0.0, name=f"load{k}")
        m.contact(post, dd.ground, friction=0.5)
    tr = dd.simulate(m, 0.2)
    loads = np.array([tr[f"load{k}.normal"][-1] for k in range(3)])
    rows = np.array([np.ones(3), places])
    assert loads == pytest.approx(np.linalg.pinv(rows) @ [6.0 * G, 0.0], rel=1e-3)
    assert next(record for record in tr.records if type(record).__name__ == "ContactsStepped").redundant


@pytest.mark.parametrize("cut", ["clock", "event", "between"])
def test_two_joined_runs_equal_one(cut):
    m = weighty()
    b = flat(m, place=(0.0, 0.2), velocity=(1.0, 0.0))
    force, far, ticks = m.discrete("force", start=0.0), m.discrete("far", start=0), m.discrete("ticks", start=0)
    b.apply_force([force, 0.0])
    m.contact(b, dd.ground, friction=0.1, restitution=0.3)
    m.every(0.15, {"force": -2.0 * b.velocity[0], "ticks": ticks + 1})
    m.when(b.position[0] > 0.2, {"far": far + 1}, name="passes")
    whole = dd.simulate(m, 0.4)
    passed = next(event.time for event in whole.events if event.name == "passes")
    when = {"clock": 0.15, "event": passed, "between": 0.2}[cut]
    rest = dd.simulate(m, (when, 0.4), start=dd.simulate(m, when).end)
    assert (rest["ticks"][-1], rest["far"][-1]) == (whole["ticks"][-1], whole["far"][-1]) == (3, 1)
    assert rest["b.position"][-1] == pytest.approx(whole["b.position"][-1], abs=1e-7)


def test_a_condition_that_holds_at_the_start_is_told_as_without_contacts():
    """It waits until it becomes true again."""
    m = weighty()
    body = flat(m, velocity=(3.0, 0.0))
    m.contact(body, dd.ground, friction=0.3)
    n = m.discrete("n", start=0)
    m.when(body.velocity[0] > 1.0, {"n": n + 1}, name="fast")
    m.when(body.velocity[0] < 1.0, {"n": n + 1}, name="slow")
    tr = dd.simulate(m, 2.0)
    assert [record for record in tr.records if isinstance(record, PastAtStart)] == [PastAtStart("fast", True)]
    assert tr.end["n"] == 1


@pytest.mark.parametrize("ticks", [0.5, 0.25])
def test_a_moment_has_the_same_rounds_with_and_without_contacts(ticks):
    """Clocks and events that are due together read the values before; what follows from them reads theirs."""

    def run(touches):
        m = weighty()
        if touches:
            m.contact(flat(m), dd.ground, friction=0.3)
        x = m.state("x", start=0.0)
        m.equation(m.der(x), 1.0)
        a, b = m.discrete("a", start=1.0), m.discrete("b", start=10.0)
        seen, _ = m.discrete("seen", start=0.0), m.discrete("c", start=0.0)
        m.when(m.time >= 0.5, {"a": b + 1}, name="jump")
        m.every(ticks, {"b": a + 2 * b}, name="first")
        m.every(ticks, {"seen": a + b}, name="behind")
        m.when(b > 25, {"c": a + b + seen}, name="then")
        tr = dd.simulate(m, 1.2)
        names = ("jump", "first", "behind", "then")
        told = [(t.guard, t.kind, t.time) for t in tr.transitions if t.guard in names]
        return [float(tr.end[name]) for name in "abc"] + [float(tr.end["seen"])], told

    assert run(True) == run(False)


@pytest.mark.parametrize("every", [False, True])
def test_short_pushes_in_a_long_rest_are_not_missed(every):
    # Of 20 ms in 100 s: steps of a body at rest are long. Each push slides the block by v t / 2 + v² / 2 μ g.
    m = weighty()
    b = flat(m)
    pushes = ca.fmod(m.time, 40.0) > 39.98 if every else ca.fabs(m.time - 50.0) < 0.01
    b.apply_force([ca.if_else(pushes, 20.0, 0.0), 0.0])
    m.contact(b, dd.ground, friction=0.5)
    tr = dd.simulate(m, 100.0)
    speed = (20.0 / float(tr["b_ground.normal"][-1] / G) - 0.5 * G) * 0.02
    way = 0.5 * speed * 0.02 + speed**2 / (2 * 0.5 * G)
    count = 2 if every else 1
    assert tr["b.position"][-1, 0] == pytest.approx(count * way, rel=1e-5)


def test_a_force_that_jumps_by_place_slows_a_sliding_block_as_it_should():
    # A band of 1 cm brakes it: v² falls by 2 μ g on every metre and by 2 F there.
    m = weighty()
    b = flat(m, velocity=(2.0, 0.0))
    mass, force, friction, half = 1.0, 100.0, 0.1, 0.005
    b.apply_force([ca.if_else(ca.fabs(b.position[0] - 1.0) < half, -force, 0.0), 0.0])
    m.contact(b, dd.ground, friction=friction)
    tr = dd.simulate(m, 1.5)
    assert tr["b_ground.normal"][-1] == pytest.approx(mass * G, rel=1e-6)
    left = 2.0**2 - 2 * friction * G * (1 + half) - 2 * force / mass * 2 * half
    assert tr["b.position"][-1, 0] == pytest.approx(1 + half + left / (2 * friction * G), abs=2e-5)
