"""A problem as text in DiffSL, the language of diffsol: one named line for every operation."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.problem import Problem, trace
from benchmarks.written_out import Expression, Functions, written


def named(tensor: str, names: list[Expression], values: Sequence[float]) -> str:
    """A tensor whose elements have names and values."""
    return f"{tensor} {{ " + ", ".join(f"{name.text} = {float(value)!r}" for name, value in zip(names, values)) + " }"


def diffsl(problem: Problem) -> str:
    """The whole problem in DiffSL; inputs and parameters together are its parameters, in that order."""
    lines: list[tuple[str, str]] = []
    x = [Expression(f"x{i}x", lines) for i in range(problem.size)]
    u = [Expression(f"u{i}u", lines) for i in range(len(problem.inputs))]
    p = [Expression(f"p{i}p", lines) for i in range(len(problem.parameters))]
    f = trace(problem, Functions(), Expression("t", lines), x, u, p)
    parts = [] if not (u or p) else [named("in_i", [*u, *p], (*problem.inputs, *problem.parameters))]
    parts.append(named("u_i", x, problem.start))
    if problem.mass is not None:
        rates = [f"d{name.text}" for name in x]
        parts.append("dudt_i { " + ", ".join(f"{rate} = 0.0" for rate in rates) + " }")
        rows = [[f"{m!r} * {rate}" for m, rate in zip(row, rates) if m] for row in problem.mass]
        parts.append("M_i { " + ", ".join(" + ".join(row) or "0.0" for row in rows) + " }")
    parts += [f"{name} {{ {text} }}" for name, text in lines]
    parts.append("F_i { " + ", ".join(written(value) for value in f) + " }")
    return "\n".join(parts)
