"""Events: located to rounding, in order of time, once each; resets, terminal events, chattering."""

import numpy as np
import pytest
import tableaux
from known_orbit import orbit_start

from daedalus import _core

METHODS = ["bs3", "tsit5", "dopri5", "dop853"]
G = 9.81


def bounce_times(height, restitution, count):
    fall = np.sqrt(2 * height / G)
    return fall * (1 + 2 * np.cumsum(restitution ** np.arange(count)) - 2)  # fall, then flights of 2 fall e^k


@pytest.fixture
def ball(native, integrate):
    """A ball dropped from 1 m that bounces on the ground."""

    def run(method="tsit5", t1=2.0, restitution=0.8, rhs="fall", actions=(1,), resets="bounce", x0=(1, 0), **options):
        return integrate(
            native(rhs, 2, 0, 2),
            method,
            0,
            t1,
            x0,
            p=[G, restitution],
            guards=native("height", 2, 0, 2, out=1),
            directions=[-1],
            actions=list(actions),
            resets=resets and native(resets, 2, 0, 2, out=2),
            **options,
        )

    return run


@pytest.mark.parametrize("method", METHODS)
def test_bouncing_ball_against_the_closed_form(ball, method):
    run = ball(method)
    fall = np.sqrt(2 / G)
    expected = fall + 2 * fall * np.cumsum(0.8 ** np.arange(1, 20))
    expected = np.concatenate([[fall], expected])
    expected = expected[expected < 2.0]
    assert run.status == "finished"
    assert [guard for guard, *_ in run.events] == [0] * len(expected)
    assert np.array([time for _, time, *_ in run.events]) == pytest.approx(expected, abs=5e-14)
    for number, (_, time, before, after) in enumerate(run.events):
        speed = G * fall * 0.8**number
        assert before == pytest.approx([0, -speed], abs=1e-12)
        assert after == pytest.approx([0, 0.8 * speed], abs=1e-12)
        rows = np.flatnonzero(run.t == time)
        assert len(rows) == 2
        assert (run.x[rows[0]] == before).all()
        assert (run.x[rows[1]] == after).all()
    assert len(np.unique(run.t)) == len(run.t) - len(expected)
    assert run.x[:, 0].min() > -1e-13


def test_dense_output_behind_an_event_gives_the_later_state(ball):
    run = ball("dopri5")
    pieces = run.dense()
    for _, time, before, after in run.events:
        assert (_core.evaluate_dense(*pieces, [time])[0] == after).all()
        just_before = _core.evaluate_dense(*pieces, [np.nextafter(time, 0)])[0]
        assert just_before == pytest.approx(before, abs=1e-12)


def test_samples_at_an_event_give_the_later_state(ball):
    first = ball().events[0]
    times = [0.0, first[1], 1.0]
    run = ball(save_at=times)
    assert run.t.tolist() == times
    assert (run.x[1] == first[3]).all()


def test_terminal_event_ends_the_run(ball):
    run = ball(actions=[2], resets=None)
    fall = np.sqrt(2 / G)
    assert (run.status, run.stop_time) == ("event", run.t[-1])
    # The polynomial between the steps is a sum whose terms cancel in two digits.
    assert run.t[-1] == pytest.approx(fall, abs=1e-14)
    assert np.count_nonzero(run.t == run.stop_time) == 1  # without resets there is nothing to tell apart
    assert run.events[0][2].tolist() == run.events[0][3].tolist() == run.x[-1].tolist()
    with_reset = ball(actions=[2])
    assert with_reset.status == "event"
    assert np.count_nonzero(with_reset.t == with_reset.stop_time) == 2
    assert (_core.evaluate_dense(*with_reset.dense(), [with_reset.stop_time])[0] == with_reset.x[-1]).all()


@pytest.mark.parametrize("method", METHODS)
def test_terminal_at_the_nth_occurrence(native, integrate, method):
    height = native("height", 2, out=1)
    options = {"guards": height, "rtol": 1e-9, "atol": 1e-12}
    run = integrate(native("oscillator", 2), method, 0, 20, [1, 0], actions=[2], occurrences=[3], **options)
    assert run.status == "event"
    assert [time for _, time, *_ in run.events] == pytest.approx(np.pi * np.array([0.5, 1.5, 2.5]), abs=1e-7)
    assert run.stop_time == run.events[-1][1]
    falling = integrate(native("oscillator", 2), method, 0, 20, [1, 0], directions=[-1], **options)
    assert [time for _, time, *_ in falling.events] == pytest.approx(np.pi * np.arange(0.5, 6.3, 2), abs=1e-7)
    rising = integrate(native("oscillator", 2), method, 0, 20, [1, 0], directions=[1], **options)
    assert [time for _, time, *_ in rising.events] == pytest.approx(np.pi * np.arange(1.5, 6.3, 2), abs=1e-7)


