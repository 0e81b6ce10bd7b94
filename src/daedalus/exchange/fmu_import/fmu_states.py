"""An FMU as pure functions: what it holds inside between events is a number, the token, so that any point can be asked.

A token stands for the way on which an instance came there: a start, then events or steps. An instance goes back to an
older token by a saved state where the FMU can save, else by walking that way again. The same way gives the same token.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from daedalus.exchange.fmu_import.fmu_link import FmuLink

# States kept for steps that are taken back, and copies of an FMU that may run at once.
MOST_SAVED, MOST_INSTANCES = 400, 8
# FMUs whose processes run; one that was ended begins anew when it is asked, and goes its ways again.
MOST_RUNNING = 32
_used: dict[FmuStates, None] = {}  # least recently first


@dataclass
class TokenStage:
    """One token: its parent and first ancestor, what led to it, what that gave, and under which handle it is saved."""

    parent: int
    root: int
    method: str
    lengths: list[int]
    numbers: list[float]
    found: list[float]
    handle: int | None = None
    domains: tuple[float, ...] = ()


def marked(values: Iterable[float], own: Iterable[float], sizes: Iterable[int]) -> list[float]:
    """Values of variables, NaN in place of one that is all the FMU's own: what need not be set is not set.

    Example
    -------
    >>> marked([1.0, 0.0, 2.0], [1.0, 1.0, 2.0], [2, 1])
    [1.0, 0.0, nan]
    """
    # One object for NaN, so that equal starts have equal keys.
    found, given, defaults = [], list(values), list(own)
    for size in sizes:
        block, (given, same, defaults) = given[:size], (given[size:], given[:size] == defaults[:size], defaults[size:])
        found += [math.nan] * size if same else block
    return found


def _let_others_rest(own: FmuStates) -> None:
    """Put the FMU that is used now last, and end the processes of those that were not used for longest."""
    _used.pop(own, None)
    _used[own] = None
    if len(_used) <= MOST_RUNNING:
        return
    for other in list(_used)[:-MOST_RUNNING]:
        if other.lock.acquire(blocking=False):
            try:
                other.link.rest()
                _used.pop(other, None)
            finally:
                other.lock.release()


class FmuStates:
    """The tokens of one FMU; 0 is none. folder: where it is unpacked, which goes with this object."""

    def __init__(self, link: FmuLink, saves: bool, instances: int = MOST_INSTANCES, folder: Any = None) -> None:
        self.link, self.saves, self._most, self._folder = link, saves, instances, folder
        self._stages: list[TokenStage] = [TokenStage(0, 0, "", [], [], [])]
        self._by_way: dict[tuple[Any, ...], int] = {}
        self._saved: list[int] = []
        self._instance_of: dict[int, int] = {}  # the instance that serves each start, least recently used first
        self._now: dict[int, int] = {}  # the token at which each instance is
        self._made, self._generation = 0, -1
        self.lock = threading.RLock()
        self._serials = itertools.count(1)

    def new_serial(self) -> int:
        """A number for a part: parts do not share instances, so that none waits until another is put back."""
        return next(self._serials)

    def started(self, numbers: list[float], lengths: list[int], serial: int) -> int:
        """The token of a start with these values, for the part of a number."""
        return self._reached(0, "start", lengths, numbers, (serial,))

    def reached(self, parent: int, method: str, lengths: list[int], numbers: list[float], keep: bool) -> int:
        """The token after an event or a step; `keep` saves it, for FMUs that can."""
        token = self._reached(parent, method, lengths, numbers, ())
        if keep and self.saves:
            with self.lock:
                self._save(token)
        return token

    def found(self, token: int) -> list[float]:
        """What the request gave that led to a token."""
        return self._stages[token].found

    def is_known(self, token: int) -> bool:
        """Whether a token was made here."""
        return 0 < token < len(self._stages)

    def asked(self, token: int, method: str, lengths: list[int], numbers: list[float], *single: Any) -> list[float]:
        """What the FMU answers at a token, where it stays."""
        with self.lock:
            number = self._go_to(token)
            return self.link.request([method, number, lengths, *single], numbers)

    def _reached(
        self, parent: int, method: str, lengths: list[int], numbers: list[float], more: tuple[int, ...]
    ) -> int:
        way = (parent, method, tuple(numbers), *more)
        with self.lock:
            token = self._by_way.get(way)
            if token is not None:
                return token
            self._check_generation()
            token = len(self._stages)
            root = self._stages[parent].root if parent else token
            number = self._go_to(parent) if parent else self._instance(root)
            self._now.pop(number, None)
            found = self.link.request([method, number, lengths], numbers)
            self._stages.append(TokenStage(parent, root, method, lengths, numbers, found))
            self._by_way[way] = token
            self._now[number] = token
            return token

    # -- instances --------------------------------------------------------------------------------------------

    def _check_generation(self) -> None:
        """A process that began anew holds nothing of what the old one held."""
        _let_others_rest(self)
        self.link.ensure()
        if self._generation != self.link.generation:
            self._now.clear()
            self._instance_of.clear()
            self._forget(self._saved)
            self._generation = self.link.generation

    def _forget(self, tokens: list[int]) -> None:
        for token in list(tokens):
            self._stages[token].handle = None
            self._saved.remove(token)

    def _instance(self, root: int) -> int:
        number = self._instance_of.pop(root, None)
        if number is None:
            while len(self._instance_of) >= self._most:
                oldest = next(iter(self._instance_of))
                gone = self._instance_of.pop(oldest)
                self._now.pop(gone, None)
                self._forget([token for token in self._saved if self._stages[token].root == oldest])
                self.link.request(["close", gone, []], [])
            self._made += 1
            number = self._made
        self._instance_of[root] = number
        return number

    def _save(self, token: int) -> None:
        stage = self._stages[token]
        if stage.handle is not None:
            return
        number = self._go_to(token)
        stage.handle = int(self.link.request(["save", number, []], [])[0])
        stage.domains = tuple(self.link.request(["domains_now", number, []], []))
        self._saved.append(token)
        if len(self._saved) > MOST_SAVED:
            old = self._saved.pop(0)
            handle, self._stages[old].handle = self._stages[old].handle, None
            owner = self._instance_of.get(self._stages[old].root)
            if handle is not None and owner is not None:
                self.link.request(["drop", owner, [], handle], [])

    def _go_to(self, token: int) -> int:
        """Bring an instance to a token; its number."""
        self._check_generation()
        number = self._instance(self._stages[token].root)
        now = self._now.get(number)
        if now == token:
            return number
        way: list[int] = []
        at = token
        while at and at != now:
            stage = self._stages[at]
            if stage.handle is not None:
                numbers = [*stage.domains, stage.found[-3]]
                self.link.request(["restore", number, [len(stage.domains)], stage.handle], numbers)
                break
            way.append(at)
            at = stage.parent
        self._now.pop(number, None)
        for step in reversed(way):
            again = self._stages[step]
            if again.method == "start":
                self._forget([saved for saved in self._saved if self._stages[saved].root == again.root])
            self.link.request([again.method, number, again.lengths], again.numbers)
        self._now[number] = token
        return number
