"""The errors of `solve_ivp`: Daedalus' four parts, and still the ValueError or TypeError that SciPy's users catch."""

from __future__ import annotations

from daedalus.errors import InputError


class IvpValueError(InputError, ValueError):
    """An argument of `solve_ivp` has a value that cannot be used.

    >>> issubclass(IvpValueError, ValueError)
    True
    """


class IvpTypeError(InputError, TypeError):
    """An argument of `solve_ivp` is of a kind that cannot be used.

    >>> issubclass(IvpTypeError, TypeError)
    True
    """
