"""What a search left over in the equations of motion, from point to point, in units of the states."""

from __future__ import annotations

import numpy as np

from daedalus.optimisation.transcription.collocated import Transcription


def defects_of(transcription: Transcription, w: np.ndarray) -> dict[str, np.ndarray]:
    """By state of the model, what is missing at every point of the plan."""
    stage, layout = transcription.stage, transcription.layout
    _, rows = transcription.program.values(w)
    own = [group.rows for group in layout.groups if group.kind == "dynamics"]
    return {
        label: np.concatenate([rows[table[:, k]] for table in own]) * stage.states.nominal[k]
        for k, label in enumerate(stage.states.labels[: stage.model_states])
    }
