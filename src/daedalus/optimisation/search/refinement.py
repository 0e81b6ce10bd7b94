"""A better mesh from a plan: intervals are halved where the motion is not met, and where an input jumps.

Where it is missed nearly everywhere and not by much, the degree of all polynomials is raised instead: along a smooth
motion the error falls with a power of the tolerance that grows with the degree, while halving only doubles the work.
"""

from __future__ import annotations

import numpy as np

from daedalus.optimisation.transcription.collocated import Transcription

# An input that changes by more than this share of its range from one interval to the next jumps.
JUMP = 0.3
# Intervals beside a jump are halved down to this share of the duration.
SHORTEST = 2e-4
# The degree is raised where more than this share of the intervals misses the tolerance, by at most this factor.
NEARLY_ALL, NOT_MUCH = 0.5, 1e4
HIGHEST_DEGREE = 7


def raised_degree(degree: int, error: np.ndarray, tolerance: float) -> int | None:
    """A higher degree for the same intervals, or None where halving some of them serves better.

    Example
    -------
    >>> import numpy as np
    >>> raised_degree(3, np.array([1e-6, 2e-6, 3e-6]), 1e-7), raised_degree(3, np.array([1e-9, 1e-9, 1.0]), 1e-7)
    (5, None)
    """
    missed = error > tolerance
    if degree >= HIGHEST_DEGREE or missed.mean() <= NEARLY_ALL or error.max() > NOT_MUCH * tolerance:
        return None
    return min(degree + 2, HIGHEST_DEGREE)


def refined_shares(
    transcription: Transcription, w: np.ndarray, error: np.ndarray, tolerance: float
) -> np.ndarray | None:
    """The shares of a finer mesh, or None where the mesh is fine enough."""
    layout, stage = transcription.layout, transcription.stage
    halve = error > tolerance
    held = len(stage.constant)
    if held and layout.intervals > 1:
        u = w[layout.inputs[:, :held]]
        span = np.maximum(np.ptp(u, axis=0), 1e-9 * stage.inputs.nominal[:held])
        jumps = (np.abs(np.diff(u, axis=0)) > JUMP * span).any(axis=1)
        # A jump between two intervals belongs into one of them: both are halved until they are short.
        beside = np.zeros(layout.intervals, dtype=bool)
        beside[:-1] |= jumps
        beside[1:] |= jumps
        halve |= beside & (layout.widths > SHORTEST)
    if not halve.any():
        return None
    middle = layout.shares[:-1] + 0.5 * layout.widths
    return np.sort(np.concatenate([layout.shares, middle[halve]]))
