"""What one more call costs when there is next to nothing to integrate: the overhead of a tool."""

import importlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import problems, tools
from benchmarks.timing import best_cpu_time
from benchmarks.tool import NoSolution


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """CPU seconds of a repeated call over the span options["end"]."""
    problem, tool = replace(problems.load(options["problem"]), end=options["end"]), tools.load(options["tool"])
    for module in tool.modules:
        importlib.import_module(module)
    solve = tool.prepare(problem, options["method"], options["rtol"], options["rtol"])
    first = np.array(solve(), dtype=float)
    for _ in range(20):
        solve()
    seconds = best_cpu_time(solve, options["seconds"], least=20)
    if not np.allclose(np.array(solve(), dtype=float), first, rtol=0.0, atol=options["rtol"]):
        raise NoSolution("a repeated call gives another answer than the first")
    yield {"seconds": seconds}
