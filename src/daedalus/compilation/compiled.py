"""A compiled function: the object that the core calls, where its code came from, and how to wait for better code."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus._core import Function as CoreFunction
from daedalus.compilation.translate import TranslationOutcome
from daedalus.model.interrupts import weak_set
from daedalus.model.system.instruction_list import Instructions, sizes


class NamedRows(NamedTuple):
    """Instructions with a name, and how the CasADi function is written that computes the same."""

    name: str
    rows: Instructions
    described: Callable[[], ca.Function]


_alive: weakref.WeakSet[Translation] = weak_set()


class Translation:
    """A function on its way to code, shared by everybody who needs the same code.

    `work` is done once, by whoever comes first: the background thread, or somebody who cannot wait for it.
    """

    def __init__(
        self,
        work: Callable[[Translation], TranslationOutcome],
        meanwhile: TranslationOutcome | None = None,
        memory: int = 0,
    ) -> None:
        self.outcome = meanwhile
        self.memory = memory  # numbers of working memory that its code needs, whatever the outcome says
        self._work: Callable[[Translation], TranslationOutcome] | None = work
        self._working = threading.Lock()
        self._attaching = threading.Lock()
        # Those that wait for the final code; they keep this alive, also where nobody keeps anything else.
        self._cores: list[weakref.ref[Any]] = []
        _alive.add(self)

    @property
    def finished(self) -> bool:
        """Whether the outcome is the last word."""
        return self._work is None

    def finish(self) -> TranslationOutcome:
        """The final outcome; does the work, or waits for the thread that is at it."""
        with self._working:
            if self._work is not None:
                outcome = self._work(self)
                with self._attaching:
                    self.outcome = outcome
                    for core in [known for one in self._cores if (known := one()) is not None]:
                        outcome.install(core)
                    self._cores.clear()
                    self._work = None
        assert self.outcome is not None
        return self.outcome

    @property
    def coded(self) -> bool:
        """Whether there is machine code already, which gives the same bits as what is still to come."""
        return self.outcome is not None and self.outcome.code is not None

    @property
    def room(self) -> int:
        """About how many bytes of memory its code takes: the object, its image, and what LLVM notes beside them."""
        code = None if self.outcome is None else self.outcome.code
        return 0 if code is None else 50_000 + 3 * code.size

    def attach(self, core: Any) -> None:
        """Give a _core.Function the code there is, and the final code when that is ready."""
        with self._attaching:
            if self.outcome is not None:
                self.outcome.install(core, None if self._work is None else self)
            if self._work is not None:
                self._cores.append(weakref.ref(core))


def _free_locks() -> None:
    """In a forked child the background thread is gone, and with it whoever held these locks."""
    for translation in list(_alive):
        translation._working = threading.Lock()
        translation._attaching = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_locks)


class Compiled:
    """A CasADi function behind a C address, made by `compile_function`.

    core: the _core.Function, for the integrators; it gets a new address when a long function has been compiled.
    strict: whether the code is bit-identical to CasADi's interpreter. quick: whether it was compiled without effort.
    seldom: inputs that were said to stay the same over many calls.

    Pickling keeps the formulas of the function, and is refused where they are more than arithmetic; the process that
    unpickles it compiles it, or finds it in the disk cache.
    Called with one array of nonzeros per input, it gives a tuple with one array of nonzeros per output.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.compilation import compile_function
    >>> x = ca.SX.sym("x", 2)
    >>> f = compile_function(ca.Function("f", [x], [x**2, x[0] + x[1]]))
    >>> f([3.0, 4.0])
    (array([ 9., 16.]), array([7.]))
    >>> f.core.kind
    'machine code'
    """

    def __init__(
        self,
        function: ca.Function | NamedRows,
        strict: bool,
        translation: Translation,
        quick: bool = False,
        seldom: tuple[int, ...] = (),
    ) -> None:
        self.strict, self.quick, self.seldom = strict, quick, seldom
        self._described: ca.Function | Callable[[], ca.Function]
        self._translation = translation
        work = max(translation.memory, 0 if translation.outcome is None else translation.outcome.work)
        if isinstance(function, NamedRows):
            name, size_in, size_out = function.name, function.rows.size_in, function.rows.size_out
            places = (len(size_in), len(size_out), 0, work)
            self._described = function.described
        else:
            self._described = function
            name, (size_in, size_out) = function.name(), sizes(function)
            places = (function.sz_arg(), function.sz_res(), function.sz_iw(), max(function.sz_w(), work))
        self.core = CoreFunction(name, list(size_in), list(size_out), *places)
        self.name = name
        translation.attach(self.core)

    @property
    def function(self) -> ca.Function:
        """The CasADi function; one that was compiled from instructions is written when it is first asked for."""
        if not isinstance(self._described, ca.Function):
            self._described = self._described()
        return self._described

    @property
    def _outcome(self) -> TranslationOutcome:
        return self._translation.outcome or self._translation.finish()

    @property
    def tier(self) -> str:
        """Where the code comes from: "llvm O2", "llvm O1", "llvm O0", "llvm loops", "llvm scalar loops", "llvm parts",
        "disk cache", "C compiler" or "interpreter"."""
        return self._outcome.tier

    @property
    def reason(self) -> str:
        """Why the code is not machine code by LLVM, in a sentence; empty when it is."""
        return self._outcome.reason

    @property
    def uncached(self) -> str:
        """Why the disk cache of compiled code was left aside, in a sentence; empty when it was used."""
        return self._outcome.uncached

    @property
    def seconds(self) -> float:
        """How long it took to get the code."""
        return self._outcome.seconds

    def wait(self) -> Compiled:
        """Return this function once its final code is in place."""
        self._translation.finish()
        return self

    def __call__(self, *arrays: Any) -> tuple[np.ndarray, ...]:
        """The outputs' nonzeros for the inputs' nonzeros (matrices by columns)."""
        return self.core(*(np.ravel(np.asarray(array, dtype=float), order="F") for array in arrays))

    def __repr__(self) -> str:
        return f"<{self.name}: {self.tier}{', strict' if self.strict else ''}>"
