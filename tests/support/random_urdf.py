"""Random robots as URDF text: trees of links with every kind of joint that the format and its readers share."""

from __future__ import annotations

import numpy as np


def random_urdf(
    seed: int, links: int = 7, kinds: tuple[str, ...] = ("revolute", "continuous", "prismatic", "fixed")
) -> str:
    """A robot of `links` moving or fixed links behind a base, with skew inertias, axes and origins."""
    rng = np.random.default_rng(seed)

    def text(values: np.ndarray) -> str:
        return " ".join(repr(float(v)) for v in values)

    moments = '<inertia ixx="0.2" iyy="0.3" izz="0.25" ixy="0.01" ixz="0" iyz="0"/>'
    inertial = f'<origin xyz="0.1 -0.05 0.2"/><mass value="2.5"/>{moments}'
    parts = ['<robot name="random">', f'<link name="base"><inertial>{inertial}</inertial></link>']
    for k in range(links):
        points = rng.normal(size=(6, 3)) * 0.2
        inertia = sum(p @ p * np.eye(3) - np.outer(p, p) for p in points)
        entries = " ".join(f'i{"xyz"[i]}{"xyz"[j]}="{float(inertia[i, j])!r}"' for i in range(3) for j in range(i, 3))
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="{text(rng.normal(size=3) * 0.2)}" '
            f'rpy="{text(rng.normal(size=3))}"/><mass value="{float(rng.uniform(0.5, 3.0))!r}"/>'
            f"<inertia {entries}/></inertial></link>"
        )
    for k in range(links):
        parent = "base" if k == 0 else f"link{rng.integers(k)}"
        kind = "revolute" if k == 0 else str(rng.choice(kinds))
        axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3)
        parts.append(
            f'<joint name="joint{k}" type="{kind}"><parent link="{parent}"/><child link="link{k}"/>'
            f'<origin xyz="{text(rng.normal(size=3) * 0.4)}" rpy="{text(rng.normal(size=3))}"/>'
            f'<axis xyz="{text(axis / np.linalg.norm(axis))}"/>'
            '<limit lower="-2" upper="2" effort="10" velocity="5"/></joint>'
        )
    return "\n".join([*parts, "</robot>"])
