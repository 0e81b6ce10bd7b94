"""Robots whose joints close loops, and several free bodies: accelerations, inverse kinematics, derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd
from daedalus.robots.robot_constraints import unit_quaternions


def four_bar(space: bool, closing: str = "joint") -> dd.Model:
    """Bars of 1, 2 and 1.5 m on pivots 2 m apart; in space the loop of hinges holds three rows too many."""
    m = dd.Model("four bar")
    m.gravity([0, -9.81, 0] if space else [0, -9.81])
    more = {"axis_a": [0, 0, 1]} if space else {}

    def at(x):
        return [x, 0, 0] if space else [x, 0]

    def bar(name, mass, inertia):
        return m.body(name, mass, [0.01, inertia, inertia] if space else inertia, *(() if space else ("planar",)))

    a, b, c = bar("a", 1.0, 1 / 12), bar("b", 2.0, 2 / 3), bar("c", 1.5, 0.28)
    m.joint("j1", "revolute", dd.ground, a, at_b=at(-0.5), coordinates="joint", **more)
    m.joint("j2", "revolute", a, b, at_a=at(0.5), at_b=at(-1.0), coordinates="joint", **more)
    m.joint("j3", "revolute", b, c, at_a=at(1.0), at_b=at(0.75), coordinates="joint", **more)
    m.joint("j4", "revolute", dd.ground, c, at_a=at(2.0), at_b=at(-0.75), coordinates=closing, **more)
    return m


@pytest.mark.parametrize(
    ("space", "closing"), [(False, "joint"), (True, "joint"), pytest.param(True, "body", marks=pytest.mark.wide)]
)
def test_a_loop_has_the_accelerations_of_its_run(space: bool, closing: str) -> None:
    m = four_bar(space, closing)
    robot = m.robot()
    tr = dd.simulate(m, 0.3, start={"j1.angle": 1.2, "j1.angle_dot": 0.7}, rtol=1e-10, atol=1e-10)
    for k in (0, -1):
        q, v, a = (np.array([tr[f"j{j}.angle{what}"][k] for j in (1, 2, 3)]).ravel() for what in ("", "_dot", "_ddot"))
        found = robot.forward_dynamics(q, v, np.zeros(3))
        np.testing.assert_allclose(found, a, rtol=1e-7, atol=1e-7 * np.abs(a).max())


def test_derivatives_of_a_redundant_loop_are_those_of_differences() -> None:
    m = four_bar(True)
    robot = m.robot()
    start = dd.initialise(m, {"j1.angle": 1.2, "j1.angle_dot": 0.7})
    q, v = (np.array([float(start[f"j{j}.angle{what}"]) for j in (1, 2, 3)]) for what in ("", "_dot"))
    tau, step = np.array([0.3, -0.2, 0.1]), 1e-6
    _, by_v, by_tau = robot.derivatives.forward_dynamics(q, v, tau)
    for k, unit in enumerate(np.eye(3) * step):
        change = robot.forward_dynamics(q, v + unit, tau) - robot.forward_dynamics(q, v - unit, tau)
        np.testing.assert_allclose(by_v[:, k], change / (2 * step), rtol=1e-6, atol=1e-6 * np.abs(by_v).max())
        change = robot.forward_dynamics(q, v, tau + unit) - robot.forward_dynamics(q, v, tau - unit)
        np.testing.assert_allclose(by_tau[:, k], change / (2 * step), rtol=1e-6, atol=1e-6 * np.abs(by_tau).max())


def test_inverse_kinematics_closes_the_loop() -> None:
    m = four_bar(True)
    m.frame("coupler", "b", at=[0.0, 0.5, 0.0])
    robot = m.robot()
    start = dd.initialise(m, {"j1.angle": 1.0, "j1.angle_dot": 0.0})
    there = robot.pose("coupler", np.array([float(start[f"j{j}.angle"]) for j in (1, 2, 3)]))[:3, 3]
    near = {"j1.angle": 1.3, "j2.angle": -1.0, "j3.angle": -1.0}
    found = dd.inverse_kinematics(m, {"coupler.position": there}, start=near)
    assert found.reached, found
    np.testing.assert_allclose(robot.pose("coupler", found.q)[:3, 3], there, atol=1e-7)
    assert np.abs(np.ravel(robot._call("constraints", found.q)[0])).max() < 1e-8


def test_free_bodies_without_joints_belong_to_the_robot() -> None:
    """Two free bodies and a hinge: each has its own block of M, and Newton and Euler give the accelerations."""
    m = dd.Model("bodies")
    m.gravity([0, 0, -9.81])
    arm = m.body("arm", 2.0, [0.2, 0.2, 0.1])
    m.joint("hinge", "revolute", dd.ground, arm, at_b=[0, 0, 0.5], axis_a=[0, 1, 0], coordinates="joint")
    m.body("one", 1.5, [0.1, 0.2, 0.25])
    m.body("two", 0.5, [0.01, 0.02, 0.015])
    robot = m.robot()
    draw = np.random.default_rng(3)
    q = unit_quaternions(robot._functions.symbols, draw.normal(size=len(robot.labels["q"])))
    v, tau = draw.normal(size=(2, len(robot.labels["v"])))
    found = robot.forward_dynamics(q, v, tau)
    at = robot.labels["v"].index
    for name, mass, moments in (("one", 1.5, [0.1, 0.2, 0.25]), ("two", 0.5, [0.01, 0.02, 0.015])):
        linear, angular = at(f"{name}.velocity[0]"), at(f"{name}.angular_velocity[0]")
        spin, inertia = v[angular : angular + 3], np.array(moments)
        np.testing.assert_allclose(found[linear : linear + 3], tau[linear : linear + 3] / mass + [0, 0, -9.81])
        turned = (tau[angular : angular + 3] - np.cross(spin, inertia * spin)) / inertia
        np.testing.assert_allclose(found[angular : angular + 3], turned)


def test_joints_in_body_coordinates_hold_the_bodies_of_a_robot() -> None:
    """A pendulum whose hinge is a constraint between the coordinates of its body."""
    m = dd.Model("pendulum")
    m.gravity([0, 0, -9.81])
    rod = m.body("rod", 2.0, [0.1, 0.1, 0.01])
    m.joint("hinge", "revolute", dd.ground, rod, at_b=[0, 0, 0.5], axis_a=[0, 1, 0])
    angle = 0.7
    q = np.array([-0.5 * np.sin(angle), 0, -0.5 * np.cos(angle), np.cos(angle / 2), 0, np.sin(angle / 2), 0])
    found = m.robot().forward_dynamics(q, np.zeros(6), np.zeros(6))
    rise = -2.0 * 9.81 * 0.5 * np.sin(angle) / (0.1 + 2.0 * 0.25)
    np.testing.assert_allclose(found[3:], [0, rise, 0], atol=1e-12)
    np.testing.assert_allclose(found[:3], rise * np.array([-0.5 * np.cos(angle), 0, 0.5 * np.sin(angle)]), atol=1e-12)
