"""Plans from elsewhere: where an input was not used, where a plan is one of its mesh, and where starts are asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import casadi as ca
import numpy as np

from daedalus.optimisation.description.description import Description
from daedalus.optimisation.description.solve_settings import SolveSettings
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome, is_better
from daedalus.optimisation.result.plan import Plan
from daedalus.optimisation.search.convexity import is_convex
from daedalus.optimisation.search.hidden_inputs import in_the_middle, tilted, unused_inputs, variables_of_inputs
from daedalus.optimisation.search.other_starts import MOST_WORK, MUCH_WORK, OTHERS, PATIENCE, best_of, other_guess
from daedalus.optimisation.search.patience import searched, within
from daedalus.optimisation.transcription.collocated import Transcription

# A plan whose polynomials leave the equations by more than this is one of its mesh, not of the model.
UNRESOLVED = 1e-2
# Of a cost that is zero: what effort is measured by.
SMALLEST_COST = 1e-6


class Searchable(Protocol):
    """A transcribed problem whose searches may begin anywhere."""

    description: Description
    transcription: Transcription
    begin: np.ndarray

    def plan_of(self, outcome: ProgramOutcome) -> Plan:
        """The plan of what a search found."""

    def changed(self, description: Description) -> Searchable:
        """Another problem on the same mesh."""


def with_hidden_inputs(
    problem: Searchable, settings: SolveSettings, outcome: ProgramOutcome
) -> tuple[ProgramOutcome, list[str]]:
    """A better plan that uses inputs which a symmetry has hidden from the search, where there is one."""
    made = problem.transcription
    hidden = unused_inputs(made, problem.begin, outcome)
    if not hidden or outcome.solver == "newton" or is_convex(made.program, outcome.w):
        return outcome, []
    draw, all_of_them = np.random.default_rng(settings.seed), len(hidden) == len(variables_of_inputs(made))
    begin = other_guess(made, problem.begin, draw, smooth=True) if all_of_them else tilted(made, problem.begin, hidden)
    other = searched(made.program, begin, settings, problem.description.system.name)
    if not is_better(other, outcome):
        return outcome, []
    note = "a plan without some of the inputs was a saddle point: this one, from another guess, costs less"
    return replace(other, iterations=outcome.iterations + other.iterations), [note]


def from_other_starts(
    problem: Searchable, settings: SolveSettings, first: ProgramOutcome
) -> tuple[ProgramOutcome, list[str]]:
    """The cheapest of plans from several guesses."""
    draw, seconds = np.random.default_rng(settings.seed), first.seconds
    others: list[ProgramOutcome] = []
    while len(others) < (settings.starts or 1) - 1:
        left = None if settings.time_limit is None else settings.time_limit - seconds
        if left is not None and left <= 0:
            break
        begin = other_guess(problem.transcription, problem.begin, draw, smooth=len(others) % 2 == 1)
        own = replace(settings, time_limit=left)
        found = searched(problem.transcription.program, begin, own, problem.description.system.name)
        others.append(found)
        seconds += found.seconds
        if found.ending is ProgramEnding.STOPPED and left is None:
            break
    best, note = best_of(first, others, is_better, lambda own: problem.plan_of(own).success)
    iterations = sum(own.iterations for own in (first, *others))
    return replace(best, iterations=iterations, seconds=seconds), [note]


def that_is_of_the_model(
    problem: Searchable, settings: SolveSettings, first: ProgramOutcome
) -> tuple[ProgramOutcome, list[str]]:
    """A plan of the model from elsewhere, where the first is one of its mesh alone."""
    made, described = problem.transcription, problem.description
    led = described.guesses or described.trajectory is not None or settings.options
    if led or is_convex(made.program, first.w) or is_of_the_model(problem, first):
        return first, []
    draw, done, seconds = np.random.default_rng(settings.seed), first.iterations, first.seconds
    most, kept = done + MUCH_WORK * MOST_WORK // made.program.shape[0], list[ProgramOutcome]()
    for k in range(1 + OTHERS):
        left = within(settings, done, seconds)
        if left is None or (k > 0 and done >= most) or (k == 1 and kept):
            break
        left = replace(left, most_iterations=min(left.most_iterations, PATIENCE))
        if k == 0:
            near = behind_effort(problem, first, left)
            begin, done, seconds = near.w, done + near.iterations, seconds + near.seconds
        else:
            begin = other_guess(made, problem.begin, draw, smooth=k % 2 == 0)
        found = searched(made.program, begin, left, described.system.name)
        done, seconds = done + found.iterations, seconds + found.seconds
        if found.ending is ProgramEnding.STOPPED:
            break
        if found.success and is_of_the_model(problem, found):
            kept.append(found)
    if not kept:
        return first, []
    best = replace(min(kept, key=lambda own: own.objective), iterations=done, seconds=seconds)
    told = f"the first plan, of cost {first.objective:.6g}, was one of its mesh: no motion joins its points"
    return best, [f"{told}; this one is of the model"]


def behind_effort(problem: Searchable, first: ProgramOutcome, settings: SolveSettings) -> ProgramOutcome:
    """A guess behind plans of the same problem with a small cost of its inputs, and what it took."""
    begin, done, seconds = problem.begin, 0, 0.0
    for weight in WEIGHTS:
        left = within(settings, done, seconds)
        if left is None:
            break
        cost = weight * max(abs(first.objective), SMALLEST_COST)
        described = with_effort(problem.description, problem.transcription, begin, cost)
        program = problem.changed(described).transcription.program
        found = searched(program, begin, left, problem.description.system.name)
        done, seconds = done + found.iterations, seconds + found.seconds
        begin = found.w if found.success else begin
        if found.ending is ProgramEnding.STOPPED:
            break
    return replace(first, w=begin, iterations=done, seconds=seconds)


def is_of_the_model(problem: Searchable, outcome: ProgramOutcome) -> bool:
    """Whether a plan keeps what was asked, and follows the equations between the points of its mesh."""
    plan = problem.plan_of(outcome)
    return plan.success and float(plan.mesh_error.max(initial=0.0)) <= UNRESOLVED


# The same problem with a small cost of its inputs, which then swing no more where nothing else sees them.
#
#     J + w |J| ∫ Σ ((u_k - m_k) / s_k)² dt / T      with the middle m_k and the size s_k of each input
#
# Where neither the cost nor a bound sees an input (the curvature of a rope that encloses an area), a search on a mesh
# may end with one that swings from interval to interval: the equations hold at the points of the mesh, and no motion
# joins them. Plans with less and less effort lead to that of the problem itself (D. Jacobson, S. Gershwin, M. Lele,
# Computation of Optimal Singular Controls, IEEE Transactions on Automatic Control 15, 1970).


# Weights of the effort, one after the other; the problem itself follows.
WEIGHTS = (1.0, 1e-2, 1e-4)


def with_effort(described: Description, made: Transcription, begin: np.ndarray, weight: float) -> Description:
    """The problem with the effort of its inputs as a further cost.

    weight: of the effort where inputs are as far from their middle as they are large.
    """
    places = {k for k in described.chosen if k in described.kinds and described.kinds[k].kind == "linear"}
    order = [k for k in described.chosen if k not in places] + [k for k in described.chosen if k in places]
    middle, program, terms = in_the_middle(made, begin), made.program, ca.SX(0)
    for k, own in zip(order, variables_of_inputs(made)):
        width = program.upper[own] - program.lower[own]
        size = np.where(np.isfinite(width) & (width > 0), 0.5 * width, program.scale[own]).mean()
        terms += ((described.system.symbol("u")[k] - float(middle[own].mean())) / float(size)) ** 2
    return replace(described, running=described.running + weight / described.expected_duration * terms)
