"""Times of our methods at equal error on one problem, called in turn in one process.

A slow phase of the machine meets every method alike, so that their ratios are exact where the times are not.
"""

from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

from benchmarks import problems
from benchmarks.equal_error import Run, tolerance_for
from benchmarks.problem import Problem
from benchmarks.timing import LONG, SHORTEST
from benchmarks.tool import Solve
from benchmarks.tools.daedalus_tool import driven_start, model_of, settle, solver_of
from benchmarks.worker import one_line

# Steps after which a run is given up, and CPU seconds after which a tighter one is not begun: an explicit method on a
# stiff model takes hours. Neither depends on what else the machine does.
MOST_STEPS, PATIENCE = 100_000, 0.2
# Tighter tolerances are left out once a method is this much finer than the smallest error looked for.
FINER = 100.0
# A method that takes this many times as long as the fastest one in its first calls is no contender, and not timed on.
FAR = 2.0

Timed = dict[tuple[str, float], float]


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record a method and error: the tolerance that leads to it and CPU seconds, or why there are none.

    Options: problem, methods, tolerances, errors, seconds (of CPU that each contender is timed for).
    """
    problem = problems.load(options["problem"])
    # Tighter than what is asked of every tool, where an error is not reached otherwise: pendulum and car axis.
    tolerances = [rtol for rtol in options["tolerances"] if rtol <= 1.01 * problem.tolerances[0]]
    model = model_of(problem)  # which keeps what was settled for all that are timed
    driven = driven_start(model, problem)

    def prepared(method: str, rtol: float, **limits: Any) -> Solve:
        return solver_of(model, problem, method, rtol, problem.atol_factor * rtol, **driven, **limits)

    solvers, at = {}, {}
    for method in options["methods"]:
        runs, failure = errors_of(problem, method, prepared, tolerances, min(options["errors"]) / FINER)
        for error in options["errors"]:
            rtol = tolerance_for(runs, error)
            if rtol is None:
                best = f"best error {min(found for _, found in runs):.1e}" if runs else failure
                yield {"method": method, "error": error, "failure": best}
            else:
                at[method, error], solvers[method, error] = rtol, prepared(method, rtol)
    settle()
    first = {key: min(once(solve, 1) for _ in range(3)) for key, solve in solvers.items()}
    chosen = contenders(first)
    best = {**first, **times_in_turn({key: solvers[key] for key in chosen}, options["seconds"])}
    for (method, error), rtol in at.items():
        seconds, contends = best[method, error], (method, error) in chosen
        yield {"method": method, "error": error, "rtol": rtol, "seconds": seconds, "contends": contends}


def errors_of(
    problem: Problem, method: str, prepared: Callable[..., Solve], tolerances: list[float], enough: float
) -> tuple[list[Run], str]:
    """What tolerances lead to, and why the last one that failed did."""
    from daedalus import InputError

    runs, reason = [], ""
    for rtol in tolerances:
        begin = process_time()
        try:
            error = problem.error(prepared(method, rtol, max_steps=MOST_STEPS)())
        except InputError as refusal:
            return [], one_line(refusal)
        except Exception as failure:
            error, reason = float("inf"), one_line(failure)
        if error < float("inf"):
            runs.append((rtol, error))
        elif process_time() - begin > PATIENCE:
            break  # a tighter one takes longer
        if error < enough:
            break
    return runs, reason


def contenders(first: Timed) -> set[tuple[str, float]]:
    """Which of the methods are near the fastest one at their error; "auto" always is one."""
    fastest: dict[float, float] = {}
    for (_, error), took in first.items():
        fastest[error] = min(took, fastest.get(error, took))
    return {key for key, took in first.items() if key[0] == "auto" or took <= FAR * fastest[key[1]]}


def times_in_turn(solvers: dict[tuple[str, float], Solve], seconds: float) -> Timed:
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
