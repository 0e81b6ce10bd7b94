"""Delayed signals against the method of steps, in closed form and by chains of runs."""

import pickle
from math import factorial, floor

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd
from daedalus.integrators.methods import METHODS


def by_steps(t, tau=1.0):
    """x' = -x(t - tau) with x = 1 until t = 0 (R. D. Driver, Ordinary and Delay Differential Equations, 1977)."""
    return sum((-1) ** k * (t - (k - 1) * tau) ** k / factorial(k) for k in range(floor(t / tau + 1e-12) + 2))


def kept_by(method, rtol, step):
    """What a method is called with: a tolerance, or a step where it keeps none."""
    adaptive = method == "auto" or METHODS[method].adaptive
    return {"rtol": rtol, "atol": 1e-2 * rtol} if adaptive else {"step": step}


def feedback(tau=1.0, **given):
    m = dd.Model("feedback")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -m.delay(x, tau, **given))
    return m


@pytest.mark.parametrize("method", ["auto", "tsit5", "dopri5", "dop853", "radau5", "radau9"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
def test_delayed_feedback_follows_the_method_of_steps(method, rtol):
    tr = dd.simulate(feedback(), 6.3, method=method, rtol=rtol, atol=1e-2 * rtol)
    times = np.linspace(0.0, 6.3, 64)
    np.testing.assert_allclose(tr.at(times)["x"], [by_steps(t) for t in times], rtol=0, atol=20 * rtol)
    np.testing.assert_allclose(tr.at(times[20:])["delay_1"], tr.at(times[20:] - 1.0)["x"], rtol=0, atol=20 * rtol)


@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("heun", 2), ("euler", 1)])
def test_fixed_steps_keep_their_order(method, order):
    """x' = -x(t - 1) + sin: smooth between multiples of the delay, where steps end."""
    m = dd.Model("driven")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -m.delay(x, 1.0) * ca.cos(x) + ca.sin(3 * m.time))
    wanted = dd.simulate(m, 3.5, rtol=1e-12, atol=1e-13)["x"][-1]
    errors = [abs(dd.simulate(m, 3.5, method=method, step=h)["x"][-1] - wanted) for h in (0.05, 0.025)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35)


def test_a_history_that_is_given():
    """x' = x(t - pi/2), x = sin before the start, is -cos as long as sin(t - pi/2) says."""
    m = dd.Model("waves")
    x = m.state("x", start=0.0)
    m.equation(m.der(x), m.delay(x, np.pi / 2, history=ca.sin(m.time)))
    tr = dd.simulate(m, 1.5, rtol=1e-10)
    np.testing.assert_allclose(tr.at([0.5, 1.5])["x"], -np.sin([0.5, 1.5]), atol=1e-8)
    for history in (0.0, lambda t: 0 * t):
        zero = dd.simulate(feedback(history=history), 1.0, rtol=1e-10)
        assert zero["x"][-1] == pytest.approx(1.0, abs=1e-12)


def test_a_parameter_is_a_delay_and_two_delays_meet():
    m = dd.Model("two")
    x, tau = m.state("x", start=1.0), m.parameter("tau", 1.0)
    m.equation(m.der(x), -m.delay(x, tau))
    end = dd.simulate(m, 2.5, parameters={"tau": 0.5}, rtol=1e-9)["x"][-1]
    assert end == pytest.approx(by_steps(2.5, 0.5), abs=1e-7)
    assert len(dd.sweep(m, 2.0, over={"tau": [0.5, 1.0]}, save_at=[2.0])["x"]) == 2
    both = dd.Model("both")
    y = both.state("y", start=1.0)
    both.equation(both.der(y), -0.5 * both.delay(y, 0.3) - 0.5 * both.delay(y, 0.3 * 2**0.5))
    coarse, fine = (dd.simulate(both, 4.0, rtol=r, atol=1e-3 * r)["y"][-1] for r in (1e-6, 1e-11))
    assert coarse == pytest.approx(fine, abs=1e-5)


def test_a_delay_shorter_than_the_steps_limits_them():
    tr = dd.simulate(feedback(0.01), 2.0, rtol=1e-4)
    assert tr.work.steps >= 200
    # x' = -x(t - 0.01) decays as exp(s t) with s = -exp(-0.01 s).
    s = -1.0
    for _ in range(50):
        s = -np.exp(-0.01 * s)
    late = tr.at([1.0, 2.0])["x"]
    assert late[1] / late[0] == pytest.approx(np.exp(s), rel=1e-4)


