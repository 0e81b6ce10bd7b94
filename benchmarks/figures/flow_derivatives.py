"""One quadrotor interval of 41.7 ms with its derivatives, explicit and implicit, against CasADi in the same process."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Row
from benchmarks.session import Session

# How many times faster than the peer: its microseconds over those to reach, both from one machine.
TARGETS = {
    "explicit first": ("x, M, N; RK4 × 1", "CasADi SX VM", 40 / 2.4),
    "explicit tensors": ("x, M, N, O, P, Q; RK4 × 1", "CasADi SX VM", 380 / 12),
    "explicit second": ("contracted second order, M, N; RK4 × 1", "CasADi SX VM", 95 / 4),
    "implicit first": ("x, M, N; Radau IIA, 3 stages", "CasADi collocation", 509 / 25),
    "implicit second": ("contracted second order; Radau IIA, 3 stages", "CasADi collocation", 3257 / 150),
}
# Seconds in which stage functions, patterns and the first call must be ready.
COMPILE = 1.0


def evaluate(session: Session) -> Iterator[Row]:
    outcome = session.probe("flow_derivatives", {"seconds": session.settings.seconds})
    mine, theirs = (
        {record["name"]: record for record in outcome.records if record["tool"] == tool}
        for tool in ("daedalus", "casadi")
    )
    for name, (title, peer_name, target) in TARGETS.items():
        record, peer = mine.get(name, {}), theirs.get(name, {})
        ready = record.get("compile")
        note = outcome.failure or (f"ready after {ready:.2f} s" if ready is not None else "")
        seconds = (record.get("seconds"), peer.get("seconds"))
        yield Row(f"quadrotor interval: {title}", peer_name, *seconds, target, note=note)
        if name == "explicit tensors":
            yield Row("quadrotor interval: O, P, Q ready", "1 s", ready, COMPILE, 1.0, note=note)


FIGURE = Figure("flow_derivatives", "derivatives of one step for optimisers", evaluate)
