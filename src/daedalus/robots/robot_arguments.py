"""Read the arguments of a robot's functions: finite numbers, or an error that names the argument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.array_or_symbol import is_symbol
from daedalus.geometry.quaternions import rotation_from_quaternion
from daedalus.geometry.rotations import read_rotation
from daedalus.model.names import counted
from daedalus.model.plain_numbers import plain_array

# Arguments that have the order of others.
_ORDERED_AS = {"goal": "q", "posture": "q"}


class ArgumentReader:
    """Reads what is given for the arguments of functions; `labels` are the names of the entries of q, v, a and tau."""

    def __init__(self, labels: Mapping[str, Sequence[str]]) -> None:
        self.labels = labels

    def vectors(
        self, name: str, arguments: Sequence[str], sizes: Sequence[int], given: Sequence[Any]
    ) -> tuple[list[np.ndarray], int | None]:
        """The arguments of a function as arrays, and how many rows a batch has; None where all are single vectors."""
        if len(given) != len(arguments):
            raise InputError(
                f"{name} takes {counted(len(arguments), 'argument')}.",
                f"got {len(given)}: the arguments are {', '.join(arguments)}",
                because="each has an order of its own.",
                remedy=f"{name}({', '.join(arguments)})",
            )
        arrays = [self.numbers(name, argument, size, value) for argument, size, value in zip(arguments, sizes, given)]
        counts = {argument: len(array) for argument, array in zip(arguments, arrays) if array.ndim == 2}
        if not counts:
            return arrays, None
        rows = next((count for count in counts.values() if count != 1), 1)
        if not set(counts.values()) <= {1, rows}:
            raise InputError(
                f"The batches for {name} have different numbers of rows.",
                ", ".join(f"{argument}: {count}" for argument, count in counts.items()),
                because="each row is a case of its own, and one row counts for all.",
                remedy=f"np.tile(..., ({max(counts.values())}, 1))",
            )
        return [np.ascontiguousarray(np.broadcast_to(array, (rows, array.shape[-1]))) for array in arrays], rows

    def numbers(self, name: str, argument: str, size: int, value: Any) -> np.ndarray:
        """One argument: a vector of finite numbers, or an array with one in each row."""
        if is_symbol(value):
            raise InputError(
                f"{argument} of {name} is an expression.",
                f"got {value!r}"[:120],
                because="machine code is called with numbers.",
                remedy=f'robot.functions["{name}"], a CasADi function of expressions',
            )
        remedy = f"np.zeros({size})"
        try:
            array = np.asarray(plain_array(value, argument), order="C")
        except InputError as error:
            raise InputError(
                f"{argument} of {name} is not an array of numbers.",
                error.facts,
                because=f"it has {counted(size, 'number')}.",
                remedy=remedy,
            ) from None
        if array.shape[-1:] != (size,) or array.ndim > 2:
            raise self._misfit(name, argument, size, array)
        wrong = np.argwhere(~np.isfinite(array))
        if len(wrong):
            place = wrong[0]
            entry = f"{argument}[{', '.join(map(str, place))}]"
            names = self._names(argument, size)
            raise InputError(
                f"{argument} of {name} contains NaN or infinity.",
                f"{entry} is {array[tuple(place)]}" + (f": {names[place[-1]]}" if names else ""),
                because="the result would not be finite either.",
                remedy="finite numbers, for example np.nan_to_num(...)",
            )
        return array

    def _names(self, argument: str, size: int) -> Sequence[str]:
        """The names of the entries of an argument; none where it is no posture, velocity or force."""
        names = self.labels[_ORDERED_AS.get(argument, argument if argument in self.labels else "v")]
        return names if len(names) == size else ()

    def _misfit(self, name: str, argument: str, size: int, array: np.ndarray) -> InputError:
        names = self._names(argument, size)
        named = f": {', '.join(names[:8])}" if names else ""
        return InputError(
            f"{argument} of {name} has the wrong shape.",
            f"got {array.shape}, expected ({size},) or (n, {size}){named}",
            because="each position and velocity has one number." if named else "its entries are numbers.",
            remedy=f"np.zeros({size})",
        )


def read_turn(value: Any, name: str) -> np.ndarray:
    """A rotation matrix of a matrix or a quaternion, numbers only.

    Example
    -------
    >>> read_turn([1.0, 0.0, 0.0, 0.0], "tool.rotation")[0].tolist()
    [1.0, 0.0, 0.0]
    """
    numbers = np.array([]) if is_symbol(value) else _array(value)
    if numbers.shape == (4,) and np.all(np.isfinite(numbers)) and np.any(numbers):
        return np.asarray(rotation_from_quaternion(numbers), dtype=float)
    if numbers.shape[-2:] != (3, 3) or not np.all(np.isfinite(numbers)):
        raise InputError(
            f"{name} is not a rotation.",
            f"got {value!r}"[:120],
            because="a rotation is a 3×3 matrix, or a quaternion of four numbers, scalar first, that are not all zero.",
            remedy="np.eye(3), or [1.0, 0.0, 0.0, 0.0], for no rotation",
        )
    return np.asarray(read_rotation(numbers, name.removeprefix("The ")), dtype=float)


def _array(value: Any) -> np.ndarray:
    try:
        return plain_array(value, "The rotation")
    except InputError:
        return np.array([])
