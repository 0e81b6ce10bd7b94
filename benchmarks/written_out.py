"""Equations as a list of named operations, for languages that take text: DiffSL, and flat Python for numba."""

from __future__ import annotations


class Expression:
    """A value that writes down what is done with it."""

    def __init__(self, text: str, lines: list[tuple[str, str]]):
        self.text = text
        self.lines = lines

    def noted(self, text: str) -> Expression:
        """The value of `text`, under a name of its own."""
        name = f"v{len(self.lines)}v"
        self.lines.append((name, text))
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
    """A value in text; numbers always with a point or an exponent."""
    return value.text if isinstance(value, Expression) else f"({float(value)!r})"


class Functions:
    """The functions a problem may use, by name."""

    def __getattr__(self, name: str):  # type: ignore[no-untyped-def]
        return lambda value: value.noted(f"{name}({value.text})")
