"""Searches on finer and finer meshes until the mesh error is small enough; of phases, each has a mesh of its own.

A mesh that nobody gave is refined where it does not resolve the plan: where its polynomials leave the equations by more
than OPEN, or where inputs that are held on each interval cost more than INPUTS of the whole beside inputs that move.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from daedalus.initialisation.wording import number
from daedalus.model.names import counted
from daedalus.optimisation.description.solve_settings import SolveSettings
from daedalus.optimisation.result.cost_checked import TOLD
from daedalus.optimisation.result.phased_plan import PhasedPlan
from daedalus.optimisation.result.plan import Plan
from daedalus.optimisation.search.cost_of_held_inputs import lost_by_held_inputs, lost_by_linear_inputs
from daedalus.optimisation.search.patience import within
from daedalus.optimisation.search.refinement import refined_mesh, resolving_mesh
from daedalus.optimisation.transcription.mesh import Mesh, halved

# Meshes are refined at most so often; those that nobody gave, less often, and to so many intervals.
MOST_MESHES, MOST_OPEN, MOST_INTERVALS = 12, 8, 400
# The mesh error that is asked for where nobody asked, and what held inputs may cost, as a share of the cost.
OPEN, INPUTS = 1e-3, 5e-3
# Costs below this are zero.
LEAST = 1e-12

FoundPlan = TypeVar("FoundPlan", Plan, PhasedPlan)
# Meshes, what was found on the last ones, and settings -> what is found on these.
SearchOn = Callable[[list[Mesh], FoundPlan, SolveSettings], FoundPlan]


def tell_coarse_inputs(plan: FoundPlan, search: SearchOn[FoundPlan], settings: SolveSettings) -> None:
    """A note where inputs that are held on each interval, or linear, cost clearly more than inputs that move freely.

    What they cost is measured on intervals of half the length, from half of what is told on. Where that leads to no
    plan, the estimate is told of held inputs.
    """
    if not plan.outcome.success:
        return
    held, linear = _lost(plan), _lost_by_linear(plan)
    lost, are_held = held + linear, held > linear
    left = within(settings, plan.outcome.iterations, plan.outcome.seconds)
    if not lost > 0.5 * TOLD:
        return
    measured, about = "", "up to"
    if left is not None:
        found = search(
            [halved(part.transcription.layout.mesh) for part in plan.phases], plan, replace(left, progress=False)
        )
        if found.outcome.success:
            saved = _saved(plan, found)
            rest = _lost(found) + _lost_by_linear(found)
            lost = min(lost * _part_that_counts(saved, lost, rest), max(1.0, saved))
            count, about = counted(len(found.mesh_error), "interval"), "about"
            measured = f" ({number(100 * saved, 2)} % less on {count})"
    if not lost > TOLD or not (measured or are_held):
        return
    kind = "constant on each interval" if are_held else "linear between nodes"
    more = 'more intervals, or ocp.input(name, kind="linear")' if are_held else "more intervals, or mesh_tolerance=1e-6"
    plan.add_note(f"inputs that are {kind} cost {about} {number(100 * lost, 2)} % here{measured}: try {more}")


def _lost(plan: FoundPlan) -> float:
    """What held inputs cost at most, as a share of the whole cost."""
    return float(sum(share.sum() for share in _lost_shares(plan)))


def _lost_by_linear(plan: FoundPlan) -> float:
    """What linear inputs cost at most, as a share of the whole cost."""
    lost = sum(lost_by_linear_inputs(part.transcription, part.outcome) for part in plan.phases)
    return lost / max(abs(plan.objective), LEAST)


def _saved(plan: FoundPlan, finer: FoundPlan) -> float:
    """What another mesh saves, as a share of the whole cost."""
    return (plan.objective - finer.objective) / max(abs(plan.objective), LEAST)


def _part_that_counts(saved: float, lost: float, rest: float) -> float:
    """The part of an estimate that a finer mesh has shown to be real; lost, rest: the estimates before and behind it.

    The estimate holds states and multipliers: where they follow the inputs, as along a bound of a state, less is saved.
    """
    return max(saved, 0.0) / max(lost - rest, 0.25 * lost)


def _lost_shares(plan: FoundPlan) -> list[np.ndarray]:
    """What held inputs cost on every interval of every phase, as a share of the whole cost."""
    whole = max(abs(plan.objective), LEAST)
    return [lost_by_held_inputs(part.transcription, part.outcome) / whole for part in plan.phases]


def on_an_open_mesh(plan: FoundPlan, search: SearchOn[FoundPlan], settings: SolveSettings) -> FoundPlan:
    """A plan on the first meshes, or on finer ones where they do not resolve it; notes say what was reached.

    In phases, those whose intervals were given keep them.
    """
    began, first = time.perf_counter(), plan
    before: float | None = None
    found_so_far, counts = [plan], 1.0
    for _ in range(MOST_OPEN):
        finer, lost = _resolving_meshes(plan, counts), _lost(plan)
        meshes = [mesh or part.transcription.layout.mesh for mesh, part in zip(finer, plan.phases)]
        left = None if settings.time_limit is None else settings.time_limit - time.perf_counter() + began
        many = any(mesh is not None and mesh.intervals > MOST_INTERVALS for mesh in finer)
        if all(mesh is None for mesh in finer) or many or (left is not None and left <= 0):
            break
        found = search(meshes, plan, replace(settings, time_limit=left))
        if not found.outcome.success:
            break
        if counts * lost > INPUTS:
            counts = min(1.0, _part_that_counts(abs(_saved(plan, found)), lost, _lost(found)))
        plan, before = found, plan.objective
        found_so_far.append(plan)
    if (held := last_that_holds(found_so_far)) is not plan:
        return held
    if before is not None:
        intervals = f"{len(first.mesh_error)} to {counted(len(plan.mesh_error), 'interval')}"
        errors = " to ".join(number(float(own.mesh_error.max()), 2) for own in (first, plan))
        costs = f"{number(first.objective)} to {number(plan.objective)}"
        last = f"the last refinement changed the cost by {number(abs(plan.objective - before), 2)}"
        plan.add_note(f"the mesh was refined from {intervals}: mesh error {errors}, cost {costs}; {last}")
    return plan


def _resolving_meshes(plan: FoundPlan, counts: float) -> list[Mesh | None]:
    """Finer meshes of the phases whose intervals nobody gave, and that do not resolve the plan.

    counts: the part of what held inputs are estimated to cost that is real.
    """
    allowed = INPUTS / len(plan.phases)
    return [
        resolving_mesh(part.transcription, part.outcome.w, part.mesh_error, OPEN, counts * lost, allowed)
        if part.transcription.description.open_mesh
        else None
        for part, lost in zip(plan.phases, _lost_shares(plan))
    ]


def on_finer_meshes(first: Callable[[], FoundPlan], search: SearchOn[FoundPlan], settings: SolveSettings) -> FoundPlan:
    """What a first search finds, or further ones on meshes that are refined where the mesh tolerance is not met."""
    began, tolerance, cost = time.perf_counter(), settings.mesh_tolerance, np.inf
    plan: FoundPlan = first()
    found_so_far, why, tried = [plan], "", ""
    for _ in range(MOST_MESHES):
        if tolerance is None or not plan.outcome.success:
            break
        mends = not abs(plan.objective - cost) <= tolerance * abs(plan.objective)
        finer = [
            refined_mesh(
                part.transcription, part.outcome.w, part.mesh_error, tolerance, settings.points, settings.degree, mends
            )
            for part in plan.phases
        ]
        if all(mesh is None for mesh in finer):
            break
        meshes = [mesh or part.transcription.layout.mesh for mesh, part in zip(finer, plan.phases)]
        rest = settings
        if settings.time_limit is not None:
            rest = replace(settings, time_limit=max(settings.time_limit - time.perf_counter() + began, 1e-3))
        found = search(meshes, plan, rest)
        if not found.outcome.success:
            count = counted(sum(mesh.intervals for mesh in meshes), "interval")
            why = f", the search with {count} ended: {found.outcome.ending.value}"
            break
        plan, cost = found, plan.objective
        found_so_far.append(plan)
    else:
        tried = f" after {MOST_MESHES} meshes"
    plan = last_that_holds(found_so_far)
    worst = max(float(part.mesh_error.max(initial=0.0)) for part in plan.phases)
    missed = tolerance is not None and plan.outcome.success and worst > tolerance
    if why or missed:
        off = f"; intervals are off by up to {number(worst, 2)}" if missed else ""
        plan.add_note(f"the mesh tolerance is not met{why or tried}{off}")
    return plan


def last_that_holds(plans: Sequence[FoundPlan]) -> FoundPlan:
    """The last of plans on finer and finer meshes that keeps all conditions, with a note; the last where none does."""
    last = plans[-1]
    held = next((plan for plan in reversed(plans) if plan.success), last)
    if held is not last:
        counts = [counted(len(plan.mesh_error), "interval") for plan in (held, last)]
        held.add_note(f"this is the plan of an earlier mesh, with {counts[0]}; with {counts[1]}: {last.status}")
    return held
