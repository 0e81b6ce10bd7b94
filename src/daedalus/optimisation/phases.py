"""dd.phases: several problems in sequence, each with its own model, joined at their ends and solved as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.names import split_index
from daedalus.model.signals import Signal
from daedalus.optimisation.description.description import Description
from daedalus.optimisation.description.packed_description import PackedDescription, unpacked_description
from daedalus.optimisation.description.solve_settings import SolveSettings
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.optimal_control import OptimalControl
from daedalus.optimisation.program.draft import Draft
from daedalus.optimisation.program.program import Program, assembled
from daedalus.optimisation.program.program_outcome import ProgramOutcome
from daedalus.optimisation.result.phased_plan import PhasedPlan
from daedalus.optimisation.result.plan import Plan
from daedalus.optimisation.search.consistent_states import reference_ends
from daedalus.optimisation.search.convexity import is_convex
from daedalus.optimisation.search.finite_guess import with_slopes
from daedalus.optimisation.search.initial_guess import initial_guess
from daedalus.optimisation.search.mesh_rounds import on_an_open_mesh, on_finer_meshes, tell_coarse_inputs
from daedalus.optimisation.search.other_starts import local_optimum
from daedalus.optimisation.search.patience import searched
from daedalus.optimisation.transcription.boundary.reference_ends import ReferenceEnds, first_guess, fixed_states
from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.invariants import kept_quantities
from daedalus.optimisation.transcription.kinks_of_rates import rates_are_kept, signs_of_rates
from daedalus.optimisation.transcription.known_jumps import mesh_shares
from daedalus.optimisation.transcription.mesh import Mesh, mesh_of
from daedalus.optimisation.transcription.problem_draft import ProblemDraft
from daedalus.optimisation.transcription.transcribe import drafted, stage_for, transcribed


class Phases:
    """Problems in sequence; `dd.phases` makes it, `solve` finds the plan."""

    def __init__(self, problems: tuple[OptimalControl, ...], link: Mapping[str, str | None]) -> None:
        self.problems, self.link = problems, dict(link)

    def solve(
        self,
        method: str = "collocation",
        degree: int = 3,
        hessian: str = "exact",
        tolerance: float | None = None,
        time_limit: float | None = None,
        progress: bool | Callable[..., object] | None = None,
        *,
        points: str = "radau",
        most_iterations: int = 3000,
        mesh_tolerance: float | None = None,
        step_method: str | Tableau = "rk4",
        steps: int = 2,
        options: Mapping[str, Any] | None = None,
    ) -> PhasedPlan:
        """Find the plan, by IPOPT; other arguments are those of `OptimalControl.solve`. Each phase has its own mesh.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.catalogue.load("double_integrator").model
        >>> one, two = (dd.OptimalControl(m, duration=dd.unknown(1.0, 0.1, 5.0), intervals=5) for _ in range(2))
        >>> one.start(); one.finish(position=0.25); two.finish(position=1.0, velocity=0.0)
        >>> for part in (one, two): part.bound("force", -1.0, 1.0); part.minimise(final=part.duration)
        >>> fine = dd.phases(one, two).solve(mesh_tolerance=1e-6)  # the force turns inside the second phase
        >>> round(dd.phases(one, two).solve().duration, 4), round(fine.duration, 6)
        (2.0082, 2.0)
        """
        settings = SolveSettings(
            method, "ipopt", degree, points, hessian, tolerance, time_limit, progress, most_iterations, mesh_tolerance,
            step_method, steps, dict(options or {}),
        )  # fmt: skip
        described = [problem._description for problem in self.problems]
        relaxed = [signs_of_rates(own, goes_on=own is not described[-1]) for own in described]
        if any(relaxed) and method == "collocation":
            tried = self._planned([replace(own, relaxed=signs) for own, signs in zip(described, relaxed)], settings)
            if tried.success and all(rates_are_kept(part) for part in tried.phases):
                return tried
        return self._planned(described, settings)

    def _planned(self, described: list[Description], settings: SolveSettings) -> PhasedPlan:
        """What a search finds, on meshes that are refined where that is asked for."""
        meshes = [mesh_of(mesh_shares(own), settings.points, settings.degree) for own in described]

        def finer(meshes: list[Mesh], before: PhasedPlan, left: SolveSettings) -> PhasedPlan:
            nearer = [replace(own, trajectory=plan) for own, plan in zip(described, before.phases)]
            return self._search(nearer, meshes, left)

        if settings.mesh_tolerance is not None:
            return on_finer_meshes(lambda: self._search(described, meshes, settings), finer, settings)
        plan = self._search(described, meshes, settings)
        if plan.outcome.success:
            plan = on_an_open_mesh(plan, finer, settings)
        tell_coarse_inputs(plan, finer, settings)
        return plan

    def _search(self, described: list[Description], meshes: list[Mesh], settings: SolveSettings) -> PhasedPlan:
        """What is found on these meshes."""
        parts, program, begin = self._written(described, meshes, settings)
        outcome = searched(program, begin, settings, "phases")
        plans = self._plans(parts, program, begin, outcome)
        return PhasedPlan(plans, (self, described, meshes, replace(settings, progress=None)))

    def _written(
        self, described: list[Description], meshes: list[Mesh], settings: SolveSettings
    ) -> tuple[list[ProblemDraft], Program, np.ndarray]:
        """The phases as one program, and a guess."""
        draft = Draft(gauss_newton=settings.hessian == "gauss_newton")
        made = []
        guesses = ends_of_phases(described, [_going_on(one, two, self.link) for one, two in pairwise(described)])
        for description, mesh, guess in zip(described, meshes, guesses):
            kept = kept_quantities(description)
            ends = reference_ends(description, kept, guess)
            made.append(drafted(stage_for(description, settings), mesh, ends, kept, settings, draft))
        _join_all(draft, made, self.link)
        program = assembled(draft)
        begin = np.zeros(program.shape[0])
        for part in made:
            begin += initial_guess(part.stage, part.layout, part.ends, part.kept, program.shape[0])
        return made, program, with_slopes([transcribed(part, program) for part in made], begin)

    def _plans(
        self, parts: list[ProblemDraft], program: Program, begin: np.ndarray, outcome: ProgramOutcome
    ) -> list[Plan]:
        all_phases = [transcribed(part, program) for part in parts]
        plans = [
            Plan(problem.model, own, outcome, program.parameters, begin, _alone, all_phases)
            for problem, own in zip(self.problems, all_phases)
        ]
        if outcome.success and not is_convex(program, outcome.w):
            plans[0].add_note(local_optimum(0, more="another guess may lead to a cheaper one"))
        return plans

    def plan_again(
        self, described: list[PackedDescription], meshes: list[Mesh], settings: SolveSettings, outcome: ProgramOutcome
    ) -> PhasedPlan:
        """A plan of its pickle: the program is written again, and what was found put into it."""
        own = [unpacked_description(problem.model, record) for problem, record in zip(self.problems, described)]
        plans = self._plans(*self._written(own, meshes, settings), outcome)
        return PhasedPlan(plans, (self, own, meshes, settings))


def _alone(*_: object) -> Transcription:
    raise InputError(
        "plan.sensitivity is not available for plans with several phases.",
        remedy="a free parameter: ocp.free(name, ...)",
    )


def _join_all(draft: Draft, made: list[ProblemDraft], link: Mapping[str, str | None]) -> None:
    """Ask for equal states, and equal free parameters, wherever one phase ends and the next begins."""
    told: set[str] = set()
    for before, after in pairwise(made):
        ending, beginning = _joinable(before, -1), _joinable(after, 0)
        chosen = _by_element(link, ending, beginning, told)
        names = {**{label: label for label in ending if label in beginning}, **chosen}
        pairs = [(one, two) for one, two in names.items() if two is not None]
        _check_joined(before, after, pairs)
        rows = before.add_rows("link", [f"link of {one}" for one, _ in pairs], np.ones(1))
        draft.add_linear(rows[0], np.array([ending[one] for one, _ in pairs]), 1.0)
        draft.add_linear(rows[0], np.array([beginning[two] for _, two in pairs]), -1.0)
    for one, two in link.items():
        if one not in told:
            known = [f"{part.description.system.name!r} has {', '.join(_joinable(part, 0))}" for part in made]
            raise InputError(
                f"No two phases are linked by {one!r}: {two!r}.",
                "; ".join(known),
                because="a link leads from a name of one phase to a name of the next.",
                remedy='link={"name in the first": "name in the second"}',
            )


def _going_on(before: Description, after: Description, link: Mapping[str, str | None]) -> dict[int, int]:
    """Which states of a phase go on as which of the next, by position."""
    ending, beginning = ({label: k for k, label in enumerate(own.system.labels["x"])} for own in (before, after))
    names = {label: label for label in ending if label in beginning} | _by_element(link, ending, beginning, set())
    return {ending[one]: beginning[two] for one, two in names.items() if two is not None}


def _joinable(made: ProblemDraft, node: int) -> dict[str, int]:
    """The variables that may go on from phase to phase, by their names: states at a node, and free parameters."""
    states = zip(made.stage.states.labels[: made.stage.model_states], made.layout.nodes[node])
    labels, numbers = made.description.system.labels["p"], made.layout.parameters[node]
    return {**dict(states), **{labels[k]: numbers[k] for k in made.description.free}}


def _check_joined(before: ProblemDraft, after: ProblemDraft, pairs: list[tuple[str, str]]) -> None:
    """Refuse phases that no state goes on through."""
    ending, beginning = (made.stage.states.labels[: made.stage.model_states] for made in (before, after))
    if not any(two in beginning for _, two in pairs):
        raise InputError(
            f"No state links {before.description.system.name!r} to {after.description.system.name!r}.",
            f"states of the first: {', '.join(ending[:6])}; of the second: {', '.join(beginning[:6])}",
            because="phases are linked by states with the same name.",
            remedy='link={"name in the first": "name in the second"}',
        )


def _by_element(
    link: Mapping[str, str | None], ending: Mapping[str, int], beginning: Mapping[str, int], told: set[str]
) -> dict[str, str | None]:
    """The links between two phases by element, a vector's name for all its elements; names that are told are added."""
    found: dict[str, str | None] = {}
    for one, two in link.items():
        own = [one] if one in ending else [label for label in ending if split_index(label)[0] == one]
        led = {label: None if two is None else two + label[len(one) :] for label in own}
        if led and all(name is None or name in beginning for name in led.values()):
            found.update(led)
            told.add(one)
    return found


