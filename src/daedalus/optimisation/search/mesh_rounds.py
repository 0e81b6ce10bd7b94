"""Searches on finer and finer meshes until the mesh error is small enough; of phases, each has a mesh of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from daedalus.initialisation.wording import number
from daedalus.model.names import counted
from daedalus.optimisation.description.solve_settings import SolveSettings
from daedalus.optimisation.program.program_outcome import ProgramEnding
from daedalus.optimisation.result.phased_plan import PhasedPlan
from daedalus.optimisation.result.plan import Plan
from daedalus.optimisation.search.refinement import refined_mesh
from daedalus.optimisation.transcription.mesh import Mesh

# Meshes are refined at most so often.
MOST_MESHES = 12

FoundPlan = TypeVar("FoundPlan", Plan, PhasedPlan)
# Meshes, what was found on the last ones, and settings -> what is found on these.
SearchOn = Callable[[list[Mesh], FoundPlan, SolveSettings], FoundPlan]


def on_finer_meshes(first: Callable[[], FoundPlan], search: SearchOn[FoundPlan], settings: SolveSettings) -> FoundPlan:
    """What a first search finds, or further ones on meshes that are refined where the mesh tolerance is not met."""
    began, tolerance, cost = time.perf_counter(), settings.mesh_tolerance, np.inf
    plan: FoundPlan = first()
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
        if not found.outcome.success and found.outcome.ending is not ProgramEnding.STOPPED:
            count = counted(sum(mesh.intervals for mesh in meshes), "interval")
            why = f"the search with {count} ended: {found.outcome.ending.value}"
            plan.add_note(f"the mesh tolerance is not met, {why}")
            break
        plan, cost = found, plan.objective
    else:
        worst = max(float(part.mesh_error.max(initial=0.0)) for part in plan.phases)
        if tolerance is not None and worst > tolerance:
            left = f"intervals are off by up to {number(worst, 2)}"
            plan.add_note(f"the mesh tolerance is not met after {MOST_MESHES} meshes: {left}")
    return plan
