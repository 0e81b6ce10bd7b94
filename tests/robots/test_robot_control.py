"""Control laws of robots: each does to the accelerations what it says, and closed loops reach their goals."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from tests.support.random_trees import random_tree

import daedalus as dd


def posture(robot: object, seed: int) -> list[np.ndarray]:
    """Random positions, velocities, goals; quaternions of unit length."""
    rng = np.random.default_rng(seed)
    q, goal = (rng.normal(size=len(robot.labels["q"])) * 0.5 for _ in range(2))
    for x in (q, goal):
        for k, label in enumerate(robot.labels["q"]):
            if label.endswith("quaternion[0]"):
                x[k] += 1.5
                x[k : k + 4] /= np.linalg.norm(x[k : k + 4])
    return [q, rng.normal(size=len(robot.labels["v"])), goal]


@pytest.mark.parametrize("seed", range(4))
def test_differences_lead_to_the_goal(seed: int) -> None:
    """Along q' = N(q) way the goal is reached to second order: the rest shrinks with the square of the way."""
    robot = random_tree(seed, "joint", free=True, forces=False).robot()
    q, v, _ = posture(robot, seed)
    rate = np.array(robot.functions["rate"](q, v)).ravel()
    for step in (1e-2, 1e-4):
        ahead = q + step * rate
        for k, label in enumerate(robot.labels["q"]):
            if label.endswith("quaternion[0]"):
                ahead[k : k + 4] /= np.linalg.norm(ahead[k : k + 4])
        np.testing.assert_allclose(robot.difference(q, ahead), step * v, atol=20 * step**3)


@pytest.mark.parametrize("seed", range(4))
def test_computed_torque_gives_the_acceleration_that_it_asks_for(seed: int) -> None:
    robot = random_tree(seed, "joint", forces=False).robot()
    q, v, goal = posture(robot, seed)
    rate, rise = np.random.default_rng(seed + 9).normal(size=(2, v.size))
    tau = robot.control.computed_torque(q, v, goal, rate, rise, stiffness=50.0, damping=12.0)
    wanted = rise + 12.0 * (rate - v) + 50.0 * robot.difference(q, goal)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
    held = robot.control.gravity_pd(q, v, goal, stiffness=50.0, damping=np.arange(v.size))
    by_hand = 50.0 * robot.difference(q, goal) - np.arange(v.size) * v + robot.gravity(q)
    np.testing.assert_allclose(held, by_hand, rtol=1e-10, atol=1e-10 * np.abs(by_hand).max())


def chain(seed: int, links: int = 7) -> dd.Model:
    """An arm of hinges about random axes, with a tool at its end."""
    rng = np.random.default_rng(seed)
    m = dd.Model("arm")
    m.gravity([0, 0, -9.81])
    before: object = dd.ground
    for k in range(links):
        body = m.body(f"b{k}", mass=float(rng.uniform(0.5, 2.0)), inertia=[0.1, 0.12, 0.15])
        options = {"at_a": rng.normal(size=3) * 0.3, "at_b": rng.normal(size=3) * 0.3, "axis_a": rng.normal(size=3)}
        m.joint(f"j{k}", "revolute", before, body, coordinates="joint", **options)
        before = body
    m.frame("tool", before, at=[0.1, 0.2, 0.3])
    return m


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("turns", [False, True])
def test_operational_space_decouples_the_frame(seed: int, turns: bool) -> None:
    robot, frame, rows = chain(seed).robot(), "tool", 6 if turns else 3
    at = np.random.default_rng(seed).normal(size=len(robot.labels["q"]))
    v, aim = np.random.default_rng(seed + 5).normal(size=(2, at.size))
    pose = robot.pose(frame, aim)
    options = {"rotation": pose[:3, :3]} if turns else {}
    found = []
    for wish in (None, aim):
        tau = robot.control.operational_space(
            frame, at, v, pose[:3, 3], acceleration=[0.1, 0.2, 0.3], posture=wish, **options
        )
        a = robot.forward_dynamics(at, v, tau)
        found.append(robot.jacobian(frame, at) @ a + robot.jacobian_rate(frame, at, v) @ v)
    here, speed = robot.pose(frame, at), robot.velocity(frame, at, v)
    wanted = np.array([0.1, 0.2, 0.3]) - 20.0 * speed[:3] + 100.0 * (pose[:3, 3] - here[:3, 3])
    if turns:
        away = pose[:3, :3] @ here[:3, :3].T
        sine = np.array([away[2, 1] - away[1, 2], away[0, 2] - away[2, 0], away[1, 0] - away[0, 1]]) / 2
        wanted = np.concatenate([wanted, 100.0 * sine - 20.0 * speed[3:]])
    size = np.abs(wanted).max() * np.linalg.cond(robot.mass_matrix(at))
    for rise in found:
        np.testing.assert_allclose(rise[:rows], wanted, atol=1e-9 * size)


