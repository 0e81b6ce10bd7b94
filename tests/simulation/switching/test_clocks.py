"""Clocks, schedules and conditions: rules of one instant, sampled loops against closed forms, what results show."""

import pickle
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import daedalus as dd
from daedalus.model.switching.schedule import Schedule
from daedalus.simulation.result.records_on_the_way import PastAtStart

METHODS = ["auto", "tsit5", "radau5", "bdf", "rodas5p"]


def integrator(rate=1.0):
    m = dd.Model("integrator")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), rate)
    return m, x


@pytest.mark.parametrize("method", METHODS)
def test_a_sampled_loop_against_the_exact_sampled_system(method):
    """x'' = u, u = -K x at every tick: x_{k+1} = (Φ - Γ K) x_k."""
    m = dd.Model("loop")
    x, v, u = m.state("x", start=1.0), m.state("v", start=0.0), m.discrete("u")
    m.equation(m.der(x), v)
    m.equation(m.der(v), u - v)
    m.every(0.1, {"u": -3.0 * x - 1.0 * v})
    whole = expm(np.array([[0, 1, 0], [0, -1, 1], [0, 0, 0]]) * 0.1)
    state = np.array([1.0, 0.0])
    rows = [state]
    for _ in range(30):
        state = whole[:2, :2] @ state + whole[:2, 2] * (-3.0 * state[0] - state[1])
        rows.append(state)
    tr = dd.simulate(m, 3.0, method=method, rtol=1e-9, atol=1e-12, save_at=np.arange(31) / 10)
    np.testing.assert_allclose(np.stack([tr["x"], tr["v"]], axis=1), rows, atol=1e-7)
    np.testing.assert_allclose(tr["u"], [-3 * a - b for a, b in rows], atol=1e-6)


def test_ticks_are_exact_decimals():
    clock = Schedule(period=0.1)
    assert clock.ticks(0.0, 1e4)[7] == 0.7
    assert np.intersect1d(clock.ticks(0, 1e3), Schedule(period=0.3).ticks(0, 1e3)).size == 3334
    third = Schedule(period=1 / 3, offset=0.25).ticks(-1.0, 1.0)
    exact = [Fraction("0.25") + k * Fraction("0.3333333333333333") for k in range(-3, 3)]
    assert third.tolist() == [float(t) for t in exact]
    assert Schedule(period=1e-3, offset=1e3).ticks(0.0, 0.002).tolist() == [0.0, 0.001, 0.002]


def test_all_that_is_due_reads_the_values_before():
    m, _ = integrator()
    a, b = m.discrete("a", start=1), m.discrete("b", start=2)
    m.every(0.5, {"a": b})
    m.every(0.5, {"b": a})
    tr = dd.simulate(m, 1.0)
    assert [float(tr.at(t)["a"]) for t in (0.0, 0.4, 0.5, 1.0)] == [2, 2, 1, 2]
    assert [float(tr.at(t)["b"]) for t in (0.0, 0.4, 0.5, 1.0)] == [1, 1, 2, 1]


def test_after_reads_new_values():
    m, x = integrator()
    a, _ = m.discrete("a"), m.discrete("b")
    m.every(0.2, {"a": x + 1}, name="outer")
    m.every(0.1, {"b": 10 * a}, after="outer")
    tr = dd.simulate(m, 0.25)
    assert float(tr["b"][0]) == 10.0
    assert float(tr.at(0.2)["b"]) == pytest.approx(12.0)


def test_clocks_tick_at_the_start_and_row_0_holds_the_values_after():
    m, x = integrator()
    m.discrete("u", start=7)
    m.every(0.5, {"u": 1 + x, "x": x + 10})
    tr = dd.simulate(m, 0.2)
    assert (tr.time[0], tr["x"][0], tr["u"][0]) == (0.0, 10.0, 1.0)
    late = dd.simulate(m, (0.2, 0.4))
    assert (late["x"][0], late["u"][0]) == (0.0, 7.0)


def test_a_first_tick_carries_guards_and_conditions_across_zero():
    m = dd.Model("counted")
    x, u, n = m.state("x", start=0.0), m.discrete("u", start=0.0), m.discrete("n", start=0)
    seen = m.discrete("seen", start=0)
    m.equation(m.der(x), u)
    m.every(100.0, {"u": 1.0, "x": x + 2})
    m.event("guard", u - 0.5, reset={"n": n + 1})
    m.when(x > 1, {"seen": seen + 1})
    tr = dd.simulate(m, 1.0)
    assert [float(tr.end[name]) for name in ("x", "n", "seen")] == pytest.approx([3.0, 1.0, 1.0])


