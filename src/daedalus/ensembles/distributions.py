"""Distributions that samples are drawn from, in an engineer's words; any frozen one of scipy.stats serves too."""

from __future__ import annotations

from typing import Any

from daedalus.errors import InputError
from daedalus.model.plain_numbers import is_quantity, without_unit


class DistributionInUnits:
    """A distribution of numbers in a unit; `dd.sample` draws quantities from it."""

    def __init__(self, distribution: Any, units: Any) -> None:
        self.distribution, self.units = distribution, units

    def ppf(self, shares: Any) -> Any:
        """The values below which these shares of all lie, with their unit."""
        return self.distribution.ppf(shares) * self.units

    def __getattr__(self, name: str) -> Any:
        if name == "distribution":  # not there yet where a pickle is read
            raise AttributeError(name)
        return getattr(self.distribution, name)

    def __repr__(self) -> str:
        return f"{self.distribution!r} in {self.units}"


def _in_one_unit(first: Any, second: Any, name: str) -> tuple[Any, Any, Any]:
    """Two numbers in the unit of the one that has one, and that unit; a plain number is taken to be in it."""
    units = next((value.units for value in (first, second) if is_quantity(value)), None)
    if units is None:
        return first, second, None
    return without_unit(first, str(units), name), without_unit(second, str(units), name), units


def _with_units(distribution: Any, units: Any) -> Any:
    return distribution if units is None else DistributionInUnits(distribution, units)


def normal(mean: float, std: float) -> Any:
    """The normal distribution with a mean and a standard deviation, for `dd.sample`.

    Quantities with units are converted by `dd.sweep` to the unit of the variable.

    Example
    -------
    >>> import daedalus as dd
    >>> float(dd.normal(1.0, 0.1).std())
    0.1
    """
    from scipy import stats

    mean, std, units = _in_one_unit(mean, std, "A normal distribution")
    _check_positive("std", std)
    return _with_units(stats.norm(mean, std), units)


def uniform(low: float, high: float) -> Any:
    """The uniform distribution between two bounds, for `dd.sample`.

    Example
    -------
    >>> import daedalus as dd
    >>> float(dd.uniform(-1.0, 1.0).mean())
    0.0
    """
    from scipy import stats

    low, high, units = _in_one_unit(low, high, "A uniform distribution")
    if not low < high:
        raise InputError(
            "The lower bound of a uniform distribution must be below the upper one.", f"got {low!r} and {high!r}"
        )
    return _with_units(stats.uniform(low, high - low), units)


def lognormal(mean: float, std: float) -> Any:
    """The distribution of exp(y) with y normal, for `dd.sample`: mean and std are those of y, the logarithm.

    Example
    -------
    >>> import daedalus as dd
    >>> round(float(dd.lognormal(0.0, 0.5).median()), 12)
    1.0
    """
    import numpy as np
    from scipy import stats

    for name, value in (("mean", mean), ("std", std)):
        if is_quantity(value):
            raise InputError(
                f"The {name} of a logarithm has no unit.",
                f"got a value in {value.units}",  # type: ignore[attr-defined]
                because="mean and std are those of y, and the values are exp(y).",
                remedy="numbers of logarithms in the unit of the parameter: dd.lognormal(np.log(2.0), 0.1)",
            )
    _check_positive("std", std)
    return stats.lognorm(std, scale=np.exp(mean))


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise InputError(f"{name} is not a positive number.", f"got {value!r}", remedy="a width above zero")