def test_recording_leaves_the_steps_alone(native, integrate):
    plain = integrate(native("oscillator", 2), "tsit5", 0, 20, [1, 0])
    run = integrate(native("oscillator", 2), "tsit5", 0, 20, [1, 0], guards=native("height", 2, out=1))
    assert (run.t == plain.t).all()
    assert (run.x == plain.x).all()
    assert run.rhs_calls == plain.rhs_calls
    for _, time, before, after in run.events:
        assert before.tolist() == after.tolist()
        assert before == pytest.approx(_core.evaluate_dense(*run.dense(), [time])[0], abs=1e-14)
        assert abs(before[0]) < 1e-14


def test_backwards_directions_follow_the_run(native, integrate):
    options = {"guards": native("height", 2, out=1), "rtol": 1e-9, "atol": 1e-12}
    run = integrate(native("oscillator", 2), "dop853", 0, -7, [1, 0], directions=[-1], **options)
    assert [time for _, time, *_ in run.events] == pytest.approx([-np.pi / 2], abs=1e-8)


def test_an_event_is_located_on_the_steps_not_only_on_the_dense_output(native, integrate):
    """The guard is zero at the cut to rounding, though the interpolant is good to the tolerance only."""
    run = integrate(
        native("oscillator", 2),
        "tsit5",
        0,
        5,
        [1, 0],
        guards=native("height", 2, out=1),
        actions=[1],
        rtol=1e-3,
        atol=1e-3,
    )
    assert [time for _, time, *_ in run.events] == pytest.approx([np.pi / 2, 3 * np.pi / 2], abs=1e-2)
    assert all(abs(before[0]) < 1e-15 for _, _, before, _ in run.events)


def test_two_crossings_inside_one_long_step(python, native, integrate):
    """x is a parabola, so one step spans everything; it dips below 0.01 between t = 0.9 and 1.1."""
    rhs = python(lambda t, x, u, p: 2 * (t - 1), 1)
    for depth in (0.01, 1e-6):
        guard = python(lambda t, x, u, p, depth=depth: x - depth, 1, out=1)
        run = integrate(rhs, "dop853", 0, 1.7, [1.0], guards=guard, first_step=1.7)
        assert run.steps == 1
        width = np.sqrt(depth)
        assert [time for _, time, *_ in run.events] == pytest.approx([1 - width, 1 + width], abs=1e-9)


def test_any_two_crossings_inside_one_step(python, integrate):
    """x is a quadratic with both roots anywhere inside the only step."""
    generator = np.random.default_rng(3)
    for _ in range(60):
        first, second = np.sort(generator.uniform(0.01, 0.99, 2))
        rhs = python(lambda t, x, u, p, total=first + second: 2 * t - total, 1)
        guard = python(lambda t, x, u, p: x, 1, out=1)
        run = integrate(rhs, "dop853", 0, 1, [first * second], guards=guard, first_step=1.0)
        assert run.steps == 1
        assert [time for _, time, *_ in run.events] == pytest.approx([first, second], abs=1e-9)


def test_several_guards_in_order_of_time(python, native, integrate):
    """Crossing times of x = t with levels given in another order, inside one step."""
    levels = np.array([0.7, 0.2, 0.9, 0.4])
    guard = python(lambda t, x, u, p: x[0] - levels, 1, out=4)
    rhs = python(lambda t, x, u, p: np.ones(1), 1)
    run = integrate(rhs, "tsit5", 0, 1, [0.0], guards=guard, first_step=1.0)
    assert [number for number, *_ in run.events] == [1, 3, 0, 2]
    assert [time for _, time, *_ in run.events] == pytest.approx(np.sort(levels), abs=1e-15)
    # The third one cuts: the earlier two are recorded, the last comes in a later step.
    resets = python(lambda t, x, u, p: np.tile(x, 4), 1, out=4)
    run = integrate(rhs, "tsit5", 0, 1, [0.0], guards=guard, resets=resets, actions=[1, 0, 0, 0], first_step=1.0)
    assert [number for number, *_ in run.events] == [1, 3, 0, 2]
    assert [time for _, time, *_ in run.events] == pytest.approx(np.sort(levels), abs=1e-15)


