"""What is computed of a system is made once and kept with it: the one door to that memory.

Rules of the house: what is found here again is what was made first. Threads that ask for the same thing at the same
time wait for the one that makes it; different things are made side by side, so that no two threads can wait for each
other. A `make` that raises leaves nothing behind. The memory is not part of a system: it is neither compared nor
pickled nor written, and it goes with the system.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Generic, TypeVar, TypeVarTuple

from daedalus.deadline import poll
from daedalus.model.forking import fork_safe_lock
from daedalus.model.system.system import System

# Of everything that depends on a key a system keeps this many; beyond that the oldest goes. Of what depends on values
# of parameters or on a span, which differ from run to run, few are asked for again.
MOST_KEPT, KEPT_BY_VALUES = 64, 16
# Who waits for another thread looks at the time of its own call every so many seconds.
LOOK_EVERY = 0.5

Made = TypeVar("Made")
Value = TypeVar("Value")
Owner = TypeVar("Owner")
Key = TypeVarTuple("Key")


def once(system: System, make: Callable[[System, *Key], Made], *key: *Key, most: int = MOST_KEPT) -> Made:
    """`make(system, *key)`, made at the first call and kept with the system.

    make: a function or class of a module, whose identity is the name of what is kept; a `make` that may fail in a way
    worth remembering returns a value that says so. key: hashable; what is not goes in as `By(value, its key)`.
    most: how many results of this `make` are kept.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> def names(system, letter):
    ...     print("looking")
    ...     return system.labels[letter]
    >>> once(m.freeze(), names, "x"), once(m.freeze(), names, "x")
    looking
    (('x',), ('x',))
    """
    try:
        known: Made = system._memory[make][key]
        return known
    except KeyError:
        pass
    return _made(system, make, key, most)


def remembered(make: Callable[[Owner, *Key], Made]) -> Callable[[Owner, *Key], Made]:
    """A function that is asked for by `once` wherever it is called: of a system, or of what belongs to `.system`."""

    def made(system: System, owner: Any, *key: *Key) -> Made:
        return make(owner, *key)

    @wraps(make)
    def asked(owner: Any, *key: *Key) -> Made:
        if isinstance(owner, System):
            return once(owner, make, *key)  # type: ignore[arg-type]
        return once(owner.system, made, owner, *key)

    return asked


class By(Generic[Value]):
    """A value that `make` gets and that is looked up by a key of its own; without one any value will do.

    For values that cannot be hashed (`By(p, p.tobytes())`), and for those that do not change the result but are needed
    to find it. Only the key is kept.

    Example
    -------
    >>> By([1, 2], "both") == By([2, 1], "both"), By([1, 2], "both") == By([1, 2], "first")
    (True, False)
    """

    __slots__ = ("key", "value")

    def __init__(self, value: Value, key: Hashable = None) -> None:
        self.value, self.key = value, key

    def __eq__(self, other: object) -> bool:
        return type(other) is By and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class KeptByKey(dict[Any, Value]):
    """Values by what they follow from, for `once` to keep; beyond MOST_KEPT of them it begins anew."""

    def __setitem__(self, key: Any, value: Value) -> None:
        if len(self) >= MOST_KEPT:
            self.clear()
        super().__setitem__(key, value)


def kept(system: System, make: Callable[..., Made]) -> tuple[Made, ...]:
    """All that `once` keeps of a `make` at present, the oldest first.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> def size(system, letter):
    ...     return system.sizes[letter]
    >>> once(m.freeze(), size, "x"), once(m.freeze(), size, "z"), kept(m.freeze(), size)
    (1, 0, (1, 0))
    """
    with _lock:
        return tuple(system._memory.get(make, {}).values())


# -- what is being made ----------------------------------------------------------------------------------------


class _Turn:
    """A thread that makes something, and whether it is done."""

    def __init__(self) -> None:
        self.thread, self.over = threading.get_ident(), threading.Event()


# Held while notes are taken, never while something is made.
_lock = fork_safe_lock()
_turns: dict[tuple[Any, ...], _Turn] = {}


def _made(system: System, make: Callable[..., Made], key: tuple[Any, ...], most: int) -> Made:
    place, own = (id(system), make, key), _Turn()
    try:
        while True:
            with _lock:
                family = system._memory.get(make, {})
                if key in family:
                    known: Made = family[key]
                    return known
                turn = _turns.setdefault(place, own)
            if turn is own:
                break
            if turn.thread == own.thread:
                raise RecursionError(f"{make.__qualname__} of {system.name!r} needs itself")
            # Where the other one fails, this thread tries for itself.
            while not turn.over.wait(LOOK_EVERY):
                poll()
        poll()
        value = make(system, *key)
        with _lock:
            _keep(system._memory.setdefault(make, {}), key, value, most)
        return value
    finally:
        with _lock:
            if _turns.get(place) is own:
                del _turns[place]
        own.over.set()


def _keep(family: dict[tuple[Any, ...], Any], key: tuple[Any, ...], value: Any, most: int) -> None:
    while len(family) >= most:
        del family[next(iter(family))]
    family[tuple(By(None, part.key) if type(part) is By else part for part in key)] = value


if hasattr(os, "register_at_fork"):
    # In a child the threads that were making something are not there to finish it.
    os.register_at_fork(after_in_child=_turns.clear)