def phases(*problems: OptimalControl, link: Mapping[str, str | None] | None = None) -> Phases:
    """Combine problems into a sequence: each starts where the previous one ends, and their costs add up.

    Parameters
    ----------
    problems: the problems in order. Those after the first leave their start free, or fix what does not come from the
        previous one.
    link: which state of a phase continues as which state of the next, by name. By default states with equal names are
        linked, and parameters that are free in both are equal. `None` removes a link.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.catalogue.load("double_integrator").model
    >>> one, two = (dd.OptimalControl(m, duration=0.5, intervals=10) for _ in range(2))
    >>> one.start(); two.finish(position=1.0, velocity=0.0)
    >>> for part in (one, two): part.minimise(running=m["force"] ** 2)
    >>> plan = dd.phases(one, two).solve()
    >>> round(plan.objective, 3), plan["position"].shape
    (12.03, (22,))
    """
    if len(problems) < 2:
        raise InputError(
            "dd.phases needs at least two problems.", f"got {len(problems)}", remedy="dd.phases(first, second)"
        )
    wrong = [p for p in problems if not isinstance(p, OptimalControl)]
    if wrong:
        raise InputError("Every phase must be a dd.OptimalControl.", f"got {type(wrong[0]).__name__}")
    begin: float | None = problems[0]._description.begin
    for problem in problems:
        description = problem._description
        if begin is not None:
            description.begin = begin
        elif (moving := _depends_on_time(description)) is not None:
            raise InputError(
                f"{moving} depends on time, and begins at an unknown one.",
                because="an earlier phase has an unknown duration.",
                remedy="a state for time: m.equation(m.der(clock), 1)",
            )
        duration = description.duration
        begin = None if begin is None or isinstance(duration, Unknown) else begin + duration
        problem._changed()
    for problem in problems[1:]:
        problem._description.linked = True
    return Phases(problems, link or {})


