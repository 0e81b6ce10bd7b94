"""The best CPU time of a call over several repetitions."""

from collections.abc import Callable
from time import process_time

# A repetition lasts at least this long, so that the clock's own cost and grain do not count.
SHORTEST = 1e-3
# Calls shorter than this are measured longer: a slow phase of the machine is long beside them.
BRIEF, PATIENCE = 2e-4, 4
# Calls longer than this are timed once more and no oftener: they are far from any race.
LONG = 0.2


def best_cpu_time(call: Callable[[], object], seconds: float, least: int = 3) -> float:
    """CPU seconds of one call of this process, the smallest over repetitions that last `seconds` together.

    Short calls are repeated within a repetition. At least `least` repetitions are made
    of what is not long.
    """
    begin = process_time()
    call()
    once = process_time() - begin
    if once < BRIEF:
        seconds *= PATIENCE
    inner = max(1, int(SHORTEST / max(once, 1e-7)))
    least = least if once < LONG else 1
    best, spent, repetitions = once, 0.0, 0
    while spent < seconds or repetitions < least:
        begin = process_time()
        for _ in range(inner):
            call()
        took = process_time() - begin
        best, spent, repetitions = min(best, took / inner), spent + took, repetitions + 1
    return best
