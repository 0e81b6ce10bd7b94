"""Cases run in blocks: the first ones at once, the rest in threads, results handed on in the order of the cases."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as StillRunning
from typing import Any, TypeVar, cast

Result = TypeVar("Result")
Blocks = Iterator[tuple[range, Result]]

# Most cases in a block: enough to hand out cheaply.
_BLOCK = 64
# Seconds of cases that are run before threads are worth their start.
_ALONE = 5e-3
# Blocks on their way for each thread: no thread waits, and memory stays bounded.
_AHEAD = 4
# Seconds that threads have to end what they are at behind Ctrl-C.
_PATIENCE = 0.5


def in_blocks(
    run: Callable[[range], Result], count: int, workers: int, cancel: Any, first: int = 1, most: int = _BLOCK
) -> Blocks[Result]:
    """(cases, results) of one block after the other. The first block is run alone, so that all compile once.

    first, most: how many cases the first block has, and the largest one.
    """
    begun = time.perf_counter()
    block = range(min(first, count))
    yield block, _apart(run, block, cancel)
    done, size = block.stop, min(8 * first, most)
    while done < count and (workers == 1 or time.perf_counter() - begun < _ALONE):
        block = range(done, min(done + size, count))
        yield block, _apart(run, block, cancel)
        done, size = block.stop, min(8 * size, most)
    if done < count:
        fair = max(1, (count - done) // (8 * workers))
        yield from _threads(run, range(done, count), min(most, max(first, fair)), workers, cancel)


def _threads(run: Callable[[range], Result], cases: range, size: int, workers: int, cancel: Any) -> Blocks[Result]:
    """Cases in threads, in blocks of a size."""
    blocks = iter(range(begin, min(begin + size, cases.stop)) for begin in range(cases.start, cases.stop, size))
    waiting: deque[tuple[range, Future[Result]]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="sweep")
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
        wait([future for _, future in waiting], _PATIENCE)
        raise
    finally:
        pool.shutdown(wait=not cancel.is_set, cancel_futures=True)


def _apart(run: Callable[[range], Result], block: range, cancel: Any) -> Result:
    """A block in a thread of its own, so that Ctrl-C is heard while it is compiled for or run.

    What cannot be ended at once, such as a compiler at work, goes on in the background; nothing waits for it.
    """
    future: Future[Result] = Future()

    def work() -> None:
        try:
            future.set_result(run(block))
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=work, name="sweep", daemon=True)
    thread.start()
    try:
        return cast(Result, _awaited(future))
    except BaseException:
        cancel.set()
        thread.join(_PATIENCE)
        raise


def _awaited(future: Future[Any]) -> Any:
    """The result of a block; short waits let Ctrl-C through while the core is at work."""
    while True:
        try:
            return future.result(timeout=0.1)
        except StillRunning:
            if future.done():
                raise
