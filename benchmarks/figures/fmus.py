"""FMUs without a compiler: how long an export takes, and a step inside."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

# Seconds of an export, of a step; megabytes of the file.
EXPORT, STEP, SIZE = 2.0, 5e-6, 3.0


def evaluate(session: Session) -> Iterator[Row]:
    found = session.probe("fmus", {"seconds": session.settings.seconds})
    record = found.records[0] if found.records else {}
    note = found.failure or f"{record.get('platforms')} platforms"
    title = "FMU of the delta robot"
    yield Row(f"{title}, export", f"{EXPORT} s", record.get("export"), EXPORT, 1.0, "at most", note)
    size = record["size"] / 1e6 if record else None
    yield Row(f"{title}, size in MB", f"{SIZE} MB", size, SIZE, 1.0, "at most", note, unit="")
    for name, words in (("ball", "bouncing ball"), ("pendulum", "pendulum in space, index 3")):
        yield Row(
            f"step of co-simulation, {words}", "5 µs", record.get(name), STEP, 1.0, "at most", found.failure or ""
        )


FIGURE = Figure("fmus", "FMUs without a compiler", evaluate)
