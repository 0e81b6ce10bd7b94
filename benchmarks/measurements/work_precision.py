"""Time and achieved error of one tool and method on one problem, over a list of tolerances."""

import importlib
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from benchmarks import problems, tools
from benchmarks.timing import best_cpu_time
from benchmarks.worker import one_line

# How much worse a repeated call may be: tools that keep a step size or a factor differ a little from call to call.
SLACK, ROUNDING = 2.0, 1e-12


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Import time, then first-call time, then one point a tolerance; a failed tolerance is a point with its reason."""
    problem, tool = problems.load(options["problem"]), tools.load(options["tool"])
    begin = perf_counter()
    for module in tool.modules:
        importlib.import_module(module)
    yield {"import_seconds": perf_counter() - begin}

    counting, known = None, False
    loosest, tightest = problem.tolerances
    for rtol in options["tolerances"]:
        if not 0.99 * tightest <= rtol <= 1.01 * loosest:
            continue
        if counting is not None and perf_counter() - counting > options["limit"]:
            yield {"rtol": rtol, "failure": f"left out after {options['limit']:.0f} s"}
            continue
        try:
            prepared = perf_counter()
            solve = tool.prepare(problem, options["method"], rtol, problem.atol_factor * rtol)
            error = problem.error(solve())
            if not known:
                known = True
                yield {"first_seconds": perf_counter() - prepared}
            if tool.settle is not None:
                tool.settle()
            if not error < float("inf"):
                yield {"rtol": rtol, "failure": "the end state is not finite"}
                continue
            seconds = best_cpu_time(solve, options["seconds"])
            # What was timed must be what was judged: the call after the timed ones gives the same answer.
            again = problem.error(solve())
            if not again <= SLACK * error + ROUNDING:
                yield {
                    "rtol": rtol,
                    "failure": f"error {again:.1e} in a repeated call, {error:.1e} at first",
                }
                continue
            yield {"rtol": rtol, "error": max(error, again), "seconds": seconds}
        except Exception as failure:
            yield {"rtol": rtol, "failure": one_line(failure)}
        finally:
            # The first attempt compiles; the clock runs from its end on, however it went.
            counting = counting or perf_counter()
