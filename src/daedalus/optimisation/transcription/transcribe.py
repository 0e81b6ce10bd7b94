"""A described problem as a program, by the method that is asked for; several may share one program."""

from __future__ import annotations

from daedalus.optimisation.description.description import Description
from daedalus.optimisation.description.solve_settings import SolveSettings
from daedalus.optimisation.program.draft import Draft
from daedalus.optimisation.program.program import Program
from daedalus.optimisation.transcription.boundary.reference_ends import ReferenceEnds
from daedalus.optimisation.transcription.collocated import Transcription, add_collocation, collocation_stage
from daedalus.optimisation.transcription.invariants import KeptQuantities
from daedalus.optimisation.transcription.mesh import Mesh
from daedalus.optimisation.transcription.problem_draft import ProblemDraft
from daedalus.optimisation.transcription.problem_stage import ProblemStage
from daedalus.optimisation.transcription.shooting import add_shooting, nodes_only, shooting_stage, with_points


def stage_for(description: Description, settings: SolveSettings) -> ProblemStage:
    """The stage of a problem."""
    if settings.method == "shooting":
        return shooting_stage(description, not settings.preview)
    return collocation_stage(description)


def drafted(
    stage: ProblemStage, mesh: Mesh, ends: ReferenceEnds, kept: KeptQuantities, settings: SolveSettings, draft: Draft
) -> ProblemDraft:
    """Everything a problem says, added to a draft."""
    shoots = settings.method == "shooting"
    made = ProblemDraft(stage, nodes_only(mesh.shares) if shoots else mesh, draft, ends, kept, settings.by_stages)
    if shoots:
        add_shooting(made, settings.step_method, settings.steps)
    else:
        add_collocation(made)
    return made


def transcribed(made: ProblemDraft, program: Program) -> Transcription:
    """What was drafted, with the program that came of it."""
    between = None if made.layout.mesh.firsts[-1] else with_points
    return Transcription(made.stage, made.layout, program, made.draft, made.notes, between, made.independence)
