"""Contacts from the beginning of a step to its end: which are the same, and when open ones close."""

from __future__ import annotations

import numpy as np


def matched(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Of each contact of a list its place in another one, where both have as many of its shapes; else -1."""
    if np.array_equal(one, two):
        return np.arange(len(one))
    places: dict[tuple[float, float], list[int]] = {}
    for k, pair in enumerate(map(tuple, two)):
        places.setdefault(pair, []).append(k)
    own: dict[tuple[float, float], list[int]] = {}
    for k, pair in enumerate(map(tuple, one)):
        own.setdefault(pair, []).append(k)
    out = np.full(len(one), -1)
    for pair, mine in own.items():
        if len(places.get(pair, [])) == len(mine):
            out[mine] = places[pair]
    return out


def closing_time(gap: np.ndarray, speed: np.ndarray, final: np.ndarray, h: float, touch: float) -> tuple[float, float]:
    """When the first of open contacts closes, with its gap at the end: gap + speed τ + (final - speed) τ² / 2h = 0."""
    end = gap + 0.5 * h * (speed + final)
    bend = 0.5 * (final - speed) / h
    root = speed * speed - 4 * bend * gap
    with np.errstate(divide="ignore", invalid="ignore"):
        when = np.where(root >= 0, 2 * gap / (-speed + np.sqrt(np.maximum(root, 0.0))), np.inf)
    when = np.where((when > 0) & (when <= h * (1 + 1e-9)) & (root >= 0), when, np.where(end < -touch, h, np.inf))
    return (float(when.min()), float(end.min())) if len(when) else (np.inf, np.inf)