def _depends_on_time(description: Description) -> str | None:
    """What of a problem moves with time: its equations, or a given input."""
    form, system = description.form, description.system
    if ca.depends_on(ca.vertcat(form.rates, form.equations), system.symbol("t")):
        return repr(system.name)
    for positions, value in description.given_names:
        if isinstance(value, ca.SX):
            moves = ca.depends_on(value, system.symbol("t"))
        else:
            moves = len(value.times) > 1 if isinstance(value, Signal) else callable(value)
        if moves:
            return f"{system.labels['u'][positions[0]]} of {system.name!r}"
    return None


# -- where phases are guessed to begin and to end ----------------------------------------------------------------------
#
# Where phases are guessed to begin and to end: between the values that are given at the joints of a sequence.
#
# A state that goes on from phase to phase is guessed along straight lines between the joints at which it is given, over
# the expected durations, and beyond the first and last of them it stays. Where it is given nowhere, each phase begins
# with the start value of its own model.


def ends_of_phases(described: Sequence[Description], links: Sequence[dict[int, int]]) -> list[ReferenceEnds]:
    """Guessed states at both ends of each phase.

    links: for each joint, the states of the phase before that go on, and which of the phase behind they become.
    """
    joints = np.concatenate([[0.0], np.cumsum([own.expected_duration for own in described])])
    found = [ReferenceEnds(first_guess(own), first_guess(own)) for own in described]
    for way in _ways(described, links):
        known: dict[float, float] = {}
        for phase, state in way:
            for time, given in zip(joints[phase:], (described[phase].starts, described[phase].ends)):
                value = fixed_states(given).get(state)
                if value is not None:
                    known[float(time)] = value
        times = sorted(known)
        for phase, state in way if known else ():
            values = np.interp(joints[phase : phase + 2], times, [known[time] for time in times])
            found[phase].start[state], found[phase].end[state] = values
    return found


def _ways(described: Sequence[Description], links: Sequence[dict[int, int]]) -> list[list[tuple[int, int]]]:
    """The states of all phases, (phase, position), those that go on as one."""
    ways: list[list[tuple[int, int]]] = []
    going_on: dict[int, list[tuple[int, int]]] = {}
    for phase, own in enumerate(described):
        arriving, going_on = going_on, {}
        for state in range(own.system.sizes["x"]):
            way = arriving.get(state)
            if way is None:
                way = []
                ways.append(way)
            way.append((phase, state))
            if phase < len(links) and state in links[phase]:
                going_on[links[phase][state]] = way
    return ways
