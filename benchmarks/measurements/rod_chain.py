"""A falling chain of rods: CPU seconds of a repeated run, its steps, and where the rods are at its end."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import rods as chain
from benchmarks.timing import best_cpu_time
from benchmarks.tool import NoSolution


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record: seconds, steps and positions for options rods, end, rtol, tool."""
    solve = {"daedalus": daedalus, "sundae": sundae}[options["tool"]](options)
    where, steps = solve()
    seconds = best_cpu_time(solve, options["seconds"], least=3)
    yield {"seconds": seconds, "steps": steps, "positions": where.ravel().tolist()}


def daedalus(options: dict[str, Any]) -> Any:
    """The model of the catalogue as it is written, index 3, after its code is in place."""
    import daedalus as dd
    from daedalus.simulation.plant import plant_of
    from daedalus.simulation.solvable import solvable_system

    model = dd.catalogue.load("rod_chain", rods=options["rods"]).model
    system = solvable_system(model)
    plant = plant_of(system)
    for code in (system.prepared["linear model code"], *plant.projection.functions.values()):
        code.wait()

    number = {label: k for k, label in enumerate(system.labels["x"])}
    place = [number[f"rod{i}.position[{k}]"] for i in range(options["rods"]) for k in range(2)]

    def solve() -> tuple[np.ndarray, int]:
        tr = dd.simulate(
            model, options["end"], method="tsit5", rtol=options["rtol"], atol=options["rtol"], progress=False
        )
        if not tr.success:
            raise NoSolution(tr.stop_reason)
        return tr._x[-1][place], tr.work.steps

    return solve


def sundae(options: dict[str, Any]) -> Any:
    """SUNDIALS' IDA with a sparse direct solver, residual compiled by numba, forces out of the error test's way."""
    from sksundae.ida import IDA

    count = options["rods"]
    rows = chain.residual(count)
    y, rate = chain.start(count, rows)
    solver = IDA(
        rows,
        linsolver="sparse",
        sparsity=chain.pattern(count),
        algebraic_idx=list(range(6 * count, 8 * count)),
        rtol=options["rtol"],
        atol=options["rtol"],
        max_num_steps=1_000_000,
    )

    def solve() -> tuple[np.ndarray, int]:
        result = solver.solve(np.array([0.0, options["end"]]), y, rate)
        if not result.success:
            raise NoSolution(result.message)
        return chain.positions(result.y[-1], count).ravel(), -1

    return solve
