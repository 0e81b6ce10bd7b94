"""Dry friction that sticks and slides, against closed forms and independent computations."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.records_on_the_way import LoadShared

METHODS = ("auto", "tsit5", "rk4", "radau5", "radau9", "bdf", "rodas5p")


def oscillator(kinetic: object = 0.03, static: object = None) -> dd.Model:
    m = dd.Model("Coulomb oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    f = m.friction("floor", v, kinetic=kinetic, static=static)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x + f)
    return m


@pytest.mark.parametrize("method", METHODS)
def test_amplitude_falls_by_4f_over_k_a_period_and_stops_in_the_dead_zone(method: str) -> None:
    step = {"step": 0.01} if method == "rk4" else {}
    tr = dd.simulate(oscillator(), 60.0, method=method, rtol=1e-8, **step)
    assert tr.success
    turns = [float(event.before["x"]) for event in tr.events]
    expected = [(-1) ** (k + 1) * (1 - 0.06 * (k + 1)) for k in range(16)] + [0.02]
    assert np.allclose(turns, expected, atol=3e-6)
    assert np.allclose([event.time for event in tr.events], np.pi * np.arange(1, 18), atol=1e-5)
    assert tr["v"][-1] == 0.0
    assert tr["floor.mode"][-1] == 0
    assert abs(tr["x"][-1] - 0.02) < 3e-6
    assert set(tr["floor.mode"].tolist()) == {-1.0, 0.0, 1.0}


def test_what_does_not_reach_the_static_level_never_moves() -> None:
    tr = dd.simulate(oscillator(0.5, 1.2), 5.0)
    assert not tr.events
    assert np.all(tr["x"] == 1.0)
    assert np.all(tr["floor"] == 1.0)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_stick_slip_on_a_belt_has_the_period_of_the_closed_form(method: str) -> None:
    m = dd.Model("belt")
    speed, static, kinetic = 0.5, 2.0, 1.0
    x, v = m.state("x", start=0.0), m.state("v", start=speed)
    f = m.friction("belt", v - speed, kinetic=kinetic, static=static)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x + f)
    times = np.array([event.time for event in dd.simulate(m, 40.0, method=method, rtol=1e-9).events])
    drop = static - kinetic
    slides, sticks = 2 * (np.pi - np.arctan(drop / speed)), 2 * drop / speed
    expected = static / speed + np.cumsum([0.0, *[slides, sticks] * 4])[: len(times)]
    assert len(times) == 9
    assert np.allclose(times, expected, atol=1e-6)


def test_levels_follow_a_normal_force() -> None:
    m = dd.Model("press")
    x, v, normal = m.state("x", start=0.0), m.state("v", start=1.0), m.algebraic("normal")
    m.equation(normal, 1 + m.time)
    f = m.friction("plate", v, kinetic=0.3 * normal)
    m.equation(m.der(x), v)
    m.equation(m.der(v), f)
    tr = dd.simulate(m, 5.0, rtol=1e-9)
    stop = np.sqrt(1 + 2 / 0.3) - 1  # 1 = 0.3 (t + t²/2)
    assert len(tr.events) == 1
    assert abs(tr.events[0].time - stop) < 1e-8
    assert abs(tr["x"][-1] - (stop - 0.3 * (stop**2 / 2 + stop**3 / 6))) < 1e-8


def test_a_force_that_grows_lets_it_go_at_the_static_level() -> None:
    m = dd.Model("pulled")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    f = m.friction("floor", v, kinetic=1.0, static=1.5)
    m.equation(m.der(x), v)
    m.equation(m.der(v), m.time + f)
    for method in ("auto", "radau5", "bdf"):
        tr = dd.simulate(m, 3.0, method=method, rtol=1e-9)
        assert abs(tr.events[0].time - 1.5) < 1e-7
        assert abs(tr["v"][-1] - ((9 - 2.25) / 2 - 1.5)) < 1e-6, method


def blocks(mass: np.ndarray, push: np.ndarray, limits: np.ndarray) -> dd.Model:
    m = dd.Model("blocks at rest")
    n = len(push)
    v = m.state("v", n, start=0.0)
    forces = [m.friction(f"floor{k}", v[k], kinetic=limits[k]) for k in range(n)]
    m.equation(ca.mtimes(ca.DM(mass), m.der(v)), ca.DM(push) + ca.vertcat(*forces))
    return m


def test_any_number_stick_at_once_as_the_convex_problem_says() -> None:
    """Accelerations from rest minimise ½ aᵀ M a - pushᵀ a + Σ limit |a|."""
    rng = np.random.default_rng(3)
    for n in (1, 2, 3, 4, 5, 6):
        root = rng.normal(size=(n, n))
        mass, push, limits = root @ root.T + 0.3 * np.eye(n), rng.normal(size=n), rng.uniform(0.1, 1.2, n)
        tr = dd.simulate(blocks(mass, push, limits), 1e-3, method="tsit5")
        a = np.zeros(n)
        for _ in range(4000):
            for k in range(n):
                rest = push[k] - mass[k] @ a + mass[k, k] * a[k]
                a[k] = np.sign(rest) * max(abs(rest) - limits[k], 0.0) / mass[k, k]
        assert np.allclose(tr["v_dot"][0], a, atol=1e-8)
        assert np.array_equal([tr[f"floor{k}.mode"][0] for k in range(n)], np.sign(np.where(abs(a) < 1e-9, 0, a)))


def arm(static: float) -> dd.Model:
    m = dd.Model("arm")
    q = m.coordinate("q", 2, start=[0.3, -0.2], rate=[0.0, 0.0])
    w = m.rate(q)
    m.kinetic_energy(0.5 * (2 * w[0] ** 2 + (w[0] + w[1]) ** 2 + 2 * ca.cos(q[1]) * w[0] * (w[0] + w[1])))
    m.potential_energy(9.81 * (-2 * ca.cos(q[0]) - ca.cos(q[0] + q[1])))
    for k in range(2):
        m.generalised_force(q[k], m.friction(f"joint{k}", w[k], kinetic=0.5 * static, static=static))
    return m


def test_a_robot_at_rest_sticks_in_every_joint() -> None:
    tr = dd.simulate(arm(20.0), 5.0)
    gravity = 9.81 * np.array([2 * np.sin(0.3) + np.sin(0.1), np.sin(0.1)])
    assert np.allclose(tr["q"], [0.3, -0.2], rtol=0, atol=1e-14)
    assert not tr.events
    assert np.allclose([tr["joint0"][-1], tr["joint1"][-1]], gravity)


def test_it_comes_to_rest_in_every_joint_the_same_way_by_every_method() -> None:
    runs = [dd.simulate(arm(4.0), 10.0, method=method, rtol=1e-8) for method in ("auto", "radau5", "bdf")]
    for tr in runs:
        assert tr.success
        assert tr["joint0.mode"][-1] == tr["joint1.mode"][-1] == 0
        assert np.allclose(tr["q"][-1], runs[0]["q"][-1], atol=1e-5)
        power = tr["joint0"] * tr["joint0.velocity"] + tr["joint1"] * tr["joint1.velocity"]
        assert power.max() < 1e-9


def pendulum() -> dd.Model:
    m = dd.Model("pendulum of index 3")
    q = m.coordinate("q", 2, start=[0.6, -0.8], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    f = m.friction("pivot", q[0] * m.rate(q)[1] - q[1] * m.rate(q)[0], kinetic=0.5, static=0.7)
    m.force([-f * q[1], f * q[0]], at=q)
    return m


def test_friction_in_a_mechanism_of_index_3_agrees_with_its_minimal_coordinate() -> None:
    m = dd.Model("pendulum")
    a = m.coordinate("a", start=float(np.arctan2(0.6, 0.8)), rate=0.0)
    m.kinetic_energy(0.5 * m.rate(a) ** 2)
    m.potential_energy(-9.81 * ca.cos(a))
    m.generalised_force(a, m.friction("pivot", m.rate(a), kinetic=0.5, static=0.7))
    expected = dd.simulate(m, 30.0, rtol=1e-9)
    for method in ("auto", "radau5"):
        tr = dd.simulate(pendulum(), 30.0, method=method, rtol=1e-8)
        assert tr.success
        assert len(tr.events) == len(expected.events)
        assert abs(np.arctan2(*(tr["q"][-1] * [1, -1])) - expected["a"][-1]) < 1e-6
        assert max(tr.drift().values()) < 1e-6


def test_two_brakes_that_hold_the_same_shaft_share_its_load_and_are_told_by_name() -> None:
    m = dd.Model("shaft")
    w = m.state("w", start=1.0)
    one, two = m.friction("front", w, kinetic=1.0), m.friction("rear", w, kinetic=0.8)
    m.equation(m.der(w), one + two + 2.5 * ca.sin(m.time))
    for method in ("auto", "radau5"):
        tr = dd.simulate(m, 12.0, method=method, rtol=1e-8)
        assert tr.success
        # One brake with both levels.
        single = dd.Model("one brake")
        w = single.state("w", start=1.0)
        single.equation(single.der(w), single.friction("both", w, kinetic=1.8) + 2.5 * ca.sin(single.time))
        expected = dd.simulate(single, 12.0, rtol=1e-10, atol=1e-12)
        times = np.linspace(0, 12, 241)
        assert np.abs(tr.at(times)["w"] - expected.at(times)["w"]).max() < 1e-6
        holds = (expected.at(times)["both.mode"] == 0) & (np.abs(tr.at(times)["w"]) < 1e-12)
        assert holds.sum() > 30
        load = (tr.at(times)["front"] + tr.at(times)["rear"])[holds]
        assert np.allclose(load, -2.5 * np.sin(times[holds]), atol=1e-6)
        assert np.abs(tr["front"]).max() < 1 + 1e-8
        assert np.abs(tr["rear"]).max() < 0.8 + 1e-8
        assert tr.records[-1] == LoadShared(("front", "rear"))


def test_brakes_that_stick_by_more_than_they_slide_by_do_not_share() -> None:
    """Together they hold the sum of their static levels; one at its kinetic level would let go before."""
    m = dd.Model("shaft")
    w = m.state("w", start=1.0)
    one, two = (m.friction(name, w, kinetic=1.0, static=1.2) for name in ("front", "rear"))
    m.equation(m.der(w), one + two)
    tr = dd.simulate(m, 2.0)
    assert not tr.success
    assert tr.stop_reason == (
        "the forces of front, rear are not determined at t = 0.5; they hold the same motion, and how they share its "
        "load is not said; try one contact in the place of those that hold the same thing, or compliance between them"
    )


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_friction_of_a_pivot_by_the_force_of_its_constraint(method: str) -> None:
    """Such levels have no formula at index 3: every method was refused, with the advice to take radau5."""
    m = dd.Model("pendulum by Cartesian coordinates")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    rod = m.constraint("rod", ca.sumsqr(q) - 1)
    rubs = m.friction("pivot", q[0] * m.rate(q)[1] - q[1] * m.rate(q)[0], kinetic=0.3 * ca.fabs(2 * rod))
    m.force(rubs * ca.vertcat(-q[1], q[0]), at=q)
    own = dd.Model("the same by its angle")
    a = own.coordinate("a", start=0.0, rate=0.0)
    own.kinetic_energy(0.5 * own.rate(a) ** 2)
    own.potential_energy(9.81 * ca.sin(a))
    pull = own.rate(a) ** 2 - 9.81 * ca.sin(a)
    own.generalised_force(a, own.friction("pivot", own.rate(a), kinetic=0.3 * ca.fabs(pull)))
    tr, expected = dd.simulate(m, 4.0, method=method, rtol=1e-8), dd.simulate(own, 4.0, rtol=1e-10)
    assert tr.success
    assert [event.name for event in tr.events] == [event.name for event in expected.events]
    angle = np.unwrap(np.arctan2(tr["q"][:, 1], tr["q"][:, 0]))
    assert np.abs(angle - expected.at(tr.time)["a"]).max() < 1e-6


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_a_condition_on_a_force_fits_the_modes_that_the_run_begins_with(method: str) -> None:
    """The branch of |N| was that of sliding forwards, with which frictions begin: f = -0.0913 pushed backwards."""
    m = dd.Model("block under a lever")
    v, normal = m.state("v", start=-1.0), m.algebraic("N")
    held = m.friction("held", v, kinetic=1.0)
    rubs = m.friction("rubs", v, kinetic=0.3 * ca.fabs(normal))
    m.equation(normal, -0.05 + 0.5 * rubs + 0.4 * held)
    m.equation(m.der(v), rubs + held - 1.5)
    tr = dd.simulate(m, 1.0, method=method)
    assert np.allclose(tr["N"], 0.35 / 0.85)
    assert np.allclose(tr["rubs"], 0.3 * 0.35 / 0.85)
    assert tr["v"][-1] == pytest.approx(-1.5 + 0.3 * 0.35 / 0.85)


def test_runs_joined_equal_one_and_a_reset_of_the_speed_is_seen() -> None:
    m = oscillator(0.1)
    m.schedule([10.0], {"v": 1.0})
    whole = dd.simulate(m, 15.0, rtol=1e-9)
    half = dd.simulate(m, 7.0, rtol=1e-9)
    rest = dd.simulate(m, (7.0, 15.0), start=half.end, rtol=1e-9)
    assert whole.success
    assert abs(whole["x"][-1] - rest["x"][-1]) < 1e-7
    assert whole.at(10.0)["floor.mode"] == 1.0


def test_an_input_that_jumps_breaks_it_loose() -> None:
    m = dd.Model("pushed")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    f = m.friction("floor", v, kinetic=1.0, static=2.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), u + f)
    pull = dd.signal([0.0, 1.0, 2.0], [1.5, 3.0, 0.0], kind="hold")
    for method in ("auto", "radau5"):
        tr = dd.simulate(m, 5.0, inputs={"u": pull}, method=method)
        assert abs(tr["x"][-1] - 3.0) < 1e-6, method
        assert tr["floor.mode"][-1] == 0


def test_prepare_sweep_and_files_see_it(tmp_path) -> None:
    m = oscillator(0.1)
    run = dd.prepare(m, 20.0, save_at=[20.0])
    assert np.allclose(run()[0], [0.0, 0.0], atol=1e-6)
    assert np.allclose(run(np.array([0.05, 0.0]))[0], [0.05, 0.0])
    ends = dd.sweep(m, 20.0, over={"x": [0.05, 1.0]}, save_at="end")["x"]
    assert np.allclose(np.ravel(ends), [0.05, 0.0], atol=1e-6)
    tr = dd.simulate(m, 20.0)
    tr.save(tmp_path / "run.nc")
    again = dd.load(tmp_path / "run.nc")
    assert np.array_equal(again["floor.mode"], tr["floor.mode"])
    assert again.at(1.0)["floor"] == tr.at(1.0)["floor"]


def test_a_block_that_lands_on_a_table_slides_and_stops() -> None:
    m = dd.Model("block on a table")
    q = m.coordinate("q", 2, start=[0.0, 0.2], rate=[2.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    push = m.unilateral("table", q[1])
    m.generalised_force(q[0], m.friction("rubbing", m.rate(q)[0], kinetic=0.3 * push))
    tr = dd.simulate(m, 2.0, rtol=1e-9)
    land, slides = np.sqrt(0.4 / 9.81), 2.0 / (0.3 * 9.81)
    assert np.allclose([e.time for e in tr.events], [land, land + slides], atol=1e-7)
    assert abs(tr["q"][-1][0] - (2 * land + slides)) < 1e-6


def test_the_linear_system_of_a_mode() -> None:
    m = oscillator()
    sticks = dd.linearise(m, at={"x": 0.0, "v": 0.0}, modes={"floor.mode": 0})
    assert np.allclose(sorted(np.abs(sticks.poles())), [0.0, 0.0], atol=1e-9)
    slides = dd.linearise(m, at={"x": 0.0, "v": 0.1}, modes={"floor.mode": 1})
    assert np.allclose(np.abs(slides.poles()), 1.0)


def test_a_belt_whose_speed_is_an_input() -> None:
    m = dd.Model("driven belt")
    v, speed = m.state("v", start=0.0), m.input("speed")
    m.equation(m.der(v), m.friction("belt", v - speed, kinetic=1.0))
    tr = dd.simulate(m, 3.0, inputs={"speed": 0.5 * m.time**2})
    # It follows while the belt is slower than the friction accelerates, until t = 1.
    assert abs(tr.at(0.8)["v"] - 0.32) < 1e-8
    assert abs(tr["v"][-1] - 2.5) < 1e-6
    assert abs(tr.events[0].time - 1.0) < 1e-8


@pytest.mark.parametrize("speed", [0.0, 0.5])
def test_a_force_with_the_other_sign_is_told(speed: float) -> None:
    """It drove the oscillator, whose swings grew, or its modes had no end."""
    m = dd.Model("driven")
    x, v = m.state("x", start=1.0), m.state("v", start=speed)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -4 * x - m.friction("brake", v, kinetic=0.5, static=1.0) / 2)
    tr = dd.simulate(m, 8.0)
    assert tr.stop_reason == (
        "brake acts the wrong way round at t = 0; a force of 1 changes the rate of its speed by -0.5; "
        "try + brake in place of - brake in the equations of motion"
    )


@pytest.mark.parametrize("size", [1.0, 1e-9])
def test_a_block_turns_every_half_period_at_any_size(size):
    """On a spring with a friction of a tenth of its first force, in metres and in nanometres: at rest at 5 π."""
    m = dd.Model("block")
    x, v = m.state("x", start=size, nominal=size), m.state("v", start=0.0, nominal=size)
    force = m.friction("floor", v, kinetic=0.1 * size)
    m.equation([m.der(x), m.der(v)], [v, -x + force])
    tr = dd.simulate(m, 20.0, rtol=1e-9)
    assert [each.time for each in tr.transitions] == pytest.approx(np.pi * np.arange(1, 6), rel=1e-8)
