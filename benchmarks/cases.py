"""The cases: every problem with every tool and method that can solve it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from benchmarks import problems, tools


@dataclass(frozen=True)
class Case:
    """One curve to measure."""

    problem: str
    tool: str
    method: str

    @property
    def name(self) -> str:
        return f"{self.problem}/{self.tool}:{self.method}"


def all_cases() -> list[Case]:
    """Every case there is, grouped by problem, Daedalus first."""
    return [
        Case(problem, tool, method)
        for problem in problems.names()
        for tool in tools.names()
        for method in tools.load(tool).methods_for(problems.load(problem))
    ]


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name is meant: by its beginning up to a "/" or ":", or by a pattern with * and ?."""
    return any(name == p or name.startswith((f"{p}/", f"{p}:")) or fnmatch(name, p) for p in patterns)


def chosen_cases(patterns: Sequence[str]) -> list[Case]:
    """The cases that are meant; without patterns those of the default run."""
    if not patterns:
        return [case for case in all_cases() if problems.load(case.problem).in_default_run]
    return [case for case in all_cases() if matches(case.name, patterns)]
