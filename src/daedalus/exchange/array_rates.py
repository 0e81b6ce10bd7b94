"""The right-hand side of a model in the operations of JAX or PyTorch: x' = f(t, x, u, p), z and outputs.

Every instruction of the compiled functions becomes one operation of the library, so that all its transformations hold:
derivatives of any order, batches, other devices.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError, SingularModelError
from daedalus.model.expressions import concatenate
from daedalus.model.lazy_values import cached_property
from daedalus.model.model import Model, as_system
from daedalus.model.system.instruction_list import OPERATION_NAMES, Instructions, read_instructions
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm, find_explicit_form
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.reduce import reduce

# What the libraries call an operation where it is not CasADi's own word: JAX, then PyTorch.
WORDS = {
    "asin": ("arcsin", "asin"), "acos": ("arccos", "acos"), "atan": ("arctan", "atan"), "asinh": ("arcsinh", "asinh"),
    "acosh": ("arccosh", "acosh"), "atanh": ("arctanh", "atanh"), "atan2": ("arctan2", "atan2"), "fabs": ("abs", "abs"),
    "pow": ("power", "pow"), "constpow": ("power", "pow"), "fmin": ("minimum", "minimum"),
    "fmax": ("maximum", "maximum"),
}  # fmt: skip
SAME = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "log1p", "expm1", "sqrt", "floor", "ceil", "sign",
        "fmod", "hypot", "copysign")  # fmt: skip
PLAIN: dict[int, Callable[..., Any]] = {
    ca.OP_ADD: operator.add,
    ca.OP_SUB: operator.sub,
    ca.OP_MUL: operator.mul,
    ca.OP_DIV: operator.truediv,
    ca.OP_NEG: operator.neg,
    ca.OP_SQ: lambda a: a * a,
    ca.OP_TWICE: lambda a: a + a,
    ca.OP_INV: lambda a: 1.0 / a,
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_LIFT: lambda a, b: a,
}


class ArrayRates:
    """What `dd.exchange.jax(m)` and `dd.exchange.torch(m)` return: call it as f(t, x, u, p) for x'.

    t is a number, or one for each case; x (…, n), u (…, nu) and p (…, np) may have leading axes. All are computed in
    the precision of x. u and p may be left out: inputs are zero then, and parameters the model's own. `algebraic` and
    `outputs` take the same arguments. `start` and `parameters` are the model's own values, `labels` the names of the
    entries of x, u, p, z and y.
    """

    def __init__(self, model: Model | System, library: str, arrays: Any, outputs: object, options: object) -> None:
        self.system, self._form = _explicit(model, library)
        if outputs is not None or options:
            raise InputError(
                "Only runs take outputs= and options.",
                because="without times the result is the right-hand side of the model.",
                remedy="give the times, or leave them out",
            )
        self._library, self._arrays = library, arrays
        flat = [label for name, value in self.system.outputs.items() for label in _labels(name, value)]
        self.labels = {**{letter: self.system.labels[letter] for letter in "xupz"}, "y": tuple(flat)}

    @property
    def start(self) -> np.ndarray:
        """The model's own start (n,), NaN where none is written."""
        return np.array(self.system.start["x"])

    @property
    def parameters(self) -> np.ndarray:
        """The model's own parameters (np,)."""
        return np.array(self.system.start["p"])

    def __call__(self, t: Any, x: Any, u: Any = None, p: Any = None) -> Any:
        """x' (…, n)."""
        return self._rates(*self._given(t, x, u, p))

    def algebraic(self, t: Any, x: Any, u: Any = None, p: Any = None) -> Any:
        """z (…, nz)."""
        return self._algebraic(*self._given(t, x, u, p))

    def outputs(self, t: Any, x: Any, u: Any = None, p: Any = None) -> Any:
        """y (…, ny)."""
        return self._outputs(*self._given(t, x, u, p))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(self.labels[letter])} {letter}" for letter in "xupzy")
        return f"ArrayRates({self.system.name!r} in {self._library}: {sizes})"

    @cached_property
    def _rates(self) -> Callable[..., Any]:
        return self._translated(self._form.xdot)

    @cached_property
    def _algebraic(self) -> Callable[..., Any]:
        return self._translated(self._form.z)

    @cached_property
    def _outputs(self) -> Callable[..., Any]:
        outputs = self.system.outputs
        whole = concatenate([ca.vec(ca.densify(v)) for v in outputs.values()]) if outputs else ca.SX(0, 1)
        return self._translated(self._form.applied(self.system, whole))

    def _translated(self, expression: ca.SX) -> Callable[..., Any]:
        function = ca.Function("f", self.system.symbols(("t", "x", "u", "p")), [ca.densify(expression)], {"cse": True})
        return translated(function, self._library, self._arrays)

    def _given(self, t: Any, x: Any, u: Any, p: Any) -> list[Any]:
        xp = self._arrays
        u = np.zeros(len(self.labels["u"])) if u is None else u
        p = self.parameters if p is None else p
        x = xp.asarray(x) * 1.0  # whole numbers have no derivatives
        given = [x if value is x else xp.asarray(value, dtype=x.dtype) for value in (t, x, u, p)]
        for name, letter, value in zip(("state", "inputs", "parameters"), "xup", given[1:]):
            size = len(self.labels[letter])
            if value.ndim == 0 or value.shape[-1] != size:
                raise InputError(
                    f"The last axis of the {name} has the wrong length.",
                    f"got {tuple(value.shape)}, expected (…, {size})",
                    because=f"its entries are those of f.labels[{letter!r}].",
                    remedy=f"f.labels[{letter!r}]",
                )
        return given