def test_arrays_batches_and_expressions_agree() -> None:
    robot = random_tree(3, "joint", forces=False).robot()
    q, v, goal = posture(robot, 3)
    one = robot.control.gravity_pd(q, v, goal)
    many = robot.control.gravity_pd(np.tile(q, (5, 1)), v, goal)
    np.testing.assert_array_equal(many[3], one)
    assert repr(robot) == f"Robot('tree 3': {q.size} positions, {v.size} velocities)"
    law = ca.Function("law", [robot.q, robot.v], [robot.control.gravity_pd(robot.q, robot.v, goal)])
    np.testing.assert_allclose(np.array(law(q, v)).ravel(), one, rtol=1e-10, atol=1e-10)
    with pytest.raises(dd.InputError, match=r"goal of gravity_pd has the wrong shape.\n  got \(2,\)"):
        robot.control.gravity_pd(q, v, [0.0, 1.0])
    with pytest.raises(dd.InputError, match=r"The joint forces have the wrong size."):
        robot.actuate([0.0])


def ball_and_hinge(free: bool) -> dd.Model:
    m = dd.Model("arm")
    m.gravity([0, 0, 0 if free else -9.81])
    base: object = dd.ground
    if free:
        rest = {"position": [0, 0, 0], "velocity": [0, 0, 0], "rotation": [1, 0, 0, 0], "angular_velocity": [0, 0, 0]}
        base = m.body("base", 5.0, [0.5, 0.5, 0.5], **rest)
    upper, lower = m.body("upper", 1.0, [0.1, 0.1, 0.02]), m.body("lower", 1.0, [0.1, 0.1, 0.02])
    shoulder = {"start": [1, 0, 0, 0], "rate": [0, 0, 0]}
    m.joint("shoulder", "spherical", base, upper, at_b=[0, 0, 0.5], coordinates="joint", **shoulder)
    places = {"at_a": [0, 0, -0.5], "at_b": [0, 0, 0.5], "axis_a": [0, 1, 0], "start": 0.3, "rate": 0.0}
    m.joint("elbow", "revolute", upper, lower, coordinates="joint", **places)
    m.frame("hand", lower, at=[0, 0, -0.5])
    return m


@pytest.mark.parametrize("free", [False, True])
def test_closed_loops_reach_their_goals(free: bool) -> None:
    """A ball joint and a hinge, on the ground and on a base that floats, whose momentum stays zero."""
    m = ball_and_hinge(free)
    robot = m.robot()
    turn = np.array([np.cos(0.3), *(np.sin(0.3) * np.array([0.6, 0.0, 0.8]))])
    goal = np.concatenate([np.zeros(3), [1, 0, 0, 0], turn, [0.8]]) if free else np.concatenate([turn, [0.8]])
    robot.actuate(robot.control.gravity_pd(robot.q, robot.v, goal, stiffness=40.0, damping=15.0))
    tr = dd.simulate(m, 12.0)
    assert tr.success
    np.testing.assert_allclose(tr["elbow.angle"][-1], 0.8, atol=1e-3)
    np.testing.assert_allclose(tr["shoulder.quaternion"][-1], turn, atol=1e-3)
    if free:
        np.testing.assert_allclose(tr["base.velocity"][-1], 0.0, atol=1e-3)
        assert np.abs(tr["base.quaternion"][-1] - [1, 0, 0, 0]).max() > 1e-2  # it turned the other way


def test_sizes_that_do_not_fit_are_refused_in_words() -> None:
    m = dd.Model("slide")
    cart = m.body("cart", mass=3.0, inertia=[0.1, 0.1, 0.1])
    m.joint("rail", "prismatic", dd.ground, cart, axis_a=[1, 0, 0], coordinates="joint")
    robot = m.robot()
    for goal, rate, words in (([1.0, 2.0], 0.0, "goal"), ([1.0], ca.vertcat(m.time, m.time), "rate")):
        with pytest.raises(dd.InputError, match=f"{words} of computed_torque has the wrong shape"):
            robot.control.computed_torque(robot.q, robot.v, goal, rate)
    with pytest.raises(dd.InputError, match="The batches for forward_dynamics have different numbers of rows"):
        robot.forward_dynamics(np.zeros((3, 1)), np.zeros((2, 1)), np.zeros(1))
    with pytest.raises(dd.InputError, match=r"The start of 'rail.displacement' is not 1 number"):
        dd.inverse_kinematics(m, {"cart.position": [0, 0, 0]}, start={"rail.displacement": float("nan")})
