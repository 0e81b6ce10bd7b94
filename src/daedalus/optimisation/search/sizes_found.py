"""Whether a search shows that states and inputs have other sizes than those it was given.

A number that is far larger than its scale shows another one. So does a small one: a search that is accurate to 1e-8 of
1 m does not see a way of 1e-9 m.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome
from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.usual_sizes import SMALL, UNWRITTEN

# A number that is so many times its scale shows another scale.
MUCH_LARGER = 1.0 / SMALL


def shows_large_numbers(made: Transcription, outcome: ProgramOutcome) -> bool:
    """Whether numbers of a search are far larger than their scales."""
    return bool(np.any(np.abs(outcome.w) > MUCH_LARGER * made.program.scale))


def is_too_rough(made: Transcription, outcome: ProgramOutcome) -> bool:
    """Whether numbers are so small that a search came to no end, or that the accuracy of a plan is none.

    A plan is too rough where other rows of the program depend on a small number so much that its digits are needed.
    """
    if outcome.ending in (ProgramEnding.STOPPED, ProgramEnding.TIME):
        return False
    small = [columns for share, columns in _shares(made, outcome) if 0.0 < share < SMALL]
    if not small or not outcome.success:
        return bool(small)
    program = made.program
    _, jacobian = program.first(outcome.w)
    felt = np.zeros(program.shape[0])
    np.maximum.at(felt, program.jacobian_column, np.abs(jacobian))
    felt *= program.scale
    return any(bool(felt[columns].max() > MUCH_LARGER) for columns in small)


def _shares(made: Transcription, outcome: ProgramOutcome) -> Iterator[tuple[float, np.ndarray]]:
    """The largest value of every state and input without a written size, as a share of its scale; its variables."""
    layout, stage = made.layout, made.stage
    system, n, held = stage.description.system, stage.model_states, len(stage.constant)
    states = [*zip(system.nominal["x"], layout.nodes[:, :n].T)]
    inputs = [*zip(system.nominal["u"][list(stage.constant)], layout.inputs[:, :held].T)]
    for written, columns in (*states, *inputs):
        if written == UNWRITTEN:
            yield float((np.abs(outcome.w[columns]) / made.program.scale[columns]).max()), columns
