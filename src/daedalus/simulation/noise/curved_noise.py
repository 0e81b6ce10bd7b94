"""Noise as a polynomial in each step, with the increment and integral of its path: order 1.5 for noise that is added.

Over a step of length h, noise of intensity q is replaced by

    w(t) = a + b P₁(x) ± c P₂(x),   x = 2 (t − begin) / h − 1,   P₂ = (3 x² − 1) / 2

with a = ΔW / h, b = 6 (h ΔW / 2 − ΔZ) / h² and c = √(14 q / h). Then ∫w and ∫∫w over the step are ΔW and ΔZ, those of
the path, and the mean of the squared path has its exact integral h² / 2: what a step of order 1.5 needs of additive
noise (P. E. Kloeden and E. Platen, Numerical Solution of Stochastic Differential Equations, 1992, 10.4). That a path of
polynomials has the order is shown by J. Foster, T. Lyons and H. Oberhauser, An optimal polynomial approximation of
Brownian motion, SIAM J. Numer. Anal. 58 (2020), and J. Foster, G. dos Reis and C. Strange, High order splitting methods
for SDEs satisfying a commutativity condition, SIAM J. Numer. Anal. 62 (2024). Signs are drawn, so that independent
noises stay independent.

The integral ΔZ comes from n nodes of the same path inside a step. What lies between them changes it by h √(h / 12) / n,
which with n ≥ 3 √(span / h) is of the order 1.5 as well.

Noise that enters x' by factors g(x, t) is treated alike where no noise changes them, (∂g/∂x) g = 0: forces move
velocities by factors that depend on positions. Terms of the expansion up to order 1.5 that are not zero then are those
of ΔW, of ΔZ and of the mean of the squared path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from daedalus.algebra.batches import batches
from daedalus.model.names import element_label
from daedalus.model.variables import Variable
from daedalus.simulation.noise.noise_signals import MOST_VALUES, SAMPLED, NoisePath, cells, noise_paths
from daedalus.simulation.noise.wiener_path import increments, normals

# A level of the tree that no cell has: the signs of the last polynomials.
SIGNS = 2 * SAMPLED
# Nodes inside a step: so many times the root of the number of steps, and at least so many. The error of a linear model
# is that of noise held over parts as long: a hundredth of that of noise held over steps, and less with more of them.
FACTOR, FEWEST = 3.0, 100


def curved_paths(noises: Sequence[Variable], t0: float, t1: float, step: float, seed: int) -> dict[str, NoisePath]:
    """The path of every noise over a span: white noise as polynomials over steps, other noise as it is."""
    found = noise_paths([v for v in noises if v.noise is None or not v.noise.is_white], t0, t1, step, seed)
    for variable in noises:
        if variable.name in found:
            continue
        first, last = cells(t0, t1, step, variable.name)
        rows = np.stack([_polynomials(variable, k, step, (first, last), seed) for k in range(variable.size)], axis=2)
        times = np.arange(first, last + 1) * step
        times[0], times[-1] = min(times[0], t0), max(times[-1], t1)
        ends = rows[-1, 0] + step * (rows[-1, 1] + step * rows[-1, 2])
        values = np.concatenate([rows[:, 0], ends[None]])
        for array in (times, values, rows):
            array.setflags(write=False)
        found[variable.name] = NoisePath(times, values, "spline", variable.shape, rows, seed)
    return found


def _polynomials(variable: Variable, k: int, h: float, span: tuple[int, int], seed: int) -> np.ndarray:
    """Coefficients in powers of the time since a step began, (steps, 3)."""
    law, label = variable.noise, element_label(variable.name, variable.shape, k)
    assert law is not None
    spread, (first, last) = math.sqrt(law.spread[k]), span
    increment, integral = _joint_increments(label, h, first, last - first, seed)
    sign = np.sign(normals([seed], label, SIGNS, first, last - first)[0])
    a, b = increment / h, 6.0 * (0.5 * h * increment - integral) / h**2
    c = sign * math.sqrt(14.0 / h)
    # P₂(2 s − 1) = 1 − 6 s + 6 s², s = (t − begin) / h.
    return spread * np.stack([a - b + c, (2.0 * b - 6.0 * c) / h, 6.0 * c / h**2], axis=1)


def _joint_increments(label: str, h: float, first: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """ΔW and ΔZ = ∫(W − W(begin)) dt over the steps first, first + 1, … by n nodes in each."""
    n = 10 ** math.ceil(math.log10(max(FACTOR * math.sqrt(count), FEWEST)))
    while n > FEWEST and count * n > MOST_VALUES:
        n //= 10
    # W behind a part, as far as its middle: each part counts as long as it is passed.
    weights = (np.arange(n, 0, -1) - 0.5) / n
    whole, integral = np.empty(count), np.empty(count)
    for batch in batches(count, n):
        size = batch.stop - batch.start
        parts = increments([seed], label, h / n, (first + batch.start) * n, size * n).reshape(size, n)
        whole[batch], integral[batch] = parts.sum(axis=1), h * (parts @ weights)
    return whole, integral
