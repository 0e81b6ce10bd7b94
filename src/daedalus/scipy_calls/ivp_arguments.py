"""The extra arguments of a right-hand side, split into a vector of numbers and the rest that stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import casadi as ca
import numpy as np

from daedalus.model.expressions import elements
from daedalus.tracing.captured import Identity, fingerprint, private_copy
from daedalus.tracing.trace import traced_column
from daedalus.tracing.traced_array import TracedArray
from daedalus.tracing.traced_number import TracedNumber, is_symbolic

# What is symbolic at each level of tracing: all numbers; floats only (whole numbers may be counts or indices); nothing.
LEVELS: tuple[tuple[str, ...], ...] = (("float", "int"), ("float",), ())


class Arguments:
    """`args` of one call. Numbers in it, also inside lists, tuples and dictionaries, make up the vector `values`.

    >>> given = Arguments((2.0, {"k": 3}, "fast"))
    >>> given.values
    array([2., 3.])
    >>> given.key(0) == Arguments((5.0, {"k": 4}, "fast")).key(0)
    True
    >>> given.key(1) == Arguments((5.0, {"k": 4}, "fast")).key(1)
    False
    """

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.args = args
        leaves = [
            (kind, np.asarray(value, dtype=float).reshape(-1)) for kind, value in _leaves(args) if kind != "fixed"
        ]
        self.kinds = {kind for kind, _ in leaves}
        self.values = np.concatenate([values for _, values in leaves]) if leaves else np.zeros(0)

    def levels(self) -> list[int]:
        """The levels worth trying: those at which something else is symbolic than at the level before."""
        symbolic = [self.kinds & set(level) for level in LEVELS]
        return [i for i in range(len(LEVELS)) if i == 0 or symbolic[i] != symbolic[i - 1]]

    def key(self, level: int) -> Hashable | None:
        """Equal for calls that may share a formula traced at this level; None when that cannot be known."""
        parts: list[Hashable] = []
        for kind, value in _leaves(self.args):
            if kind in LEVELS[level]:
                parts.append(("symbolic", np.shape(value)))
                continue
            own = fingerprint(value)
            if own is None:
                return None
            parts.append((kind, own))
        return tuple(parts), _structure(self.args)

    def unchanged(self, rebuilt: tuple[Any, ...]) -> Callable[[], bool]:
        """Tells later whether a function wrote into the arguments it was given."""

        def content() -> list[Any]:
            found: list[Any] = [_structure(rebuilt)]
            for kind, leaf in _leaves(rebuilt):
                elements_of = leaf.flat if isinstance(leaf, TracedArray) else [leaf]
                found += [Identity(e) if is_symbolic(e) else (kind, fingerprint(e)) for e in elements_of]
            return found

        before = content()
        return lambda: content() == before

    def rebuilt(self, level: int, symbols: ca.SX, column: bool) -> tuple[Any, ...]:
        """The arguments with their numbers replaced by symbols as far as the level says; fresh containers."""
        entries = iter(elements(symbols))

        def replace(kind: str, value: Any) -> Any:
            if kind == "fixed":
                return private_copy(value, {}) if fingerprint(value) is not None else value
            taken = [next(entries) for _ in range(np.size(value))]
            if kind not in LEVELS[level]:
                return value.copy() if isinstance(value, np.ndarray) else value
            if not isinstance(value, np.ndarray):
                return taken[0] if column else TracedNumber(taken[0])
            flat = ca.vertcat(*taken)
            # CasADi's columns run down first; NumPy's last index runs fastest.
            if column:
                return ca.reshape(flat, *value.shape[::-1]).T if value.ndim == 2 else flat
            return traced_column(flat).reshape(value.shape)

        return tuple(_rebuild(value, replace) for value in self.args)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size:
        return {"f": "float", "i": "int", "u": "int"}.get(value.dtype.kind, "fixed")
    if isinstance(value, bool):
        return "fixed"
    if isinstance(value, (float, np.floating)):
        return "float"
    return "int" if isinstance(value, (int, np.integer)) else "fixed"


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    if type(value) in (list, tuple):
        for element in value:
            yield from _leaves(element)
    elif type(value) is dict:
        for key in value:
            yield from _leaves(value[key])
    else:
        yield _kind(value), value


def _structure(value: Any) -> Hashable:
    if type(value) in (list, tuple):
        return type(value), tuple(_structure(element) for element in value)
    if type(value) is dict:
        return dict, tuple((fingerprint(key), _structure(element)) for key, element in value.items())
    return None


def _rebuild(value: Any, replace: Callable[[str, Any], Any]) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_rebuild(element, replace) for element in value)
    if type(value) is dict:
        return {key: _rebuild(element, replace) for key, element in value.items()}
    return replace(_kind(value), value)
