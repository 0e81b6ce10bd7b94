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


def area(kind: str, size: tuple[float, ...]) -> float:
    """The surface of a sphere, box, cylinder or capsule, m².

    Example
    -------
    >>> area("box", (1.0, 0.5, 0.5))
    10.0
    """
    if kind == "box":
        x, y, z = size
        return 8 * (x * y + y * z + z * x)
    r = size[0]
    if kind == "sphere":
        return 4 * math.pi * r**2
    tube = 2 * math.pi * r * 2 * size[1]
    return tube + (2 * math.pi * r**2 if kind == "cylinder" else 4 * math.pi * r**2)


def shell_inertia(kind: str, size: tuple[float, ...], mass: float) -> np.ndarray:
    """kg m², of a mass that lies in the surface of a sphere, box, cylinder or capsule.

    Example
    -------
    >>> shell_inertia("sphere", (1.0,), 3.0)[0, 0].round(6)
    np.float64(2.0)
    """
    per = mass / area(kind, size)
    if kind == "sphere":
        moments = [2 / 3 * mass * size[0] ** 2] * 3
    elif kind == "box":
        moments = _box_shell(size, per)
    else:
        moments = _round_shell(kind, size[0], size[1], per)
    return np.diag(moments)


def _box_shell(size: tuple[float, ...], per: float) -> list[float]:
    """Six plates: ∫ x² over each pair of them, then moments about the axes."""
    squares = []
    for axis in range(3):
        own, (b, c) = size[axis], (size[k] for k in range(3) if k != axis)
        ends = 2 * (4 * b * c) * own**2
        sides = (2 * 2 * b + 2 * 2 * c) * 2 * own**3 / 3
        squares.append(per * (ends + sides))
    x, y, z = squares
    return [y + z, x + z, x + y]


def _round_shell(kind: str, r: float, half: float, per: float) -> list[float]:
    """A tube with two discs, or with two half spheres, whose centres are r/2 from their planes."""
    tube = per * 4 * math.pi * r * half
    along, across = tube * r**2, tube * (r**2 / 2 + half**2 / 3)
    if kind == "cylinder":
        discs = per * 2 * math.pi * r**2
        return [across + discs * (r**2 / 4 + half**2)] * 2 + [along + discs * r**2 / 2]
    balls = per * 4 * math.pi * r**2
    across += balls * (2 / 3 * r**2 + half**2 + half * r)
    return [across, across, along + 2 / 3 * balls * r**2]


def follow_rules(links: Sequence[FileLink], rules: Mapping[str, float], balance: bool = False) -> None:
    """Least masses and moments of all bodies, then all of them scaled to a total mass, as a compiler is told.

    balance: moments of no real body become their mean.
    """
    for link in links:
        link.mass = max(link.mass, rules["boundmass"])
        moments, axes = np.linalg.eigh(link.inertia)
        if rules["boundinertia"] > 0:
            moments = np.maximum(moments, rules["boundinertia"])
            link.inertia = axes @ np.diag(moments) @ axes.T
        if balance and moments[0] + moments[1] < moments[2]:
            link.inertia = np.eye(3) * np.mean(moments)
    total = sum(link.mass for link in links)
    if rules["settotalmass"] > 0 and total > 0:
        factor = rules["settotalmass"] / total
        for link in links:
            link.mass, link.inertia = factor * link.mass, factor * link.inertia