def test_transport_of_inputs_outputs_and_algebraic_variables():
    m = dd.Model("pipe")
    u, x, z = m.input("u"), m.state("x", start=0.0), m.algebraic("z")
    m.equation(z, 2 * x + u)
    m.output("y", x + z)
    m.equation(m.der(x), u - x)
    m.output("late", m.delay("y", 0.25))
    m.output("of_input", m.delay(u, 0.5, name="pulse"))
    for method in ("auto", "radau5"):
        tr = dd.simulate(m, 2.0, inputs={"u": dd.signal([0.0, 1.0], [0.0, 1.0])}, rtol=1e-8, method=method)
        times = np.array([0.9, 1.1, 1.3, 1.9])
        np.testing.assert_allclose(tr.at(times)["late"], tr.at(times - 0.25)["y"], atol=1e-7)
        assert tr.at([1.4, 1.6])["pulse"].tolist() == pytest.approx([0.0, 1.0], abs=1e-12)
    # A jump comes out of the delay at a step of its own: the area under the late pulse is exact.
    area = dd.Model("area")
    v, a = area.input("v"), area.state("a", start=0.0)
    area.equation(area.der(a), area.delay(v, 0.37))
    table = dd.signal([0.0, 0.5, 0.75], [0.0, 4.0, 0.0])
    assert dd.simulate(area, 2.0, inputs={"v": table}, rtol=1e-3)["a"][-1] == pytest.approx(1.0, abs=1e-12)


def test_vectors_and_delays_of_delays():
    m = dd.Model("rotation")
    x = m.state("x", 2, start=[1.0, 0.0])
    late = m.delay(x, 0.5)
    m.equation(m.der(x), ca.vertcat(-late[1], late[0]))
    m.output("twice", m.delay(late, 0.25))
    tr = dd.simulate(m, 3.0, rtol=1e-9)
    np.testing.assert_allclose(tr.at([2.0])["twice"], tr.at([1.25])["x"], atol=1e-7)


# Every method that runs delayed signals.
DELAYED = ["auto", *(name for name, method in METHODS.items() if method.family in ("explicit", "radau"))]


def late_ball(delay: float, speed: float, level: float, top: float = 1.0) -> dd.Model:
    """It falls for one delay more and is at the level again two delays later, where its signal has a stop."""
    m = dd.Model("late")
    h, v, n = m.state("h", start=top), m.state("v", start=-speed), m.discrete("n")
    m.equation(m.der(h), v)
    m.equation(m.der(v), 0.0)
    m.when(m.delay(h, delay) < level, {"v": speed, "n": n + 1})
    return m


LATE = [(0.25, 1.0, 0.5), (0.2535, 1.4653, 0.3577), (0.3846, 1.0183, 0.4693), (0.1083, 1.3275, 0.5153)]


@pytest.mark.parametrize("method", ["auto", "tsit5", "dop853", "radau5", "radau9"])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_a_ball_that_is_seen_late_is_hit_when_it_is_seen(method, rtol):
    for delay, speed, level in LATE:
        tr = dd.simulate(late_ball(delay, speed, level), 2.0, rtol=rtol, method=method)
        hit = (1 - level) / speed + delay
        assert [event.time for event in tr.events] == [pytest.approx(hit, abs=1e-10)]
        assert tr["n"][-1] == 1
        assert tr["h"][-1] == pytest.approx(level - speed * delay + speed * (2.0 - hit), abs=1e-9)


