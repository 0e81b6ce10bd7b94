"""Contacts from the beginning of a step to its end: which are the same, and when open ones close."""

from __future__ import annotations

import numpy as np


def matched(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Of each contact of a list its place in another one, where both have as many of its shapes; else -1."""
    if np.array_equal(one, two):
        return np.arange(len(one))
    out = np.full(len(one), -1)
    if not len(one) or not len(two):
        return out
    width = max(one.max(), two.max()) + 1
    keys = [np.asarray(pairs, dtype=float) @ (width, 1.0) for pairs in (one, two)]
    orders = [np.argsort(own, kind="stable") for own in keys]
    (mine, starts, counts), (other, starts_there, counts_there) = (
        np.unique(own[order], return_index=True, return_counts=True) for own, order in zip(keys, orders)
    )
    place = np.minimum(np.searchsorted(other, mine), len(other) - 1)
    known = (other[place] == mine) & (counts_there[place] == counts)
    group = np.repeat(np.arange(len(mine)), counts)
    rank, own = np.arange(len(one)) - starts[group], known[group]
    out[orders[0][own]] = orders[1][starts_there[place[group[own]]] + rank[own]]
    return out


def closing_time(gap: np.ndarray, speed: np.ndarray, final: np.ndarray, h: float, touch: float) -> tuple[float, float]:
    """When the first of open contacts closes, with its gap at the end: gap + speed τ + (final - speed) τ² / 2h = 0."""
    end = gap + 0.5 * h * (speed + final)
    bend = 0.5 * (final - speed) / h
    root = speed * speed - 4 * bend * gap
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        when = np.where(root >= 0, 2 * gap / (-speed + np.sqrt(np.maximum(root, 0.0))), np.inf)
    when = np.where((when > 0) & (when <= h * (1 + 1e-9)) & (root >= 0), when, np.where(end < -touch, h, np.inf))
    return (float(when.min()), float(end.min())) if len(when) else (np.inf, np.inf)
