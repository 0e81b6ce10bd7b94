"""Inverse kinematics: targets are checked by the pose, redundant robots stay near their posture, limits hold."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.random_urdf import random_urdf

import daedalus as dd


@pytest.mark.parametrize("seed", range(5))
def test_random_arms_reach_poses_that_they_can_have(seed: int) -> None:
    m = dd.read_urdf(random_urdf(seed, links=7, kinds=("revolute",)))
    robot = m.robot()
    q = np.random.default_rng(seed).uniform(-1.9, 1.9, size=len(robot.labels["q"]))
    name = "link6"
    wanted = robot.pose(name, q)
    found = dd.inverse_kinematics(m, {f"{name}.position": wanted[:3, 3], f"{name}.rotation": wanted[:3, :3]})
    assert found.reached, found
    np.testing.assert_allclose(robot.pose(name, found.q), wanted, atol=1e-7)
    assert np.all(np.abs(found.q) <= 2.0)


def seven_joints() -> dd.Model:
    """Axes along z and y in turn, 0.3 m apart, between limits."""
    m = dd.Model("seven joints")
    before: object = dd.ground
    for k in range(7):
        body = m.body(f"b{k}", mass=1.0, inertia=[0.1, 0.1, 0.1])
        axis, at = [0, k % 2, 1 - k % 2], [0, 0, 0.15 if k else 0.0]
        options = {"at_b": [0, 0, -0.15], "axis_a": axis, "limits": (-2.0, 2.0), "coordinates": "joint"}
        m.joint(f"j{k}", "revolute", before, body, at_a=at, **options)
        before = body
    return m


@pytest.mark.parametrize("count", [20, pytest.param(300, marks=pytest.mark.wide)])
def test_what_limits_let_a_robot_reach_is_found(count: int) -> None:
    """From one posture one pose in fifty ends in local minima of a dozen starts."""
    m = seven_joints()
    robot, draw = m.robot(), np.random.default_rng(0)
    for _ in range(count):
        wanted = robot.pose("b6", draw.uniform(-1.9, 1.9, 7))
        found = dd.inverse_kinematics(m, {"b6.position": wanted[:3, 3], "b6.rotation": wanted[:3, :3]})
        assert found.reached, found
        np.testing.assert_allclose(robot.pose("b6", found.q), wanted, atol=1e-7)


def test_a_robot_is_kept_until_its_model_changes() -> None:
    m = seven_joints()
    robot = m.robot()
    assert m.robot() is robot
    m.frame("tool", m.bodies["b6"], at=[0, 0, 0.15])
    assert m.robot() is not robot
    assert "tool" in m.robot().frames


def arm(links: int = 4) -> dd.Model:
    m = dd.Model("planar arm")
    before: object = dd.ground
    for k in range(links):
        body = m.body(f"b{k}", mass=1.0, inertia=[0.1, 0.1, 0.1])
        at = [0.5 if k else 0.0, 0, 0]
        options = {"at_b": [-0.5, 0, 0], "axis_a": [0, 0, 1], "coordinates": "joint"}
        m.joint(f"j{k}", "revolute", before, body, at_a=at, **options)
        before = body
    m.frame("tool", before, at=[0.5, 0, 0])
    return m


def test_what_the_target_leaves_open_stays_near_the_posture() -> None:
    m, preferred = arm(), {"j0.angle": 0.3, "j1.angle": 0.4, "j2.angle": -0.2, "j3.angle": 0.5}
    robot = m.robot()
    target = robot.pose("tool", np.array(list(preferred.values())))[:3, 3]
    same = dd.inverse_kinematics(m, {"tool.position": target}, start=preferred)
    np.testing.assert_allclose(same.q, list(preferred.values()), atol=1e-7)
    near = dd.inverse_kinematics(m, {"tool.position": target + np.array([0.0, 0.1, 0.0])}, start=preferred)
    assert near.reached
    # No posture on the target is nearer: the way to the preferred one is across what the target leaves open.
    jacobian = robot.jacobian("tool", near.q)[:2]
    way = np.array(list(preferred.values())) - near.q
    free = way - np.linalg.pinv(jacobian) @ (jacobian @ way)
    assert np.abs(free).max() < 1e-4


def test_out_of_reach_is_told_with_the_distance() -> None:
    found = dd.inverse_kinematics(arm(2), {"tool.position": [0.0, 3.0, 0.0]})
    assert not found.reached
    assert found.distance == pytest.approx(1.0, abs=1e-6)
    assert str(found) == "tool.position is out of reach: 1 m are missing."
    assert dd.simulate(arm(2), 0.1, start={**found.values, "j0.angle_dot": 0.0, "j1.angle_dot": 0.0}).success


def test_limits_hold_and_are_named() -> None:
    text = random_urdf(0, links=1, kinds=("revolute",))
    m = dd.read_urdf(text)
    robot = m.robot()
    far = robot.pose("link0", np.array([3.0]))
    name = robot.labels["q"][0]
    held = dd.inverse_kinematics(m, {"link0.rotation": far[:3, :3]})
    assert (held.reached, held.at_limits, abs(held.q[0])) == (False, (name,), 2.0)
    assert dd.inverse_kinematics(m, {"link0.rotation": far[:3, :3]}, limits=False).reached


def test_wrong_targets_are_refused_in_words() -> None:
    with pytest.raises(dd.InputError, match=r"'tol.position' is not a target.(.|\n)*Try: 'tool.position'"):
        dd.inverse_kinematics(arm(2), {"tol.position": [0, 0, 0]})
    with pytest.raises(dd.InputError, match=r"The target 'tool.position' is not a position."):
        dd.inverse_kinematics(arm(2), {"tool.position": [0, np.nan, 0]})
    with pytest.raises(dd.InputError, match=r"The robot has no coordinate 'j9.angle'."):
        dd.inverse_kinematics(arm(2), {"tool.position": [0, 1, 0]}, start={"j9.angle": 1.0})
