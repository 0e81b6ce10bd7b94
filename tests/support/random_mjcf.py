"""Random robots as MJCF text: nested bodies with every joint, defaults and five ways to write orientations."""

from __future__ import annotations

import numpy as np


def random_mjcf(seed: int, bodies: int = 6) -> str:
    """A robot of nested bodies with shapes or written inertias."""
    rng = np.random.default_rng(seed)
    parents = [-1, *(int(rng.integers(k)) for k in range(1, bodies))]

    def text(values: np.ndarray) -> str:
        return " ".join(repr(float(v)) for v in np.ravel(values))

    def orientation() -> str:
        way = rng.integers(5)
        if way == 0:
            return f'quat="{text(rng.normal(size=4))}"'
        if way == 1:
            return f'euler="{text(rng.uniform(-90, 90, size=3))}"'
        if way == 2:
            return f'axisangle="{text(rng.normal(size=3))} {float(rng.uniform(-90, 90))!r}"'
        if way == 3:
            return f'xyaxes="{text(rng.normal(size=6))}"'
        return f'zaxis="{text(rng.normal(size=3))}"'

    def mass() -> str:
        way = rng.integers(5)
        if way == 0:
            points = rng.normal(size=(6, 3)) * 0.2
            t = sum(p @ p * np.eye(3) - np.outer(p, p) for p in points)
            full = [t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[0, 2], t[1, 2]]
            return f'<inertial pos="{text(rng.normal(size=3) * 0.1)}" mass="1.5" fullinertia="{text(np.array(full))}"/>'
        if way == 1:
            ends = rng.normal(size=6) * 0.3
            return f'<geom type="capsule" fromto="{text(ends)}" size="0.07"/>'
        kind, size = [("box", 3), ("cylinder", 2), ("ellipsoid", 3)][way - 2]
        sizes = text(rng.uniform(0.05, 0.2, size=size))
        return f'<geom type="{kind}" pos="{text(rng.normal(size=3) * 0.1)}" {orientation()} size="{sizes}" mass="2.0"/>'

    def joints(k: int) -> str:
        if k == 0 and rng.random() < 0.4:
            return "<freejoint/>"
        way = rng.integers(4)
        place = f'pos="{text(rng.normal(size=3) * 0.1)}"'
        if way == 0:
            return f'<joint name="j{k}" type="ball" {place}/>'
        if way == 1:
            return f'<joint name="j{k}" type="slide" axis="{text(rng.normal(size=3))}" armature="0.1"/>'
        one = f'<joint name="j{k}" axis="{text(rng.normal(size=3))}" {place}/>'
        return one if way == 2 else f'<joint name="k{k}" axis="{text(rng.normal(size=3))}" {place}/>' + one

    def body(k: int) -> str:
        inner = "".join(body(c) for c in range(bodies) if parents[c] == k)
        place = f'pos="{text(rng.normal(size=3) * 0.4)}" {orientation()}'
        return f'<body name="b{k}" {place}>{joints(k)}{mass()}{inner}</body>'

    default = '<default><joint armature="0.02"/></default>'
    return f'<mujoco model="random"><option gravity="0.5 0.2 -9.81"/>{default}<worldbody>{body(0)}</worldbody></mujoco>'
