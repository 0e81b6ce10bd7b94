"""Distributions that samples are drawn from, in an engineer's words; any frozen one of scipy.stats serves too."""

from __future__ import annotations

from typing import Any

from daedalus.errors import InputError


def normal(mean: float, std: float) -> Any:
    """The normal distribution with a mean and a standard deviation, for `dd.sample`.

    Example
    -------
    >>> import daedalus as dd
    >>> float(dd.normal(1.0, 0.1).std())
    0.1
    """
    from scipy import stats

    _check_positive("std", std)
    return stats.norm(mean, std)


def uniform(low: float, high: float) -> Any:
    """The uniform distribution between two bounds, for `dd.sample`.

    Example
    -------
    >>> import daedalus as dd
    >>> float(dd.uniform(-1.0, 1.0).mean())
    0.0
    """
    from scipy import stats

    if not low < high:
        raise InputError("A uniform distribution needs two bounds in order.", f"got {low!r} and {high!r}")
    return stats.uniform(low, high - low)


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

    _check_positive("std", std)
    return stats.lognorm(std, scale=np.exp(mean))


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise InputError(f"{name} is not a positive number.", f"got {value!r}", remedy="a width above zero")
