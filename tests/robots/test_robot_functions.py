"""Laws that the functions of a robot keep: two ways to each number, derivatives by differences, power."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.random_trees import random_tree
from tests.support.rings import examples

import daedalus as dd
from daedalus.robots.robot_functions import VECTORS


class Interpreted(dd.Robot):
    """The same functions without machine code: random robots are asked once."""

    def _call(self, name: str, *given: np.ndarray) -> tuple[np.ndarray, ...]:
        function = self.functions[name]
        found = function.call([ca.DM(value) for value in given])
        return tuple(x.full() if function.name_out(k) not in VECTORS else x.full().ravel() for k, x in enumerate(found))


def posture(robot: dd.Robot, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    labels = robot.labels["q"]
    q, rest = rng.normal(size=len(labels)), [rng.normal(size=len(robot.labels["v"])) for _ in range(3)]
    return unit(robot, q), *rest


def unit(robot: dd.Robot, q: np.ndarray) -> np.ndarray:
    q = q.copy()
    for k, label in enumerate(robot.labels["q"]):
        if label.endswith("quaternion[0]"):
            q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
    return q


@settings(max_examples=examples(3), deadline=None)
@given(seed=st.integers(0, 10_000), free=st.booleans())
def test_two_ways_to_every_number(seed: int, free: bool) -> None:
    robot = Interpreted(random_tree(seed, "joint", 3, free=free, forces=False))
    q, v, a, tau = posture(robot, seed)
    matrix = robot.mass_matrix(q)
    assert np.array_equal(matrix, matrix.T)
    condition = np.linalg.cond(matrix)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), matrix @ a + robot.bias(q, v), atol=1e-10)
    found = robot.forward_dynamics(q, v, tau)
    assert np.abs(matrix @ found + robot.bias(q, v) - tau).max() <= 1e-13 * condition * max(1.0, np.abs(found).max())
    np.testing.assert_allclose(robot.bias(q, 0 * v), robot.gravity(q), atol=1e-12)
    kinetic, _ = robot.energy(q, v)
    assert kinetic == pytest.approx(v @ matrix @ v / 2, rel=1e-12)
    name = robot.frames[-1]
    np.testing.assert_allclose(robot.jacobian(name, q) @ v, robot.velocity(name, q, v), atol=1e-12)
    # What the kinetic energy gains is what the joint forces and the weight supply: T' = vᵀ (τ − gravity).
    step = 1e-6
    rate = np.array(robot.functions["rate"](q, v)).ravel()
    ahead = robot.energy(unit(robot, q + step * rate), v + step * found)[0]
    behind = robot.energy(unit(robot, q - step * rate), v - step * found)[0]
    power = v @ (tau - robot.gravity(q))
    assert (ahead - behind) / (2 * step) == pytest.approx(power, rel=1e-5, abs=1e-4 * max(1.0, abs(kinetic)))


@pytest.mark.parametrize("free", [False, True])
def test_derivatives_are_those_of_differences(free: bool) -> None:
    robot = random_tree(5, "joint", free=free, forces=False).robot()
    q, v, a, tau = posture(robot, 5)
    for name, last in (("forward_dynamics", tau), ("inverse_dynamics", a)):
        function = getattr(robot, name)
        by_q, by_v, by_last = getattr(robot.derivatives, name)(q, v, last)
        way, step = np.random.default_rng(1).normal(size=v.size), 1e-6
        rate = np.array(robot.functions["rate"](q, way)).ravel()
        for found, one, two in (
            (by_q @ way, (unit(robot, q + step * rate), v, last), (unit(robot, q - step * rate), v, last)),
            (by_v @ way, (q, v + step * way, last), (q, v - step * way, last)),
            (by_last @ way, (q, v, last + step * way), (q, v, last - step * way)),
        ):
            wanted = (function(*one) - function(*two)) / (2 * step)
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(wanted).max()))


def test_batches_are_rows_and_functions_are_casadis() -> None:
    robot = random_tree(3, "joint", forces=False).robot()
    q, v, _, tau = posture(robot, 3)
    many = robot.forward_dynamics(np.tile(q, (5, 1)), v, np.tile(tau, (5, 1)))
    assert many.shape == (5, v.size)
    assert np.array_equal(many[4], robot.forward_dynamics(q, v, tau))
    assert robot.pose("b1", np.tile(q, (5, 1))).shape == (5, 4, 4)
    np.testing.assert_array_equal(robot.pose("b1", np.tile(q, (5, 1)))[2], robot.pose("b1", q))
    assert robot.jacobian("b1", q).shape == (6, v.size)
    function = robot.functions["forward_dynamics"]
    assert isinstance(function, ca.Function)
    np.testing.assert_allclose(np.array(function(q, v, tau)).ravel(), robot.forward_dynamics(q, v, tau), rtol=1e-12)
    assert "pose b1" in list(robot.functions)


@pytest.mark.wide
def test_the_work_of_forward_dynamics_grows_with_the_number_of_links() -> None:
    def work(links: int) -> int:
        m = dd.Model("chain")
        m.gravity([0, 0, -9.81])
        before: object = dd.ground
        for k in range(links):
            body = m.body(f"b{k}", mass=1.0, inertia=[0.1, 0.1, 0.01])
            options = {"at_b": [0, 0, 0.5], "axis_a": [0, 1, 0] if k % 2 else [1, 0, 0], "coordinates": "joint"}
            m.joint(f"j{k}", "revolute", before, body, at_a=[0, 0, -0.5 if k else 0], **options)
            before = body
        return int(m.robot().functions["forward_dynamics"].n_instructions())

    ten, twenty, forty = work(10), work(20), work(40)
    assert (forty - twenty) / (twenty - ten) == pytest.approx(2.0, rel=0.02)


def test_what_no_robot_has_is_refused_in_words() -> None:
    with pytest.raises(dd.ModelError, match=r"The model 'nothing' has no bodies."):
        dd.Model("nothing").robot()
    robot = random_tree(3, "joint", forces=False).robot()
    with pytest.raises(dd.InputError, match=r"q of mass_matrix has the wrong shape.\n  got \(2,\)"):
        robot.mass_matrix([0.0, 1.0])
    with pytest.raises(dd.InputError, match=r"The robot has no frame 'b9'."):
        robot.pose("b9", np.zeros(len(robot.labels["q"])))
    with pytest.raises(dd.InputError, match=r"A robot has no function 'forward_dynamic'."):
        robot.functions["forward_dynamic"]
