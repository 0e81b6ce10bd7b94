"""A better mesh from a plan: intervals are halved where the motion is not met, and where an input jumps."""

from __future__ import annotations

import numpy as np

from daedalus.optimisation.transcription.collocated import Transcription

# An input that changes by more than this share of its range from one interval to the next jumps.
JUMP = 0.3
# Intervals beside a jump are halved down to this share of the duration.
SHORTEST = 2e-4


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
