"""From a described problem to a plan: transcribe, guess, search; what does not change is kept for the next search."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.errors import DaedalusError, InconsistentStartError, SolverError
from daedalus.model.lazy_values import cached_property
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.description.packed_description import (
    PackedDescription,
    packed_description,
    unpacked_description,
)
from daedalus.optimisation.description.solve_settings import SolveSettings
from daedalus.optimisation.program.draft import Draft
from daedalus.optimisation.program.fatrop import solve_with_fatrop
from daedalus.optimisation.program.newton import solve_with_newton
from daedalus.optimisation.program.optimality import optimality_error
from daedalus.optimisation.program.program import assembled
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome
from daedalus.optimisation.program.stage_structure import stage_structure
from daedalus.optimisation.result.plan import Plan
from daedalus.optimisation.search.consistent_states import consistent_states
from daedalus.optimisation.search.initial_guess import initial_guess
from daedalus.optimisation.search.mesh_rounds import on_finer_meshes
from daedalus.optimisation.search.patience import searched
from daedalus.optimisation.search.unused_inputs import is_better, tilted, unused_inputs
from daedalus.optimisation.transcription.boundary.independent_ends import possible_ends
from daedalus.optimisation.transcription.boundary.reference_ends import ReferenceEnds, first_guess, fixed_states
from daedalus.optimisation.transcription.chain_positions import chain_positions
from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.invariants import KeptQuantities, kept_quantities
from daedalus.optimisation.transcription.known_jumps import mesh_shares
from daedalus.optimisation.transcription.mesh import Mesh, mesh_of
from daedalus.optimisation.transcription.problem_stage import ProblemStage
from daedalus.optimisation.transcription.transcribe import drafted, stage_for, transcribed

# After so many iterations IPOPT takes over, whose filter is harder to lose.
MOST_BY_STAGES = 100
# Endings after which a guess that leads to another end may help, and how many such ends are tried.
LEADS_NOWHERE = (ProgramEnding.INFEASIBLE, ProgramEnding.SMALL_STEP, ProgramEnding.DIVERGED, ProgramEnding.NOT_FINITE)
MOST_ENDS = 2
# Searches that came to no end from the guess; a motion of the model may lead further.
GAVE_UP = (ProgramEnding.MANY_ITERATIONS, ProgramEnding.FAILED, ProgramEnding.SMALL_STEP, ProgramEnding.NOT_FINITE)


class Solving:
    """A transcribed problem; searches may be repeated."""

    def __init__(
        self, model: Model | System, description: Description, settings: SolveSettings, mesh: Mesh | None = None
    ) -> None:
        self.model, self.description = model, description
        self.settings, self.stage = settings, stage_for(description, settings)
        self.kept = kept_quantities(description)
        self.ends = reference_ends(description, self.kept)
        self.mesh = mesh or mesh_of(mesh_shares(description, not settings.preview), settings.points, settings.degree)
        self.transcription = self.transcribed(self.stage)
        self.begin = self._guess()
        self.last: ProgramOutcome | None = None  # the last search that succeeded; the next begins there

    def _guess(self) -> np.ndarray:
        made = self.transcription
        return initial_guess(made.stage, made.layout, self.ends, self.kept, made.program.shape[0])

    def moved(self, description: Description) -> Solving | None:
        """The same program from another start; None where more than the values at the start would change.

        Plans that were made before keep what they were made with.
        """
        before, after = fixed_states(self.description.starts), fixed_states(description.starts)
        others = [v for v in (self.description.starts or []) + (description.starts or []) if v.state is None]
        states = self.stage.model_states
        ends = len(fixed_states(description.ends))
        open_ends = bool(self.kept.held.numel() + self.kept.conserved.numel()) and 0 < ends < states
        if set(before) != set(after) or len(after) != states or others or open_ends:
            return None
        found = copy(self)
        found.description, found.ends = description, reference_ends(description, self.kept)
        old, new = (self.kept.values(at.start, self.kept.conserved) for at in (self.ends, found.ends))
        if ends and not np.allclose(old, new, rtol=1e-9):
            return None  # what the model keeps has another value, and with it what the end can be
        own = copy(self.transcription.stage.description)
        own.starts = description.starts
        stage, program = replace(self.transcription.stage, description=own), self.transcription.program
        first = self.transcription.layout.nodes[0, list(after)]
        lower, upper = program.lower.copy(), program.upper.copy()
        lower[first] = upper[first] = list(after.values())
        found.stage = stage
        found.transcription = replace(
            self.transcription, stage=stage, program=replace(program, lower=lower, upper=upper)
        )
        found.begin = found._guess() if self.last is None else self.last.w
        return found

    def transcribed(self, stage: ProblemStage) -> Transcription:
        """A stage on the mesh of this problem."""
        draft = Draft(gauss_newton=self.settings.hessian == "gauss_newton")
        made = drafted(stage, self.mesh, self.ends, self.kept, self.settings, draft)
        return transcribed(made, assembled(draft))

    def again(self, description: Description) -> Transcription:
        """A changed problem on the same mesh."""
        return self.transcribed(stage_for(description, self.settings))

    def plan(self, settings: SolveSettings) -> Plan:
        """Search, refine the mesh where that is asked for, and make a plan of what was found."""

        def finer(meshes: list[Mesh], before: Plan, left: SolveSettings) -> Plan:
            near = replace(self.description, trajectory=before)
            return Solving(self.model, near, settings, meshes[0])._search(left)

        return on_finer_meshes(lambda: self._search(settings), finer, settings)

    def _by_stages(self, settings: SolveSettings) -> tuple[ProgramOutcome | None, str]:
        """What fatrop finds, or None and why."""
        layout, program = self.transcription.layout, self.transcription.program
        stages = layout.stages
        structure = None if stages is None else stage_structure(program, *stages)
        if structure is None:
            return None, "some condition joins instants that do not follow each other"
        try:
            begin = self.begin if self.last is None else self.last.w
            outcome = solve_with_fatrop(
                program, structure, begin, tolerance=settings.accuracy,
                most_iterations=min(settings.most_iterations, MOST_BY_STAGES),
            )  # fmt: skip
        except SolverError as error:
            return None, error.what
        return (outcome, "") if outcome.success else (None, "it did not converge")

    def _with_ipopt(self, settings: SolveSettings, warm: ProgramOutcome | None = None) -> ProgramOutcome:
        """What IPOPT finds from the guess, or from an earlier plan with its multipliers."""
        begin = self.begin if warm is None else warm.w
        return searched(self.transcription.program, begin, settings, self.description.system.name, warm)

    def _towards_other_ends(self, settings: SolveSettings) -> ProgramOutcome | None:
        """What is found from guesses that lead to other ends: states that are not given may lie on several branches."""
        given, starts = fixed_states(self.description.ends), fixed_states(self.description.starts)
        made = self.transcription
        for end in possible_ends(self.kept, starts, given, self.ends)[:MOST_ENDS]:
            ends = replace(self.ends, end=end)
            begin = initial_guess(made.stage, made.layout, ends, self.kept, made.program.shape[0])
            found = searched(made.program, begin, settings, self.description.system.name)
            if found.success or found.ending is ProgramEnding.STOPPED:
                return found
        return None

    def _from_a_motion(self, settings: SolveSettings, outcome: ProgramOutcome) -> ProgramOutcome | None:
        """What is found from a motion of the model with the inputs of the guess, not from a line between its ends."""
        program = self.transcription.program
        guess = Plan(
            self.model, self.transcription, replace(outcome, w=self.begin), program.parameters, self.begin, self.again
        )
        try:
            motion = guess.replay().trajectory
            if not motion.success:
                return None
            near = Solving(self.model, replace(self.description, trajectory=motion), settings, self.mesh)
        except DaedalusError:
            return None
        if near.transcription.program.shape != program.shape:
            return None
        if settings.time_limit is not None:
            settings = replace(settings, time_limit=max(settings.time_limit - outcome.seconds, 1e-3))
        found = searched(program, near.begin, settings, self.description.system.name)
        return replace(found, iterations=outcome.iterations + found.iterations) if found.success else None

    def _with_hidden_inputs(self, settings: SolveSettings, outcome: ProgramOutcome) -> tuple[ProgramOutcome, list[str]]:
        """A better plan that uses inputs which a symmetry has hidden from the search, where there is one."""
        made = self.transcription
        hidden = unused_inputs(made, self.begin, outcome)
        if not hidden or outcome.solver == "newton":
            return outcome, []
        other = searched(made.program, tilted(made, self.begin, hidden), settings, self.description.system.name)
        if not is_better(other, outcome):
            return outcome, []
        note = "a plan without some of the inputs was a saddle point: this one, from another guess, costs less"
        return replace(other, iterations=outcome.iterations + other.iterations), [note]

    def _still_solved(self, settings: SolveSettings) -> ProgramOutcome | None:
        """The last plan where it obeys the conditions of optimality as it is: a problem that has not changed."""
        began = time.perf_counter()
        if self.last is None or optimality_error(self.transcription.program, self.last) > settings.accuracy:
            return None
        return replace(self.last, iterations=0, seconds=time.perf_counter() - began)

    @cached_property
    def _newton(self) -> _core.NewtonProgram | None:
        """The program link by link, with all memory; None where its variables form no chain along time."""
        program = self.transcription.program
        position = chain_positions(program, self.transcription.layout)
        return None if position is None else _core.NewtonProgram(program.core, position)

    def _near_the_last(self, settings: SolveSettings) -> ProgramOutcome | None:
        """What a few Newton steps from the last plan find, where only numbers have changed since."""
        if self.last is None or settings.hessian != "exact" or self._newton is None:
            return None
        program = self.transcription.program
        found = solve_with_newton(self._newton, program, self.last, tolerance=settings.accuracy)
        # What counts is looked at once more, by the means of every search.
        return found if found is not None and optimality_error(program, found) <= settings.accuracy else None

    def _search(self, settings: SolveSettings) -> Plan:
        program, notes = self.transcription.program, []
        outcome = self._still_solved(settings)
        if outcome is None and settings.solver == "auto" and not settings.options:
            outcome = self._near_the_last(settings)
        if outcome is None and self.last is not None and settings.solver != "fatrop":
            found = self._with_ipopt(settings, self.last)
            outcome = found if found.success or found.ending is ProgramEnding.STOPPED else None
        if outcome is None and self.settings.by_stages:
            outcome, reason = self._by_stages(settings)
            if outcome is None and settings.solver == "fatrop":
                notes.append(f"ipopt took over from fatrop: {reason}")
        if outcome is None:
            outcome = self._with_ipopt(settings)
        if outcome.ending in LEADS_NOWHERE:
            outcome = self._towards_other_ends(settings) or outcome
        if outcome.ending in GAVE_UP and self.last is None and self.description.trajectory is None:
            outcome = self._from_a_motion(settings, outcome) or outcome
        if outcome.success and self.last is None and not settings.options:
            outcome, told = self._with_hidden_inputs(settings, outcome)
            notes += told
        self.transcription.notes = [*self.transcription.notes, *notes]
        if outcome.success:
            self.last = outcome
        return Plan(self.model, self.transcription, outcome, program.parameters, self.begin, self.again)

    def __reduce__(self) -> tuple[Any, ...]:
        # A function that shows progress belongs to the search that it has shown.
        settings = replace(self.settings, progress=None)
        return _solving_again, (self.model, packed_description(self.description), settings, self.mesh, self.last)


def _solving_again(
    model: Model | System,
    description: PackedDescription,
    settings: SolveSettings,
    mesh: Mesh,
    last: ProgramOutcome | None,
) -> Solving:
    found = Solving(model, unpacked_description(model, description), settings, mesh)
    found.last = last
    return found


def reference_ends(description: Description, kept: KeptQuantities) -> ReferenceEnds:
    """Consistent states at both ends."""
    starts, ends = fixed_states(description.starts), fixed_states(description.ends)
    begin = consistent_states(description, kept, starts, first_guess(description), "start")
    try:
        return ReferenceEnds(begin, consistent_states(kept.at_end.description, kept, ends, begin, "end"))
    except InconsistentStartError:
        if not kept.end_moves:
            raise
    # Where the constraints are at the end is not known before the search.
    end = begin.copy()
    end[list(ends)] = list(ends.values())
    return ReferenceEnds(begin, end)
