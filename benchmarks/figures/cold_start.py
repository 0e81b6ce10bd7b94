"""From the start of a process to the first solved quadrotor trajectory, nothing cached, against CasADi's cvodes."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

TARGET = 2.0
RTOL = 1e-6


def evaluate(session: Session) -> Iterator[Row]:
    # Both in turn, so that a busy moment of the machine hits both; the first round only warms the disk.
    best: dict[str, float] = {}
    note = ""
    for tool, method in [("daedalus", "dop853"), ("casadi", "cvodes")] * (session.settings.repeats + 1):
        seconds, failure = session.first_solution("quadrotor", tool, method, RTOL)
        note = note or (failure or "")
        if failure is None:
            best[tool] = min(best.get(tool, seconds), seconds)
    yield Row(
        "process start to first trajectory",
        "casadi cvodes",
        best.get("daedalus"),
        best.get("casadi"),
        TARGET,
        "at most",
        note,
    )


FIGURE = Figure("cold_start", "first trajectory with an empty cache", evaluate)
