"""A network inside a model trained through PyTorch, beside torchdiffeq."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

RTOL, BATCH = 1e-6, 64
# How many times faster than torchdiffeq.
TARGET = 5.0
TITLES = {"one": "one start", "batch": f"{BATCH} starts at once"}


def evaluate(session: Session) -> Iterator[Row]:
    found = session.probe("network_training", {"seconds": session.settings.seconds, "rtol": RTOL, "batch": BATCH})
    record = found.records[0] if found.records else {}
    for name, title in TITLES.items():
        keys = [f"{tool}_{name}" for tool in ("daedalus", "torchdiffeq")]
        losses = [f"{record[f'{key}_loss']:.9g}" for key in keys if f"{key}_loss" in record]
        note = found.failure or f"losses {' and '.join(losses)}"
        row = f"training step of a network in a model, {title}"
        yield Row(row, "torchdiffeq", *(record.get(key) for key in keys), TARGET, note=note)


FIGURE = Figure("network_training", "a network trained through PyTorch", evaluate)
