"""diffrax: explicit methods in JAX, compiled by XLA, in double precision."""

from functools import lru_cache
from typing import Any

from benchmarks.problem import Problem, trace
from benchmarks.tool import NoSolution, Solve, Tool


@lru_cache(maxsize=1)
def compiled_call(problem: Problem, method: str) -> Any:
    """A compiled function of (start, inputs, parameters, rtol, atol) that gives the end state and the outcome."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    solver = getattr(diffrax, method)()

    def rhs(t: Any, x: Any, args: Any) -> Any:
        return jnp.stack(trace(problem, jnp, t, x, *args))

    @jax.jit
    def call(start: Any, inputs: Any, parameters: Any, rtol: float, atol: float) -> Any:
        result = diffrax.diffeqsolve(
            diffrax.ODETerm(rhs),
            solver,
            t0=0.0,
            t1=problem.end,
            dt0=None,
            y0=start,
            args=(inputs, parameters),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
            max_steps=1_000_000,
            throw=False,
        )
        return result.ys[-1], result.result == diffrax.RESULTS.successful

    return call


def prepare(problem: Problem, method: str, rtol: float, atol: float) -> Solve:
    import numpy as np

    call = compiled_call(problem, method)
    values = [np.array(v, dtype=float) for v in (problem.start, problem.inputs, problem.parameters)]

    def solve() -> Any:
        end, success = call(*values, rtol, atol)
        if not success:
            raise NoSolution("diffrax reports no success within 1e6 steps")
        return np.asarray(end)

    return solve


TOOL = Tool("diffrax", ("jax", "diffrax"), prepare, ("jax", "diffrax"), methods=("Dopri8", "Tsit5"))
