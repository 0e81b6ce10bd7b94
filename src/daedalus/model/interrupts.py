"""Ctrl-C while expressions are written: CasADi's wrapper would lose it.

To find out what its arguments are, the wrapper calls a few functions written in Python and drops their errors, and with
them a KeyboardInterrupt that happens to fall into one: about a fifth of them while a model is written or prepared.
Behind a `_core.Sheltered` these functions answer all the same, and the interrupt is raised in the code that follows. So
it is with the callbacks of weak references and with finalisers, whose errors Python itself drops. `full` and `sparse`
call Python from C and go on with an error set, which a later call tells as a SystemError: they become the methods that
they call.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

import casadi as ca

from daedalus._core import Sheltered

# What the wrapper asks of every argument: these functions of its module, and the property `shape` of its own classes.
_ASKED = ("DM_from_array", "IM_from_array", "SX_from_array", "DM_from_csc")
_CLASSES = ("ArrayInterface", "Sparsity", "DM", "SX", "MX")


def let_interrupts_through() -> None:
    """Shelter the functions that CasADi's wrapper calls; done once, when the package is imported.

    Example
    -------
    >>> import casadi as ca, daedalus
    >>> ca.SX.sym("x", 2, 3).shape
    (2, 3)
    """
    sheltered = {name: Sheltered(function) for name in _ASKED if (function := getattr(ca.casadi, name, None))}
    for module in (ca, ca.casadi):
        for name, function in sheltered.items():
            if not isinstance(getattr(module, name), Sheltered):
                setattr(module, name, function)
    for name, method in (("full", ca.DM.toarray), ("sparse", ca.DM.tocsc)):
        setattr(ca.DM, name, method)
    for name in _CLASSES:
        owner = getattr(ca.casadi, name, object)
        known = vars(owner).get("shape")
        if isinstance(known, property) and known.fget is not None and not isinstance(known.fget, Sheltered):
            setattr(owner, "shape", property(Sheltered(known.fget), doc=known.__doc__))  # noqa: B010


def shelter_finaliser(kind: type) -> None:
    """Let the finaliser of a class lose no interrupt: Python drops what is raised in one. Once is enough.

    Example
    -------
    >>> class Handle:
    ...     def __del__(self):
    ...         print("closed")
    >>> shelter_finaliser(Handle)
    >>> handle = Handle(); del handle
    closed
    """
    if isinstance(vars(kind)["__del__"], property):
        return
    # Nothing of Python's runs around it, or the interrupt would be raised, and dropped, there.
    bound = partial(partial, Sheltered(kind.__del__))  # type: ignore[attr-defined]
    kind.__del__ = property(bound)  # type: ignore[attr-defined]


def weak_values() -> weakref.WeakValueDictionary[Any, Any]:
    """A dictionary that holds its values weakly, and loses no interrupt while it forgets one.

    Example
    -------
    >>> held = weak_values()
    >>> class Thing: pass
    >>> thing = Thing(); held["it"] = thing
    >>> del thing; len(held)
    0
    """
    values: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()
    # What Python calls when a value dies; no part of its public names.
    vars(values)["_remove"] = Sheltered(vars(values)["_remove"])
    return values


def weak_keys() -> weakref.WeakKeyDictionary[Any, Any]:
    """The same that holds its keys weakly.

    Example
    -------
    >>> held = weak_keys()
    >>> class Thing: pass
    >>> thing = Thing(); held[thing] = "it"
    >>> del thing; len(held)
    0
    """
    values: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
    vars(values)["_remove"] = Sheltered(vars(values)["_remove"])
    return values


def weak_set() -> weakref.WeakSet[Any]:
    """A set that holds its members weakly, and loses no interrupt while it forgets one.

    Example
    -------
    >>> held = weak_set()
    >>> class Thing: pass
    >>> thing = Thing(); held.add(thing)
    >>> del thing; len(held)
    0
    """
    members: weakref.WeakSet[Any] = weakref.WeakSet()
    vars(members)["_remove"] = Sheltered(vars(members)["_remove"])
    return members