def test_simultaneous_events_apply_together(python, integrate):
    """Two balls fall together; both resets read the state before, and both are in the state behind."""
    rhs = python(lambda t, x, u, p: np.array([x[1], -G, x[3], -G]), 4)
    guards = python(lambda t, x, u, p: np.array([x[0], x[2]]), 4, out=2)

    def bounce(t, x, u, p):
        return np.concatenate([[x[0], -0.5 * x[1], x[2], x[3]], [x[0], x[1], x[2], -0.9 * x[3]]])

    resets = python(bounce, 4, out=8)
    options = {"directions": [-1, -1], "actions": [1, 1]}
    run = integrate(rhs, "tsit5", 0, 0.6, [1, 0, 1, 0], guards=guards, resets=resets, **options)
    fall = np.sqrt(2 / G)
    assert [number for number, *_ in run.events] == [0, 1]
    assert run.events[0][1] == run.events[1][1] == pytest.approx(fall, abs=1e-14)
    assert run.events[1][2].tolist() == run.events[0][2].tolist()
    assert run.events[1][3].tolist() == run.events[0][3].tolist()
    assert run.events[1][3][[1, 3]] == pytest.approx([0.5 * G * fall, 0.9 * G * fall], abs=1e-12)
    assert np.count_nonzero(run.t == run.events[0][1]) == 2


def test_a_guard_far_from_zero_behind_its_reset_fires_again(python, integrate):
    """A saw-tooth: x' = 1, back to 0 at 1."""
    rhs = python(lambda t, x, u, p: np.ones(1), 1)
    guard = python(lambda t, x, u, p: x - 1, 1, out=1)
    resets = python(lambda t, x, u, p: np.zeros(1), 1, out=1)
    run = integrate(rhs, "tsit5", 0, 5.5, [0.0], guards=guard, resets=resets, actions=[1])
    assert [time for _, time, *_ in run.events] == pytest.approx([1, 2, 3, 4, 5], abs=1e-14)
    assert run.x[-1, 0] == pytest.approx(0.5, abs=1e-14)


def test_passing_through_zero_fires_once(python, integrate):
    """Action without a change of state: direction 0, and still one event."""
    rhs = python(lambda t, x, u, p: np.ones(1), 1)
    guard = python(lambda t, x, u, p: x - np.sqrt(0.5), 1, out=1)
    resets = python(lambda t, x, u, p: x, 1, out=1)
    run = integrate(rhs, "dopri5", 0, 2, [0.0], guards=guard, resets=resets, actions=[1])
    assert len(run.events) == 1
    assert run.status == "finished"


def test_a_guard_at_zero_at_the_start_does_not_fire(native, integrate):
    run = integrate(native("oscillator", 2), "tsit5", 0, 4, [0, 1], guards=native("height", 2, out=1), rtol=1e-9)
    assert [time for _, time, *_ in run.events] == pytest.approx([np.pi], abs=1e-7)


@pytest.mark.parametrize("rhs", ["fall", "fall_with_drag"])
@pytest.mark.parametrize("restitution", [0.9, 0.5, 0.1, 0.01])
@pytest.mark.parametrize("method", ["tsit5", "dop853"])
def test_bouncing_that_comes_to_rest_is_chattering(ball, method, restitution, rhs):
    run = ball(method, t1=20, restitution=restitution, rhs=rhs)
    assert run.status == "chattering"
    assert run.x[:, 0].min() > -1e-9
    if rhs == "fall":
        rest = np.sqrt(2 / G) * (1 + 2 * restitution / (1 - restitution))
        assert run.stop_time == pytest.approx(rest, abs=1e-6)


