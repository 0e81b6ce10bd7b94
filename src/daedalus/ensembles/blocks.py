"""Cases run in blocks: the first ones at once, the rest in threads, results handed on in the order of the cases."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from typing import Any, TypeVar

Result = TypeVar("Result")
Blocks = Iterator[tuple[int, list[Result]]]

# Most cases in a block: enough to hand out cheaply.
_BLOCK = 64
# Seconds of cases that are run before threads are worth their start.
_ALONE = 5e-3
# Blocks on their way for each thread: no thread waits, and memory stays bounded.
_AHEAD = 4


def in_blocks(run: Callable[[range], list[Result]], count: int, workers: int, cancel: Any) -> Blocks[Result]:
    """(first case, results) of one block after the other. The first case runs alone, so that all compile once."""
    begun = time.perf_counter()
    yield 0, run(range(1))
    done, size = 1, 1
    while done < count and (workers == 1 or time.perf_counter() - begun < _ALONE):
        block = range(done, min(done + size, count))
        yield done, run(block)
        done, size = block.stop, min(2 * size, _BLOCK)
    if done < count:
        yield from _threads(run, done, count, workers, cancel)


def _threads(run: Callable[[range], list[Result]], begin: int, count: int, workers: int, cancel: Any) -> Blocks[Result]:
    """The cases from `begin` on, in threads."""
    size = max(1, min(_BLOCK, (count - begin) // (8 * workers)))
    blocks = iter(range(first, min(first + size, count)) for first in range(begin, count, size))
    waiting: deque[tuple[int, Future[list[Result]]]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="sweep") as pool:
        try:
            while True:
                while len(waiting) < _AHEAD * workers and (block := next(blocks, None)) is not None:
                    waiting.append((block.start, pool.submit(run, block)))
                if not waiting:
                    return
                first, future = waiting.popleft()
                yield first, _awaited(future)
        except BaseException:
            cancel.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _awaited(future: Future[Any]) -> Any:
    """The result of a block; short waits let Ctrl-C through while the core is at work."""
    while True:
        try:
            return future.result(timeout=0.1)
        except StillRunning:
            if future.done():
                raise