def seen_late(rng: np.random.Generator) -> tuple[float, float, float, float]:
    """A delay, a speed, a level and a top, of any unit and far from zero, often numbers that meet without rounding."""
    delay = rng.choice([0.125, 0.25, 0.5, round(rng.uniform(0.1, 0.4), 2), rng.uniform(0.1, 0.4)])
    speed, level = rng.choice([1.0, 2.0, rng.uniform(1, 1.5)]), rng.choice([0.5, 0.75, rng.uniform(0.3, 0.6)])
    unit, away = 10 ** rng.choice([0.0, 0.0, rng.uniform(-6, 6)]), rng.choice([0.0, 10.0, 1e3, 1e6, 100 * rng.normal()])
    return float(delay), float(unit * speed), float(unit * (level + away)), float(unit * (1 + away))


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rtol=st.floats(1e-10, 1e-5))
@pytest.mark.parametrize("method", ["auto", "tsit5", "dop853", "radau5", "radau9"])
def test_a_level_is_told_once_however_large_the_signal_is(method, seed, rtol):
    """What was is known to rounding, which may be far more than a level is missed by in a spacing of time."""
    delay, speed, level, top = seen_late(np.random.default_rng(seed))
    tr = dd.simulate(late_ball(delay, speed, level, top), 2.0, rtol=rtol, method=method)
    hit, exactly = (top - level) / speed + delay, 1e-10 + 1e-14 * abs(top) / speed
    assert [event.time for event in tr.events] == [pytest.approx(hit, abs=exactly)]
    assert tr["n"][-1] == 1


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "radau9"])
def test_events_that_are_only_noted_and_differences_of_delays_are_told_once(method):
    """Far from zero: both ways through a level, and two places of one ramp that meet where its slope turns round."""
    rng = np.random.default_rng(1)
    for _ in range(8):
        delay, speed, level, top = seen_late(rng)
        m = late_ball(delay, speed, level, top)
        h = m["h"]
        m.event("both", m.delay(h, delay, name="again") - level)
        m.event("meet", m.delay(h, 2 * delay) - m.delay(h, delay) + speed * delay / 2)
        tr = dd.simulate(m, 2.0, method=method)
        hit = (top - level) / speed + delay
        # The ball falls until `hit` and rises from then on; h(t - 2 d) - h(t - d) goes from s d down to -s d around it.
        wanted = [("both", hit), ("condition_1", hit), ("both", hit + 2 * delay), ("meet", hit + 1.75 * delay)]
        wanted = sorted((name, time) for name, time in wanted if time < 1.9999)
        found = sorted((event.name, event.time) for event in tr.events if event.time < 1.9999)
        exactly = 1e-6 + 1e-14 * abs(top) / speed
        assert [name for name, _ in found] == [name for name, _ in wanted]
        assert [time for _, time in found] == pytest.approx([time for _, time in wanted], abs=exactly)


def late_relay(delay: float, start: float, level: float, unit: float, condition: bool) -> dd.Model:
    """x' = -sign(x(t - delay) - level), by a condition in the equation or by two events that assign."""
    m = dd.Model("relay")
    x = m.state("x", start=unit * (level + start))
    late = m.delay(x, delay)
    if condition:
        m.equation(m.der(x), ca.if_else(late > unit * level, -unit, unit))
        return m
    slope = m.discrete("slope", start=-unit)
    m.equation(m.der(x), slope)
    m.when(late < unit * level, {"slope": unit})
    m.when(late > unit * level, {"slope": -unit})
    return m


def triangles(t: np.ndarray, delay: float, start: float) -> np.ndarray:
    """What it does, in closed form: down to -delay, then to and fro between -delay and delay, four delays a period."""
    part = np.mod(t - start - delay, 4 * delay)
    wave = np.where(part <= 2 * delay, part - delay, 3 * delay - part)
    return np.where(t <= start + delay, start - t, wave)


@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("method", DELAYED)
def test_a_relay_that_sees_late_goes_to_and_fro(method, seed):
    """Every turn comes back at its own stop; turns that are a few spacings of time apart by rounding are many soon."""
    rng = np.random.default_rng(seed)
    delay, start = (
        rng.choice([0.1, 0.125, 0.25, 0.3, rng.uniform(0.1, 0.4)]),
        rng.choice([0.25, 0.5, rng.uniform(0.2, 0.6)]),
    )
    level, unit = rng.choice([0.0, 10.0, 1e3, 1e6, 100 * rng.normal()]), 10 ** rng.choice([0.0, rng.uniform(-4, 4)])
    m = late_relay(float(delay), float(start), float(level), float(unit), bool(rng.integers(2)))
    tr = dd.simulate(m, 4.0, method=method, **kept_by(method, rtol=1e-8, step=0.01))
    assert tr.success, tr.stop_reason
    times = np.linspace(0.0, 4.0, 41)
    found = tr.at(times)["x"] / unit - level
    np.testing.assert_allclose(found, triangles(times, delay, start), atol=1e-7 + 1e-12 * abs(level))


CORNERS = [(0.25, 0.5), (0.3, 0.7), (0.123, 0.9), *np.random.default_rng(0).uniform(0.1, 0.9, (4, 2)).tolist()]


@pytest.mark.parametrize("method", DELAYED)
@pytest.mark.parametrize(("before", "behind"), [(1.0, 2.0), (-1.0, -0.5), (1.0, 0.3)])
def test_a_level_that_a_delayed_signal_passes_at_its_corner_is_told_once(method, before, behind):
    """A stop of the run falls together with the level, and a step of a few spacings of t may lie before it."""
    for delay, corner in CORNERS:
        m = dd.Model("ramp")
        x, n = m.state("x", start=0.3), m.discrete("n")
        m.equation(m.der(x), ca.if_else(m.time < corner, before, behind))
        late, level = m.delay(x, delay), 0.3 + before * corner
        m.when(late > level if before > 0 else late < level, {"n": n + 1})
        tr = dd.simulate(m, 2.0, method=method, **kept_by(method, rtol=1e-9, step=0.01))
        assert [event.time for event in tr.events] == pytest.approx([corner + delay], abs=1e-9)


