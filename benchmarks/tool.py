"""The small contract between the harness and a tool that solves problems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.problem import Problem

# A call solves the problem over its whole span, once, and gives the end state.
Solve = Callable[[], Sequence[float]]


@dataclass(frozen=True)
class Tool:
    """A tool: what it needs, which methods it offers, and how a solver is prepared.

    `prepare(problem, method, rtol, atol)` does everything a user does once: building, tracing, compiling. The callable
    it gives is what a user calls again and again: it starts from the problem's numbers and returns the end state, or
    raises with the tool's reason. `modules` are imported beforehand, so that import time is a figure of its own.
    """

    name: str
    modules: tuple[str, ...]
    prepare: Callable[[Problem, str, float, float], Solve]
    # Lines of requirements.txt; empty for the project itself, which runs in the project's own environment.
    requirements: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    dae_methods: tuple[str, ...] = ()
    # Methods for DAEs whose ODE form is known: what somebody without a solver for DAEs runs.
    ode_form_methods: tuple[str, ...] = ()
    # Methods for mechanisms that are written in coordinates and energies.
    mechanics_methods: tuple[str, ...] = ()
    # The highest index a method takes, where the tool says so; it is not run beyond.
    highest_index: Mapping[str, int] = field(default_factory=dict)
    # Waits until what the first call began is done: code that is compiled in the background.
    settle: Callable[[], None] | None = None
    # The problems it runs on; empty for all.
    problems: tuple[str, ...] = ()

    def methods_for(self, problem: Problem) -> tuple[str, ...]:
        """The methods that this tool offers for a problem: those for an ODE, for a DAE, or for a DAE's ODE form."""
        if self.problems and problem.name not in self.problems:
            return ()
        if problem.mass is None:
            return self.methods
        offered = (
            *self.dae_methods,
            *(self.ode_form_methods if problem.ode is not None else ()),
            *(self.mechanics_methods if problem.mechanics is not None else ()),
        )
        return tuple(m for m in offered if problem.index <= self.highest_index.get(m, problem.index))


class NoSolution(Exception):
    """A tool ended without a solution, in its own words."""
