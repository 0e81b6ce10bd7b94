"""A call of a controller that plans twenty intervals ahead, beside do-mpc and CasADi with IPOPT, warm-started."""

from collections.abc import Iterator

from benchmarks import launch
from benchmarks.figure import Figure, Row
from benchmarks.session import PATIENCE, Session

# Seconds that a call may take: the median, and where one is asked for the 99th percentile.
ALLOWED: dict[str, tuple[float, float | None]] = {"cart_pendulum": (0.3e-3, 1e-3), "quadrotor": (1e-3, None)}
# How many times faster than do-mpc.
FASTER = 20.0
# Calls of the peers: they are slow enough to be told by few.
FEW = 60


def evaluate(session: Session) -> Iterator[Row]:
    for problem, (median, late) in ALLOWED.items():
        ours = session.probe("receding_horizon", {"problem": problem, "tool": "daedalus"})
        record = (ours.records or [{}])[0]
        note = ours.failure or f"cost of the loop {record['cost']:.4g}, first call {record['first']:.2g} s"
        yield Row(f"{problem}, a call", f"{median * 1e3:g} ms", record.get("median"), median, 1.0, "at most", note)
        if late is not None:
            yield Row(
                f"{problem}, 99 of 100 calls", f"{late * 1e3:g} ms", record.get("p99"), late, 1.0, "at most", note
            )
        for tool, target in (("casadi", None), ("do-mpc", FASTER)):
            lacking = session.peers.lacks([tool]) if tool != "casadi" else None
            options = {"problem": problem, "tool": tool, "samples": FEW}
            if lacking is None and tool != "casadi":
                peer = launch.measure(session.peers.python, "receding_horizon", options, limit=PATIENCE)
            elif lacking is None:
                peer = session.probe("receding_horizon", options)
            else:
                yield Row(f"{problem}, a call", tool, record.get("median"), None, target, note=lacking)
                continue
            found = (peer.records or [{}])[0]
            told = peer.failure or f"cost of the loop {found['cost']:.4g}"
            yield Row(f"{problem}, a call", tool, record.get("median"), found.get("median"), target, note=told)


FIGURE = Figure("receding_horizon", "controllers that plan again at every sample", evaluate)
