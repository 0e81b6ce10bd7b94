"""Random graphs of joints with a loop: accelerations in joint coordinates and in those of all bodies, and power.

The two share no recursion: in body coordinates the mass matrix is that of single bodies and every joint a constraint.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.robots.test_robot_functions import Interpreted
from tests.support.rings import examples

import daedalus as dd
from daedalus.geometry.quaternions import quaternion_from_rotation
from daedalus.robots.robot_constraints import unit_quaternions

KINDS = ("revolute", "prismatic", "spherical", "universal")
BODIES = 4


def graph(seed, coordinates, loop=None, poses=None):
    """A random tree of bodies; loop: the bodies and points of a ball joint or a rod that closes it."""
    draw = np.random.default_rng(seed)
    m = dd.Model(f"graph {seed}")
    m.gravity([0.3, -0.2, -9.81])
    bodies: list[object] = [dd.ground]
    for k in range(BODIES):
        start = {} if poses is None else {
            "position": poses[k][:3, 3], "rotation": quaternion_from_rotation(poses[k][:3, :3]),
        }  # fmt: skip
        body = m.body(f"b{k}", draw.uniform(0.5, 2.0), draw.uniform(0.1, 0.15, 3), **start)
        kind, carrier = KINDS[draw.integers(4)], bodies[draw.integers(max(0, k - 1), k + 1)]
        options = {"at_a": draw.normal(size=3) * 0.4, "at_b": draw.normal(size=3) * 0.4}
        axes = [(axis / np.linalg.norm(axis)).tolist() for axis in draw.normal(size=(2, 3))]
        if kind != "spherical":
            options["axis_a"] = axes[0]
        if kind == "universal":
            options["axis_b"] = axes[1]
        m.joint(f"j{k}", kind, carrier, body, coordinates=coordinates, **options)
        bodies.append(body)
    if loop is not None:
        kind, one, two, at_one, at_two, extra = loop
        m.joint("loop", kind, bodies[one], bodies[two], at_a=at_one, at_b=at_two, coordinates=coordinates, **extra)
    return m


def random_loop(tree, q, draw):
    """A rod between the ground and the last body, or a ball joint between two bodies, as they stand."""
    first, last = (0, BODIES) if draw.integers(2) else (1, BODIES)
    place = draw.normal(size=3) * 0.3
    here = np.eye(4) if first == 0 else tree.pose(f"b{first - 1}", q)
    there = tree.pose(f"b{last - 1}", q)
    if first == 0:
        point = draw.normal(size=3) * 0.3
        world = there[:3, 3] + there[:3, :3] @ point
        return "distance", first, last, place, point, {"length": float(np.linalg.norm(world - place))}
    point = there[:3, :3].T @ (here[:3, 3] + here[:3, :3] @ place - there[:3, 3])
    return "spherical", first, last, place, point, {}


@settings(max_examples=examples(3, 1), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_accelerations_of_graphs_are_those_of_body_coordinates(seed):
    draw = np.random.default_rng(seed + 1)
    tree = Interpreted(graph(seed, "joint"))
    q = unit_quaternions(tree._functions.symbols, draw.normal(size=len(tree.labels["q"])))
    loop, poses = random_loop(tree, q, draw), [tree.pose(f"b{k}", q) for k in range(BODIES)]
    joint, body = Interpreted(graph(seed, "joint", loop)), Interpreted(graph(seed, "body", loop, poses))
    _, slopes = joint._call("constraints", q)
    rank = np.linalg.matrix_rank(slopes)
    if rank == slopes.shape[1] or rank < len(slopes):
        return  # nothing moves, or a ball joint over bodies that turn about one line
    v = draw.normal(size=len(joint.labels["v"]))
    v = v - np.linalg.pinv(slopes) @ (slopes @ v)
    a = joint.forward_dynamics(q, v, np.zeros(len(v)))
    places = np.concatenate([np.concatenate([p[:3, 3], quaternion_from_rotation(p[:3, :3])]) for p in poses])
    moving, wanted = [], []
    for k, pose in enumerate(poses):
        back = pose[:3, :3].T
        twist, rise = joint.velocity(f"b{k}", q, v), joint.jacobian(f"b{k}", q) @ a
        rise = rise + joint.jacobian_rate(f"b{k}", q, v) @ v
        moving += [twist[:3], back @ twist[3:]]
        wanted += [rise[:3], back @ rise[3:]]
    found = body.forward_dynamics(places, np.concatenate(moving), np.zeros(6 * BODIES))
    wanted = np.concatenate(wanted)
    well = np.linalg.cond(joint.mass_matrix(q)) * np.linalg.cond(slopes)
    np.testing.assert_allclose(found, wanted, atol=1e-11 * well * max(1.0, np.abs(wanted).max()))
    # The loop does no work: what the kinetic energy gains is what the weight loses.
    step, rate = 1e-6, np.array(joint.functions["rate"](q, v)).ravel()
    symbols = joint._functions.symbols
    ahead, behind = (sum(joint.energy(unit_quaternions(symbols, q + s * rate), v + s * a)) for s in (step, -step))
    scale = max(1.0, joint.energy(q, v)[0], np.abs(a).max() * np.abs(v).max())
    assert (ahead - behind) / (2 * step) == pytest.approx(0.0, abs=1e-4 * scale)
