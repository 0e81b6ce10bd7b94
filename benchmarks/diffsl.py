"""A problem as text in DiffSL, the language of diffsol: one named line for every operation."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.problem import Problem, trace


class Expression:
    """A value that writes down what is done with it."""

    def __init__(self, text: str, lines: list[str]):
        self.text = text
        self.lines = lines

    def noted(self, text: str) -> Expression:
        """The value of `text`, under a name of its own."""
        name = f"v{len(self.lines)}v"
        self.lines.append(f"{name} {{ {text} }}")
        return Expression(name, self.lines)

    def __add__(self, other: Expression | float) -> Expression:
        return self.noted(f"{self.text} + {written(other)}")

    def __radd__(self, other: float) -> Expression:
        return self.noted(f"{written(other)} + {self.text}")

    def __sub__(self, other: Expression | float) -> Expression:
        return self.noted(f"{self.text} - {written(other)}")

    def __rsub__(self, other: float) -> Expression:
        return self.noted(f"{written(other)} - {self.text}")

    def __mul__(self, other: Expression | float) -> Expression:
        return self.noted(f"{self.text} * {written(other)}")

    def __rmul__(self, other: float) -> Expression:
        return self.noted(f"{written(other)} * {self.text}")

    def __truediv__(self, other: Expression | float) -> Expression:
        return self.noted(f"{self.text} / {written(other)}")

    def __rtruediv__(self, other: float) -> Expression:
        return self.noted(f"{written(other)} / {self.text}")

    def __neg__(self) -> Expression:
        return self.noted(f"-1.0 * {self.text}")


def written(value: Expression | float) -> str:
    """A value as DiffSL writes it; numbers always with a point or an exponent."""
    return value.text if isinstance(value, Expression) else f"({float(value)!r})"


class Functions:
    """The functions a problem may use, by name, as DiffSL has them."""

    def __getattr__(self, name: str):  # type: ignore[no-untyped-def]
        return lambda value: value.noted(f"{name}({value.text})")


def named(tensor: str, names: list[Expression], values: Sequence[float]) -> str:
    """A tensor whose elements have names and values."""
    return f"{tensor} {{ " + ", ".join(f"{name.text} = {float(value)!r}" for name, value in zip(names, values)) + " }"


def diffsl(problem: Problem) -> str:
    """The whole problem in DiffSL; inputs and parameters together are its parameters, in that order."""
    lines: list[str] = []
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
    parts += lines
    parts.append("F_i { " + ", ".join(written(value) for value in f) + " }")
    return "\n".join(parts)
