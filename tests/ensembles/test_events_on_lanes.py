"""Events in kernels: case by case what `dd.simulate` gives, whatever the number of lanes and threads."""

import casadi as ca
import numpy as np
import pytest
from tests.ensembles.fake_gpu import install

import daedalus as dd
from daedalus.compilation.lanes.machine import lane_width
from daedalus.ensembles.lanes import lane_runs

OF_CASES = ("success", "stop_reason", "end_time")


def ball(bounce=0.8, **event):
    m = dd.Model("ball")
    h, v, e = m.state("h", start=1.0), m.state("v", start=0.0), m.parameter("bounce", bounce)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81 - 0.1 * v)
    m.event("floor", h, direction=-1, **(event or {"reset": {"v": -e * v}}))
    m.output("energy", 9.81 * h + v * v / 2)
    return m


def thermostat():
    m = dd.Model("thermostat")
    room, wall, k = m.state("room", start=18.0), m.state("wall", start=16.0), m.parameter("k", 0.3)
    on = m.discrete("on", start=1.0)
    m.equation(m.der(room), -k * (room - 5) - 0.5 * (room - wall) + 9.0 * on)
    m.equation(m.der(wall), 0.2 * (room - wall) - 0.05 * (wall - 5))
    m.event("hot", room - 21, direction=1, reset={"on": 0.0})
    m.event("cold", room - 19, direction=-1, reset={"on": 1.0})
    m.output("power", 9.0 * on * k)
    return m


def counter():
    """Guards that go on through zero behind their events, in both directions."""
    m = dd.Model("counter")
    x, y, w, n = m.state("x", start=0.3), m.state("y", start=0.0), m.parameter("w", 2.0), m.discrete("n", start=0.0)
    m.equation(m.der(x), w * y)
    m.equation(m.der(y), -w * x)
    m.event("up", x, direction=1, reset={"n": n + 1})
    m.event("any", y - 0.1, reset={"n": n + 100})
    return m


def neuron():
    """A reset that carries its guard away from zero."""
    m = dd.Model("neuron")
    x, k, n = m.state("x", start=0.0), m.parameter("k", 1.0), m.discrete("n", start=0.0)
    m.equation(m.der(x), k - 0.3 * x)
    m.event("spike", x - 1, direction=1, reset={"x": 0.0, "n": n + 1})
    return m


def touching():
    m = dd.Model("touching")
    x, level, n = m.state("x", start=0.0), m.parameter("level", 1.0), m.discrete("n", start=0.0)
    m.equation(m.der(x), ca.cos(m.time))
    m.event("top", x - level, reset={"n": n + 1})
    return m


def together():
    """Two guards that meet zero at one moment for some values."""
    m = dd.Model("together")
    x, y, k = m.state("x", start=1.0), m.state("y", start=1.0), m.parameter("k", 1.0)
    n, q = m.discrete("n", start=0.0), m.discrete("q", start=0.0)
    m.equation(m.der(x), -k)
    m.equation(m.der(y), -1.0)
    m.event("a", x, reset={"n": n + 1, "x": 1.0})
    m.event("b", y, reset={"q": q + 1, "y": 1.0})
    return m


def chained():
    """A reset carries the guard of another event across zero."""
    m = dd.Model("chained")
    x, y, k, n = m.state("x", start=1.0), m.state("y", start=1.0), m.parameter("k", 1.0), m.discrete("n", start=0.0)
    m.equation(m.der(x), -k)
    m.equation(m.der(y), 0.1)
    m.event("a", x, reset={"x": 1.0, "y": y - 1.0})
    m.event("b", y, direction=-1, reset={"n": n + 1, "y": 2.0})
    return m


def carried_back():
    """A guard that has gone down unnoticed in the step of a reset is carried up again by it."""
    m = dd.Model("carried")
    x, y, k, n = m.state("x", start=1.0), m.state("y", start=0.0), m.parameter("k", 1.0), m.discrete("n", start=0.0)
    m.equation(m.der(x), -k)
    m.equation(m.der(y), 1.0)
    m.event("up", x, direction=1, reset={"n": n + 1})
    m.event("kick", y - 1.47, reset={"x": 1.0})
    return m


def note(count, method, left=0):
    told = f"{count} cases on {lane_width()} lanes of this processor, by {method}"
    return (told + (f"; {left} of them left to the scalar core" if left else ""),)


