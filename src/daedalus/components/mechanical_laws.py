"""Laws that rotational and translational parts share: springs, dampers, dry friction, play.

Dry friction sticks and slides, see `m.friction`. With a `width` it is regularised instead: F = level(v) tanh(v / width)
with the level falling from `static` to `kinetic` over ten widths (Stribeck). A part that would stick creeps then, by at
most `width` · atanh(load / static).
"""

from __future__ import annotations

from typing import Any

import casadi as ca


def dry_friction(m: Any, rate: ca.SX, kinetic: Any, static: Any, width: Any) -> ca.SX:
    """The friction at a rate, between −static and static: the variable `friction` of the part, or a smooth law."""
    if width is None:
        return -m.friction("friction", rate, kinetic=kinetic, static=static)
    level = kinetic + (static - kinetic) * ca.exp(-((rate / (10 * width)) ** 2))
    return level * ca.tanh(rate / width)


def beyond(value: ca.SX, half: Any) -> ca.SX:
    """How far a value lies outside −half … half: the deformation behind a play."""
    return ca.fmax(value - half, 0) + ca.fmin(value + half, 0)