def translated(function: ca.Function, library: str, arrays: Any) -> Callable[..., Any]:
    """The first output of a function of (t, x, u, p) in operations of "JAX" or "PyTorch", entries on the last axis."""
    return partial(_evaluated, read_instructions(function), _operations(library, arrays), arrays)


def _explicit(model: Model | System, library: str) -> tuple[System, ExplicitForm]:
    """The model, reduced where x' and z have no formulas as it stands; refused where they have none then."""
    form = find_explicit_form(as_system(model))
    if not isinstance(form, NoForm):
        return as_system(model), form
    try:
        system = as_system(reduce(model))
        form = find_explicit_form(system)
    except SingularModelError:
        system = as_system(model)
    if isinstance(form, NoForm):
        raise InputError(
            f"The right-hand side of {system.name!r} has no formula.",
            because="x' and the algebraic variables follow from the equations by iteration only.",
            remedy=f"dd.exchange.{'jax' if library == 'JAX' else 'torch'}(m, times), whose runs solve the equations",
        )
    return system, form


def _labels(name: str, value: ca.SX) -> list[str]:
    return [name] if value.is_scalar() else [f"{name}[{k}]" for k in range(value.numel())]


def _operations(library: str, xp: Any) -> dict[int, Callable[..., Any]]:
    """The operations of a library by CasADi's numbers."""
    column = 0 if library == "JAX" else 1
    found = dict(PLAIN)
    for name in SAME:
        found[getattr(ca, f"OP_{name.upper()}")] = getattr(xp, name)
    for name, words in WORDS.items():
        found[getattr(ca, f"OP_{name.upper()}")] = getattr(xp, words[column])
    for code, compare in (
        (ca.OP_LT, operator.lt), (ca.OP_LE, operator.le), (ca.OP_EQ, operator.eq), (ca.OP_NE, operator.ne)
    ):  # fmt: skip
        found[code] = partial(_as_number, xp, compare)
    found[ca.OP_NOT] = lambda a: _number(xp, a == 0, a)
    found[ca.OP_AND] = lambda a, b: _number(xp, (a != 0) & (b != 0), a)
    found[ca.OP_OR] = lambda a, b: _number(xp, (a != 0) | (b != 0), a)
    found[ca.OP_REMAINDER] = lambda a, b: a - b * xp.round(a / b)
    found[ca.OP_IF_ELSE_ZERO] = lambda a, b: xp.where(a != 0, b, xp.zeros_like(b))
    found[ca.OP_ERF], found[ca.OP_ERFINV] = _error_functions(library)
    return found


def _error_functions(library: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    if library == "JAX":
        from jax.scipy.special import erf, erfinv
    else:
        from torch.special import erf, erfinv
    return erf, erfinv


def _number(xp: Any, holds: Any, like: Any) -> Any:
    """1 and 0 for true and false."""
    return xp.where(holds, xp.ones_like(like), xp.zeros_like(like))


def _as_number(xp: Any, compare: Callable[..., Any], a: Any, b: Any) -> Any:
    return _number(xp, compare(a, b), a + b)


def _evaluated(rows: Instructions, operations: dict[int, Callable[..., Any]], xp: Any, *given: Any) -> Any:
    """The first output of an instruction list, entries on the last axis."""
    values: list[Any] = [None] * len(rows)
    out: list[Any] = [None] * rows.size_out[0]
    shape = np.broadcast_shapes(*(tuple(a.shape[:-1]) for a in given[1:]), tuple(given[0].shape))
    for row, op in enumerate(rows.operation):
        first, second = rows.first[row], rows.second[row]
        if op == ca.OP_INPUT:
            values[row] = given[0] if first == 0 else given[first][..., second]
        elif op == ca.OP_CONST:
            values[row] = xp.asarray(rows.constants[first], dtype=given[1].dtype)
        elif op == ca.OP_OUTPUT:
            out[rows.slot[row]] = values[first]
        elif op not in operations:
            raise InputError(f"The operation {OPERATION_NAMES[op]!r} has no counterpart here.")
        else:
            values[row] = operations[op](*(values[k] for k in (first, second) if k >= 0))
    if not out:
        return xp.zeros((*shape, 0), dtype=given[1].dtype)
    return xp.stack([xp.broadcast_to(value, shape) for value in out], -1)
