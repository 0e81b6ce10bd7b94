"""Functions that cannot be traced, as systems: their equations are called, and nothing looks inside.

A system serves all functions with as many unknowns and arguments (and, of F(t, y, y'), with the same occurrences): its
input says which function a run calls, so a repeated call makes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.compilation.foreign_calls import keep_error
from daedalus.model.system.equation_row import rows_of
from daedalus.model.system.system import System
from daedalus.model.system.system_content import SystemContent
from daedalus.model.variables import Variable
from daedalus.scipy_calls.dae_model import DaeModel
from daedalus.scipy_calls.ivp_function import Formula
from daedalus.simulation.plant.called_plant import CalledEquations

# Implicit ones of more unknowns are made anew: their patterns are not small.
LARGE = 200

# By their numbers, as floats: runs carry them among their inputs.
_known: dict[float, tuple[Callable[..., np.ndarray], Callable[..., Any] | None]] = {}
_numbers = itertools.count(1)


class CalledFunction:
    """A function of numbers that runs find by its own number, as long as somebody holds it.

    values: of (t, y), or of (t, y, y'), which it copies where it keeps them. slopes: (∂F/∂y, ∂F/∂y') where an implicit
    method asks for them.
    """

    def __init__(self, values: Callable[..., np.ndarray], slopes: Callable[..., Any] | None = None) -> None:
        self._number = float(next(_numbers))
        self.input = np.array([self._number])  # what a run is driven by to call it
        _known[self._number] = values, slopes

    def __del__(self) -> None:
        _known.pop(self._number, None)


class Shape(NamedTuple):
    """What systems of called functions differ in: unknowns, numbers of `args`; of an implicit one more.

    dot: (n, n) which y' occur in which equation, as bytes. indices, levels: powers of h, empty at index 1.
    """

    size: int
    numbers: int
    dot: bytes = b""
    indices: tuple[int, ...] = ()
    levels: tuple[int, ...] = ()


def called_model(shape: Shape) -> DaeModel:
    """The model of functions of this shape."""
    return (_kept if shape.size <= LARGE or not shape.dot else _kept.__wrapped__)(shape)


def large_model(formula: Formula) -> DaeModel:
    """The model of a formula of many unknowns, which the core calls as it is: nothing else is made of it."""
    if "called" not in formula.kept:
        t, y, u, p = formula.symbols
        value = formula.function.call([t, y, u, p], False, True)[0]
        called = CalledEquations(formula.compiled.core, False)
        formula.kept["called"] = DaeModel(_system(t, y, ca.SX.sym("y_dot", y.numel()), u, p, value, called))
    return formula.kept["called"]


@lru_cache(maxsize=16)
def _kept(shape: Shape) -> DaeModel:
    n, implicit = shape.size, bool(shape.dot)
    t, y, rate = ca.SX.sym("t"), ca.SX.sym("y", n), ca.SX.sym("y_dot", n)
    u, p = ca.SX.sym("function"), ca.SX.sym("p", shape.numbers)
    node = _Node([1, n, n, 1] if implicit else [1, n, 1], n)
    value = node(t, y, rate, u) if implicit else node(t, y, u)
    core = _implicit_model(shape) if implicit else _right_side(shape)
    return DaeModel(_system(t, y, rate, u, p, value, CalledEquations(core, implicit, node)))


def _system(
    t: ca.SX, y: ca.SX, rate: ca.SX, u: ca.SX, p: ca.SX, value: ca.SX, called: CalledEquations
) -> System:  # fmt: skip
    n = y.numel()
    kinds = (("y", "state", n), ("function", "input", u.numel()), ("p", "parameter", p.numel()))
    variables = [_variable(name, kind, size) for name, kind, size in kinds if size]
    symbols = {"t": t, "xdot": rate, "x": y, "z": ca.SX(0, 1), "u": u, "p": p}
    residual, rows = value if called.is_implicit else rate - value, rows_of("F", [f"F[{k}]" for k in range(n)])
    nothing = ca.SX(0, 1), ca.SX(0, n)
    return System(
        SystemContent("called", variables, {"y": (1,) * n}, symbols, residual, rows, *nothing, parts=(called,))
    )


def _variable(name: str, kind: str, size: int) -> Variable:
    zeros, ones, wide = ((value,) * size for value in (0.0, 1.0, np.inf))
    return Variable(name, kind, (size,), start=zeros, nominal=ones, lower=(-np.inf,) * size, upper=wide)


def _right_side(shape: Shape) -> Any:
    n = shape.size
    core = _core.Function("fun", [1, n, 1, shape.numbers], [n], 4, 1, 0, 0)
    core.set_python(lambda t, y, u, p: _known[u[0]][0](float(t[0]), y))
    return core


def _implicit_model(shape: Shape) -> Any:
    n = shape.size
    sizes, dot = [1, n, n, 0, 1, shape.numbers], np.frombuffer(shape.dot, dtype=bool).reshape(n, n)
    dot_starts, dot_rows = _compressed(dot)
    starts, rows = _compressed(np.ones((n, n), dtype=bool))
    patterns = dot_starts, dot_rows, starts, rows
    residual = _core.Function("F", sizes, [n], 0, 0, 0, 0)
    residual.set_python(lambda t, yp, y, z, u, p: _known[u[0]][0](float(t[0]), y, yp))
    jacobian = _core.Function("jacobian", sizes, [int(dot.sum()), n * n], 0, 0, 0, 0)

    def nonzeros(t: np.ndarray, yp: np.ndarray, y: np.ndarray, z: np.ndarray, u: np.ndarray, _: np.ndarray) -> Any:
        slopes = _known[u[0]][1]
        assert slopes is not None
        whole, by_rate = slopes(float(t[0]), y, yp)
        return by_rate.T[dot.T], whole.T.ravel()

    jacobian.set_python(nonzeros)
    return _core.ImplicitModel(residual, jacobian, n, n, *patterns, list(shape.indices), list(shape.levels))


def _compressed(occurs: np.ndarray) -> tuple[list[int], list[int]]:
    """Column starts and rows of a pattern in compressed columns."""
    starts = np.concatenate([[0], np.cumsum(occurs.sum(axis=0))])
    return starts.tolist(), np.nonzero(occurs.T)[1].tolist()


class _Node(ca.Callback):
    """The call in the expressions of a system; its last argument is the number of the function."""

    def __init__(self, sizes: Sequence[int], size: int) -> None:
        ca.Callback.__init__(self)
        self.sizes, self.size = sizes, size
        self.construct("called", {"enable_fd": True})

    def get_n_in(self) -> int:
        """How many arguments."""
        return len(self.sizes)

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        """The shape of an argument."""
        return ca.Sparsity.dense(self.sizes[i], 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        """The shape of the values."""
        return ca.Sparsity.dense(self.size, 1)

    def eval(self, given: Sequence[ca.DM]) -> list[ca.DM]:
        """The values at a point, for CasADi."""
        t, *rows, number = (np.array(value.nonzeros()) for value in given)
        try:
            return [ca.DM(_known[number[0]][0](float(t[0]), *rows))]
        except Exception as error:
            keep_error(error)
            return [ca.DM(np.full((self.size, 1), np.nan))]
