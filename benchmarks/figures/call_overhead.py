"""What a repeated call costs when there is next to nothing to integrate, against a CasADi integrator."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

TARGET = 1.0


def evaluate(session: Session) -> Iterator[Row]:
    options = {"problem": "quadrotor", "end": 1e-6, "rtol": 1e-6, "seconds": session.settings.seconds}
    found = []
    for tool, method in (("daedalus", "dop853"), ("casadi", "cvodes")):
        found.append(session.probe("repeated_call", {**options, "tool": tool, "method": method}, tool=tool))
    ours, peer = (outcome.records[0]["seconds"] if outcome.records else None for outcome in found)
    note = found[0].failure or found[1].failure or ""
    yield Row("overhead of a repeated call", "casadi cvodes", ours, peer, TARGET, "at most", note)


FIGURE = Figure("call_overhead", "overhead of a repeated call", evaluate)
