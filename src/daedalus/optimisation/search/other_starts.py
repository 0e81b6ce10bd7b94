"""Searches from several guesses: which plan is found depends on where the search begins.

A search ends at a local optimum. The aircraft F-8 is brought to rest in 5.73 s from a guess between its ends, and in
3.78 s from most others (W. L. Garrard, J. M. Jordan, Automatica 13 (1977)). Other guesses are the first one with states
bent by waves that vanish at the ends, inputs anywhere between their bounds, and another duration:

    x(s) + Σ a_k sin(π k s),   T exp(r)      with random a_k, r

Unless told otherwise, a few of them are tried on a coarse mesh, within a bound of work: of 8 starts 5 find the faster
way of the aircraft on 20 intervals, 3 on 50, and 1 on 100.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from daedalus.optimisation.description.solve_settings import SolveSettings
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.program.program import Program
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome
from daedalus.optimisation.program.solvers import solve_with_ipopt
from daedalus.optimisation.transcription.collocated import Transcription

# How many waves bend a state, and the largest power of e that a duration is multiplied with.
WAVES, LONGER = 3, 1.0
# Durations that are tried before starts by chance, as parts of the guess.
DURATIONS = (3.0, 1 / 3.0, 10.0)
# Where no plan is known, a duration is held above this part of its guess.
SHORTER = 0.5
# By how much of its size a state is bent to one side, and at how many shares that is told.
BENT, EVEN = 0.3, 41
# Optima whose costs differ by less than this part are one.
SAME_COST = 1e-4
# The coarse mesh of the starts that nobody asked for, how many there are at most, the iterations of each and those of
# all times the variables of the program (about half a second), and how large a program may be there.
INTERVALS, OTHERS, PATIENCE, MOST_WORK, MOST_VARIABLES = 20, 6, 100, 80_000, 600
# Where the guess led to no plan, or to none of the model, more work is well spent.
MUCH_WORK = 3
# A cost on the coarse mesh has to be lower by this part, so that meshes alone make no difference.
CLEARLY = 3e-3


def other_guess(made: Transcription, begin: np.ndarray, draw: np.random.Generator, smooth: bool = False) -> np.ndarray:
    """A guess that leads along another way; `smooth`: with inputs that are waves, not different in every interval."""
    found, program, layout = begin.copy(), made.program, made.layout
    if smooth:
        _wave_inputs(made, found, draw)
    else:
        free = np.isfinite(program.lower) & np.isfinite(program.upper)
        inputs = layout.inputs[layout.inputs >= 0]
        bounded, others = inputs[free[inputs]], inputs[~free[inputs]]
        found[bounded] = draw.uniform(program.lower[bounded], program.upper[bounded])
        found[others] += program.scale[others] * draw.normal(size=len(others))
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


def lasting(made: Transcription, begin: np.ndarray) -> Program:
    """The program with a duration of at least a part of that of a guess.

    A search that obeys no condition yet makes what it misses small by a duration of nothing, and stays there.
    """
    lengths = np.unique(made.layout.length[made.layout.length >= 0])
    lower = made.program.lower.copy()
    lower[lengths] = np.maximum(lower[lengths], SHORTER * begin[lengths])
    return replace(made.program, lower=lower)


def bent_states(made: Transcription, begin: np.ndarray, sign: float) -> dict[str, object]:
    """States of a guess at even shares, all bent to one side by half a wave that vanishes at the ends, by name."""
    layout, found, even = made.layout, dict[str, object](), np.linspace(0.0, 1.0, EVEN)
    for k in range(made.stage.model_states):
        own = begin[layout.nodes[:, k]]
        size = float(np.abs(own).max()) or float(made.program.scale[layout.nodes[:, k]].max())
        bend = sign * BENT * size * np.sin(np.pi * even)
        found[made.stage.states.labels[k]] = np.interp(even, layout.shares, own) + bend
    return found


def states_between_bounds(made: Transcription, begin: np.ndarray) -> dict[str, object]:
    """States of a guess at even shares, those with two bounds through the middle of them half way, by name.

    Where a state has to leave its start before anything follows from it, as behind max(0, x - 10), the slopes at a
    guess that rests there show no way.
    """
    layout, found, even = made.layout, dict[str, object](), np.linspace(0.0, 1.0, EVEN)
    for k in range(made.stage.model_states):
        low, high = made.stage.states.lower[k], made.stage.states.upper[k]
        if np.isfinite(low) and np.isfinite(high):
            own = np.interp(even, layout.shares, begin[layout.nodes[:, k]])
            found[made.stage.states.labels[k]] = own + (0.5 * (low + high) - own) * np.sin(np.pi * even)
    return found


def _wave_inputs(made: Transcription, w: np.ndarray, draw: np.random.Generator) -> None:
    """Inputs as Σ a_k cos(π k s) around the guess, as large as half of their range or as their nominal value."""
    layout, program, stage = made.layout, made.program, made.stage
    middle = 0.5 * (layout.shares[1:] + layout.shares[:-1])
    inputs = [[(layout.inputs[:, k], middle)] for k in range(len(stage.constant))]
    for k in range(stage.model_states, stage.model_states + len(stage.linear)):
        points = [(layout.points[..., k], layout.mesh.point_shares)] if layout.points.size else []
        inputs.append([(layout.nodes[:, k], layout.shares), *points])
    for places in inputs:
        amplitudes = draw.normal(size=WAVES)
        for variables, shares in places:
            use = variables >= 0
            at = variables[use]
            width = program.upper[at] - program.lower[at]
            size = np.where(np.isfinite(width) & (width > 0), 0.5 * width, program.scale[at])
            by = np.sum([a * np.cos(np.pi * k * shares) for k, a in enumerate(amplitudes)], axis=0)
            w[at] += size * np.broadcast_to(by, variables.shape)[use]


def _bend(w: np.ndarray, variables: np.ndarray, shares: np.ndarray, waves: np.ndarray) -> None:
    use = variables >= 0
    by = np.sum([a * np.sin(np.pi * (k + 1) * shares) for k, a in enumerate(waves)], axis=0)
    w[variables[use]] += np.broadcast_to(by, variables.shape)[use]


def best_of(
    first: ProgramOutcome, others: Sequence[ProgramOutcome],
    is_better: Callable[[ProgramOutcome, ProgramOutcome], bool], keeps: Callable[[ProgramOutcome], bool],
) -> tuple[ProgramOutcome, str]:  # fmt: skip
    """The cheapest plan that keeps what was asked, and what was found from all starts in a sentence."""
    best, kept = first, first.success and keeps(first)
    for other in others:
        if (is_better(other, best) or (other.success and not kept)) and (not best.success or keeps(other)):
            best, kept = other, keeps(other)
    costs: list[list[float]] = []
    for cost in sorted(own.objective for own in (first, *others) if own.success):
        if costs and abs(cost - costs[-1][0]) <= SAME_COST * max(abs(cost), abs(costs[-1][0])):
            costs[-1].append(cost)
        else:
            costs.append([cost])
    told = ", ".join(f"{own[0]:.6g} ({len(own)} times)" for own in costs[:4])
    return best, f"of {1 + len(others)} starts the cheapest plan counts; costs found: {told or 'none'}"


def cheaper_guess(
    made: Transcription, begins: Sequence[np.ndarray], settings: SolveSettings, time_limit: float | None, *,
    work: int = MOST_WORK, any_plan: bool = False, lost: bool = False,
) -> tuple[ProgramOutcome | None, int]:  # fmt: skip
    """The cheapest of some optima on a coarse mesh where it is cheaper than that of the guess; how many were tried.

    begins: the guess, and others that are tried before those by chance.
    work: the iterations of all starts together times the variables of the program.
    any_plan: the first that is found, also from the guess: where the whole problem has none so far.
    lost: the search from the guess found no plan.
    """
    program, draw = made.program, np.random.default_rng(settings.seed)
    left, seconds = work // program.shape[0], 0.0
    found: list[ProgramOutcome] = []
    for k in range(len(begins) + OTHERS):
        rest = None if time_limit is None else time_limit - seconds
        if left <= 0 or (rest is not None and rest <= 0):
            break
        at = begins[k] if k < len(begins) else other_guess(made, begins[0], draw, smooth=k % 2 == 0)
        ways = [program, lasting(made, at)] if lost and isinstance(made.description.duration, Unknown) else [program]
        for one in ways:
            rest = None if time_limit is None else time_limit - seconds
            own = solve_with_ipopt(
                one, at, tolerance=max(settings.accuracy, 1e-6), most_iterations=max(1, min(PATIENCE, left)),
                time_limit=rest,
            )  # fmt: skip
            left, seconds = left - own.iterations, seconds + own.seconds
            spent = left <= 0 or (rest is not None and rest <= own.seconds)
            if own.success or own.ending is ProgramEnding.STOPPED or spent:
                break
        if own.ending is ProgramEnding.STOPPED:
            break
        found.append(own)
        if any_plan and own.success:
            return replace(own, seconds=seconds), k
    if not found or any_plan:
        return None, max(0, len(found) - 1)
    first, tried = found[0], len(found) - 1
    best = min((own for own in found[1:] if own.success), key=lambda own: own.objective, default=None)
    if best is None or (first.success and not best.objective < first.objective - CLEARLY * abs(first.objective)):
        return None, tried
    return replace(best, seconds=seconds), tried


def local_optimum(
    tried: int, costs: tuple[float, float] | None = None, more: str = "to try more, ocp.solve(starts=8)"
) -> str:
    """What is known of other optima of a problem that is not convex, in a sentence."""
    if costs is not None:
        said = f"one of {tried} other starts led to a cost of {costs[1]:.6g}, the first guess to {costs[0]:.6g}"
    else:
        said = f"{tried} other starts on a coarse mesh led to no cheaper one" if tried else "no other start was tried"
    return f"a local optimum, because the problem is not convex: {said}; {more}"
