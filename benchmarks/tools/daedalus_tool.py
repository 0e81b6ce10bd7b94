"""Daedalus: the whole public call `dd.simulate` repeated with one model, and `dd.prepare` for loops."""

from typing import Any

import numpy as np

from benchmarks.problem import Problem, trace
from benchmarks.tool import NoSolution, Solve, Tool

PREPARED, MECHANICS = "prepared-", "mechanics"
IMPLICIT = ("radau5", "radau9", "bdf", "rodas4", "rodas5p")


def model_of(problem: Problem) -> Any:
    """The problem written as a Daedalus model: a state vector x, an input vector u, parameters p."""
    import casadi

    import daedalus as dd

    m = dd.Model(problem.name)
    x = m.state("x", problem.size, start=list(problem.start))
    u = m.input("u", len(problem.inputs)) if problem.inputs else None
    p = m.parameter("p", list(problem.parameters)) if problem.parameters else None
    parts = [[] if vector is None else casadi.vertsplit(vector) for vector in (x, u, p)]
    f = casadi.vertcat(*trace(problem, casadi, m.time, *parts))
    rate = m.der(x)
    m.equation(rate if problem.mass is None else casadi.sparsify(casadi.DM(problem.mass)) @ rate, f)
    return m


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    if method == MECHANICS:
        return prepare_mechanics(problem, rtol, atol)
    return solver_of(model_of(problem), problem, method, rtol, atol)


def driven_start(m: Any, problem: Problem) -> dict[str, Any]:
    """The inputs of a run and, of a DAE, its start, made consistent once as the peers get theirs."""
    import daedalus as dd

    inputs = {"u": np.array(problem.inputs)} if problem.inputs else {}
    return {"inputs": inputs} if problem.mass is None else {"inputs": inputs, "start": dd.initialise(m, inputs=inputs)}


def solver_of(m: Any, problem: Problem, method: str, rtol: float, atol: float, **settings: Any) -> Solve:
    """Runs of a model; `settings` may hold limits, and inputs and start where several methods share them."""
    import daedalus as dd

    name, end = method.removeprefix(PREPARED), np.array([problem.end])
    driven = {} if "inputs" in settings else driven_start(m, problem)
    settings = {**driven, "method": name, "rtol": rtol, "atol": atol, "save_at": end, **settings}
    if method != name:
        run = dd.prepare(m, problem.end, **settings)
        if problem.mass is not None:
            return lambda: run()[-1]
        start, u = np.array(problem.start, dtype=float), np.array(problem.inputs, dtype=float)
        return lambda: run(start, u)[-1]

    def solve() -> Any:
        tr = dd.simulate(m, problem.end, progress=False, **settings)
        if not tr.success:
            raise NoSolution(tr.stop_reason)
        return tr["x"][-1]

    return solve


def prepare_mechanics(problem: Problem, rtol: float, atol: float) -> Solve:
    """The mechanism in coordinates and energies, its constraints differentiated and kept by projection: "auto"."""
    import daedalus as dd

    assert problem.mechanics is not None
    m, inputs, name = problem.mechanics()
    end, rest = np.array([problem.end]), np.full(problem.size, np.nan)

    def solve() -> Any:
        tr = dd.simulate(m, problem.end, inputs=inputs, rtol=rtol, atol=atol, save_at=end, progress=False)
        if not tr.success:
            raise NoSolution(tr.stop_reason)
        found = np.concatenate([tr[name][-1], tr[f"{name}_dot"][-1]])
        return np.concatenate([found, rest[len(found) :]])

    return solve


def settle() -> None:
    """Wait for code that is compiled in the background, as it is after the first seconds of any longer use."""
    from daedalus.compilation.background import finish

    finish()


TOOL = Tool(
    "daedalus",
    ("casadi", "daedalus"),
    prepare,
    methods=("dop853", "prepared-dop853", "tsit5", "dopri5"),
    dae_methods=(*IMPLICIT, *(PREPARED + name for name in ("radau9", "rodas5p")), "auto"),
    mechanics_methods=(MECHANICS,),
    settle=settle,
    highest_index={"rodas4": 1, "rodas5p": 1, PREPARED + "rodas5p": 1, "bdf": 2},
)
