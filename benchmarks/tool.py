"""The small contract between the harness and a tool that solves problems."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    # The problems it runs on; empty for all.
    problems: tuple[str, ...] = ()

    def methods_for(self, problem: Problem) -> tuple[str, ...]:
        """The methods that this tool offers for a problem: none, those for an ODE, or those for a DAE."""
        if self.problems and problem.name not in self.problems:
            return ()
        return self.methods if problem.mass is None else self.dae_methods


class NoSolution(Exception):
    """A tool ended without a solution, in its own words."""
