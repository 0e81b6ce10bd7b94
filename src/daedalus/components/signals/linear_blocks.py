"""Linear blocks: transfer functions and state space from matrices."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.components.signals.plain_blocks import SignalBlock, give
from daedalus.errors import ModelError
from daedalus.model.assembly.component import Keyword


class TransferFunction(SignalBlock):
    """output = numerator(s) / denominator(s) · input, coefficients from the highest power down."""

    keywords = {"numerator": Keyword(option="numbers"), "denominator": Keyword(option="numbers")}

    def _check(self) -> None:
        for word in ("numerator", "denominator"):
            given = np.atleast_1d(self.options[word])
            if given.ndim > 1:
                raise self._wrong_value(word, f"a matrix of {given.shape[0]} × {given.shape[1]}", "one list of numbers")
            self.options[word] = np.trim_zeros(given, "f")
        if len(self.options["denominator"]) < max(len(self.options["numerator"]), 1):
            raise ModelError(
                f"The transfer function of {self.name} is not proper.",
                f"its numerator has degree {len(self.options['numerator']) - 1}, "
                f"its denominator {len(self.options['denominator']) - 1}",
                because="it would differentiate its input.",
                remedy="a denominator of at least that degree",
            )

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        a = q.denominator / q.denominator[0]
        n = len(a) - 1
        b = np.concatenate([np.zeros(n + 1 - len(q.numerator)), q.numerator]) / q.denominator[0]
        value = m.signal_input("input")
        if n == 0:
            give(m, b[0] * value)
            return
        # Controllable form: x_1' = x_2, ..., x_n' = input - a_n x_1 - ... - a_1 x_n.
        x = m.state("state", n)
        last = value - ca.dot(ca.DM(a[:0:-1]), x)
        m.equation(m.der(x), ca.vertcat(x[1:], last) if n > 1 else last, name="states")
        give(m, ca.dot(ca.DM((b[1:] - b[0] * a[1:])[::-1]), x) + b[0] * value)


class StateSpace(SignalBlock):
    """state' = A state + B input, output = C state + D input, with matrices."""

    keywords = {
        "A": Keyword(option="numbers"),
        "B": Keyword(option="numbers"),
        "C": Keyword(option="numbers"),
        "D": Keyword(default=None, option="numbers"),
    }

    def _check(self) -> None:
        own = self.options
        A = own["A"] = np.atleast_2d(own["A"])
        n = len(A)
        B = own["B"].reshape(n, -1) if own["B"].size == n and own["B"].ndim < 2 else np.atleast_2d(own["B"])
        C = np.atleast_2d(own["C"])
        shape = (C.shape[0], B.shape[1])
        D = np.zeros(shape) if own["D"] is None else own["D"]
        if (A.shape, B.shape, C.shape) != ((n, n), (n, shape[1]), (shape[0], n)) or D.size != shape[0] * shape[1]:
            raise ModelError(
                f"The matrices of {self.name} do not fit each other.",
                ", ".join(f"{word} is {_size(matrix)}" for word, matrix in zip("ABCD", (A, B, C, D))),
                because="A is square, B has a row and C a column for each state, D a row for each output.",
                remedy="A=[[0.0, 1.0], [-1.0, 0.0]], B=[0.0, 1.0], C=[1.0, 0.0]",
            )
        self.options = {"A": A, "B": B, "C": C, "D": D.reshape(shape)}

    @staticmethod
    def _write(m: Any, q: Any) -> None:
        inputs, outputs = q.B.shape[1], q.C.shape[0]
        value = m.input("input", *(() if inputs == 1 else (inputs,)))
        x = m.state("state", len(q.A))
        m.equation(m.der(x), ca.DM(q.A) @ x + ca.DM(q.B) @ value, name="states")
        output = m.algebraic("output", *(() if outputs == 1 else (outputs,)))
        m.equation(output, ca.DM(q.C) @ x + ca.DM(q.D) @ value, name="output")


def _size(matrix: np.ndarray) -> str:
    return " × ".join(map(str, np.atleast_2d(matrix).shape))
