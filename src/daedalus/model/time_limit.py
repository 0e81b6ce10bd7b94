"""`time_limit=` of a call as it was given: a number of seconds, with or without a unit."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from numbers import Real
from typing import ParamSpec, TypeVar

from daedalus.deadline import limited_to
from daedalus.model.plain_numbers import without_unit

Given = ParamSpec("Given")
Found = TypeVar("Found")


def limits_time(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """A function of several runs whose option `time_limit` is the limit of all of them together."""

    @functools.wraps(function)
    def limited(*given: Given.args, **options: Given.kwargs) -> Found:
        with time_limited(options.get("time_limit")):
            return function(*given, **options)

    return limited


def time_limited(seconds: object) -> AbstractContextManager[None]:
    """What is done inside ends soon after so many seconds; what is not a positive number limits nothing.

    Example
    -------
    >>> from daedalus.deadline import poll
    >>> with time_limited(1e-9):
    ...     poll("a short search")
    """
    given = without_unit(seconds, "s", "time_limit")
    number = isinstance(given, Real) and not isinstance(given, bool)
    if not number or not 0 < given < sys.float_info.max:
        return nullcontext()
    return limited_to(float(given))