def late_and_kicked(seed):
    """An oscillator with two delays, a jump in time, events on what it is and was, and half of the time a clock."""
    rng = np.random.default_rng(seed)
    m = dd.Model("kicked")
    x, v, n = m.state("x", start=rng.uniform(-1, 1)), m.state("v", start=rng.uniform(-1, 1)), m.discrete("n", start=0.0)
    late, slow = m.delay(x, rng.uniform(0.15, 0.9)), m.delay(v, rng.uniform(0.15, 0.9))
    push = rng.uniform(-0.5, 0.5) * ca.if_else(m.time < rng.uniform(0.2, 2), 1.0, -1.0)
    m.equation(m.der(x), v - 0.5 * late + push)
    m.equation(m.der(v), -4 * x - 0.2 * slow + ca.cos(2 * m.time))
    m.event("here", x - rng.uniform(-0.4, 0.4), direction=int(rng.integers(-1, 2)), reset={"v": 0.8 * v})
    m.when(late > rng.uniform(-0.3, 0.3), {"n": n + 1, "x": 0.9 * x})
    if seed % 2:
        m.every(rng.uniform(0.2, 0.5), {"v": v + 0.1})
    return m


@pytest.mark.parametrize("method", DELAYED)
def test_delays_and_events_keep_the_order_of_time(method):
    """Stops one delay behind an event come in while the run goes on: steps end there, and none goes back."""
    for seed in range(6):
        m = late_and_kicked(seed)
        tr = dd.simulate(m, 4.0, method=method, **kept_by(method, rtol=1e-6, step=0.03))
        assert tr.success, (seed, tr.stop_reason)
        # Two rows at one time are an instant, before and behind it.
        assert np.all(np.diff(tr.time) >= 0), seed
        assert np.all(tr.time[2:] > tr.time[:-2]), seed
        times = [event.time for event in tr.events]
        assert times == sorted(times)
        if method in ("auto", "rk4") or METHODS[method].adaptive:
            wanted = dd.simulate(m, 4.0, rtol=1e-10, atol=1e-12).events
            assert [event.name for event in tr.events] == [event.name for event in wanted], seed
            assert times == pytest.approx([event.time for event in wanted], abs=1e-3)


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_a_table_that_meets_a_level_at_its_corner(method):
    """Its two lines have one value there, but for rounding: it comes down to the level and goes up, or on, from it."""
    for level in (0.1, 0.3, 0.7):
        for begin, after, expected in [(1.1, 2.3, 0), (1.1, -0.9, 1), (-1.1, 2.3, 0)]:
            m = dd.Model("table")
            u, x, n = m.input("u"), m.state("x", start=0.0), m.discrete("n")
            m.equation(m.der(x), u)
            m.when(u < level, {"n": n + 1})
            times = [0.0, 1 / 3, 1.0]
            table = dd.signal(times, [begin, level, after], kind="linear")
            tr = dd.simulate(m, 1.0, inputs={"u": table}, method=method)
            assert len(tr.events) == expected, (level, begin, after)


def test_a_late_controller_reads_what_was():
    loop = dd.Model("loop")
    x, u = loop.state("x", start=1.0), loop.discrete("u")
    loop.equation(loop.der(x), u)
    loop.every(0.5, {"u": -loop.delay(x, 0.25)})
    # Ticks at 0, 0.5, 1 read x(-0.25) = 1, x(0.25) = 0.75, x(0.75) = 0.3125.
    assert dd.simulate(loop, 1.2, rtol=1e-9).at([0.5, 1.0])["x"].tolist() == pytest.approx([0.5, 0.125])


def test_two_joined_runs_equal_one():
    whole = dd.simulate(feedback(), 4.0, rtol=1e-10)
    first = dd.simulate(feedback(), 1.7, rtol=1e-10)
    for start in (first.end, whole.at(1.7)):
        second = dd.simulate(feedback(), (1.7, 4.0), start=start, rtol=1e-10)
        assert second["x"][-1] == pytest.approx(whole["x"][-1], abs=1e-8)


