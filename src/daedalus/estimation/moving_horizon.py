"""The last few states together: the least squares of a first state, the noise on the way, and all measurements.

min |x₀ − x̄₀|²_P + Σ |x_k₊₁ − φ(x_k)|²_Q + Σ |y_k − h(x_k)|²_R, by Gauss–Newton: each round linearises at the states of
the round before and solves the linear problem by a filter forward and a smoother back (Rauch, Tung, Striebel 1965).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.estimation.measured_moments import MeasuredMoment
from daedalus.estimation.propagation import Propagation

ROUNDS, SETTLED = 4, 1e-8


def smoothed(
    model: Propagation,
    nodes: Sequence[MeasuredMoment],
    before: np.ndarray | None,
    density: np.ndarray,
    noise: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The last state and its covariance, from all of the horizon; before: the inputs up to its first moment."""
    points, covariance = [node.foreseen for node in nodes], nodes[-1].covariance
    for _ in range(ROUNDS):
        found, covariance = _round(model, nodes, points, before, density, noise)
        moved = max(float(np.max(np.abs(a - b) / (1.0 + np.abs(b)))) for a, b in zip(found, points))
        points = found
        if moved < SETTLED:
            break
    last = nodes[-1]
    return model.kept(last.time, points[-1], last.inputs), covariance


def _round(
    model: Propagation,
    nodes: Sequence[MeasuredMoment],
    points: Sequence[np.ndarray],
    before: np.ndarray | None,
    density: np.ndarray,
    noise: np.ndarray,
) -> tuple[list[np.ndarray], np.ndarray]:
    """All states of the problem that is linearised at points, and the covariance of the last."""
    ahead_of, filtered = [], []
    x, P = nodes[0].foreseen, nodes[0].covariance
    for k, (node, at) in enumerate(zip(nodes, points)):
        seen = np.isfinite(node.measured)
        values, slopes = model.measured(node.time, at, nodes[k - 1].inputs if k else before)
        H, R = slopes[seen], noise[np.ix_(seen, seen)]
        if np.any(seen):
            gain = np.linalg.solve(H @ P @ H.T + R, H @ P).T
            x = x + gain @ ((node.measured - values)[seen] - H @ (x - at))
            left = np.eye(len(x)) - gain @ H
            P = left @ P @ left.T + gain @ R @ gain.T
        filtered.append((x, P))
        if k + 1 < len(nodes):
            on_it = model.kept(node.time, at, node.inputs)
            step = model.over(node.time, nodes[k + 1].time - node.time, on_it, P, node.inputs, density)
            x = step.x + step.transition @ (x - at)
            ahead_of.append((step.transition, x, step.transition @ P @ step.transition.T + step.noise))
            P = ahead_of[-1][2]
    found, later = [filtered[-1][0]], filtered[-1][0]
    for (own, spread), (transition, foreseen, wide) in zip(filtered[-2::-1], ahead_of[::-1]):
        later = own + spread @ transition.T @ np.linalg.pinv(wide) @ (later - foreseen)
        found.append(later)
    return found[::-1], filtered[-1][1]
