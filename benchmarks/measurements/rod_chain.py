"""A falling chain of rods: CPU seconds of a repeated run at each tolerance, its steps, and where it ends."""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import rods as chain
from benchmarks.timing import best_cpu_time
from benchmarks.tool import NoSolution

# The positions at the end, and the number of steps (-1: the tool does not say).
Solve = Callable[[], tuple[np.ndarray, int]]


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """First what came before the runs, then one record a tolerance; options tool, rods, end, tolerances, seconds.

    "ready": wall seconds to build the model, "code": wall seconds from there until all of its code is compiled.
    """
    start = perf_counter()
    solver = {"daedalus": daedalus, "sundae": sundae}[options["tool"]](options["rods"], options["end"])
    ready = perf_counter()
    solver(options["tolerances"][0])()
    settle(options["tool"])
    yield {"ready": ready - start, "code": perf_counter() - ready}
    for rtol in options["tolerances"]:
        solve = solver(rtol)
        where, steps = solve()
        # A method that was not used before may have brought code of its own.
        settle(options["tool"])
        seconds = best_cpu_time(solve, options["seconds"], least=3)
        yield {"rtol": rtol, "seconds": seconds, "steps": steps, "positions": where.ravel().tolist()}


def settle(tool: str) -> None:
    """Wait for what is compiled in the background: its CPU time would count as that of the runs."""
    if tool == "daedalus":
        from daedalus.compilation.background import finish

        finish()


def daedalus(rods: int, end: float) -> Callable[[float], Solve]:
    """The model of the catalogue as it is written, index 3, run as a user does."""
    import daedalus as dd
    from daedalus.simulation.plant.plants import plant_of
    from daedalus.simulation.plant.solvable import solvable

    model = dd.catalogue.load("rod_chain", rods=rods).model
    system = solvable(model)
    plant_of(system)
    number = {label: k for k, label in enumerate(system.labels["x"])}
    place = [number[f"rod{i}.position[{k}]"] for i in range(rods) for k in range(2)]

    def solver(rtol: float) -> Solve:
        def solve() -> tuple[np.ndarray, int]:
            tr = dd.simulate(model, end, rtol=rtol, atol=rtol, progress=False)
            if not tr.success:
                raise NoSolution(tr.stop_reason)
            return tr._x[-1][place], tr.work.steps

        return solve

    return solver


def sundae(rods: int, end: float) -> Callable[[float], Solve]:
    """SUNDIALS' IDA with a sparse direct solver, residual compiled by numba, forces out of the error test's way."""
    from sksundae.ida import IDA

    rows = chain.residual(rods)
    y, rate = chain.start(rods, rows)

    def solver(rtol: float) -> Solve:
        integrator = IDA(
            rows,
            linsolver="sparse",
            sparsity=chain.pattern(rods),
            algebraic_idx=list(range(6 * rods, 8 * rods)),
            rtol=rtol,
            atol=rtol,
            max_num_steps=1_000_000,
        )

        def solve() -> tuple[np.ndarray, int]:
            result = integrator.solve(np.array([0.0, end]), y, rate)
            if not result.success:
                raise NoSolution(result.message)
            return chain.positions(result.y[-1], rods).ravel(), -1

        return solve

    return solver
