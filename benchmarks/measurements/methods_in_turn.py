"""Times and achieved errors of our methods on one problem, called in turn in one process.

A slow phase of the machine meets every method alike, so that their ratios are exact where the times are not.
"""

from collections.abc import Iterator
from time import perf_counter, process_time
from typing import Any

from benchmarks import problems
from benchmarks.timing import LONG, SHORTEST
from benchmarks.tool import Solve
from benchmarks.tools.daedalus_tool import model_of, settle, solver_of
from benchmarks.worker import one_line

# Wall seconds after which a run is given up: an explicit method on a stiff model takes hours.
PATIENCE = 1.0


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record a method and tolerance: error and CPU seconds, or why there are none.

    Options: problem, methods, tolerances, seconds (of CPU that each point is timed for).
    """
    problem = problems.load(options["problem"])
    found, solvers = {}, {}
    loosest, tightest = problem.tolerances
    for method in options["methods"]:
        model = model_of(problem)  # which keeps what was settled for some dozens of tolerances
        for rtol in options["tolerances"]:
            if not 0.99 * tightest <= rtol <= 1.01 * loosest:
                continue
            given, begin = (model, problem, method, rtol, problem.atol_factor * rtol), perf_counter()
            try:
                error = problem.error(solver_of(*given, time_limit=PATIENCE)())
            except Exception as failure:
                yield {"method": method, "rtol": rtol, "failure": one_line(failure)}
                if perf_counter() - begin > PATIENCE:
                    break  # a tighter one takes longer
                continue
            if error < float("inf"):
                found[method, rtol], solvers[method, rtol] = error, solver_of(*given)
    settle()
    times = times_in_turn(solvers, options["seconds"])
    for (method, rtol), error in found.items():
        yield {"method": method, "rtol": rtol, "error": error, "seconds": times[method, rtol]}


def times_in_turn(solvers: dict[tuple[str, float], Solve], seconds: float) -> dict[tuple[str, float], float]:
    """The best CPU time of each call over rounds in which each has its turn, until each was timed for `seconds`."""
    best = {key: min(once(solve, 1), once(solve, 1)) for key, solve in solvers.items()}
    spent, turns = dict.fromkeys(solvers, 0.0), {key: took > LONG for key, took in best.items()}
    inner = {key: max(1, int(SHORTEST / took)) for key, took in best.items()}
    while not all(turns.values()):
        for key, solve in solvers.items():
            if not turns[key]:
                took = once(solve, inner[key])
                best[key], spent[key] = min(best[key], took), spent[key] + took * inner[key]
                turns[key] = spent[key] >= seconds
    return best


def once(solve: Solve, repetitions: int) -> float:
    """CPU seconds of a call, the mean over a few."""
    begin = process_time()
    for _ in range(repetitions):
        solve()
    return (process_time() - begin) / repetitions
