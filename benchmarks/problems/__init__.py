"""The problems: every file in this folder that defines PROBLEM is one."""

import importlib
import pkgutil

from benchmarks.problem import Problem


def names() -> list[str]:
    """Names of all problems, which are the names of their files."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Problem:
    """The problem of that name."""
    problem: Problem = importlib.import_module(f"{__name__}.{name}").PROBLEM
    return problem
