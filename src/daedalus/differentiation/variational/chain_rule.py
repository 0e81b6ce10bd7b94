"""Derivatives of anything that follows from (t, x, u, p): rates, algebraic variables, multipliers, outputs.

y = e(t, x, u, p)      ∂y/∂θ = e_v V      ∂²y/∂θ_j ∂θ_k = e_x W_jk + V_jᵀ e'' V_k      with v = (x, u, p), V = ∂v/∂θ

Where x' and z have no formulas the row (x, z, x') stands for x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.dense_values import DenseValues
from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.differentiation.variational.residual_variational import ResidualVariational
from daedalus.differentiation.variational.variational import Variational
from daedalus.errors import InputError
from daedalus.model.expressions import column, plain_shape
from daedalus.model.names import flat_index, split_index
from daedalus.model.system.system import System


@dataclass(frozen=True, eq=False)
class Followed:
    """An expression with its derivatives, as a function of (t, row, u, p): values, ∂e/∂v, then one Hessian a row."""

    function: ca.Function
    shape: tuple[int, ...]

    def value(self, point: tuple[np.ndarray, ...]) -> np.ndarray:
        """The value at many points, (times, rows)."""
        return self._all(point)[0]

    def first(self, point: tuple[np.ndarray, ...], V: np.ndarray) -> np.ndarray:
        """∂y/∂θ, (times, rows, m), for V of shape (times, size of v, m)."""
        return self._all(point)[1] @ V

    def known(self, point: tuple[np.ndarray, ...], V: np.ndarray) -> np.ndarray:
        """∂y/∂θ as `first`, zero where at all times it is no more than the digits that a run leaves of its terms."""
        slopes = self._all(point)[1]
        found, terms = slopes @ V, np.abs(slopes) @ np.abs(V)
        certain = np.abs(found).max(axis=0, initial=0.0) > KNOWN_BY_DIFFERENCES * terms.max(axis=0, initial=0.0)
        return np.asarray(np.where(certain, found, 0.0))

    def _all(self, point: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Values (times, rows) and ∂e/∂v (times, rows, size of v), in one call for all times."""
        t, x, u, p = point
        count, rows = len(t), int(np.prod(self.shape, dtype=int))
        found = self.function.call([ca.DM(t).T, *(ca.DM(np.atleast_2d(part).T) for part in (x, u)), ca.DM(p)])
        values, slopes = (part.full() for part in found[:2])
        return values.T.reshape(count, rows), slopes.reshape(rows, count, -1).transpose(1, 0, 2)

    def second(self, point: tuple[np.ndarray, ...], V: np.ndarray, W: np.ndarray) -> np.ndarray:
        """∂²y/∂θ∂θ, (times, rows, m, m), for W of shape (times, n, m, m)."""
        found, at = [], self._one_by_one(point)
        for k in range(len(V)):
            _, slope, *bends = at(k)
            n = W.shape[1]
            by_state = np.einsum("ri,ijk->rjk", slope[:, :n], W[k])
            by_bend = np.array([V[k].T @ bend @ V[k] for bend in bends]).reshape(by_state.shape)
            found.append(by_state + by_bend)
        return np.stack(found)

    def _one_by_one(self, point: tuple[np.ndarray, ...]) -> Callable[[int], list[np.ndarray]]:
        """The values and all derivatives at the k-th point."""
        t, x, u, p = point
        numbers = DenseValues(self.function)
        return lambda k: numbers(t[k], x[k], u[k], p)


@dataclass(frozen=True, eq=False)
class FollowedInParts(Followed):
    """An expression in a run whose equations change: at each point that of the part which owns it."""

    each: tuple[Followed, ...]
    owners: np.ndarray

    def _all(self, point: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        t, x, u, p = point
        places = [np.flatnonzero(self.owners == part) for part in np.unique(self.owners)]
        found = [self.each[self.owners[k[0]]]._all((t[k], x[k], u[k], p)) for k in places]
        order = np.argsort(np.concatenate(places))
        values, slopes = (np.concatenate([each[i] for each in found])[order] for i in (0, 1))
        return values, slopes

    def _one_by_one(self, point: tuple[np.ndarray, ...]) -> Callable[[int], list[np.ndarray]]:
        each = [part._one_by_one(point) for part in self.each]
        return lambda k: each[self.owners[k]](k)


def followed(variational: Variational | ResidualVariational, of: object) -> Followed:
    """What a name or an expression in the model's symbols is, with its derivatives."""
    system = variational.system
    expression, shape = expression_of(system, of)
    flat = variational.form.applied(system, column(expression))
    slopes = ca.jacobian(flat, variational.v)
    bends = [ca.hessian(flat[i], variational.v)[0] for i in range(flat.numel())] if variational.order == 2 else []
    arguments = [variational.t, variational.row, variational.u, variational.p]
    dense = [ca.densify(part) for part in (flat, slopes, *bends)]
    return Followed(ca.Function("followed", arguments, dense), shape)


def expression_of(system: System, of: object) -> tuple[ca.SX, tuple[int, ...]]:
    """A name, or an expression in the symbols of a system, as an expression with its shape."""
    if isinstance(of, ca.SX):
        expression: ca.SX = system.translated("expression", of)
        check_symbols(system, expression)
        return ca.densify(expression), plain_shape(expression)
    if not isinstance(of, str):
        raise InputError("sens.d takes a name or an expression first.", f"got {type(of).__name__}")
    outputs = system.outputs
    if of in outputs:
        return outputs[of], plain_shape(outputs[of])
    stem, index = split_index(of)
    if stem in outputs:
        value, shape = column(outputs[stem]), outputs[stem].shape
        k = None if index is None else flat_index(shape if len(index) == 2 else (value.numel(),), index)
        if k is None:
            raise InputError(f"{of} does not exist.", f"{stem} has {value.numel()} elements")
        return value[k], ()
    place = system.place(of)
    entries = [system.symbol(letter)[int(k)] for letter, k in zip(place.letters, place.positions)]
    return ca.vertcat(*entries), place.shape


def check_symbols(system: System, expression: ca.SX) -> None:
    """Refuse symbols that are not those of the system."""
    function = ca.Function("of_symbols", system.symbols(), [expression], {"allow_free": True})
    if function.has_free():
        foreign = function.get_free()
        raise InputError(
            "The expression contains a foreign symbol.",
            f"it prints as {foreign[0]!r} and is not one of the model {system.name!r}",
            remedy='symbols of this model, m["name"]',
        )
