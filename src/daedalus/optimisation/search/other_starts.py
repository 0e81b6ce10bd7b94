"""Searches from several guesses: which plan is found depends on where the search begins.

A search ends at a local optimum. The aircraft F-8 is brought to rest in 5.73 s from a guess between its ends, and in
3.78 s from most others (W. L. Garrard, J. M. Jordan, Automatica 13 (1977)). Other guesses are the first one with states
bent by waves that vanish at the ends, inputs anywhere between their bounds, and another duration:

    x(s) + Σ a_k sin(π k s),   T exp(r)      with random a_k, r
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from daedalus.optimisation.program.program_outcome import ProgramOutcome
from daedalus.optimisation.transcription.collocated import Transcription

# How many waves bend a state, and the largest power of e that a duration is multiplied with.
WAVES, LONGER = 3, 1.0
# Optima whose costs differ by less than this part are one.
SAME_COST = 1e-4


def other_guess(made: Transcription, begin: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """A guess that leads along another way."""
    found, program, layout = begin.copy(), made.program, made.layout
    free = np.isfinite(program.lower) & np.isfinite(program.upper)
    inputs = layout.inputs[layout.inputs >= 0]
    bounded = inputs[free[inputs]]
    found[bounded] = draw.uniform(program.lower[bounded], program.upper[bounded])
    for k in range(made.stage.model_states):
        nodes, points = layout.nodes[:, k], layout.points[..., k] if layout.points.size else np.zeros(0, dtype=int)
        size = float(np.abs(begin[nodes]).max()) or float(program.scale[nodes].max())
        waves = size * draw.normal(size=WAVES)
        _bend(found, nodes, layout.shares, waves)
        if len(points):
            _bend(found, points, layout.mesh.point_shares, waves)
    length = layout.length[layout.length >= 0][:1]
    found[length] *= np.exp(draw.uniform(-LONGER, LONGER))
    return np.asarray(np.clip(found, program.lower, program.upper))


def _bend(w: np.ndarray, variables: np.ndarray, shares: np.ndarray, waves: np.ndarray) -> None:
    use = variables >= 0
    by = np.sum([a * np.sin(np.pi * (k + 1) * shares) for k, a in enumerate(waves)], axis=0)
    w[variables[use]] += np.broadcast_to(by, variables.shape)[use]


def best_of(
    first: ProgramOutcome, others: Sequence[ProgramOutcome], is_better: Callable[[ProgramOutcome, ProgramOutcome], bool]
) -> tuple[ProgramOutcome, str]:
    """The cheapest plan, and what was found from all starts in a sentence."""
    best = first
    for other in others:
        if is_better(other, best) or (other.success and not best.success):
            best = other
    costs: list[list[float]] = []
    for cost in sorted(own.objective for own in (first, *others) if own.success):
        if costs and abs(cost - costs[-1][0]) <= SAME_COST * max(abs(cost), abs(costs[-1][0])):
            costs[-1].append(cost)
        else:
            costs.append([cost])
    told = ", ".join(f"{own[0]:.6g} ({len(own)} times)" for own in costs[:4])
    return best, f"of {1 + len(others)} starts the cheapest plan counts; costs found: {told or 'none'}"