def test_switching_to_and_fro_is_chattering(python, integrate):
    """A relay with hardly any hysteresis: x' = -m, m = 1 above 1e-10, m = -1 below -1e-10."""
    rhs = python(lambda t, x, u, p: np.array([-x[1], 0.0]), 2)
    guards = python(lambda t, x, u, p: np.array([x[0] - 1e-10, x[0] + 1e-10]), 2, out=2)
    resets = python(lambda t, x, u, p: np.array([x[0], 1.0, x[0], -1.0]), 2, out=4)
    options = {"directions": [1, -1], "actions": [1, 1]}
    run = integrate(rhs, "tsit5", 0, 3, [1, 1], guards=guards, resets=resets, **options)
    assert run.status == "chattering"
    assert run.stop_time == pytest.approx(1, abs=1e-6)
    assert abs(run.x[-1, 0]) < 1.1e-10
    wide = python(lambda t, x, u, p: np.array([x[0] - 0.1, x[0] + 0.1]), 2, out=2)
    assert integrate(rhs, "tsit5", 0, 300, [1, 1], guards=wide, resets=resets, **options).status == "finished"


def test_events_with_fixed_steps(ball):
    run = ball(tableaux.make("rk4"), step=0.05)
    exact = ball("dop853")
    assert [event[1] for event in run.events] == pytest.approx([event[1] for event in exact.events], abs=1e-13)


def test_guards_see_the_inputs(python, integrate):
    """A guard on an input: fires where a ramp crosses, and at the breakpoint where a hold jumps."""
    rhs = python(lambda t, x, u, p: np.zeros(1), 1, 2)
    guard = python(lambda t, x, u, p: u - 0.5, 1, 2, out=2)
    tables = [
        _core.Table([0, 4], [[0], [1]], [0], True),
        _core.Table([0, 1, 3], [[0], [1], [0]], [1], False),
    ]
    run = integrate(rhs, "tsit5", 0, 4, [0.0], u=[0, 0], guards=guard, tables=tables)
    assert [(number, round(time, 12)) for number, time, *_ in run.events] == [(1, 1.0), (0, 2.0), (1, 3.0)]
    resets = python(lambda t, x, u, p: np.concatenate([x, x + 1]), 1, 2, out=2)
    cut = integrate(
        rhs,
        "tsit5",
        0,
        4,
        [0.0],
        u=[0, 0],
        guards=guard,
        resets=resets,
        actions=[0, 1],
        tables=tables,
        save_at=[1, 2, 3.0],
    )
    assert cut.x[:, 0].tolist() == [1, 1, 2]
    assert _core.evaluate_dense(*cut.dense(), [0.5, 1, 2.5, 3])[:, 0].tolist() == [0, 1, 1, 2]
    falling = integrate(rhs, "tsit5", 0, 4, [0.0], u=[0, 0], guards=guard, tables=tables, directions=[-1, -1])
    assert [(number, time) for number, time, *_ in falling.events] == [(1, 3.0)]


def test_events_agree_with_scipy(native, integrate):
    from scipy.integrate import solve_ivp

    rhs, x0 = native("orbit", 5), orbit_start(0.6)
    theirs = solve_ivp(
        lambda t, x: rhs([t], x, [], [])[0],
        (0, 20),
        x0,
        method="DOP853",
        rtol=1e-10,
        atol=1e-12,
        events=lambda t, x: x[0],
    )
    ours = integrate(rhs, "dop853", 0, 20, x0, guards=native("height", 5, out=1), rtol=1e-10, atol=1e-12)
    assert [time for _, time, *_ in ours.events] == pytest.approx(theirs.t_events[0], abs=1e-7)


def test_a_reset_that_is_not_finite_stops(python, native, integrate):
    resets = python(lambda t, x, u, p: np.array([0.0, np.nan]), 2, out=2)
    run = integrate(
        native("oscillator", 2), "tsit5", 0, 9, [1, 0], guards=native("height", 2, out=1), resets=resets, actions=[1]
    )
    assert (run.status, run.culprit, run.culprit_stage) == ("not_finite", 1, "state")
    assert run.stop_time == pytest.approx(np.pi / 2, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"directions": [0, 0]}, "directions"),
        ({"directions": [2]}, "directions"),
        ({"actions": [3]}, "actions"),
        ({"occurrences": [0]}, "occurrences"),
    ],
)
def test_refused_guard_options(native, integrate, options, words):
    with pytest.raises(ValueError, match=words):
        integrate(native("oscillator", 2), "tsit5", 0, 1, [1, 0], guards=native("height", 2, out=1), **options)