def test_two_writers_of_one_name_are_refused():
    m, _ = integrator()
    m.discrete("u")
    m.every(0.2, {"u": 1}, name="fast")
    m.every(0.3, {"u": 2}, offset=0.1, name="slow")
    with pytest.raises(dd.ModelError) as refused:
        dd.simulate(m, 1.0)
    assert str(refused.value) == (
        "'fast' and 'slow' both assign u.\n"
        "  both are due at t = 0.4\n"
        "  Because what is due at one instant reads the values before and assigns together.\n"
        '  Try: after="fast" for the one that should win, or another offset'
    )
    assert dd.simulate(m, 0.35).success


def test_a_conflict_of_events_ends_the_run():
    m, x = integrator()
    m.discrete("u")
    m.event("one", x - 0.5, reset={"u": 1})
    m.event("two", 2 * x - 1, reset={"u": 2})
    tr = dd.simulate(m, 1.0)
    assert tr.status == "conflict"
    assert (tr.stop.what, tr.stop.variables) == ("'one' and 'two' both assign u at t = 0.5", ("u",))


def test_events_that_call_each_other_without_end_are_named():
    m, x = integrator()
    mode = m.discrete("mode")
    m.when(x > 0.5, {"mode": 1}, name="begin")
    m.when(mode > 0.5, {"mode": 0}, name="down")
    m.when(mode < 0.5, {"mode": 1}, name="up")
    tr = dd.simulate(m, 1.0)
    assert tr.status == "endless"
    assert tr.stop.what == f"events at t = 0.5 trigger each other endlessly, the last one {tr.stop.event!r}"
    assert tr.stop.event in ("up", "down")
    assert tr.stop.time == pytest.approx(0.5)


def test_conditions_at_the_start():
    m, x = integrator()
    m.discrete("a"), m.discrete("b")
    m.when(x >= 0, {"a": 1}, name="noted")
    m.when(x >= 0, {"b": 1}, name="fired", at_start=True)
    tr = dd.simulate(m, 1.0)
    assert (float(tr["a"][-1]), float(tr["b"][0])) == (0.0, 1.0)
    assert "the condition of 'noted' holds at the start: it acts when it becomes true again" in tr.notes
    assert [e.name for e in tr.events] == ["fired"]


@pytest.mark.parametrize("method", METHODS)
def test_a_state_machine(method):
    m = dd.Model("machine")
    x, mode = m.state("x", start=0.0), m.discrete("mode", start=0)
    m.equation(m.der(x), ca.if_else(mode == 0, 1.0, ca.if_else(mode == 1, 0.0, -2.0)))
    since = m.discrete("since")
    m.when(dd.all_of(mode == 0, x > 1), {"mode": 1, "since": m.time}, name="full")
    m.when(dd.all_of(mode == 1, m.time - since > 0.5), {"mode": 2}, name="waited")
    m.when(dd.all_of(mode == 2, x < 0), {"mode": 0}, name="empty")
    tr = dd.simulate(m, 4.5, method=method)
    assert [e.name for e in tr.events] == ["full", "waited", "empty"] * 2
    assert [e.time for e in tr.events] == pytest.approx([1.0, 1.5, 2.0, 3.0, 3.5, 4.0], abs=1e-7)
    assert [float(e.before["mode"]) for e in tr.events] == [0, 1, 2] * 2
    assert [float(e.after["mode"]) for e in tr.events] == [1, 2, 0] * 2
    assert tr["x"][-1] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_thermostat_has_a_known_period(method):
    m = dd.Model("thermostat")
    T, on = m.state("T", start=20.0), m.discrete("on", start=1)
    m.equation(m.der(T), 10.0 * on - 0.5 * (T - 10.0))
    m.when(T > 22, {"on": 0}, name="off")
    m.when(T < 18, {"on": 1}, name="on_again")
    tr = dd.simulate(m, 20.0, method=method, rtol=1e-8)
    switched = [e.time for e in tr.events]
    cools, heats = 2 * np.log(12 / 8), 2 * np.log(12 / 8)
    assert np.diff(switched) == pytest.approx([(cools, heats)[k % 2] for k in range(len(switched) - 1)], abs=1e-6)


def test_schedules_and_what_restarts():
    m, _ = integrator(rate=0.0)
    mode, unread = m.discrete("mode"), m.discrete("unread")
    m.equation(m.der(m.state("y", start=0.0)), mode)
    m.schedule([1.0, 2.5], {"mode": 1 - mode})
    m.every(0.25, {"unread": unread + 1})
    tr = dd.simulate(m, 4.0)
    assert tr["y"][-1] == pytest.approx(1.5, abs=1e-12)
    assert float(tr["unread"][-1]) == 17