def test_results_travel(tmp_path):
    tr = dd.simulate(feedback(), 3.0, rtol=1e-8)
    tr.save(tmp_path / "run.nc")
    for again in (dd.load(tmp_path / "run.nc"), pickle.loads(pickle.dumps(tr))):
        assert again.at([1.3, 2.7])["delay_1"].tolist() == tr.at([1.3, 2.7])["delay_1"].tolist()
        assert again.at([1.3, 2.7])["x_dot"].tolist() == pytest.approx(tr.at([1.3, 2.7])["x_dot"].tolist())
    assert dd.simulate(pickle.loads(pickle.dumps(feedback())), 3.0, rtol=1e-8)["x"][-1] == tr["x"][-1]
    inside = dd.Model("whole")
    inside.include("part", feedback())
    assert dd.simulate(inside, 3.0, rtol=1e-8)["part.x"][-1] == pytest.approx(tr["x"][-1], abs=1e-12)


MISTAKES = [
    (lambda m, x: m.delay(x, 0.0), "The time of 'delay_1' is not a positive number."),
    (lambda m, x: m.delay(x, x), "The time of 'delay_1' depends on x."),
    (lambda m, x: m.delay(x, 0.1, history=x), "The history of 'delay_1' depends on x."),
    (lambda m, x: m.delay(x, 0.1, history=[1.0, 2.0]), "The history of 'delay_1' has the wrong shape."),
    (lambda m, x: m.delay(x, 0.1, name="x"), "The name 'x' is taken."),
    (lambda m, x: m.der(m.delay(x, 0.1)), "delay_1 has no derivative in this model."),
]


@pytest.mark.parametrize(("write", "told"), MISTAKES, ids=[told for _, told in MISTAKES])
def test_wrong_delays_are_refused_in_words(write, told):
    m = dd.Model("wrong")
    with pytest.raises(dd.ModelError) as error:
        write(m, m.state("x", start=1.0))
    assert str(error.value).splitlines()[0] == told


def neutral():
    m = dd.Model("neutral")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -m.delay(m.der(x), 1.0))
    return m


REFUSED = [
    (lambda: dd.simulate(neutral(), 1.0), "'delay_1' delays a derivative."),
    (lambda: dd.simulate(feedback(), (1.0, 0.0)), "A run with delayed signals must go forward in time."),
    (lambda: dd.simulate(feedback(), 1.0, method="bdf"), "The method 'bdf' does not support delayed signals."),
    (lambda: dd.simulate(feedback(), 1.0, method="rodas5p"), "The method 'rodas5p' does not support delayed signals."),
    (lambda: dd.simulate(feedback(), 3.0, method="rk4", step=1.5), "step is longer than a delay."),
    (lambda: dd.simulate(feedback(), 3.0, inputs={"delay_1": 1.0}), "delay_1 is a delayed signal."),
    (lambda: dd.sensitivities(feedback(), 1.0), "A derivative of a run takes no delayed signals."),
    (lambda: dd.gradient(feedback(), 1.0, final="x"), "A derivative of a run takes no delayed signals."),
    (lambda: dd.flow(feedback(), step=0.1), "A flow takes no delayed signals."),
    (lambda: dd.prepare(feedback(), 1.0), "A prepared run takes no delayed signals."),
    (lambda: dd.equilibrium(feedback()), "dd.equilibrium takes no delayed signals."),
    (lambda: dd.OptimalControl(feedback(), duration=1.0), "dd.OptimalControl takes no delayed signals."),
    (
        lambda: dd.linearise(feedback()),
        "A linear system of ordinary differential equations takes no delayed signals.",
    ),
]


@pytest.mark.parametrize(("call", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_what_knows_no_delays_says_so(call, told):
    with pytest.raises(dd.InputError) as error:
        call()
    assert str(error.value).splitlines()[0] == told


@pytest.mark.parametrize("size", [1.0, 1e-14])
def test_a_history_that_depends_on_itself_is_found_in_any_unit(size):
    """y = x + z / 2 with z what y was: twice x at the start, in volts and in coulombs of a transistor."""
    m = dd.Model("echo")
    x, y = m.state("x", start=size, nominal=size), m.algebraic("y", nominal=size)
    z = m.delay(y, 1.0)
    m.equation(m.der(x), -x)
    m.equation(y, x + 0.5 * z)
    assert float(dd.simulate(m, 0.5)["y"][0]) == pytest.approx(2 * size, rel=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e-14])
def test_a_history_by_a_formula_is_followed_in_any_unit(size):
    """x' = size · sin(3 (t - 1)) up to t = 1, over which the formula holds."""
    m = dd.Model("remembered")
    x = m.state("x", start=0.0, nominal=size)
    m.equation(m.der(x), m.delay(x, 1.0, history=lambda t: size * ca.sin(3 * t)))
    end = float(dd.simulate(m, 1.0, rtol=1e-9)["x"][-1])
    assert end / size == pytest.approx((np.cos(3.0) - 1) / 3, rel=1e-9)
