"""Numbers as users have them: lists, arrays, columns of pandas, Pint quantities, dates. The one door they come in by.

Quantities are converted to the unit of what they are given for, or refused; times are seconds. What is not a number
(a text, a complex number, an integer that no double holds) is refused in words that name it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from daedalus.errors import InputError, ModelError


def is_quantity(value: object) -> bool:
    """Whether a value has a unit of its own, as Pint gives it; nothing is imported to find out."""
    return hasattr(value, "magnitude") and hasattr(value, "units") and hasattr(value, "m_as")


def without_unit(value: Any, unit: str, name: str) -> Any:
    """A value in which quantities, also inside lists and arrays, are numbers in `unit`; else unchanged.

    Raises an InputError that names what it is for where a quantity is of another kind, or has no unit to go to.

    Example
    -------
    >>> import pint
    >>> length = pint.UnitRegistry().Quantity(3.0, "km")
    >>> without_unit([length, 4.0], "m", "x")
    [3000.0, 4.0]
    """
    if is_quantity(value):
        return _converted(value, unit, name)
    if isinstance(value, (list, tuple)):
        return type(value)(without_unit(part, unit, name) for part in value) if _holds_quantity(value) else value
    if isinstance(value, np.ndarray) and value.dtype == object and _holds_quantity(value.ravel()):
        parts = [without_unit(part, unit, name) for part in value.ravel()]
        return np.array(parts, dtype=object).reshape(value.shape)
    return value


def _holds_quantity(values: Any) -> bool:
    return any(is_quantity(v) or (isinstance(v, (list, tuple)) and _holds_quantity(v)) for v in values)


def _converted(value: Any, unit: str, name: str) -> Any:
    try:
        return value.m_as(unit or "dimensionless")
    except Exception as error:
        given = f"{value.units}"
        if not unit:
            raise InputError(
                f"{name} has no unit, and is given a value in {given}.",
                because="a quantity is converted to the unit of what it is for, and there is none.",
                remedy=f'unit="{given}" where {name} is declared, or a plain number',
            ) from error
        raise InputError(
            f"{name} is in {unit}, and is given a value in {given}.",
            str(error).splitlines()[0],
            because="the two are not units of the same quantity.",
            remedy=f"a value that can be converted to {unit}, or a plain number",
        ) from error


def plain_array(values: Any, what: str, unit: str = "") -> np.ndarray:
    """Numbers as an array of doubles; an InputError names what they are where they are none.

    Example
    -------
    >>> plain_array([1, 2.5], "The times").tolist()
    [1.0, 2.5]
    >>> plain_array([1, "two"], "The times")
    Traceback (most recent call last):
    daedalus.errors.InputError: The times are not numbers.
      got 'two'
      Try: a list or array of finite numbers
    """
    if type(values) is np.ndarray and values.dtype == float:
        return values.copy()
    if type(values) is list and all(type(value) is float for value in values):
        return np.array(values)
    values = without_unit(values, unit, what)
    try:
        array = np.asarray(values)
    except ValueError:
        raise _no_numbers(what, "rows of different length") from None
    if array.dtype.kind == "U" and isinstance(values, (list, tuple)):
        array = np.array(values, dtype=object)  # a text among numbers, which stay what they are
    if array.dtype.kind in "mM":
        raise _no_numbers(what, f"dates or durations, {array.ravel()[0]!r}" if array.size else "dates")
    if array.dtype.kind in "fiub":
        return array.astype(float)
    wrong = next((v for v in array.ravel().tolist() if not _is_real(v)), None)
    if wrong is not None or array.dtype.kind in "USc":
        raise _no_numbers(what, f"{wrong!r}"[:80])
    try:
        return array.astype(float)
    except OverflowError:
        largest = max((v for v in array.ravel().tolist() if isinstance(v, int)), key=abs)
        raise _no_numbers(what, f"an integer of {len(str(abs(largest)))} digits") from None
    except (TypeError, ValueError):
        raise _no_numbers(what, f"{values!r}"[:80]) from None


def plain_times(values: Any, what: str) -> np.ndarray:
    """Times in s as an array of doubles; True and False are no times.

    Example
    -------
    >>> plain_times([0, 0.5], "The times").tolist()
    [0.0, 0.5]
    >>> plain_times([True], "The times")
    Traceback (most recent call last):
    daedalus.errors.InputError: The times are not numbers.
      got True
      Try: a list or array of finite numbers
    """
    found = _truth_in(values)
    if found is not None:
        raise _no_numbers(what, repr(bool(found)))
    return plain_array(values, what, unit="s")


def _truth_in(values: Any) -> Any:
    """The first True or False among values, None where there is none."""
    if isinstance(values, (bool, np.bool_)):
        return values
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "b" and values.size:
            return values.flat[0]
        values = values.ravel().tolist() if values.dtype == object else ()
    if not isinstance(values, (list, tuple)) or (values and all(type(value) is float for value in values)):
        return None
    return next((found for value in values if (found := _truth_in(value)) is not None), None)


def _is_real(value: object) -> bool:
    return value is None or (
        (isinstance(value, (int, float)) or hasattr(value, "__float__"))
        and not isinstance(value, (str, bytes, complex))
    )


def _no_numbers(what: str, got: str) -> InputError:
    return InputError(f"{what} are not numbers.", f"got {got}", remedy="a list or array of finite numbers")


def plain_number(value: Any, what: str, unit: str = "") -> float:
    """One number as a double; infinite where it is an integer that none holds. InputError for what is not a number."""
    value = without_unit(value, unit, what)
    if isinstance(value, (str, bytes, complex)):
        raise InputError(f"{what} is not a number.", f"got {value!r}"[:80], remedy="a finite number")
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf
    except (TypeError, ValueError):
        raise InputError(f"{what} is not a number.", f"got {value!r}"[:80], remedy="a finite number") from None


def plain_vector(values: Any, what: str, names: Sequence[str], units: Sequence[str]) -> np.ndarray:
    """Numbers, one for each name, as a flat array; quantities among them are converted to the unit of their name.

    Example
    -------
    >>> import pint
    >>> length = pint.UnitRegistry().Quantity(3.0, "km")
    >>> plain_vector([length, 4.0], "The positions", ["x", "y"], ["m", "m"]).tolist()
    [3000.0, 4.0]
    """
    several = (
        list(values) if isinstance(values, (list, tuple)) or np.ndim(getattr(values, "magnitude", 0)) else [values]
    )
    if len(several) == len(names) and any(map(is_quantity, several)):
        parts = zip(several, names, units)
        return np.array([plain_number(value, name, unit) for value, name, unit in parts])
    return plain_array(values, what).ravel()


def plain_result(value: Any, name: str) -> Any:
    """What a function for an input gave; quantities are refused, since nothing says their unit before it is called."""
    if is_quantity(value) or (isinstance(value, (list, tuple)) and _holds_quantity(value)):
        raise InputError(
            f"The function for input {name} gives quantities with units.",
            f"got {value!r}"[:80],
            because="it is read as a formula of time, and called thousands of times.",
            remedy='a function of plain numbers: lambda t: f(t).m_as("N") with the unit of the input',
        )
    return value


def result_at(function: Callable[[float], Any], t: float, name: str, remedy: str) -> np.ndarray:
    """What a function for an input gives at a time, as an array of numbers."""
    try:
        return np.asarray(plain_result(function(t), name), dtype=float)
    except (TypeError, ValueError, ArithmeticError, ModelError) as error:
        raise InputError(
            f"The function for input {name} cannot be evaluated.",
            f"f({t:g}) raised {type(error).__name__}: {error}",
            remedy=remedy,
        ) from error


def seconds(times: Any, what: str) -> np.ndarray:
    """Times as seconds: quantities and durations are converted, dates count from the first of them.

    Example
    -------
    >>> import datetime
    >>> noon = datetime.datetime(2020, 1, 1, 12)
    >>> seconds([noon, noon + datetime.timedelta(minutes=1)], "The times").tolist()
    [0.0, 60.0]
    >>> import numpy as np
    >>> seconds(np.array([0, 90], dtype="timedelta64[s]"), "The times").tolist()
    [0.0, 90.0]
    """
    times = without_unit(times, "s", what)
    try:
        array = np.asarray(times)
    except ValueError:
        raise _no_numbers(what, "rows of different length") from None
    entries = array.ravel()
    if array.dtype == object and entries.size:
        kinds = {type(v) for v in entries}
        if all(issubclass(kind, datetime.datetime) for kind in kinds):
            first = entries[0]
            return np.array([(moment - first).total_seconds() for moment in entries]).reshape(array.shape)
        if all(issubclass(kind, datetime.timedelta) for kind in kinds):
            return np.array([duration.total_seconds() for duration in entries]).reshape(array.shape)
        if all(issubclass(kind, datetime.date) for kind in kinds):
            array = array.astype("datetime64[D]")
    if array.dtype.kind == "M":
        array = array - (array.ravel()[0] if array.size else 0)
    if array.dtype.kind == "m":
        return np.where(np.isnat(array), np.nan, array / np.timedelta64(1, "s"))
    return plain_array(times, what)


def by_name(values: Any) -> Any:
    """Values by name; a column of pandas with names as its index becomes a dict, everything else is unchanged."""
    if values is None or type(values) is dict:
        return values
    if isinstance(values, Mapping) or not hasattr(values, "to_dict") or not hasattr(values, "index"):
        return values
    return dict(values.to_dict())
