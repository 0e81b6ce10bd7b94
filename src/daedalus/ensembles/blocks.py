"""Cases run in blocks: the first ones at once, the rest in threads, results handed on in the order of the cases."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from typing import Any, TypeVar

Result = TypeVar("Result")
Blocks = Iterator[tuple[range, Result]]

# Most cases in a block: enough to hand out cheaply.
_BLOCK = 64
# Seconds of cases that are run before threads are worth their start.
_ALONE = 5e-3
# Blocks on their way for each thread: no thread waits, and memory stays bounded.
_AHEAD = 4


def in_blocks(
    run: Callable[[range], Result], count: int, workers: int, cancel: Any, first: int = 1, most: int = _BLOCK
) -> Blocks[Result]:
    """(cases, results) of one block after the other. The first block is run alone, so that all compile once.

    first, most: how many cases the first block has, and the largest one.
    """
    begun = time.perf_counter()
    block = range(min(first, count))
    yield block, run(block)
    done, size = block.stop, min(8 * first, most)
    while done < count and (workers == 1 or time.perf_counter() - begun < _ALONE):
        block = range(done, min(done + size, count))
        yield block, run(block)
        done, size = block.stop, min(8 * size, most)
    if done < count:
        fair = max(1, (count - done) // (8 * workers))
        yield from _threads(run, range(done, count), min(most, max(first, fair)), workers, cancel)


def _threads(run: Callable[[range], Result], cases: range, size: int, workers: int, cancel: Any) -> Blocks[Result]:
    """Cases in threads, in blocks of a size."""
    blocks = iter(range(begin, min(begin + size, cases.stop)) for begin in range(cases.start, cases.stop, size))
    waiting: deque[tuple[range, Future[Result]]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="sweep") as pool:
        try:
            while True:
                while len(waiting) < _AHEAD * workers and (block := next(blocks, None)) is not None:
                    waiting.append((block, pool.submit(run, block)))
                if not waiting:
                    return
                block, future = waiting.popleft()
                yield block, _awaited(future)
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
