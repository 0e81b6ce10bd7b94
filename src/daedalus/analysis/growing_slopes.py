"""Points along which a slope grows without end: a witness that a function has no Lipschitz constant on a box."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

# An infinite side is sampled and cut as if it were so long; its halves double.
REACH = 1024.0
# Points of a sequence, powers of ten, and what each increase is of the one before at least: one that shrinks is
# that of a slope with a limit.
COUNT, SHRINKING = 8, 0.9


def within_reach(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Finite ends of a box: an infinite side reaches beyond the finite end by its size, or to both sides of zero."""
    size_low = np.maximum(REACH, 3 * np.abs(np.where(np.isinf(low), 0.0, low)))
    size_high = np.maximum(REACH, 3 * np.abs(np.where(np.isinf(high), 0.0, high)))
    near_low = np.where(np.isinf(low), np.where(np.isinf(high), -REACH, high - size_high), low)
    near_high = np.where(np.isinf(high), np.where(np.isinf(low), REACH, low + size_low), high)
    return near_low, near_high


def growing_slopes(
    norm: Callable[[np.ndarray], float], low: np.ndarray, high: np.ndarray, where: np.ndarray, lost: np.ndarray
) -> list[tuple[np.ndarray, float]]:
    """The sequence with the largest slope at its end, each point with its slope; empty where none was found.

    norm: of the slopes at a point, negative where they have no value. where: the steepest point sampled. lost: ends of
    boxes without a bound, (boxes, 2, sides).
    """
    best: list[tuple[np.ndarray, float]] = []
    for points in _sequences(low, high, where, lost):
        sizes = np.array([norm(point) for point in points])
        steps = np.diff(sizes)
        grows = np.all(sizes >= 0) and np.all(steps > 0) and np.all(steps[1:] >= SHRINKING * steps[:-1])
        if grows and (not best or sizes[-1] > best[-1][1]):
            best = list(zip(points, sizes.tolist()))
    return best


def _sequences(low: np.ndarray, high: np.ndarray, where: np.ndarray, lost: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Towards infinity along each open side and along all of them, and towards the narrowest boxes without a bound."""
    powers = 10.0 ** np.arange(1, COUNT + 1)
    near = within_reach(low, high)
    middle = np.clip(where, *near)
    for sign, open_sides in ((1.0, np.isposinf(high)), (-1.0, np.isneginf(low))):
        directions = [np.eye(len(low))[k] for k in np.flatnonzero(open_sides)]
        if len(directions) > 1:
            directions.append(open_sides.astype(float))
        for direction in directions:
            for base in (middle, np.where(open_sides, 0.0, middle)):
                for steps in (powers, 2.0 ** np.arange(1, COUNT + 1)):  # an exponential leaves the numbers early
                    yield [np.clip(base + sign * step * direction, low, high) for step in steps]
    widths = np.where(np.isinf(lost).any(axis=1), np.inf, lost[:, 1] - lost[:, 0]).max(axis=1)
    for k in np.argsort(widths, kind="stable")[:4]:
        if not np.isfinite(widths[k]):
            continue
        for target in (*lost[k], 0.5 * (lost[k, 0] + lost[k, 1])):
            target = np.where((target != 0) & (np.abs(target) < 1e-3 * (near[1] - near[0])), 0.0, target)
            target = np.clip(target, low, high)
            for far in near:
                yield [target + (far - target) / power for power in powers]
