"""Weighted sums of slopes on lanes, zeros left out."""

from __future__ import annotations

from collections.abc import Sequence

from daedalus.compilation.lanes.words import LaneText, Word


def combined(
    w: LaneText, x: Sequence[Word], h: Word, weights: Sequence[float], slopes: Sequence[Sequence[Word]]
) -> list[Word]:
    """x + h Σ_j weights_j k_j."""
    out = list(x)
    for weight, k in zip(weights, slopes):
        out = advanced(w, out, h, weight, k)
    return out


def advanced(w: LaneText, x: list[Word], h: Word, weight: float, slope: Sequence[Word]) -> list[Word]:
    """x + h weight k."""
    if not weight:
        return x
    part = w.mul(h, w.num(weight))
    return [w.fma(part, k, total) for k, total in zip(slope, x)]


def weighted(w: LaneText, weights: Sequence[float], slopes: Sequence[Word]) -> Word:
    """Σ_j weights_j k_j of one component."""
    total = None
    for weight, k in zip(weights, slopes):
        if weight:
            total = w.mul(w.num(weight), k) if total is None else w.fma(w.num(weight), k, total)
    return w.num(0.0) if total is None else total


def horner(w: LaneText, coefficients: Sequence[Word], theta: Word) -> Word:
    """Σ_j c_j θ^j."""
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = w.fma(total, theta, c)
    return total
