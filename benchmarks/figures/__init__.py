"""The figures to reach: every file in this folder that defines FIGURE is one."""

import importlib
import pkgutil

from benchmarks.figure import Figure


def names() -> list[str]:
    """Names of all figures, which are the names of their files."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Figure:
    """The figure of that name."""
    figure: Figure = importlib.import_module(f"{__name__}.{name}").FIGURE
    return figure
