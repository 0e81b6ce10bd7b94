"""Elastic mode: every condition and bound may give way, and the least sum of what they give is looked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from daedalus.optimisation.program.draft import OBJECTIVE, Draft, PlacedBlock
from daedalus.optimisation.program.ipopt import solve_with_ipopt
from daedalus.optimisation.program.program import assembled, joined
from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.program_layout import values_of

RELAXED = ("condition", "end", "periodic", "rate")


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Something that may give way: its name, where it is asked for, and the variables for below and above."""

    name: str
    shares: np.ndarray
    slack: np.ndarray  # (places, 2): what is missing below the lower bound, what is too much above the upper one
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True, eq=False)
class ElasticPoint:
    """The least relaxation: whether it was found, and by how much everything gives way, (places, 2) each."""

    found: bool
    parts: list[tuple[Relaxed, np.ndarray]]
    duration: float


def least_relaxation(transcriptions: Sequence[Transcription], begin: np.ndarray) -> list[ElasticPoint]:
    """Solve the problem whose cost is what conditions and bounds give way; one point for each of several phases."""
    draft, relaxed = _relaxed_draft(transcriptions)
    program = assembled(draft)
    guess = np.concatenate([begin, np.full(program.shape[0] - len(begin), 1e-2)])
    outcome = solve_with_ipopt(program, guess, tolerance=1e-7, most_iterations=500)
    points = []
    for transcription, own in zip(transcriptions, relaxed):
        (duration,) = values_of(transcription.layout.length[:1], outcome.w, program.parameters)
        points.append(ElasticPoint(outcome.success, [(part, outcome.w[part.slack]) for part in own], float(duration)))
    return points


def _relaxed_draft(transcriptions: Sequence[Transcription]) -> tuple[Draft, list[list[Relaxed]]]:
    """The draft that all phases share, without its cost, and what gives way in each of them."""
    source = transcriptions[0].draft
    draft = replace(
        source,
        lower=[joined(source.lower)], upper=[joined(source.upper)], scale=list(source.scale),
        row_lower=list(source.row_lower), row_upper=list(source.row_upper), parameters=list(source.parameters),
        blocks=[_without_cost(block) for block in source.blocks],
        linear=[_rows_only(part) for part in source.linear],
    )  # fmt: skip
    return draft, [_relaxed_parts(draft, source, transcription) for transcription in transcriptions]


def _relaxed_parts(draft: Draft, source: Draft, transcription: Transcription) -> list[Relaxed]:
    layout, stage = transcription.layout, transcription.stage
    low, high = joined(source.row_lower), joined(source.row_upper)
    relaxed = []
    for group in layout.groups:
        if group.kind not in RELAXED:
            continue
        for k, name in enumerate(group.names):
            rows = group.rows[:, k]
            size = np.maximum(1.0, np.abs(np.where(np.isfinite(high[rows]), high[rows], 0.0)))
            relaxed.append(_give_way(draft, name, rows, group.shares, low[rows], high[rows], size))
    at_points = layout.mesh.point_shares
    n = stage.model_states + len(stage.linear)
    held = [
        (stage.inputs, layout.inputs, layout.shares[:-1], range(stage.inputs.size)),
        (stage.unknowns, layout.unknowns, at_points, range(stage.unknowns.size)),
        (stage.states, layout.nodes[1:], layout.shares[1:], range(n)),
    ]
    for quantity, variables, shares, columns in held:
        for k in columns:
            part = _free_bounds(draft, quantity.labels[k], variables[:, k], shares, quantity.nominal[k])
            if part is not None:
                relaxed.append(part)
    return relaxed


def _without_cost(block: PlacedBlock) -> PlacedBlock:
    return replace(block, weights=np.where(block.rows == OBJECTIVE, 0.0, block.weights))


def _rows_only(part: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    use = part[0] != OBJECTIVE
    return part[0][use], part[1][use], part[2][use]


def _give_way(
    draft: Draft, name: str, rows: np.ndarray, shares: np.ndarray, low: np.ndarray, high: np.ndarray, size: np.ndarray
) -> Relaxed:
    """Two variables for every row, whose size is the cost."""
    slack = draft.add_variables((len(rows), 2), lower=0.0)
    draft.add_linear(rows[:, None], slack, np.array([1.0, -1.0]))
    draft.add_linear(np.full(slack.shape, OBJECTIVE), slack, (1.0 / size)[:, None])
    return Relaxed(name, shares, slack, low, high)


def _free_bounds(draft: Draft, name: str, variables: np.ndarray, shares: np.ndarray, nominal: float) -> Relaxed | None:
    """Bounds of variables as rows that may give way; None where there are none."""
    lower, upper = draft.lower[0], draft.upper[0]
    use = (variables >= 0) & (np.isfinite(lower[variables]) | np.isfinite(upper[variables]))
    if not use.any():
        return None
    own = variables[use]
    low, high = lower[own].copy(), upper[own].copy()
    lower[own], upper[own] = -np.inf, np.inf
    rows = draft.add_rows((len(own),), lower=low, upper=high)
    draft.add_linear(rows, own, 1.0)
    return _give_way(draft, name, rows, shares[use], low, high, np.full(len(own), max(nominal, 1e-12)))
