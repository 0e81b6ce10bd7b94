"""Memory on a GPU and pinned memory beside it, given back when nothing refers to it; some waits for the next call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import RLock


class DeviceMemory:
    """Memory at an address of the GPU, or pinned memory of this machine; give_back: who takes it, (address, size)."""

    def __init__(self, give_back: Callable[[int, int], None], address: int, size: int) -> None:
        self._give_back, self.address, self.size = give_back, address, size

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._give_back(self.address, self.size)


class MemoryPool:
    """Memory of one kind that is used again: getting it costs more than copying into it.

    get, free: how the driver gives and takes it. most: so many bytes wait at most for whoever is next.
    """

    def __init__(self, get: Callable[[int], int], free: Callable[[int], None], most: int) -> None:
        self._get, self._free, self._most = get, free, most
        self._waiting: list[tuple[int, int]] = []  # (size, address)
        # Memory comes back whenever Python clears away, in the middle of what follows too.
        self._lock = RLock()

    def take(self, size: int) -> DeviceMemory:
        """Memory of at least so many bytes."""
        size = max(size, 8)
        with self._lock:
            # The smallest that fits, unless it is more than twice what is needed.
            fitting = [held for held in self._waiting if size <= held[0] <= 2 * size]
            if fitting:
                found = min(fitting)
                self._waiting.remove(found)
                return DeviceMemory(self.give_back, found[1], found[0])
        return DeviceMemory(self.give_back, self._get(size), size)

    def give_back(self, address: int, size: int) -> None:
        """Memory that nothing refers to any more: kept, or freed where too much is waiting."""
        with self._lock:
            if self.waiting_bytes + size <= self._most:
                self._waiting.append((size, address))
                return
        self._free(address)

    @property
    def waiting_bytes(self) -> int:
        """How much is waiting."""
        return sum(size for size, _ in self._waiting)

    def clear(self) -> None:
        """Free all that is waiting."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for _, address in waiting:
            self._free(address)
