"""A bound on the time that something takes, by the clock of the processor, so that a loaded machine does not count."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail where the block takes more processor time; an error of the block itself goes through."""
    begin = time.process_time()
    try:
        yield
    finally:
        took = time.process_time() - begin
        assert took < seconds, f"took {took:.1f} s"