def compare(model, span, name, values, key="parameters", rtol=1e-6, **options):
    """A sweep on lanes against the runs of its cases one by one; the sweep."""
    times = np.linspace(0.0, span, 21)
    en = dd.sweep(model, span, over={name: values}, save_at=times, on="cpu", rtol=rtol, **options)
    kept = [str(n) for n in en.data.data_vars if n not in OF_CASES]
    for k, value in enumerate(values):
        tr = dd.simulate(model, span, **{key: {name: value}}, save_at=times, rtol=rtol, **options)
        assert (str(en.stop_reason.values[k]), bool(en.success.values[k])) == (tr.stop_reason, tr.success)
        for n in kept:
            rows, found = tr[n], en[n].values[k]
            np.testing.assert_allclose(found[: len(rows)], rows, rtol=10 * rtol, atol=10 * rtol, err_msg=f"{n} {value}")
            assert np.isnan(found[len(rows) :]).all()
    return en


@pytest.mark.parametrize("method", ["auto", "tsit5", "bs3"])
def test_balls_bounce_as_one_by_one(method):
    en = compare(ball(), 1.2, "bounce", np.linspace(0.7, 0.9, 21), method=method)
    assert en.notes == note(21, "dop853" if method == "auto" else method)


def test_balls_that_come_to_rest_are_left_to_the_core():
    en = compare(ball(), 2.0, "bounce", np.array([0.3, 0.9]))
    assert en.notes == note(2, "dop853", left=1)
    assert en.success.values.tolist() == [False, True]


def test_a_ball_in_vacuum_bounces_where_it_is_known_to():
    """Free fall from 1 m: impacts at √(2/g) (1 + 2e + 2e² + …), and the height between them is a parabola."""
    m = dd.Model("vacuum")
    h, v, e, g = m.state("h", start=1.0), m.state("v", start=0.0), m.parameter("e", 0.5), 9.81
    m.equation(m.der(h), v)
    m.equation(m.der(v), -g)
    m.event("floor", h, direction=-1, reset={"v": -e * v})
    values = np.linspace(0.6, 0.9, 16)
    found = dd.sweep(m, 1.4, over={"e": values}, save_at="end", on="cpu")["h"].values[:, 0]
    for value, height in zip(values, found):
        fall = np.sqrt(2 / g)
        begin, speed = fall, g * fall * value
        while begin + 2 * speed / g < 1.4:
            begin, speed = begin + 2 * speed / g, speed * value
        since = 1.4 - begin
        assert height == pytest.approx(speed * since - g * since**2 / 2, abs=1e-11)


@pytest.mark.parametrize("method", ["auto", "tsit5"])
def test_discrete_variables_and_what_follows_from_them(method):
    en = compare(thermostat(), 24.0, "k", np.linspace(0.2, 0.5, 20), method=method)
    assert en.notes == note(20, "dop853" if method == "auto" else method)
    assert set(np.unique(en["on"])) == {0.0, 1.0}


def test_guards_that_go_on_through_zero_and_resets_that_carry_them_away():
    assert compare(counter(), 10.0, "w", np.linspace(0.5, 4.0, 15)).notes == note(15, "dop853")
    assert compare(neuron(), 20.0, "k", np.linspace(0.2, 3.0, 15)).notes == note(15, "dop853")


def test_terminal_events_end_cases():
    en = compare(ball(terminal=True), 1.0, "h", np.linspace(0.1, 6.0, 12), key="start")
    assert en.notes == note(12, "dop853")
    ends = dd.sweep(ball(terminal=True), 1.0, over={"h": np.linspace(0.1, 6.0, 12)}, save_at="end", on="cpu")
    for k, h in enumerate(np.linspace(0.1, 6.0, 12)):
        tr = dd.simulate(ball(terminal=True), 1.0, start={"h": h})
        assert float(ends["end_time"][k]) == pytest.approx(float(tr.end.time), rel=1e-9)
        assert float(ends["energy"][k, 0]) == pytest.approx(float(tr.end["energy"]), rel=1e-7)


def test_a_guard_that_is_zero_at_the_start():
    """Thrown up from the floor nothing happens at first; thrown down the event is at the start."""
    down = dd.Model("from_floor")
    h, v = down.state("h", start=0.0), down.state("v", start=1.0)
    down.equation(down.der(h), v)
    down.equation(down.der(v), -9.81)
    down.event("floor", h, direction=-1, reset={"v": -0.9 * v})
    en = compare(down, 0.1, "v", np.array([-1.0, 2.0]), key="start")
    np.testing.assert_allclose(en["v"].values[:, -1], [0.9 - 0.981, 2.0 - 0.981], rtol=1e-6)
    compare(down, 0.7, "v", np.array([-1.0, 0.0, 2.0, 3.0]), key="start")


