"""Inputs that a search leaves at their guess because a symmetry hides them, and a guess that breaks the symmetry.

A body that is to turn about one of its axes gets there by a torque about this axis alone, and the slope of the cost
by the other torques is zero along all of this way: a search that begins with them at zero ends at a saddle point,
though a way with all three may be faster (K. D. Bilimoria, B. Wie, Journal of Guidance, Control, and Dynamics 16,
1993).
"""

from __future__ import annotations

import numpy as np

from daedalus.optimisation.program.program_outcome import ProgramOutcome
from daedalus.optimisation.transcription.collocated import Transcription

# An input that moves by no more than this part of its range was not used.
UNUSED_MOVE = 1e-6
# Guesses move by this part of the range of an input, or of its nominal value where it has no bounds.
TILT = 0.1


def unused_inputs(made: Transcription, begin: np.ndarray, outcome: ProgramOutcome) -> list[np.ndarray]:
    """The variables of each input that is where the guess was throughout."""
    inputs = variables_of_inputs(made)
    still = [bool(np.all(np.abs(outcome.w[own] - begin[own]) <= UNUSED_MOVE * _ranges(made, own))) for own in inputs]
    return [own for own, is_still in zip(inputs, still) if is_still]


def tilted(made: Transcription, begin: np.ndarray, inputs: list[np.ndarray]) -> np.ndarray:
    """A guess with these inputs moved, each by another amount, within their bounds."""
    found, program = begin.copy(), made.program
    for k, own in enumerate(inputs):
        # The golden ratio spreads the amounts evenly over both signs, none of them small.
        share = (0.618034 * (k + 1)) % 1.0 - 0.5
        moved = begin[own] + TILT * _ranges(made, own) * (share + np.copysign(0.5, share))
        found[own] = np.clip(moved, program.lower[own], program.upper[own])
    return found


def in_the_middle(made: Transcription, begin: np.ndarray) -> np.ndarray:
    """A guess with all inputs in the middle of their bounds, or at zero."""
    found, program = begin.copy(), made.program
    for own in variables_of_inputs(made):
        low, high = program.lower[own], program.upper[own]
        both = np.isfinite(low) & np.isfinite(high)
        found[own] = np.where(
            both, 0.5 * (np.where(both, low, 0.0) + np.where(both, high, 0.0)), np.clip(0.0, low, high)
        )
    return found


def variables_of_inputs(made: Transcription) -> list[np.ndarray]:
    """The variables of each input that a search chooses."""
    layout, stage = made.layout, made.stage
    held = [layout.inputs[:, k] for k in range(len(stage.constant))]
    columns = [stage.model_states + k for k in range(len(stage.linear))]
    linear = [np.concatenate([layout.nodes[:, k], layout.points[..., k].ravel()]) for k in columns]
    return [np.unique(own[own >= 0]) for own in (*held, *linear) if np.any(own >= 0)]


def _ranges(made: Transcription, own: np.ndarray) -> np.ndarray:
    program = made.program
    width = program.upper[own] - program.lower[own]
    return np.asarray(np.where(np.isfinite(width) & (width > 0), width, program.scale[own]))
