"""From a described problem to a plan: transcribe, guess, search; what does not change is kept for the next search."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from daedalus import _core
from daedalus.algebra.rank_decision import SAME_FORMULA
from daedalus.errors import DaedalusError, SolverError
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
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.program.draft import Draft
from daedalus.optimisation.program.program import assembled
from daedalus.optimisation.program.program_outcome import ProgramEnding, ProgramOutcome, is_better
from daedalus.optimisation.program.solvers import optimality_error, solve_with_fatrop, solve_with_newton
from daedalus.optimisation.program.stage_structure import stage_structure
from daedalus.optimisation.result.plan import Plan
from daedalus.optimisation.result.plan_checked import FAR
from daedalus.optimisation.search.consistent_states import reference_ends
from daedalus.optimisation.search.convexity import is_convex
from daedalus.optimisation.search.finite_guess import with_slopes
from daedalus.optimisation.search.hidden_inputs import in_the_middle
from daedalus.optimisation.search.initial_guess import initial_guess
from daedalus.optimisation.search.mesh_rounds import on_an_open_mesh, on_finer_meshes, tell_coarse_inputs
from daedalus.optimisation.search.never_negative import fallen_below_zero, with_bounds
from daedalus.optimisation.search.other_starts import (
    DURATIONS,
    INTERVALS,
    MOST_VARIABLES,
    MOST_WORK,
    MUCH_WORK,
    bent_states,
    cheaper_guess,
    local_optimum,
    states_between_bounds,
)
from daedalus.optimisation.search.patience import searched, within
from daedalus.optimisation.search.plans_elsewhere import from_other_starts, that_is_of_the_model, with_hidden_inputs
from daedalus.optimisation.search.sizes_found import is_too_rough, shows_large_numbers
from daedalus.optimisation.search.strong_optimum import lower_hamiltonian, moved_jumps
from daedalus.optimisation.transcription.boundary.independent_ends import possible_ends
from daedalus.optimisation.transcription.boundary.reference_ends import fixed_states
from daedalus.optimisation.transcription.chain_positions import chain_positions
from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.invariants import kept_quantities
from daedalus.optimisation.transcription.kinks_of_rates import rates_are_kept, signs_of_rates
from daedalus.optimisation.transcription.known_jumps import mesh_shares
from daedalus.optimisation.transcription.mesh import Mesh, mesh_of
from daedalus.optimisation.transcription.problem_stage import ProblemStage
from daedalus.optimisation.transcription.smooth_parts import gives_integrals_values
from daedalus.optimisation.transcription.transcribe import drafted, stage_for, transcribed

# After so many iterations IPOPT takes over, whose filter is harder to lose.
MOST_BY_STAGES = 100
# Endings after which a guess that leads to another end may help, and how many such ends are tried.
LEADS_NOWHERE = (ProgramEnding.INFEASIBLE, ProgramEnding.SMALL_STEP, ProgramEnding.DIVERGED, ProgramEnding.NOT_FINITE)
MOST_ENDS = 2
# Searches that came to no end from the guess; a motion of the model may lead further.
GAVE_UP = (ProgramEnding.MANY_ITERATIONS, ProgramEnding.FAILED, ProgramEnding.SMALL_STEP, ProgramEnding.NOT_FINITE)
# From the guess alone so many iterations are taken before other kinds of guesses are tried.
MOST_FROM_THE_GUESS = 300
# How often inputs of lower Hamiltonian are followed.
MOST_STRONGER = 5


class Solving:
    """A transcribed problem; searches may be repeated."""

    def __init__(
        self, model: Model | System, description: Description, settings: SolveSettings, mesh: Mesh | None = None
    ) -> None:
        if description.relaxed is None and settings.method == "collocation":
            description = replace(description, relaxed=signs_of_rates(description))
        self.model, self.description = model, description
        self.settings, self.stage = settings, stage_for(description, settings)
        self.kept = kept_quantities(description)
        self.ends = reference_ends(description, self.kept)
        self.mesh = mesh or mesh_of(mesh_shares(description, not settings.preview), settings.points, settings.degree)
        self.transcription = self.transcribed(self.stage)
        self.begin = self._guess()
        self.last: ProgramOutcome | None = None  # the last search that succeeded; the next begins there
        self.other_ways: list[str] = []  # what is known of other optima
        self.other_way: ProgramOutcome | None = None  # of more cost, kept where finer meshes have to confirm the plan

    def _guess(self, description: Description | None = None) -> np.ndarray:
        made = self.transcription
        stage = made.stage if description is None else replace(made.stage, description=description)
        begin = initial_guess(stage, made.layout, self.ends, self.kept, made.program.shape[0])
        return with_slopes([made], begin)

    def _begins(self) -> list[np.ndarray]:
        """The guess, the same for other durations where that is unknown, and bent motions with inputs that fit them."""
        described, duration = self.transcription.stage.description, self.description.duration
        ways = [bent_states(self.transcription, self.begin, sign) for sign in (1.0, -1.0)]
        between = states_between_bounds(self.transcription, self.begin)
        others = [replace(described, guesses=way) for way in (*ways, between) if way]
        if isinstance(duration, Unknown):
            allowed = [float(np.clip(part * duration.guess, duration.lower, duration.upper)) for part in DURATIONS]
            others = [replace(described, duration=replace(duration, guess=guess)) for guess in allowed] + others
        return [self.begin, *(self._guess(other) for other in others)]

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
        found, description = copy(self), replace(description, relaxed=self.description.relaxed)
        found.description, found.ends = description, reference_ends(description, self.kept)
        old, new = (self.kept.values(at.start, self.kept.conserved) for at in (self.ends, found.ends))
        if ends and not np.allclose(old, new, rtol=SAME_FORMULA, atol=0.0):
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
        described, plan = self.description, self._as_written(settings)
        left = within(settings, plan.outcome.iterations, plan.outcome.seconds)
        amounts = {} if plan.success or settings.options else fallen_below_zero(described, plan)
        if left is None or not amounts or plan.ending is ProgramEnding.STOPPED:
            return plan
        above = replace(described, bounds=with_bounds(described, amounts))
        found = Solving(self.model, above, self.settings, self.mesh)._as_written(left)
        found.add_note(f"no motion takes {', '.join(amounts.values())} below zero: the search was kept from there")
        return found if found.success else plan

    def _as_written(self, settings: SolveSettings) -> Plan:
        """A plan with substitutes for integrals and kinks, or of the problem as written if they do not hold on it."""
        plan, described = self._planned(settings), self.description
        more = described.relaxed or (described.loose and gives_integrals_values(described))
        if not more or (plan.success and rates_are_kept(plan)):
            return plan
        # More than was used stood in the place of an integral or of |T|: once more as it was written.
        written = replace(described, loose=False, relaxed=())
        exact = Solving(self.model, written, settings, self.mesh)._planned(settings)
        return exact if exact.success or not rates_are_kept(plan) else plan

    def _in_sizes_found(self, settings: SolveSettings) -> Plan:
        """The result of a search, repeated in the sizes that it found if large or small numbers hindered it.

        The end of a position tells its scale, 1e9 m; that of a speed or force that brings it there, the search shows.
        """
        plan = self._search(settings)
        outcome, described = plan.outcome, self.description
        left, large = within(settings, outcome.iterations, outcome.seconds), self._shows_sizes(settings, outcome)
        shown = large or is_too_rough(self.transcription, outcome)
        if left is None or not shown or settings.options or described.sizes:
            return plan
        labels = (*described.system.labels["x"], *described.system.labels["u"])
        sizes = {label: float(np.abs(plan[label]).max()) for label in labels}
        near = replace(described, trajectory=plan, sizes=sizes)
        found = Solving(self.model, near, self.settings, self.mesh)._search(left)
        if not found.outcome.success:
            if not large:
                return plan
            self.description = replace(described, sizes=dict.fromkeys(labels, 0.0))  # as it was written, to the end
            return self._search(left)
        found.iterations, found.seconds = outcome.iterations + found.iterations, outcome.seconds + found.seconds
        return found

    def _shows_sizes(self, settings: SolveSettings, outcome: ProgramOutcome) -> bool:
        """Whether a search that came to no end shows numbers far larger than their scales, and nobody chose these."""
        given = settings.options or self.description.sizes or outcome.ending not in (*GAVE_UP, *LEADS_NOWHERE)
        return not given and shows_large_numbers(self.transcription, outcome)

    def _planned(self, settings: SolveSettings) -> Plan:
        """What a search finds, on meshes that are refined where that is asked for."""

        def finer(meshes: list[Mesh], before: Plan, left: SolveSettings) -> Plan:
            near = replace(self.description, trajectory=before)
            own = Solving(self.model, near, settings, meshes[0])
            # The same way is followed: what is known of others still holds.
            own.other_ways = self.other_ways
            return own._search(replace(left, starts=1))

        def resolved(first: Callable[[], Plan]) -> Plan:
            if not self.description.open_mesh or settings.mesh_tolerance is not None:
                return on_finer_meshes(first, finer, settings)
            found = first()
            follows = found.outcome.success and rates_are_kept(found)
            return on_an_open_mesh(found, finer, settings) if follows else found

        plan = resolved(lambda: self._in_sizes_found(settings))
        if (other := self.other_way) is not None and not plan.success:
            # A plan of less cost was one of its mesh alone: that of the guess is followed.
            self.transcription.notes = [note for note in self.transcription.notes if note not in self.other_ways]
            self.last, self.other_way, self.other_ways = other, None, [local_optimum(0)]
            dearer = resolved(lambda: self.plan_of(other))
            plan = dearer if dearer.success else plan
        tell_coarse_inputs(plan, finer, settings)
        return plan

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
        """What is found from motions of the model, not from a line between its ends.

        Their inputs are those of the guess, or in the middle of their bounds: where no end is given those of the guess
        hold the start.
        """
        program, done, seconds = self.transcription.program, outcome.iterations, outcome.seconds
        for begin in (self.begin, in_the_middle(self.transcription, self.begin)):
            near = self._beginning_at_a_motion(replace(outcome, w=begin))
            left = within(settings, 0, seconds)
            if near is None or left is None:
                continue
            found = searched(program, near, left, self.description.system.name)
            done, seconds = done + found.iterations, seconds + found.seconds
            if found.success:
                return replace(found, iterations=done, seconds=seconds)
        return None

    def _beginning_at_a_motion(self, guess: ProgramOutcome) -> np.ndarray | None:
        """A guess with the motion that the inputs of another one lead to; None where there is none."""
        try:
            motion = self.plan_of(guess).replay().trajectory
            if not motion.success:
                return None
            near = Solving(self.model, replace(self.description, trajectory=motion), self.settings, self.mesh)
        except DaedalusError:
            return None
        return near.begin if near.transcription.program.shape == self.transcription.program.shape else None

    def _with_lower_hamiltonian(
        self, settings: SolveSettings, first: ProgramOutcome
    ) -> tuple[ProgramOutcome, list[str]]:
        """A cheaper plan from inputs far from those of the first, where these lower its Hamiltonian."""
        made, outcome = self.transcription, first
        led = self.description.guesses or self.description.trajectory is not None or settings.starts == 1
        for _ in range(0 if led else MOST_STRONGER):
            far = lower_hamiltonian(made, outcome)
            for inputs in [*([] if far is None else [far]), *moved_jumps(made, outcome)]:
                left = within(settings, outcome.iterations, outcome.seconds)
                if left is None:
                    break
                begin = self._beginning_at_a_motion(replace(outcome, w=inputs))
                other = searched(made.program, inputs if begin is None else begin, left, self.description.system.name)
                done, spent = outcome.iterations + other.iterations, outcome.seconds + other.seconds
                better = is_better(other, outcome)
                outcome = replace(other if better else outcome, iterations=done, seconds=spent)
                if better:
                    break
            else:
                break
        if not is_better(outcome, first):
            return outcome, []
        told = f"{first.objective:.6g} was found first, {outcome.objective:.6g} from there"
        return outcome, [f"other values of the inputs lower the Hamiltonian of the first plan: {told}"]

    def _coarse(self, settings: SolveSettings) -> Solving | None:
        """The problem on few intervals, where other ways are looked for; None where the user leads, or it is large."""
        described = self.description
        if described.guesses or described.trajectory is not None or settings.options:
            return None
        count = min(INTERVALS, described.intervals)
        if self.transcription.program.shape[0] * count > MOST_VARIABLES * self.mesh.intervals:
            return None
        return Solving(self.model, replace(described, intervals=count), self.settings)

    def _by_another_way(
        self, settings: SolveSettings, first: ProgramOutcome, elsewhere: bool
    ) -> tuple[ProgramOutcome, list[str]]:
        """A cheaper plan from other starts, where one is found with little work; and what was not looked for.

        elsewhere: whether the guess led to no plan, and the first one is that of another start: of any.
        """
        if is_convex(self.transcription.program, first.w):
            return first, []
        coarse = self._coarse(settings)
        if coarse is None:
            return first, [local_optimum(0)]
        left = None if settings.time_limit is None else settings.time_limit - first.seconds
        guess, tried = cheaper_guess(
            coarse.transcription, coarse._begins(), settings, left,
            work=MOST_WORK * (MUCH_WORK if elsewhere else 1), lost=elsewhere,
        )  # fmt: skip
        if guess is None:
            return first, [local_optimum(tried)]
        plan = self.plan_of(first)
        found = self._along(coarse, guess, settings, left)
        way = self.plan_of(found)
        if (not is_better(found, first) and plan.success) or not (way.success or self._may_be_resolved(way)):
            return first, [local_optimum(tried)]
        if not way.success:
            self.other_way = first
        whole = replace(found, iterations=first.iterations + found.iterations, seconds=first.seconds + found.seconds)
        return whole, [local_optimum(tried, (first.objective, found.objective))]

    def _may_be_resolved(self, plan: Plan) -> bool:
        """Whether a plan that breaks conditions may keep them on finer meshes, which follow."""
        finer = self.description.open_mesh or self.settings.mesh_tolerance is not None
        return finer and plan.outcome.success and float(plan.mesh_error.max(initial=0.0)) <= FAR

    def _along(
        self, coarse: Solving, guess: ProgramOutcome, settings: SolveSettings, left: float | None
    ) -> ProgramOutcome:
        """What is found on the whole mesh from a plan on a coarse one; `left`: seconds for both."""
        way = coarse.plan_of(guess)
        near = Solving(self.model, replace(self.description, trajectory=way), self.settings, self.mesh)
        if left is not None:
            settings = replace(settings, time_limit=max(left - guess.seconds, 1e-3))
        return searched(self.transcription.program, near.begin, settings, self.description.system.name)

    def _from_elsewhere(
        self, settings: SolveSettings, first: ProgramOutcome
    ) -> tuple[ProgramOutcome | None, list[str]]:
        """A plan from another start, where the first search found none."""
        coarse, left = self._coarse(settings), within(settings, first.iterations, first.seconds)
        if coarse is None or left is None:
            return None, []
        guess, tried = cheaper_guess(
            coarse.transcription, coarse._begins(), left, left.time_limit,
            work=MUCH_WORK * MOST_WORK, any_plan=True, lost=True,
        )  # fmt: skip
        if guess is None:
            return None, []
        found = self._along(coarse, guess, left, left.time_limit)
        if not found.success:
            return None, []
        seconds = first.seconds + guess.seconds + found.seconds
        told = f"other start {tried}" if tried else "a plan on a coarse mesh"
        note = f"the search from the guess found no plan ({first.ending.value}); from {told} it found this one"
        return replace(found, iterations=first.iterations + found.iterations, seconds=seconds), [note]

    def changed(self, description: Description) -> Solving:
        """Another problem on the same mesh."""
        return Solving(self.model, description, self.settings, self.mesh)

    def plan_of(self, outcome: ProgramOutcome) -> Plan:
        """The plan of what a search found."""
        return Plan(self.model, (made := self.transcription), outcome, made.program.parameters, self.begin, self.again)

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

    def _searched_everywhere(self, settings: SolveSettings) -> tuple[ProgramOutcome, list[str]]:
        """What is found from the guess and, where that leads nowhere, from guesses of other kinds; notes."""
        alone = bool(settings.options) or self.last is not None or settings.starts == 1
        most = settings.most_iterations if alone else min(settings.most_iterations, MOST_FROM_THE_GUESS)
        outcome, notes = self._with_ipopt(replace(settings, most_iterations=most)), list[str]()
        if not alone and self._shows_sizes(settings, outcome):
            return outcome, notes
        if outcome.ending in LEADS_NOWHERE:
            outcome = self._towards_other_ends(settings) or outcome
        if outcome.ending in GAVE_UP and self.last is None and self.description.trajectory is None:
            outcome = self._from_a_motion(replace(settings, most_iterations=most), outcome) or outcome
        if outcome.ending in (*LEADS_NOWHERE, *GAVE_UP) and not alone:
            other, notes = self._from_elsewhere(settings, outcome)
            outcome = other or outcome
        more = within(settings, outcome.iterations, outcome.seconds)
        if outcome.ending is ProgramEnding.MANY_ITERATIONS and not alone and more is not None:
            found = searched(self.transcription.program, self.begin, more, self.description.system.name, patience=most)
            done, spent = outcome.iterations + found.iterations, outcome.seconds + found.seconds
            outcome = replace(found, iterations=done, seconds=spent)
        return outcome, notes

    def _search(self, settings: SolveSettings) -> Plan:
        notes: list[str] = []
        elsewhere = False
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
            outcome, told = self._searched_everywhere(settings)
            notes, elsewhere = notes + told, bool(told)
        if outcome.success and self.last is None and not settings.options:
            outcome, told = with_hidden_inputs(self, settings, outcome)
            notes += told
            outcome, told = self._with_lower_hamiltonian(settings, outcome)
            notes += told
        if settings.starts is not None and settings.starts > 1:
            outcome, self.other_ways = from_other_starts(self, settings, outcome)
        elif settings.starts is None and outcome.success and self.last is None:
            outcome, self.other_ways = self._by_another_way(settings, outcome, elsewhere)
        if settings.starts != 1 and outcome.success and self.last is None:
            outcome, told = that_is_of_the_model(self, settings, outcome)
            notes += told
        before = [note for note in self.transcription.notes if note not in self.other_ways]
        self.transcription.notes = [*before, *notes, *self.other_ways]
        if outcome.success:
            self.last = outcome
        return self.plan_of(outcome)

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
