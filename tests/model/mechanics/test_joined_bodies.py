"""Which bodies joints of trees join already: a joint between two of those closes a loop, and stays a constraint."""

import numpy as np
import pytest

import daedalus as dd


def reached(pairs, body):
    """All bodies that joints lead to, found one after the other."""
    found, waiting = {body}, [body]
    while waiting:
        own = waiting.pop()
        for pair in pairs:
            if own in pair:
                (other,) = set(pair) - {own}
                if other not in found:
                    found.add(other)
                    waiting.append(other)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_joints_between_joined_bodies_close_loops(seed):
    draw, m = np.random.default_rng(seed), dd.Model("graph")
    bodies = {f"b{k}": m.body(f"b{k}", mass=1.0, inertia=0.1, orientation="planar") for k in range(8)}
    bodies["ground"] = dd.ground
    pairs, names = [], list(bodies)
    for k in range(14):
        a, b = draw.choice(names, 2, replace=False)
        closes = b in reached(pairs, a)
        m.joint(f"j{k}", "revolute", bodies[a], bodies[b], at_a=[k, 1.0], coordinates="joint")
        assert (f"j{k}" in m.written.mechanics.tree) is not closes
        pairs += [] if closes else [(a, b)]


def test_parts_bring_what_their_joints_join():
    part = dd.Model("arm")
    links = [part.body(name, mass=1.0, inertia=0.1, orientation="planar") for name in ("upper", "lower")]
    part.joint("elbow", "revolute", *links, at_a=[0.5, 0.0], at_b=[-0.5, 0.0], coordinates="joint")
    whole = dd.Model("whole")
    for side in ("left", "right"):
        whole.include(side, part)
    upper = {side: whole.bodies[f"{side}.upper"] for side in ("left", "right")}
    lower = {side: whole.bodies[f"{side}.lower"] for side in ("left", "right")}
    whole.joint("shoulders", "revolute", upper["left"], upper["right"], at_a=[-0.5, 0.0], coordinates="joint")
    whole.joint("hands", "revolute", lower["left"], lower["right"], at_a=[0.5, 0.0], coordinates="joint")
    assert set(whole.written.mechanics.tree) == {"left.elbow", "right.elbow", "shoulders"}
    assert set(whole.written.mechanics.constraints) == {"hands"}
