"""Unilateral constraints: impacts, rest, release, against closed forms."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.run.stop_reason import stop_of

G = 9.81
METHODS = ("auto", "tsit5", "radau5", "bdf", "rodas5p")


def ball(restitution: float = 0.5, height: float = 1.0) -> dd.Model:
    m = dd.Model("ball")
    h = m.coordinate("h", start=height, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(h) ** 2)
    m.potential_energy(G * h)
    m.unilateral("table", h, restitution=restitution)
    return m


@pytest.mark.parametrize("method", METHODS)
def test_bounces_accumulate_at_the_closed_form_and_end_in_rest(method: str) -> None:
    tr = dd.simulate(ball(), 3.0, method=method, rtol=1e-9)
    fall = np.sqrt(2 / G)
    assert tr.success
    assert tr["table.mode"][-1] == 1.0
    assert abs(tr.events[-1].time - 3 * fall) < 3e-7  # fall (1 + e) / (1 - e)
    assert np.allclose([e.time for e in tr.events[:4]], fall * np.array([1.0, 2.0, 2.5, 2.75]), atol=1e-7)
    assert abs(tr["table"][-1] - G) < 1e-9
    assert abs(tr["h"][-1]) < 1e-9
    assert abs(tr["h_dot"][-1]) < 1e-12
    assert tr["h"].min() > -1e-9


def test_fixed_steps_shrink_for_a_flight_and_grow_again() -> None:
    """By implicit Euler, whose steps show no flight that is shorter than two of them."""
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        tr = dd.simulate(ball(), 3.0, method="implicit_euler", step=step)
        assert tr.success
        errors.append(abs(tr.events[-1].time - 3 * np.sqrt(2 / G)))
        assert abs(tr["h"][-1]) < 1e-9
        # At rest steps are whole again: the last one alone is what is left.
        resting = np.diff(tr.time[tr.time > tr.events[-1].time])
        assert np.allclose(resting[:-1], step)
    assert errors[0] < 0.06
    assert errors[0] / errors[1] == pytest.approx(2, abs=0.4)
    assert errors[1] / errors[2] == pytest.approx(2, abs=0.4)


def test_a_ball_that_loses_nothing_comes_back_as_high_as_it_was() -> None:
    tr = dd.simulate(ball(1.0), 20.0, rtol=1e-10)
    energy = 0.5 * tr["h_dot"] ** 2 + G * tr["h"]
    assert np.allclose(energy, G, atol=1e-6)
    assert len(tr.events) == 22


def test_equations_written_by_hand_take_the_multiplier_by_hand() -> None:
    m = dd.Model("ball by hand")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    push = m.unilateral("table", h, restitution=0.5)
    m.equation(m.der(h), v)
    m.equation(2 * m.der(v), -2 * G + push)
    assert m.freeze().labels["x"] == ("h", "v")
    one, two = dd.simulate(m, 1.0, rtol=1e-9), dd.simulate(ball(), 1.0, rtol=1e-9)
    assert abs(one["h"][-1] - two["h"][-1]) < 1e-8
    assert abs(dd.simulate(m, 3.0)["table"][-1] - 2 * G) < 1e-9


def test_an_impact_moves_both_bodies_in_the_metric_of_their_masses() -> None:
    m = dd.Model("two carts")
    x = m.coordinate("x", 2, start=[0.0, 1.0], rate=[2.0, -1.0])
    w = m.rate(x)
    m.kinetic_energy(0.5 * (3.0 * w[0] ** 2 + w[1] ** 2))
    m.unilateral("buffer", x[1] - x[0] - 0.1, restitution=0.6)
    tr = dd.simulate(m, 1.0)
    before, after = (3 * 2.0 - 1.0) / 4, 0.6 * 3.0
    assert len(tr.events) == 1
    assert abs(tr.events[0].time - 0.3) < 1e-9
    assert np.allclose(tr["x_dot"][-1], [before - after / 4, before + 3 * after / 4])


@pytest.mark.parametrize("moving", [1, 2])
def test_newtons_cradle_lets_as_many_balls_go_as_came(moving: int) -> None:
    m, n = dd.Model("cradle"), 5
    a = m.coordinate("a", n, start=[-0.3] * moving + [0.0] * (n - moving), rate=0.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(a)))
    m.potential_energy(-G * ca.sum1(ca.cos(a)))
    for k in range(n - 1):
        m.unilateral(f"contact{k}", a[k + 1] - a[k], restitution=1.0)
    tr = dd.simulate(m, 1.5, rtol=1e-9)
    assert tr.success
    down = tr.events[0].time
    behind = tr.at(down + 1e-6)["a_dot"]
    speed = np.sqrt(2 * G * (1 - np.cos(0.3)))
    assert np.allclose(behind, [0.0] * (n - moving) + [speed] * moving, atol=1e-4)
    top = tr.at(2 * down)["a"]  # as high on the other side, half a period later
    assert np.allclose(top[n - moving :], 0.3, atol=1e-5)
    assert np.allclose(top[: n - moving], 0.0, atol=1e-5)


def test_two_balls_come_to_rest_on_each_other() -> None:
    m = dd.Model("two balls")
    h = m.coordinate("h", 2, start=[0.5, 1.2], rate=[0.0, 0.0])
    w = m.rate(h)
    m.kinetic_energy(0.5 * (2 * w[0] ** 2 + w[1] ** 2))
    m.potential_energy(G * (2 * h[0] + h[1]))
    m.unilateral("floor", h[0], 0.5)
    m.unilateral("ball", h[1] - h[0] - 0.2, 0.5)
    for method in ("auto", "radau5", "bdf"):
        tr = dd.simulate(m, 5.0, method=method)
        assert tr.success, tr.stop_reason
        assert np.allclose(tr["h"][-1], [0.0, 0.2], atol=1e-6)
        assert abs(tr["floor"][-1] - 3 * G) < 1e-6
        assert abs(tr["ball"][-1] - G) < 1e-6


# The dense output of some is a straight line in a step: it shows no flight.
FIXED = ("implicit_euler", "gauss1", "trapezoidal", "rk4")


@pytest.mark.parametrize("method", ["auto", "tsit5", "radau5", "rodas5p", "bdf", *FIXED])
def test_no_ball_of_a_pile_falls_through_what_it_lies_on(method: str) -> None:
    """Flights end that are lower than the rounding of the gap: one ball taps the other while both come to rest."""
    # Between its ends a step of fixed length is known to g h² / 2 at least, the sag of a straight line.
    kept, exact = ({"step": 0.002}, 0.5 * G * 0.002**2) if method in FIXED else ({"rtol": 1e-8}, 1e-7)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        masses, bounce, high = rng.uniform(0.3, 3.0, 2), rng.uniform(0.1, 0.6, 2), rng.uniform(0.2, 0.8, 2)
        m = dd.Model("pile")
        h = m.coordinate("h", 2, start=[high[0], high.sum() + 0.2], rate=[0.0, 0.0])
        m.kinetic_energy(0.5 * ca.dot(masses, m.rate(h) ** 2))
        m.potential_energy(G * ca.dot(masses, h))
        m.unilateral("floor", h[0], bounce[0])
        m.unilateral("ball", h[1] - h[0] - 0.2, bounce[1])
        tr = dd.simulate(m, 5.0, method=method, **kept)
        assert tr.success, (seed, tr.stop_reason)
        assert np.allclose(tr["h"][-1], [0.0, 0.2], atol=2 * exact), seed
        assert [tr["floor"][-1], tr["ball"][-1]] == pytest.approx([G * masses.sum(), G * masses[1]]), seed
        assert min(tr["floor.gap"].min(), tr["ball.gap"].min()) > -2 * exact


def cable(start: list[float], rate: list[float]) -> dd.Model:
    m = dd.Model("mass on a cable")
    q = m.coordinate("q", 2, start=start, rate=rate)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(G * q[1])
    m.unilateral("cable", 1.0 - ca.norm_2(q))
    return m


def test_a_slack_cable_becomes_taut_and_keeps_what_goes_along() -> None:
    tr = dd.simulate(cable([0.6, 0.0], [0.0, 0.0]), 1.0, rtol=1e-9)
    assert abs(tr.events[0].time - np.sqrt(1.6 / G)) < 1e-8
    speed = G * np.sqrt(1.6 / G) * 0.6  # along the circle at (0.6, -0.8)
    behind = tr.events[0].after
    assert np.allclose(behind["q_dot"], speed * np.array([-0.8, -0.6]), atol=1e-7)
    energy = 0.5 * np.sum(tr["q_dot"][-1] ** 2) + G * tr["q"][-1][1]
    assert abs(energy - (0.5 * speed**2 - 0.8 * G)) < 1e-6
    assert tr["cable"].min() >= 0
    assert abs(tr["cable.gap"][-1]) < 1e-7


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_it_lets_go_where_the_multiplier_changes_its_sign(method: str) -> None:
    speed = np.sqrt(3.5 * G)  # between 2 g L and 5 g L: it cannot go round
    tr = dd.simulate(cable([0.0, -1.0], [float(speed), 0.0]), 1.0, method=method, rtol=1e-9)
    opened = next(e for e in tr.events if float(e.after["cable.mode"]) == 0)
    assert abs(float(opened.after["q"][1]) - (speed**2 - 2 * G) / (3 * G)) < 1e-6
    assert tr["cable.gap"].min() > -1e-6


def test_a_pendulum_on_a_stop() -> None:
    m = dd.Model("pendulum on a stop")
    a = m.coordinate("a", start=0.5, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(a) ** 2)
    m.potential_energy(-G * ca.cos(a))
    m.unilateral("stop", a + 0.1, restitution=0.7)
    tr = dd.simulate(m, 3.0, rtol=1e-9)
    first = tr.events[0]
    speed = np.sqrt(2 * G * (np.cos(0.1) - np.cos(0.5)))
    assert abs(float(first.before["a_dot"]) + speed) < 1e-7
    assert abs(float(first.after["a_dot"]) - 0.7 * speed) < 1e-7
    slow = dd.simulate(m, 3.0, start={"a": -0.1, "a_dot": -1e-3})
    assert slow["a"].min() > -0.1 - 1e-9


def test_a_stop_that_moves() -> None:
    m = dd.Model("lift")
    h = m.coordinate("h", start=0.0, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(h) ** 2)
    m.potential_energy(G * h)
    lift = 0.1 * (1 - ca.cos(5 * m.time))
    m.unilateral("platform", h - lift)
    tr = dd.simulate(m, 1.0, rtol=1e-9)
    away = np.arccos(-G / 2.5) / 5 if G < 2.5 else None
    assert away is None
    assert not [e for e in tr.events if e.after["platform.mode"] == 0]
    assert np.allclose(tr["h"], 0.1 * (1 - np.cos(5 * tr.time)), atol=1e-7)
    assert abs(tr["platform"][-1] - (G + 2.5 * np.cos(5.0))) < 1e-6


def test_a_closed_loop_takes_part_in_the_impact() -> None:
    """A pendulum of index 3 against a wall: the rod's impulse keeps it on its circle."""
    m = dd.Model("pendulum and wall")
    q = m.coordinate("q", 2, start=[0.6, -0.8], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(G * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    m.unilateral("wall", q[0] + 0.2, restitution=0.8)
    for method in ("auto", "radau5"):
        tr = dd.simulate(m, 2.0, method=method, rtol=1e-8)
        first = tr.events[0]
        before, after = np.array(first.before["q_dot"]), np.array(first.after["q_dot"])
        assert tr.success
        assert np.allclose(after, -0.8 * before, atol=1e-6)
        assert tr["q"][:, 0].min() > -0.2 - 1e-6
        assert max(tr.drift().values()) < 1e-5


def test_a_taut_cable_keeps_its_length_at_any_tolerance() -> None:
    tr = dd.simulate(cable([0.6, -0.8], [0.0, 0.0]), 20.0, rtol=1e-4)
    assert abs(tr["cable.gap"]).max() < 1e-9
    assert np.all(tr["cable.mode"] == 1)


def test_what_touches_without_a_force_is_pressed_together_later() -> None:
    m = dd.Model("two blocks")
    x = m.coordinate("x", 2, start=[0.0, 1.0], rate=0.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(x)))
    m.generalised_force(x[0], m.time**2)
    m.unilateral("buffer", x[1] - x[0] - 1.0)
    tr = dd.simulate(m, 2.0, rtol=1e-9)
    assert tr.success
    assert abs(tr["buffer"][-1] - 2.0) < 1e-6
    assert tr["buffer.gap"].min() > -1e-9
    assert abs(tr["x"][-1][0] - 2.0**4 / 24) < 1e-6


def test_a_platform_that_an_input_moves() -> None:
    m = dd.Model("platform")
    h, lift = m.coordinate("h", start=0.0, rate=0.0), m.input("lift")
    m.kinetic_energy(0.5 * m.rate(h) ** 2)
    m.potential_energy(G * h)
    m.unilateral("platform", h - lift)
    tr = dd.simulate(m, 1.0, inputs={"lift": 0.5 * ca.sin(5 * m.time)}, start={"h_dot": 2.5}, rtol=1e-9)
    # It lets go where the platform falls faster than the ball: 12.5 sin(5 t) = g.
    away = np.arcsin(G / 12.5) / 5
    assert abs(tr.events[0].time - away) < 1e-6
    assert tr.at(away / 2)["platform.mode"] == 1
    assert tr["platform.gap"].min() > -1e-8


def test_contacts_that_end_a_run_are_named() -> None:
    system = cable([1.0, 0.0], [0.0, 0.0]).freeze()
    run = SimpleNamespace(
        status="chattering", stop_time=0.5, culprit=-1, culprit_stage="", events=[(0, 0.5, None, None)], steps=7,
        jacobians=0, newton_failures=0, rested=False,
    )  # fmt: skip
    stop = stop_of(run, system, None, None)
    assert str(stop) == (
        "contacts open and close without progress at t = 0.5: cable; try a restitution of zero, another method, or a "
        "smaller step where it is fixed"
    )


def test_a_push_with_the_other_sign_is_told() -> None:
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81 - m.unilateral("floor", h))
    assert dd.simulate(m, 2.0).stop_reason == (
        "floor acts the wrong way round at t = 0; a force of 1 changes the rate of its gap by -1; "
        "try + floor in place of - floor in the equations of motion"
    )


@pytest.mark.parametrize("size", [1.0, 1e-9])
def test_bounces_of_any_length_end_at_the_same_time(size):
    """h = 1 and e = 1/2: at rest at 3 √(2 h / g), in metres and in nanometres."""
    m = dd.Model("ball")
    h = m.coordinate("h", start=size, rate=0.0, nominal=size)
    m.kinetic_energy(0.5 * m.rate(h) ** 2)
    m.potential_energy(9.81 * size * h)
    m.unilateral("table", h, restitution=0.5)
    tr = dd.simulate(m, 3.0, rtol=1e-9)
    assert tr.transitions[-1].time == pytest.approx(3 * np.sqrt(2 / 9.81), rel=1e-7)
    assert abs(float(tr["h"][-1])) < 1e-11 * size
    assert float(tr["table"][-1]) == pytest.approx(9.81 * size, rel=1e-9)
