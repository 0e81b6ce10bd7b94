"""Mass and inertia of the shapes of an MJCF file: homogeneous bodies, about their own centre, in their own axes.

Rules of its compiler change those of all bodies together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from daedalus.robots.links_and_joints import FileLink


def volume(kind: str, size: tuple[float, ...]) -> float:
    """m³; sizes as MuJoCo writes them: radii, half lengths.

    Example
    -------
    >>> round(volume("box", (1.0, 0.5, 0.5)), 6)
    2.0
    """
    if kind == "sphere":
        return 4 / 3 * math.pi * size[0] ** 3
    if kind == "box":
        return 8 * size[0] * size[1] * size[2]
    if kind == "cylinder":
        return math.pi * size[0] ** 2 * 2 * size[1]
    if kind == "capsule":
        return math.pi * size[0] ** 2 * 2 * size[1] + 4 / 3 * math.pi * size[0] ** 3
    return 4 / 3 * math.pi * size[0] * size[1] * size[2]  # ellipsoid


def inertia(kind: str, size: tuple[float, ...], mass: float) -> np.ndarray:
    """kg m², a diagonal matrix.

    Example
    -------
    >>> inertia("sphere", (1.0,), 5.0)[0, 0].round(6)
    np.float64(2.0)
    """
    if kind == "sphere":
        moments = [0.4 * mass * size[0] ** 2] * 3
    elif kind == "box":
        x, y, z = (s**2 for s in size)
        moments = [mass / 3 * (y + z), mass / 3 * (x + z), mass / 3 * (x + y)]
    elif kind == "cylinder":
        r, h = size[0], 2 * size[1]
        across = mass * (3 * r**2 + h**2) / 12
        moments = [across, across, mass * r**2 / 2]
    elif kind == "capsule":
        moments = _capsule(size[0], size[1], mass)
    else:
        x, y, z = (s**2 for s in size)
        moments = [mass / 5 * (y + z), mass / 5 * (x + z), mass / 5 * (x + y)]
    return np.diag(moments)


def _capsule(r: float, half: float, mass: float) -> list[float]:
    """A cylinder and two half spheres of one density."""
    tube, ball = math.pi * r**2 * 2 * half, 4 / 3 * math.pi * r**3
    m_tube, m_ball = mass * tube / (tube + ball), mass * ball / (tube + ball)
    along = m_tube * r**2 / 2 + 0.4 * m_ball * r**2
    # The centre of a half sphere is 3/8 r from its plane.
    across = m_tube * (3 * r**2 + 4 * half**2) / 12
    across += m_ball * (0.4 * r**2 + half**2 + 0.75 * half * r)
    return [across, across, along]


def follow_rules(links: Sequence[FileLink], rules: Mapping[str, float]) -> None:
    """Least masses and moments of all bodies, then all of them scaled to a total mass, as a compiler is told."""
    for link in links:
        link.mass = max(link.mass, rules["boundmass"])
        if rules["boundinertia"] > 0:
            moments, axes = np.linalg.eigh(link.inertia)
            link.inertia = axes @ np.diag(np.maximum(moments, rules["boundinertia"])) @ axes.T
    total = sum(link.mass for link in links)
    if rules["settotalmass"] > 0 and total > 0:
        factor = rules["settotalmass"] / total
        for link in links:
            link.mass, link.inertia = factor * link.mass, factor * link.inertia