def test_python_code_with_its_memory():
    seen = []

    def controller(t, values, memory):
        x, pair = values
        seen.append((t, x, pair.tolist()))
        return (-x, [memory, 2 * memory]), memory + 1

    m = dd.Model("coded")
    x, u, _ = m.state("x", start=1.0), m.discrete("u"), m.discrete("w", 2, start=0)
    m.equation(m.der(x), u)
    m.output("pair", ca.vertcat(x, 2 * x))
    m.every(0.5, call=controller, reads=["x", "pair"], writes=["u", "w"], memory=1)
    for _ in range(2):  # the memory starts anew
        seen.clear()
        tr = dd.simulate(m, 1.0)
        assert [t for t, *_ in seen] == [0.0, 0.5, 1.0]
        assert tr["x"][-1] == pytest.approx(0.25)
        assert tr["w"][-1].tolist() == [3.0, 6.0]
    assert seen[1][1:] == (pytest.approx(0.5), pytest.approx([0.5, 1.0]))


def test_an_exception_ends_the_run_with_what_was_computed():
    def bad(t, values, memory):
        if t > 0.55:
            raise ValueError("the valve is stuck")
        return (1.0,), memory

    m = dd.Model("bad")
    x, u = m.state("x", start=0.0), m.discrete("u")
    m.equation(m.der(x), u)
    m.every(0.1, call=bad, reads=["x"], writes=["u"], name="valve")
    tr = dd.simulate(m, 1.0)
    assert (tr.status, tr.success) == ("call_failed", False)
    assert tr["x"][-1] == pytest.approx(0.6)
    assert tr.stop.what == "the code of 'valve' raised ValueError: the valve is stuck at t = 0.6"
    assert tr.stop.facts[0].splitlines()[0] == "Traceback (most recent call last):"
    assert tr.stop.facts[0].splitlines()[-1] == "ValueError: the valve is stuck"
    with pytest.raises(dd.SolverError, match="the valve is stuck"):
        dd.simulate(m, 1.0, on_stop="raise")


def sampled_plant():
    m = dd.Model("plant")
    x, u, count = m.state("x", start=1.0), m.discrete("u", start=0.5), m.discrete("count")
    m.equation(m.der(x), u - x)
    m.output("twice", 2 * u)
    m.every(0.25, {"u": -x, "count": count + 1}, name="controller")
    return m


def test_results_show_steps_as_steps(tmp_path):
    tr = dd.simulate(sampled_plant(), 1.0)
    fine = tr.at(np.linspace(0, 1, 401))
    assert len(np.unique(fine["u"])) == 5
    np.testing.assert_array_equal(fine["twice"], 2 * fine["u"])
    np.testing.assert_allclose(fine["x_dot"], fine["u"] - fine["x"])
    tr.save(tmp_path / "run.nc")
    for again in (dd.load(tmp_path / "run.nc"), pickle.loads(pickle.dumps(tr))):
        np.testing.assert_array_equal(again.at(fine.time)["u"], fine["u"])
        np.testing.assert_array_equal(again["count"], tr["count"])
    rows = dd.simulate(sampled_plant(), 1.0, save_at=[0.0, 0.3, 0.5, 1.0])
    assert rows["count"].tolist() == [1, 2, 3, 5]
    assert "u" in tr.to_xarray()


