"""The cases of a sweep: which values each one has. Combinations are counted, never listed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedalus.ensembles.gpu.device_array import DeviceArray, device_array, is_on_device
from daedalus.ensembles.sample import Sample
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import split_index
from daedalus.model.plain_numbers import without_unit
from daedalus.model.system.named_vectors import Place
from daedalus.model.system.system import System
from daedalus.reduction.reduction_record import check_held_values

_SWEPT = ("p", "x", "u")


@dataclass(frozen=True, eq=False)
class Axis:
    """The values of one name: (values,), or (values, elements) of a vector; given here or on a GPU."""

    place: Place
    given: np.ndarray | DeviceArray

    @property
    def name(self) -> str:
        """The name as the user wrote it."""
        return self.place.name

    @cached_property
    def values(self) -> np.ndarray:
        """The values in memory of this machine; those of a GPU are copied when they are first looked at."""
        return self.given if isinstance(self.given, np.ndarray) else self.given.to_host()

    @property
    def is_here(self) -> bool:
        """Whether the values are in memory of this machine."""
        return isinstance(self.given, np.ndarray) or "values" in self.__dict__

    @cached_property
    def all_finite(self) -> bool:
        """Whether values of this machine are nothing but numbers; a sum that is one has no other terms."""
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(self.values.sum()) or np.isfinite(self.values).all())

    def value(self, k: int) -> np.ndarray:
        """Value k, alone where the others are on a GPU."""
        return np.asarray(self.values[k]) if self.is_here else self.given[k].to_host()

    @property
    def is_scalar(self) -> bool:
        """Whether every value is one number."""
        return self.given.ndim == 1


@dataclass(frozen=True, eq=False)
class Cases:
    """All cases of a sweep: every combination of the axes, or the axes side by side."""

    axes: tuple[Axis, ...]
    product: bool
    names: tuple[str, ...]  # of the coordinates of the result
    sample: Mapping[str, Any] | None = None  # values of another case, where these are a part of more cases

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of the result: one an axis, or "case"."""
        return self.names if self.product else ("case",)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The sizes of `dims`."""
        lengths = tuple(len(axis.given) for axis in self.axes)
        return lengths if self.product else lengths[:1]

    @cached_property
    def count(self) -> int:
        """How many cases there are."""
        return math.prod(self.shape)

    def positions(self, case: int) -> tuple[int, ...]:
        """Where on its axes a case lies, the last axis fastest."""
        if not self.product:
            return (case,) * len(self.axes)
        return tuple(int(k) for k in np.unravel_index(case, self.shape))

    def places_of(self, block: range, k: int) -> slice | np.ndarray:
        """Where on axis k the cases of a block lie."""
        if not self.product or len(self.axes) == 1:
            return slice(block.start, block.stop)
        return np.asarray(np.unravel_index(np.arange(block.start, block.stop), self.shape)[k])

    def columns_of(self, block: range) -> tuple[Axis, ...]:
        """The axes of some cases side by side."""
        return tuple(replace(axis, given=axis.values[self.places_of(block, k)]) for k, axis in enumerate(self.axes))

    def values(self, case: int) -> dict[str, Any]:
        """The values of a case by name."""
        return {
            axis.name: axis.value(k).item() if axis.is_scalar else axis.value(k)
            for axis, k in zip(self.axes, self.positions(case))
        }

    @cached_property
    def letters(self) -> frozenset[str]:
        """Which of states (x), inputs (u) and parameters (p) are swept."""
        return frozenset(str(axis.place.letter) for axis in self.axes)

    @cached_property
    def typical(self) -> Mapping[str, Any]:
        """The values of a case by which a road is found: of the first that has nothing but numbers."""
        if self.sample is not None:
            return self.sample
        first = self.values(0)
        if all(np.isfinite(value).all() for value in first.values()):
            return first
        good = [np.isfinite(axis.values).reshape(len(axis.values), -1).all(axis=1) for axis in self.axes]
        if self.product:
            return self.values(int(np.ravel_multi_index([int(rows.argmax()) for rows in good], self.shape)))
        return self.values(int(np.logical_and.reduce(good).argmax()))

    def finite_in(self, block: range) -> np.ndarray:
        """Which cases of a block have nothing but numbers; values on a GPU are not looked at."""
        found = np.ones(len(block), dtype=bool)
        for k, axis in enumerate(self.axes):
            if axis.is_here and not axis.all_finite:
                values = axis.values[self.places_of(block, k)]
                found &= np.isfinite(values).reshape(len(block), -1).all(axis=1)
        return found

    def flaw(self, case: int) -> str | None:
        """Which value of a case is not a number, in a sentence; None where all are."""
        for axis, k in zip(self.axes, self.positions(case)):
            values = np.ravel(axis.value(k))
            for j in np.flatnonzero(~np.isfinite(values))[:1].tolist():
                name = axis.name if axis.is_scalar else axis.place.element(j).name
                return f"{name} is {values[j]}: nothing can be computed from a value that is not finite"
        return None

    def placed_in(self, system: System) -> Cases | None:
        """The same cases with the places that their names have in another system; None where it lacks one."""
        axes = []
        for axis in self.axes:
            place = system.place(axis.name) if split_index(axis.name)[0] in system.places else None
            if place is None or place.letter != axis.place.letter:
                return None
            axes.append(replace(axis, place=place))
        return replace(self, axes=tuple(axes))


def read_cases(system: System, over: object, combine: str) -> Cases:
    """The cases that `over=` describes: lists by name, a `dd.sample`, a data frame or a Dataset."""
    if combine not in ("product", "zip"):
        raise InputError(f"combine={combine!r} is not valid.", remedy='combine="product" or combine="zip"')
    columns, side_by_side = _columns(over)
    product = combine == "product" and not side_by_side
    axes = tuple(_axis(system, name, values, product) for name, values in columns.items())
    check_held_values(system, columns)
    lengths = {axis.name: len(axis.given) for axis in axes}
    if not product and len(set(lengths.values())) > 1:
        raise InputError('combine="zip" needs lists of equal length.', f"got {lengths}")
    # A swept start value x gets the dimension x_start, since x itself is a variable of the result.
    moving = {v.name for kind in ("state", "discrete") for v in system.of_kind(kind)}
    names = tuple(f"{axis.name}_start" if axis.name in moving else axis.name for axis in axes)
    return Cases(axes, product, names)


def _columns(over: object) -> tuple[Mapping[str, Any], bool]:
    """Values by name, and whether they belong together row by row."""
    if isinstance(over, Sample):
        return over.columns, True
    if hasattr(over, "columns") and hasattr(over, "to_numpy"):  # a data frame: its rows are cases
        return {str(name): over[name].to_numpy() for name in over.columns}, True  # type: ignore[index]
    if hasattr(over, "data_vars"):  # a Dataset: its variables share their dimension
        return {str(name): values.to_numpy() for name, values in over.data_vars.items()}, True
    if not isinstance(over, Mapping) or not over:
        raise InputError(
            "over= takes lists of values by name.",
            f"got {over!r}"[:120],
            remedy='over={"L": [1.0, 2.0]}, a dd.sample(...) or a data frame',
        )
    return over, False


def _axis(system: System, name: str, values: Any, product: bool) -> Axis:
    place = system.place(name)
    if place.letter not in _SWEPT:
        raise InputError(f"{name} cannot be swept.", "only parameters, start values and inputs can")
    array = _array(place, name, values)
    size = len(place.positions)
    fits = (array.ndim == 1 and size == 1) or (array.ndim == 2 and not product and array.shape[1] == size)
    if not fits or len(array) == 0:
        raise InputError(
            f"The values of {name} are not a list of numbers.",
            f"{name} has {size} element{'s' if size > 1 else ''}, the values have shape {array.shape}",
            remedy=f'over={{"{place.element(0).name}": [1.0, 2.0]}}, one element at a time'
            + (f', or combine="zip" with an array (cases, {size})' if size > 1 else ""),
        )
    return Axis(place, array)


def _array(place: Place, name: str, values: Any) -> np.ndarray | DeviceArray:
    """Values as an array, on the GPU where they lie there; an empty one where they are none."""
    if is_on_device(values):
        return device_array(values, name)
    plain = without_unit(values, place.unit, name)
    try:
        return np.asarray(plain, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return np.empty((0, 0))
