"""Random trees of bodies and joints, written once for both kinds of coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

import daedalus as dd

KINDS = ("revolute", "prismatic", "spherical", "universal", "fixed", "planar")


def random_direction(rng: np.random.Generator) -> np.ndarray:
    """A direction; every second one along an axis of the frame."""
    if rng.random() < 0.5:
        return np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    way = rng.normal(size=3)
    return way / np.linalg.norm(way)


def random_tree(seed: int, coordinates: str, count: int = 4, *, free: bool = False, forces: bool = True) -> dd.Model:
    """A tree of `count` bodies; the same numbers for the same seed, whatever the coordinates are."""
    rng = np.random.default_rng(seed)
    m = dd.Model(f"tree {seed}")
    m.gravity([0.3, -0.2, -9.81])
    bodies: list[Any] = []
    for k in range(count):
        points = rng.normal(size=(6, 3)) * 0.3  # a cloud of mass points has the inertia of a real body
        inertia = sum(p @ p * np.eye(3) - np.outer(p, p) for p in points) / 6
        bodies.append(m.body(f"b{k}", mass=float(rng.uniform(0.5, 2.0)), inertia=inertia))
    for k in range(1 if free else 0, count):
        partner = dd.ground if k == 0 else bodies[rng.integers(k)]
        kind = str(rng.choice(KINDS))
        options: dict[str, Any] = {"at_a": rng.normal(size=3) * 0.3, "at_b": rng.normal(size=3) * 0.3 + 0.2}
        one, two = random_direction(rng), random_direction(rng)
        if kind in ("revolute", "prismatic", "universal", "planar"):
            options |= {"axis_a": one, "axis_b": two}
        pair = (partner, bodies[k])
        if rng.random() < 0.3:  # written from the far side: the tree walks it backwards
            pair = pair[::-1]
            options["at_a"], options["at_b"] = options["at_b"], options["at_a"]
        m.joint(f"j{k}", kind, *pair, **options, coordinates=coordinates)
    if forces:
        last = bodies[-1]
        last.apply_force([1.0, 2.0, 0.5 * last.velocity[1]], at=[0.1, 0.2, 0.0])
        last.apply_torque([0.1, -0.2, 0.3], frame="world")
        m.potential_energy(5.0 * (bodies[0].point([0.1, 0.0, 0.2])[2] - last.position[2]) ** 2)
        m.dissipation(0.1 * last.velocity.T @ last.velocity)
    return m


def random_joint_start(m: dd.Model, seed: int) -> dict[str, np.ndarray]:
    """Values and rates for the states of a model in joint coordinates."""
    rng = np.random.default_rng(seed + 1000)
    start: dict[str, np.ndarray] = {}
    for variable in m.freeze().of_kind("state"):
        value = rng.normal(size=variable.size) * 0.5
        if variable.name.endswith("quaternion"):
            value = np.array([1.5, *value[1:]])
            value /= np.linalg.norm(value)
        start[variable.name] = value if variable.shape else value[0]
        if variable.name.endswith(("angle", "displacement", "angles", "pose")):
            rate = rng.normal(size=variable.size) * 0.5
            start[f"{variable.name}_dot"] = rate if variable.shape else rate[0]
    return start


def body_start(tr: Any, m: dd.Model) -> dict[str, np.ndarray]:
    """The first row of a run in joint coordinates as a start in body coordinates."""
    names = (
        f"{body}.{what}" for body in m.bodies for what in ("position", "velocity", "quaternion", "angular_velocity")
    )
    return {name: tr[name][0] for name in names}