@pytest.mark.wide
def test_what_is_not_clear_is_left_to_the_core():
    levels = np.array([0.9, 0.99, 1 - 1e-6, 1 - 1e-9, 1.0 + 1e-9, 1.1])
    compare(touching(), 10.0, "level", levels)
    assert compare(together(), 10.3, "k", np.array([0.5, 1.0, 1 + 1e-9])).notes == note(3, "dop853", left=3)
    assert compare(chained(), 5.0, "k", np.array([0.5, 1.5])).notes == note(2, "dop853", left=2)
    for method in ("dop853", "tsit5", "bs3"):
        en = compare(carried_back(), 3.0, "k", np.array([0.5, 0.8, 1.0, 1.2]), method=method)
        assert en.notes == note(4, method, left=3)
        assert en["n"].values[:, -1].tolist() == [0.0, 1.0, 1.0, 1.0]


def test_a_discrete_variable_is_swept_by_its_start():
    en = dd.sweep(chained(), 5.0, over={"n": [0.0, 5.0]}, save_at=[0.5, 5.0])
    assert en["n"].dims == ("n_start", "time")
    counted = dd.simulate(chained(), 5.0)["n"][-1]
    assert en["n"].values.tolist() == [[0.0, counted], [5.0, 5.0 + counted]]


def test_bits_do_not_depend_on_lanes_and_threads(monkeypatch):
    options = {"over": {"k": np.linspace(0.2, 0.5, 200)}, "save_at": [3.0, 24.0], "on": "cpu"}
    whole = dd.sweep(thermostat(), 24.0, workers=1, **options)
    assert whole.data.equals(dd.sweep(thermostat(), 24.0, workers=2, **options).data)
    monkeypatch.setattr(lane_runs, "lane_width", lambda: 1)
    alone = dd.sweep(thermostat(), 24.0, workers=2, **options)
    for name in ("room", "wall", "on", "power"):
        np.testing.assert_array_equal(alone[name].values, whole[name].values)


def test_summaries_and_a_case_that_is_no_number():
    over = {"k": np.array([0.2, np.nan, 0.4])}
    en = dd.sweep(thermostat(), 2.0, over=over, save_at="end", on="cpu")
    assert en.success.values.tolist() == [True, False, True]
    mean = dd.sweep(thermostat(), 2.0, over=over, save_at="end", on="cpu", summary=("mean",))
    assert float(mean["room"].sel(summary="mean")[0]) == pytest.approx(float(en["room"].mean()), rel=1e-14)


def test_a_gpu_leaves_events_to_the_processor(monkeypatch):
    install(monkeypatch)
    en = dd.sweep(ball(), 1.2, over={"bounce": [0.7, 0.8]}, on="gpu")
    assert en.notes == (note(2, "dop853")[0] + " (events are located on the processor)",)


@pytest.mark.parametrize(
    ("change", "options", "reason"),
    [
        (lambda m: None, {"method": "rk4", "step": 0.01}, "events cut steps of fixed length"),
        (lambda m: None, {"method": "radau5"}, "events on lanes are those of explicit methods"),
        (lambda m: m.event("noon", m.time - 12.0, reset={"on": 0.0}), {}, "the model has events at known times"),
    ],
)
def test_what_no_lane_can_do_is_told(change, options, reason):
    m = thermostat()
    change(m)
    en = dd.sweep(m, 0.5, over={"k": [0.2, 0.3]}, on="cpu", **options)
    assert en.notes == (f"2 cases one by one: {reason}",)


def test_derivatives_through_events_are_those_of_the_core():
    en = dd.sweep(ball(), 0.7, over={"bounce": [0.7, 0.8]}, wrt=["bounce"], save_at="end", on="cpu", rtol=1e-9)
    assert en.notes == ("2 cases one by one: derivatives through events are taken by the scalar core",)
    ends = [dd.simulate(ball(), 0.7, parameters={"bounce": e}, rtol=1e-11).end["h"] for e in (0.7999, 0.8001)]
    assert float(en.d("h", "bounce")[1, 0]) == pytest.approx(float(ends[1] - ends[0]) / 2e-4, rel=1e-5)