def test_joined_runs_starts_and_prepared_runs():
    m = sampled_plant()
    whole = dd.simulate(m, 1.3, rtol=1e-9)
    first = dd.simulate(m, 0.5, rtol=1e-9)
    second = dd.simulate(m, (0.5, 1.3), start=first.end, rtol=1e-9)
    assert second["count"][-1] == whole["count"][-1] == 6
    assert second["x"][-1] == pytest.approx(whole["x"][-1], abs=1e-8)
    assert dd.simulate(m, 1.3, start={"count": 10})["count"][-1] == 16
    run = dd.prepare(m, 1.3, save_at=[1.3], rtol=1e-9)
    assert run()[0, 0] == pytest.approx(whole["x"][-1], abs=1e-12)
    assert run.trajectory()["count"][-1] == 6
    again = pickle.loads(pickle.dumps(m))
    assert dd.simulate(again, 1.3, rtol=1e-9)["x"][-1] == whole["x"][-1]


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_a_clock_on_a_constrained_pendulum(method):
    m = dd.Model("pendulum")
    q, torque = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0]), m.discrete("push")
    m.kinetic_energy(0.5 * ca.dot(m.rate(q), m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.dot(q, q) - 1)
    m.generalised_force(q, torque * m.rate(q))
    m.every(0.1, {"push": -1.0 - m.time})
    tr = dd.simulate(m, 1.0, method=method, rtol=1e-8)
    angle = dd.Model("angle")
    a, w, c = angle.state("a", start=np.pi / 2), angle.state("w", start=0.0), angle.discrete("c")
    angle.equation(angle.der(a), w)
    angle.equation(angle.der(w), -9.81 * ca.sin(a) + c * w)
    angle.every(0.1, {"c": -1.0 - angle.time})
    wanted = dd.simulate(angle, 1.0, rtol=1e-10)
    assert tr["q"][-1, 0] == pytest.approx(np.sin(wanted["a"][-1]), abs=1e-5)


def test_what_sees_no_discrete_variables_says_so():
    with pytest.raises(dd.InputError, match="does not support discrete variables and clocks"):
        dd.flow(sampled_plant(), step=0.1)
    assert dd.analyse(sampled_plant()).kind == "explicit ODE"
    assert len(dd.sweep(sampled_plant(), 1.0, over={"u": [0.0, 1.0]}, save_at=[1.0])["x"]) == 2


WRONG = [
    (lambda m: m.every(0.0, {"u": 1}), "The period of 'clock_1' is not a positive number."),
    (lambda m: m.every(0.1, {"w": 1}), "The model 'wrong' has no variable 'w'."),
    (lambda m: m.every(0.1, {"i": 1}), "The reset of i in event 'clock_1' is not possible."),
    (lambda m: m.every(0.1, {}), "'clock_1' assigns nothing."),
    (lambda m: m.every(0.1), "The clock 'clock_1' assigns nothing."),
    (lambda m: m.every(0.1, call=3, writes=["u"]), "The code of 'clock_1' cannot be called."),
    (lambda m: m.every(0.1, call=print, reads=["x"]), "The code of 'clock_1' writes nothing."),
    (
        lambda m: m.every(0.1, {"u": 1}, after="nobody"),
        "The clock 'clock_1' comes after 'nobody', which is not a clock.",
    ),
    (lambda m: m.schedule([], {"u": 1}), "The schedule 'schedule_1' has no times."),
    (lambda m: m.schedule([float("nan")], {"u": 1}), "A time of 'schedule_1' is not a finite number."),
    (lambda m: m.when(m["x"] - 1, {"u": 1}), "The condition of 'condition_1' is a quantity."),
    (lambda m: m.when(dd.all_of(m["x"], m["x"] > 1), {"u": 1}), "dd.all_of takes conditions."),
]


@pytest.mark.parametrize(("write", "text"), WRONG, ids=[text for _, text in WRONG])
def test_wrong_uses(write, text):
    m = dd.Model("wrong")
    m.state("x", start=0.0), m.discrete("u"), m.input("i")
    with pytest.raises(dd.ModelError) as refused:
        write(m)
    assert str(refused.value).splitlines()[0] == text


@pytest.mark.parametrize(("first", "then", "holds"), [(5.0, 0.0, False), (0.0, 5.0, True)])
@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_whether_a_condition_holds_at_the_start_is_read_at_the_start(first, then, holds, method):
    """The level is a discrete variable, which is another one at the end."""
    m = dd.Model("level")
    x, level, n = m.state("x", start=1.0), m.discrete("level", start=first), m.discrete("n", start=0)
    m.equation(m.der(x), -0.01 * x)
    m.when(x > level, {"n": n + 1}, name="over")
    m.schedule([1.0], {"level": then})
    tr = dd.simulate(m, 2.0, method=method)
    assert [record.event for record in tr.records if isinstance(record, PastAtStart)] == ["over"] * holds
    assert tr.end["n"] == (not holds)


def test_a_condition_that_a_clock_makes_true_at_the_start_is_no_condition_that_waits():
    m = dd.Model("level")
    x, level, n = m.state("x", start=1.0), m.discrete("level", start=5.0), m.discrete("n", start=0)
    m.equation(m.der(x), -0.01 * x)
    m.when(x > level, {"n": n + 1}, name="over")
    m.every(10.0, {"level": 0.0})
    tr = dd.simulate(m, 2.0)
    assert tr.end["n"] == 1
    assert not [record for record in tr.records if isinstance(record, PastAtStart)]
