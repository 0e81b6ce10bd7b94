"""Given signals and conditions on time that jump: every transcription sees each side where it belongs."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

WAYS = {
    "radau": {},
    "radau of degree 4": {"degree": 4},
    "legendre": {"points": "legendre"},
    "rk4": {"method": "shooting"},
    "implicit": {"method": "shooting", "step_method": "radau5", "steps": 1},
    "trapezoidal ends": {"method": "shooting", "step_method": "kutta3", "steps": 1},
}
KINDS = ("table", "expression", "floor", "function", "equation")


def _wind(kind, m, times, values):
    """The same steps over time, written in several ways."""
    if kind == "table":
        return dd.signal(times, values)
    if kind in ("expression", "equation"):
        found = ca.SX(values[-1])
        for until, value in zip(times[:0:-1], values[-2::-1]):
            found = ca.if_else(m.time < until, value, found)
        return found
    if kind == "floor":
        heights = np.diff(values)
        return values[0] + sum(
            h * ca.fmin(ca.floor(m.time / t), 1) for h, t in zip(heights.tolist(), times[1:].tolist())
        )
    return lambda t: float(values[np.searchsorted(times, t, side="right") - 1]) if t >= 0 else 0.0


def _cart(wind_in_equations=None):
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    wind = m.input("wind") if wind_in_equations is None else wind_in_equations(m)
    m.equation([m.der(x), m.der(v)], [v, u + wind])
    return m


def _problem(kind, times, values, duration, intervals):
    m = _cart((lambda m: _wind(kind, m, times, values)) if kind == "equation" else None)
    ocp = dd.OptimalControl(m, duration=duration, intervals=intervals)
    ocp.start()
    ocp.finish(x=1.0, v=0.0)
    ocp.input("u", "linear")
    if kind != "equation":
        ocp.given("wind", _wind(kind, m, times, values))
    ocp.minimise(running=m["u"] ** 2)
    return ocp


def _least_effort(times, values, duration):
    """min ∫ u² of x'' = u + wind from rest at 0 to rest at 1: wind does part of the work, a Gramian gives the rest."""
    ends = np.append(times, duration)
    push = -(values * np.diff(ends)).sum()
    way = 1.0 - (values * 0.5 * ((duration - ends[:-1]) ** 2 - (duration - ends[1:]) ** 2)).sum()
    gramian = np.array([[duration, duration**2 / 2], [duration**2 / 2, duration**3 / 3]])
    left = np.array([push, way])
    return float(left @ np.linalg.solve(gramian, left))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_signals_that_jump_anywhere(way, kind):
    for seed in (1, 2):
        random = np.random.default_rng([seed, list(WAYS).index(way), KINDS.index(kind)])
        duration, intervals = float(random.uniform(0.5, 3.0)), int(random.integers(4, 12))
        on_nodes = duration * random.choice(np.arange(1, intervals), 2, replace=False) / intervals
        # A function that nothing is known of can only jump at nodes.
        off_nodes = [] if kind == "function" else duration * random.uniform(0.05, 0.95, 2)
        times = np.sort(np.concatenate([[0.0], on_nodes, off_nodes]))
        values = random.normal(size=len(times))
        ocp = _problem(kind, times, values, duration, intervals)
        plan = ocp.solve(**WAYS[way])
        assert plan.success
        assert plan.objective == pytest.approx(_least_effort(times, values, duration), rel=1e-7)
        assert plan.transcription.layout.intervals == intervals + len(off_nodes)
        assert plan.mesh_error.max() < 1e-8
        replayed = dict.fromkeys([] if kind != "function" else ["wind"], dd.signal(times, values))
        plan.inputs.update(replayed)
        assert plan.replay().largest < 1e-8


@pytest.mark.parametrize("way", ["radau", "rk4"])
@pytest.mark.parametrize("begin", [-3.7, 86400.0])
def test_short_plans_at_times_far_from_zero(begin, way):
    # A day after zero two numbers are 1.5e-11 apart, a plan of 20 ms has intervals of 4 ms.
    times, values = np.array([0.0, 0.004, 0.012, 0.0147]), np.array([1.0, -2000.0, 3000.0, 500.0])
    m = _cart()
    ocp = dd.OptimalControl(m, duration=0.02, intervals=5, begin=begin)
    ocp.start()
    ocp.finish(x=1.0, v=0.0)
    ocp.given("wind", dd.signal(begin + times, values))
    ocp.input("u", "linear")
    ocp.minimise(running=m["u"] ** 2)
    plan = ocp.solve(**WAYS[way])
    assert plan.objective == pytest.approx(_least_effort(times, values, 0.02), rel=1e-7)
    assert plan.transcription.layout.intervals == 6
    assert plan.replay().largest < 1e-7


def test_a_jump_at_the_end_is_not_seen():
    ocp = _problem("table", np.array([0.0, 1.0]), np.array([0.5, 100.0]), 1.0, 5)
    plan = ocp.solve()
    assert plan["wind"].tolist() == [0.5] * 6
    ocp.subject_to(ocp._description.system.symbol("u")[1] <= 1.0, at="nodes")
    assert ocp.solve().success


def test_values_at_the_ends_are_those_inside():
    m = _cart()
    ocp = dd.OptimalControl(m, duration=1.0, intervals=5, begin=2.0)
    ocp.given("wind", 0.0)
    ocp.start()
    step = ca.if_else(m.time < 3.0, 1.0, 7.0) + ca.if_else(m.time <= 2.0, 20.0, 0.0)
    ocp.minimise(running=m["u"] ** 2, final=ocp.at_end(step) + 100 * ocp.at_start(step) + step)
    assert ocp.solve().objective == pytest.approx(1 + 100 + 1)
    assert ocp.solve(method="shooting").objective == pytest.approx(1 + 100 + 1)


@pytest.mark.parametrize("way", ["radau", "legendre"])
def test_phases_see_the_wind_of_their_own_time(way):
    times, values = np.array([0.0, 0.3, 0.6, 0.85]), np.array([1.0, -2.0, 3.0, 0.5])
    m = _cart()
    parts = [dd.OptimalControl(m, duration=length, intervals=4) for length in (0.6, 0.4)]
    parts[0].start()
    parts[1].finish(x=1.0, v=0.0)
    for part in parts:
        part.given("wind", dd.signal(times, values))
        part.input("u", "linear")
        part.minimise(running=m["u"] ** 2)
    plan = dd.phases(*parts).solve(**WAYS[way])
    assert plan.objective == pytest.approx(_least_effort(times, values, 1.0), rel=1e-7)
    assert [len(phase.time) - 1 for phase in plan.phases] == [4, 5]
    assert all(run.largest < 1e-8 for run in plan.replay())
    assert plan.phases[0]["wind"][-1] == -2.0
    assert plan.phases[1]["wind"][0] == 3.0


def test_a_phase_with_wind_does_not_begin_at_an_unknown_time():
    m = _cart()
    one, two = dd.OptimalControl(m, duration=dd.unknown(1.0, 0.1, 2.0)), dd.OptimalControl(m, duration=1.0)
    one.given("wind", 0.0)
    two.given("wind", dd.signal([0.0, 0.5], [0.0, 1.0]))
    with pytest.raises(dd.InputError) as told:
        dd.phases(one, two)
    assert str(told.value) == (
        "wind of 'cart' depends on time, and begins at an unknown one.\n"
        "  Because an earlier phase has an unknown duration.\n"
        "  Try: a state for time: m.equation(m.der(clock), 1)"
    )


def test_jumps_inside_intervals_are_told():
    times = np.linspace(0.0, 1.0, 41)[:-1]
    plan = _problem("table", times + 1e-3 * (times > 0), np.arange(40.0) % 2, 1.0, 10).solve()
    assert plan.transcription.layout.intervals == 10
    (note,) = [own for own in plan.notes if not own.startswith("a local optimum")]
    assert note == (
        "wind jumps 39 times inside intervals, with too many jumps for a node at each, first at 0.026: "
        "mesh_tolerance= shortens these, and a phase up to the jump (dd.phases) ends on it"
    )
    ocp = _problem("table", np.array([0.0, 0.4]), np.array([0.0, 0.1]), dd.unknown(1.0, 1.0, 1.0), 10)
    (note,) = [own for own in ocp.solve().notes if not own.startswith("a local optimum")]
    assert note.startswith("wind jumps 1 time inside intervals, whose ends move with the duration, first at 0.4: ")


def test_a_jump_under_an_unknown_duration_is_closed_in_on_or_ended_on():
    # Force 1 with a wind of ½ from 0.7 on, against which the force brakes with -1: at 0.7 x = 0.245 and v = 0.7, then
    # 1.5 until v = w, and -½ to rest at 1: (w² - 0.49) / 3 + w² = 0.755.
    top = np.sqrt((0.755 + 0.49 / 3) / (4.0 / 3.0))
    shortest = 0.7 + (top - 0.7) / 1.5 + 2 * top

    def part(duration, intervals, **ends):
        m = _cart()
        ocp = dd.OptimalControl(m, duration=duration, intervals=intervals)
        ocp.given("wind", dd.signal([0.0, 0.7], [0.0, 0.5]))
        ocp.bound("u", -1.0, 1.0)
        if ends:
            ocp.finish(ends)
        ocp.minimise(final=ocp.duration)
        return ocp

    whole = part(dd.unknown(2.0, 0.1, 10.0), 20, x=1.0, v=0.0)
    whole.start()
    coarse, fine = whole.solve(), whole.solve(mesh_tolerance=1e-6)
    assert abs(coarse.duration - shortest) > 1e-3
    assert fine.duration == pytest.approx(shortest, abs=2e-5)
    assert fine.mesh_error.max() <= 1e-6 or "the mesh tolerance is not met after 12 meshes" in fine.notes[-1]
    first = part(0.7, 5)
    first.start()
    phases = dd.phases(first, part(dd.unknown(1.0, 0.1, 10.0), 10, x=1.0, v=0.0)).solve(mesh_tolerance=1e-6)
    assert phases.duration == pytest.approx(shortest, abs=1e-6)
    assert all(note.startswith("a local optimum") for note in phases.notes)
    assert str(phases).splitlines()[2].startswith("  cart: 0.7, 5 intervals, mesh error ")


def test_bent_signals_need_no_node():
    m = _cart()
    ocp = dd.OptimalControl(m, duration=1.0, intervals=5)
    ocp.start()
    ocp.minimise(running=m["u"] ** 2)
    for bent in (ca.fabs(m.time - 0.33), ca.if_else(m.time < 0.33, 2 * m.time, 0.66), lambda t: max(t, 0.33)):
        ocp.given("wind", bent)
        assert ocp.solve().transcription.layout.intervals == 5


def test_costs_and_conditions_that_change_with_time_have_nodes():
    m = dd.Model("follower")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), u)
    wanted, limit = ca.if_else(m.time < 0.37, 0.0, 1.0), 1.0 + 2.0 * ca.floor(m.time / 0.61)

    def problem():
        ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
        ocp.start()
        ocp.minimise(running=(x - wanted) ** 2 + 1e-2 * u**2 + 1e-6 * ca.fabs(m.time - 0.77) * u**2)
        ocp.subject_to(u <= limit, name="limit")
        return ocp

    plans = [problem().solve(**way) for way in WAYS.values()]
    assert {len(plan.time) for plan in plans} == {13}
    assert np.abs(plans[0].time[:, None] - [0.37, 0.61]).min(axis=0) == pytest.approx(0.0, abs=1e-12)
    # Before 0.61 the limit is 1, behind it 3: the values at nodes are those of the intervals behind them.
    for plan in plans:
        assert plan["u"][:-1].max() > 1.1
        assert plan["u"][plan.time < 0.61 - 1e-9].max() <= 1.0 + 1e-6
        assert plan.objective == pytest.approx(plans[0].objective, rel=1e-6)


def test_a_saved_plan_keeps_the_sides_of_a_jump(tmp_path):
    plan = _problem("expression", np.array([0.0, 0.3, 0.55]), np.array([1.0, -2.0, 3.0]), 1.0, 10).solve()
    plan.save(tmp_path / "plan.nc")
    assert dd.load(tmp_path / "plan.nc").replay().largest < 1e-7


def test_a_controller_keeps_its_intervals():
    m = _cart()
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.start()
    ocp.given("wind", dd.signal([0.0, 0.33], [0.0, 1.0]))
    ocp.minimise(running=m["x"] ** 2 + m["u"] ** 2)
    controller = dd.Controller(ocp, every=0.1, mode="full")
    late = controller([0.0, 0.0], t=0.4)
    steady = controller([0.0, 0.0], t=5.0)
    assert late == pytest.approx(steady, abs=1e-6)
