"""Attributes that are computed when they are first asked for, without a lock.

Those of the standard library hold a lock of the whole class while a value is made (Python 3.11): threads wait for each
other over values of different objects, may wait in a circle, and in a child that is forked meanwhile nobody ever lets
go of it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):
        """A value that an object keeps once it was asked for; of threads that make it at once, the first counts.

        Example
        -------
        >>> class Square:
        ...     side = 3.0
        ...     @cached_property
        ...     def area(self):
        ...         print("computed")
        ...         return self.side**2
        >>> square = Square()
        >>> square.area, square.area
        computed
        (9.0, 9.0)
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """The value; from the second time on it is found in the object itself."""
            if instance is None:
                return self
            kept = instance.__dict__
            if self.attrname in kept:
                return kept[self.attrname]
            return kept.setdefault(self.attrname, self.func(instance))
